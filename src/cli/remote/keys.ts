import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { failureOf } from '../check/problem.ts'
import { readTargets } from '../check/target.ts'
import type { Terminal } from '../command/terminal.ts'
import { openAccount } from '../deploy/account-api.ts'
import { readIdentity } from '../deploy/project.ts'
import { Failure } from '../failure.ts'
import { findConfig, readConfigFile } from '../project/config-file.ts'
import { findWorkers } from '../workers.ts'
import { spawnWrangler, UNATTENDED } from '../wrangler.ts'
import { isStrings, readApiKeys, SCOPES } from '../../contract/api-key.ts'
import { ID } from '../../contract/id.ts'
import { isObject } from '../../contract/json.ts'
import { ConfigError } from '../../contract/vars.ts'
import { readJsonFile } from '../text-file.ts'

/** The file with the entries of `API_KEYS`: hashes of keys, never a key. */
const FILE = 'api-keys.json'

const DEFAULT_SCOPES: readonly string[] = ['chat', 'tools:read']

export interface KeysOptions {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  readonly terminal: Terminal
}

export interface NewKeyOptions extends KeysOptions {
  /** Names the key in records, and for `revoke`. */
  readonly id: string
  readonly tenant?: string | undefined
  readonly scopes?: readonly string[]
  readonly expires?: string | undefined
  /** Whether the list is also set as the secret API_KEYS of the deployed edge. */
  readonly remote: boolean
}

/**
 * Makes a key, adds its hash to `api-keys.json`, and prints the key: it is stored nowhere. With `remote`, sets the list
 * as the edge's secret. Throws a Failure, before anything is written, for an id that is taken or an entry that an edge
 * would refuse.
 */
export async function newApiKey(options: NewKeyOptions): Promise<void> {
  const { root, env, terminal, id, tenant = 'default', scopes = [], expires, remote } = options
  checkScopes(root, scopes)
  checkTerms({ id, tenant, expires })
  const entries = readEntries(root)
  if (entries.some((entry) => isObject(entry) && entry['id'] === id)) {
    throw new Failure(`${FILE} has a key ${id} already.`, 'Give the key another id, or revoke that one.')
  }
  const key = `ek_${randomBytes(24).toString('base64url')}`
  const sha256 = createHash('sha256').update(key).digest('hex')
  const entry = {
    id,
    sha256,
    tenant,
    scopes: scopes.length > 0 ? scopes : DEFAULT_SCOPES,
    ...(expires !== undefined && { expires }),
  }
  const all = [...entries, entry]
  check(all)
  writeFileSync(join(root, FILE), `${JSON.stringify(all, null, 2)}\n`)
  if (remote) await setSecret(root, env, all)
  terminal.emit({ key, ...entry })
  terminal.print(`${key}\n\nThat is the key ${id}, shown this once: only its hash is in ${FILE}.\n`)
  if (!remote) terminal.print(`For a deployed edge, set the list: npx wrangler secret put API_KEYS < ${FILE}\n`)
}

/**
 * Checks scopes before a key is made with them. Throws a Failure for one that lets its key do nothing: it is neither a
 * scope of edges nor named by a policy of this project.
 */
export function checkScopes(root: string, scopes: readonly string[]): void {
  const own: readonly string[] = SCOPES
  const unknown = scopes.find((scope) => !own.includes(scope) && !policiesOf(root).includes(JSON.stringify(scope)))
  if (unknown === undefined) return
  throw new Failure(
    `There is no scope "${unknown}".`,
    `There are ${own.join(', ')}; and those that TOOL_POLICY in wrangler.toml names.`,
  )
}

/** Throws a Failure for a term of a key that an edge would refuse, or with which nobody could use the key. */
function checkTerms({ id, tenant, expires }: Pick<NewKeyOptions, 'id' | 'tenant' | 'expires'>): void {
  const names = [
    ['the id of a key', id],
    ['a tenant', tenant],
  ] as const
  for (const [what, name] of names) {
    if (name !== undefined && !ID.test(name))
      throw new Failure(`"${name}" cannot be ${what}.`, 'Use 1 to 64 letters, digits, "_" and "-".')
  }
  if (expires === undefined) return
  const until = Date.parse(expires)
  if (Number.isNaN(until)) throw new Failure(`"${expires}" is not a date.`, 'Write it as in --expires 2099-01-31.')
  if (until <= Date.now())
    throw new Failure(`${expires} has passed: the key could never be used.`, 'Name a later date.')
}

function policiesOf(root: string): string {
  const config = findConfig(root, '')
  const { vars } = config === undefined ? {} : readConfigFile(root, config)
  return isObject(vars) && typeof vars['TOOL_POLICY'] === 'string' ? vars['TOOL_POLICY'] : ''
}

/**
 * Disables a key of the deployed edge at once, without a deployment: its id is added to the list `disabled` in the KV
 * namespace `KEYS`. Throws a Failure if the edge has no such namespace, or if wrangler refuses.
 */
export async function revokeApiKey(
  id: string,
  { local, ...options }: KeysOptions & { readonly local: boolean },
): Promise<void> {
  const { root, terminal } = options
  const { edge } = findWorkers(root)
  const { kv_namespaces: namespaces } = readConfigFile(root, edge.config)
  const namespace = Array.isArray(namespaces)
    ? namespaces.filter(isObject).find(({ binding }) => binding === 'KEYS')
    : undefined
  if (!namespace) {
    throw new Failure(
      `${edge.config} has no KV namespace KEYS, in which keys are disabled.`,
      'Add it, and deploy once:\n\n[[kv_namespaces]]\nbinding = "KEYS"',
    )
  }
  const own = readEntries(root)
  if (own.length > 0 && !own.some((entry) => isObject(entry) && entry['id'] === id)) {
    throw new Failure(
      `${FILE} has no key ${id}.`,
      `Its keys are ${own.map((entry) => String(Object(entry)['id'])).join(', ')}.`,
    )
  }
  const list = local ? localList(options, edge.config, namespace) : await deployedList(options, namespace)
  const disabled = [...new Set([...readIds(await list.read()), id])]
  await list.write(JSON.stringify(disabled))
  terminal.emit({ revoked: id, disabled })
  terminal.print(`${id} is disabled; edges know within a minute. Disabled: ${disabled.join(', ')}\n`)
}

/** The value of KV with the ids of disabled keys. */
interface DisabledList {
  readonly read: () => Promise<string | undefined>
  readonly write: (text: string) => Promise<void>
}

type NamespaceConfig = Readonly<Record<string, unknown>>

/** What wrangler prints in place of a value that does not exist. */
const ABSENT = 'Value not found'

/** The list of the edge on this machine, where a namespace without an id is named after its binding. */
function localList({ root, env }: KeysOptions, config: string, { id = 'KEYS' }: NamespaceConfig): DisabledList {
  const where = ['--namespace-id', String(id), '--local', '-c', config]
  return {
    read: async () => {
      const text = await runWrangler(['kv', 'key', 'get', 'disabled', ...where, '--text'], { root, env })
      return text.trim() === ABSENT ? undefined : text
    },
    write: async (text) => void (await runWrangler(['kv', 'key', 'put', 'disabled', text, ...where], { root, env })),
  }
}

/** The list of the deployed edge. A deployment makes the namespace if the configuration has no id of it. */
async function deployedList({ root, env }: KeysOptions, { id }: NamespaceConfig): Promise<DisabledList> {
  const { prefix } = readIdentity(root)
  const { targets, problems } = await readTargets({ root, environment: 'production', prefix })
  const edge = targets.find(({ role }) => role === 'edge')
  if (!edge) throw failureOf(problems)
  const api = await openAccount({ root, env, accountId: edge.settings.account_id })
  const bindings = (await api.live(edge.name))?.at(-1)?.bindings ?? []
  const { resource } = bindings.find(({ name, type }) => name === 'KEYS' && type === 'kv_namespace') ?? {}
  const namespace = typeof id === 'string' ? id : resource
  if (namespace === undefined) {
    throw new Failure(`The deployed Worker ${edge.name} has no KV namespace KEYS.`, 'Deploy it once with that binding.')
  }
  return {
    read: () => api.readValue(namespace, 'disabled'),
    write: (text) => api.writeValue(namespace, 'disabled', text),
  }
}

/** Reads the list. Throws a Failure for another text: a list in its place would enable the keys that are disabled now. */
function readIds(text = '[]'): readonly string[] {
  try {
    const ids: unknown = JSON.parse(text)
    if (isStrings(ids)) return ids
  } catch {
    // The Failure below says so.
  }
  throw new Failure('"disabled" in the KV namespace KEYS is not a JSON array of ids.', 'Correct it, and try again.')
}

function readEntries(root: string): readonly unknown[] {
  const path = join(root, FILE)
  if (!existsSync(path)) return []
  try {
    const entries = readJsonFile(path)
    if (Array.isArray(entries)) return entries
  } catch {
    // The Failure below says so.
  }
  throw new Failure(`${FILE} is not a JSON array.`, 'Correct it, or move it elsewhere.')
}

function check(entries: readonly unknown[]): void {
  try {
    readApiKeys({ API_KEYS: JSON.stringify(entries) })
  } catch (error) {
    if (error instanceof ConfigError) throw new Failure(`${error.message}.`, 'See --help for what a key can have.')
    throw error
  }
}

async function setSecret(root: string, env: NodeJS.ProcessEnv, entries: readonly unknown[]): Promise<void> {
  const { edge } = findWorkers(root)
  const input = JSON.stringify(entries)
  await runWrangler(['secret', 'put', 'API_KEYS', '-c', edge.config], { root, env, input })
}

export interface RunWranglerOptions {
  readonly root: string
  readonly env: NodeJS.ProcessEnv
  /** What it reads from standard input, such as a secret. Default: nothing. */
  readonly input?: string
}

/** Runs a command of wrangler, unattended, and returns what it prints. Throws a Failure with its reason. */
export async function runWrangler(
  args: readonly string[],
  { root, env, input = '' }: RunWranglerOptions,
): Promise<string> {
  const child = spawnWrangler(args, { root, env: { ...env, ...UNATTENDED }, stdio: ['pipe', 'pipe', 'pipe'] })
  if (!child.stdin || !child.stdout || !child.stderr) throw new Failure('wrangler could not be started.')
  child.stdin.end(input)
  const [out, problems] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
  if (child.exitCode === 0) return out
  throw new Failure(`wrangler ${args.slice(0, 3).join(' ')} failed. It wrote:`, `${out}${problems}`.trim())
}
