import { randomBytes } from 'node:crypto'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { SCOPES } from '../contract/api-key.ts'
import { ConfigError, readConfig } from '../contract/config.ts'
import { readIdentityProviders } from '../contract/identity-provider.ts'
import { sha256 } from '../contract/json.ts'
import { variableNames } from './document/configuration.ts'
import { Failure } from './failure.ts'
import { readTextFile } from './text-file.ts'

type Vars = Readonly<Record<string, unknown>>

/** The names of the edge's own variables. */
const NAMES = new Set(variableNames().filter((name) => !name.endsWith('*')))

/** The settings of a local edge in addition to its wrangler.toml. */
export interface LocalEdge {
  readonly model: string
  readonly variables: Readonly<Record<string, string>>
  /** A new API key for this start, if the edge requires keys. */
  readonly key: string | undefined
}

export interface LocalOptions {
  /** The variables in the edge's wrangler.toml. */
  readonly vars: Vars
  /** The hosts of the repository's own definitions, in the form of HTTP_TOOL_HOSTS. */
  readonly hosts: Readonly<Record<string, readonly string[]>>
  /** The variables in the `.dev.vars` beside it; all of them are passed on. */
  readonly devVars?: Readonly<Record<string, string>>
  /** The source of the files that put the edge together. The variables that they read are the edge's too. */
  readonly setup: string
  /** The server of the offline model, if that is to answer. */
  readonly offlineUrl?: string | undefined
  /** The key for this command's requests, if the edge requires keys. Default: a new one. */
  readonly key?: string
}

/** Makes a key for an edge on this machine. */
export function newKey(): string {
  return `ek_${randomBytes(24).toString('base64url')}`
}

/** Returns whether neither the environment nor the edge's wrangler.toml says anything about the default model. */
export function namesNoModel(env: NodeJS.ProcessEnv, vars: Vars): boolean {
  return env['MODEL'] === undefined && vars['MODEL'] === undefined
}

/** Reads the variables in the `.dev.vars` of the edge; none without such a file. */
export function readDevVars(root: string): Readonly<Record<string, string>> {
  const path = join(root, '.dev.vars')
  if (!existsSync(path)) return {}
  const texts = Object.entries(parseEnv(readTextFile(path)))
  return Object.fromEntries(texts.filter((entry): entry is [string, string] => entry[1] !== undefined))
}

/** Returns the source of the files that put the repository's edge together, which alone are given its env. */
export function readSetup(root: string): string {
  const files = globSync(['src/*.ts', 'src/edge/*.ts'], { cwd: root })
  return files.map((file) => readFileSync(join(root, file), 'utf8')).join('\n')
}

/**
 * Makes the variables of a local edge. The environment wins over the edge's wrangler.toml (`vars`), which wins over the
 * defaults: `AUTH` open, the `hosts` of the repository's own definitions, and the offline model. Passes on from the
 * environment what the edge reads: its own variables, each `SECRET_*`, and what `setup` reads. An edge that requires
 * keys gets a new one in addition to its own, for this command's requests. Throws a Failure that names a variable that
 * the edge could not read, or one with a misspelt name.
 */
export async function localEdge(
  env: NodeJS.ProcessEnv,
  { vars, hosts, setup, offlineUrl, devVars = {}, key = newKey() }: LocalOptions,
): Promise<LocalEdge> {
  const names = new Set([...NAMES, ...namesIn(setup)])
  for (const name of Object.keys({ ...vars, ...devVars })) if (!isKnown(name, names)) refuseSlip(name, [...names])
  const allVariables = { ...devVars, ...passedOn(env, names) }
  if (offlineUrl !== undefined && (allVariables['OPENAI_BASE_URL'] ?? vars['OPENAI_BASE_URL'])) {
    throw new Failure('OPENAI_BASE_URL is set, but MODEL is not.', 'Name the model too, such as MODEL=openai/qwen3.')
  }
  const offline = offlineUrl === undefined ? {} : { MODEL: 'openai/offline', OPENAI_BASE_URL: offlineUrl }
  // A key for OpenAI is not for the offline model.
  if (offlineUrl !== undefined) delete allVariables['OPENAI_API_KEY']
  const defaults = { ...offline, AUTH: 'open', LOG: 'runs', HTTP_TOOL_HOSTS: JSON.stringify(hosts) }
  const missing = Object.entries(defaults).filter(([name]) => !Object.hasOwn(vars, name))
  const variables = { ...Object.fromEntries(missing), ...allVariables }
  const { auth, apiKeys, model = '' } = read({ ...vars, ...variables })
  if (model !== '' && !model.includes('/')) {
    throw new Failure(
      `MODEL must be provider/name, not "${model}".`,
      'Such as openai/gpt-4.1-mini; README lists the providers.',
    )
  }
  if (auth === 'open') return { model, variables, key: undefined }
  const own = { sha256: await sha256(key), tenant: 'local', scopes: SCOPES }
  return { model, variables: { ...variables, API_KEYS: JSON.stringify([...apiKeys, own]) }, key }
}

/** Returns the names of the variables that a source reads from the env, without those of bindings. */
function namesIn(setup: string): ReadonlySet<string> {
  const read = [...setup.matchAll(/\benv(?:\.|\['|, ')([A-Z][A-Z0-9_]*)/g)].flatMap(([, name = '']) => name)
  const destructured = [...setup.matchAll(/\{([^{}]*)\} = env\b/g)].flatMap(
    ([, names = '']) => names.match(/\b[A-Z][A-Z0-9_]*\b/g) ?? [],
  )
  const bindings = [...setup.matchAll(/^ {2}readonly ([A-Z_]+)\??: (?!string)/gm)].flatMap(([, name = '']) => name)
  const names = [...read, ...destructured].filter((name) => !bindings.includes(name))
  // A server may be read by its vendor's name: `serverFrom(env, 'ACME')`.
  return new Set(names.flatMap((name) => [name, `${name}_BASE_URL`, `${name}_API_KEY`]))
}

function isKnown(name: string, names: ReadonlySet<string>): boolean {
  return names.has(name) || name.startsWith('SECRET_')
}

function passedOn(env: NodeJS.ProcessEnv, names: ReadonlySet<string>): Record<string, string> {
  const variables: Record<string, string> = {}
  for (const [name, value] of Object.entries(env)) {
    if (value === undefined) continue
    if (isKnown(name, names)) variables[name] = value
    else refuseSlip(name, [...names])
  }
  return variables
}

/** The length from which a name is distinguished from another one by a single letter. */
const LONG = 5

/** Throws a Failure if a name differs from that of a variable of the edge by one letter, its case or underscores. */
function refuseSlip(name: string, names: readonly string[]): void {
  const plain = (text: string) => text.replaceAll('_', '').toUpperCase()
  const likelyName = names.find(
    (other) => other.length >= LONG && (plain(other) === plain(name) || isSlip(name, other) || isSlip(other, name)),
  )
  if (likelyName !== undefined) {
    throw new Failure(
      `The edge has no variable ${name}. Do you mean ${likelyName}?`,
      `If not, unset ${name}, or give it another name.`,
    )
  }
}

/** Returns whether one letter is missing in `short`, or differs, or two neighbours have changed places. */
function isSlip(short: string, long: string): boolean {
  if (long.length - short.length > 1 || short.length > long.length) return false
  let at = 0
  while (at < short.length && short[at] === long[at]) at += 1
  // A digit makes another name: OPENAI_API_KEY2 is a second key.
  if (/\d/.test(`${short[at] ?? ''}${long[at] ?? ''}`)) return false
  const [rest, other] = [short.slice(at), long.slice(at)]
  if (short.length < long.length) return rest === other.slice(1)
  return (
    rest.slice(1) === other.slice(1) ||
    (rest.slice(2) === other.slice(2) && rest[0] === other[1] && rest[1] === other[0])
  )
}

function read(vars: Vars): ReturnType<typeof readConfig> {
  try {
    return { ...readConfig(vars), identityProviders: readIdentityProviders(vars) }
  } catch (error) {
    if (error instanceof ConfigError) throw new Failure(`${error.message}.`, 'Change it, or unset it for its default.')
    throw error
  }
}
