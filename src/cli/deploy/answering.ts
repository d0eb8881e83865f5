import { isObject } from '../../contract/json.ts'
import type { Target } from '../check/target.ts'

/** The variable with the key of each provider that needs one. */
const KEYS: Readonly<Record<string, string>> = {
  openai: 'OPENAI_API_KEY',
  responses: 'OPENAI_API_KEY',
  anthropic: 'ANTHROPIC_API_KEY',
  gemini: 'GEMINI_API_KEY',
}

/**
 * Returns why a deployed edge answers with errors although it is deployed: nobody has a key to it, or it has no model.
 * `secrets` are the names of those that it will have.
 */
export function reasonsNotToAnswer({ settings, config }: Target, secrets: ReadonlySet<string>): readonly string[] {
  const vars: Readonly<Record<string, unknown>> = isObject(settings.vars) ? settings.vars : {}
  const has = (name: string) => secrets.has(name) || (typeof vars[name] === 'string' && vars[name] !== '')
  const reasons: string[] = []
  if (vars['AUTH'] === 'open') {
    reasons.push(`It answers 503 to everyone: AUTH = "open" is for this machine alone. Unset it in ${config}.`)
  } else if (!has('API_KEYS') && !has('IDENTITY_PROVIDERS')) {
    reasons.push('It answers 503 to everyone: it has neither API_KEYS nor IDENTITY_PROVIDERS. Set the secret API_KEYS.')
  }
  const { MODEL: model } = vars
  if (!has('MODEL')) reasons.push(`Runs that name no model are refused: MODEL is not set in ${config}.`)
  const key = typeof model === 'string' ? KEYS[model.slice(0, model.indexOf('/'))] : undefined
  if (key !== undefined && !has(key) && !has(key.replace('API_KEY', 'BASE_URL'))) {
    reasons.push(`Runs of ${String(model)} fail: the secret ${key} is not set.`)
  }
  return reasons
}
