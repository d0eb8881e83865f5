import { isObject } from '../../contract/json.ts'
import type { Target } from '../check/target.ts'
import { providerVariables } from '../document/provider-variables.ts'

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
  if (typeof model !== 'string') return reasons
  const variables = providerVariables()[model.slice(0, model.indexOf('/'))] ?? []
  const key = variables.find((name) => name.endsWith('_API_KEY'))
  if (key && !variables.some(has)) reasons.push(`Runs of ${model} fail: the secret ${key} is not set.`)
  return reasons
}
