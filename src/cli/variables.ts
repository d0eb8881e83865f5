import { randomBytes } from 'node:crypto'
import { ConfigError, readConfig } from '../contract/config.ts'
import { sha256 } from '../contract/json.ts'
import { variableNames } from './document/configuration.ts'
import { Failure } from './failure.ts'

type Vars = Readonly<Record<string, unknown>>

/** The names of the edge's variables, which are passed on from the environment, as is each `SECRET_*`. */
const NAMES = new Set(variableNames())

/** The settings of a local edge in addition to its wrangler.toml. */
export interface LocalEdge {
  readonly model: string
  readonly variables: Readonly<Record<string, string>>
  /** A new API key for this start, if the edge requires keys. */
  readonly key: string | undefined
}

const SCOPES = ['chat', 'tools:read', 'tools:write', 'tools:admin', 'approve']

/**
 * Makes the variables of a local edge. The environment wins over the edge's wrangler.toml (`vars`), which wins over the
 * defaults: `MODEL` offline/rules, `AUTH` open, and the `hosts` of the repository's own definitions. An edge that
 * requires keys gets a new one in addition to its own, for this command's requests. Throws a Failure that names a
 * variable that the edge could not read.
 */
export async function localEdge(
  env: NodeJS.ProcessEnv,
  { vars, hosts }: { vars: Vars; hosts: Readonly<Record<string, readonly string[]>> },
): Promise<LocalEdge> {
  const given = passedOn(env)
  const defaults = { MODEL: 'offline/rules', AUTH: 'open', HTTP_TOOL_HOSTS: JSON.stringify(hosts) }
  const missing = Object.entries(defaults).filter(([name]) => !Object.hasOwn(vars, name))
  const variables = { ...Object.fromEntries(missing), ...given }
  const { auth, apiKeys, model = '' } = read({ ...vars, ...variables })
  if (model !== '' && !model.includes('/')) {
    throw new Failure(
      `MODEL must be provider/name, not "${model}".`,
      'Such as openai/gpt-4.1-mini; README lists the providers.',
    )
  }
  if (auth === 'open') return { model, variables, key: undefined }
  const key = `ek_${randomBytes(24).toString('base64url')}`
  const own = { sha256: await sha256(key), tenant: 'local', scopes: SCOPES }
  return { model, variables: { ...variables, API_KEYS: JSON.stringify([...apiKeys, own]) }, key }
}

function passedOn(env: NodeJS.ProcessEnv): Record<string, string> {
  const passed: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value !== undefined && (NAMES.has(name) || name.startsWith('SECRET_'))) passed[name] = value
  }
  return passed
}

function read(vars: Vars): ReturnType<typeof readConfig> {
  try {
    return readConfig(vars)
  } catch (error) {
    if (error instanceof ConfigError) throw new Failure(`${error.message}.`, 'Change it, or unset it for its default.')
    throw error
  }
}
