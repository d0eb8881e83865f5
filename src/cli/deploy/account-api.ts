import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { isObject } from '../../contract/json.ts'
import { Failure } from '../failure.ts'
import { spawnWrangler, UNATTENDED } from '../wrangler.ts'

/** A version of a Worker. */
export interface WorkerVersion {
  readonly id: string
  /** As the upload named them; empty if it did not. */
  readonly tag: string
  readonly message: string
  /** What made it: `secret` if only a secret was set, with the code of the version before. */
  readonly trigger: string
  /** The same for versions with the same code. */
  readonly etag: string
  /** Who made it and when, in ISO 8601; empty if the account does not tell. */
  readonly author: string
  readonly at: string
  /** Its bindings and variables, secrets too. `resource` is the id or name of what it is bound to, if it has one. */
  readonly bindings: readonly { readonly name: string; readonly type: string; readonly resource?: string }[]
}

/** A version of a Worker that requests reach. */
export interface LiveVersion extends WorkerVersion {
  readonly percent: number
}

/** A kind of resource that a Worker can be bound to, as the API calls the type of its bindings. */
export type ResourceType = 'kv_namespace' | 'd1' | 'r2_bucket'

/** Reads the state of a Cloudflare account, and writes values of KV. All other writes are wrangler's. */
export interface AccountApi {
  /** Returns the live versions of a Worker; undefined if there is no such Worker. */
  live(worker: string): Promise<readonly LiveVersion[] | undefined>
  /** Returns a version of a Worker, live or not; undefined if there is no such version. */
  version(worker: string, id: string): Promise<WorkerVersion | undefined>
  /** Returns whether the account has a resource. A token that may not look at it tells nothing: then it counts as there. */
  has(type: ResourceType, resource: string): Promise<boolean>
  /** Returns the id of the KV namespace with this title. */
  findNamespace(title: string): Promise<string | undefined>
  readValue(namespace: string, key: string): Promise<string | undefined>
  writeValue(namespace: string, key: string, value: string): Promise<void>
}

export interface AccountOptions {
  readonly root: string
  /** Provides CLOUDFLARE_API_TOKEN, CLOUDFLARE_ACCOUNT_ID and CLOUDFLARE_API_BASE_URL. */
  readonly env: NodeJS.ProcessEnv
  /** `account_id` of the edge's configuration. */
  readonly accountId?: string | undefined
}

const API = 'https://api.cloudflare.com/client/v4'
const TIMEOUT_MS = 30_000
/** The codes of Cloudflare for a Worker, a version, a value and a namespace that do not exist. */
const ABSENT = new Set([10007, 10009, 10090, 10092])
const PAGE = 100
const RESOURCES: Readonly<Record<ResourceType, string>> = {
  kv_namespace: '/storage/kv/namespaces',
  d1: '/d1/database',
  r2_bucket: '/r2/buckets',
}

interface Answer {
  readonly status: number
  readonly body: string
}

/** Opens an account with the token of the environment, or else that of `wrangler login`. Throws a Failure without one. */
export async function openAccount(options: AccountOptions): Promise<AccountApi> {
  const { env } = options
  const token = env['CLOUDFLARE_API_TOKEN'] ?? (await loginToken(options))
  const base = env['CLOUDFLARE_API_BASE_URL'] ?? API
  const send = async (path: string, init: RequestInit = {}): Promise<Answer> => {
    const headers = { authorization: `Bearer ${token}` }
    try {
      const response = await fetch(base + path, {
        ...init,
        headers,
        redirect: 'manual',
        signal: AbortSignal.timeout(TIMEOUT_MS),
      })
      return { status: response.status, body: await response.text() }
    } catch (error) {
      const { cause, message } = error instanceof Error ? error : { cause: undefined, message: String(error) }
      const reason = cause instanceof Error ? cause.message : message
      throw new Failure(`Cloudflare does not answer at ${new URL(base).host}: ${reason}.`, 'Try again once it does.')
    }
  }
  const account = `/accounts/${env['CLOUDFLARE_ACCOUNT_ID'] ?? options.accountId ?? (await onlyAccount(send))}`
  const read = async (path: string): Promise<unknown> => {
    const answer = await send(account + path)
    return isAbsent(answer) ? undefined : resultOf(path, answer)
  }
  return {
    live: async (worker) => {
      const path = `/workers/scripts/${encodeURIComponent(worker)}`
      const deployments = await read(`${path}/deployments`)
      if (deployments === undefined) return undefined
      const [latest] = listOf(deployments, 'deployments')
      const shares = listOf(latest, 'versions')
      return Promise.all(
        shares.map(async (share) => {
          const id = String(share['version_id'])
          return { ...workerVersion(id, await read(`${path}/versions/${id}`)), percent: Number(share['percentage']) }
        }),
      )
    },
    version: async (worker, id) => {
      const version = await read(`/workers/scripts/${encodeURIComponent(worker)}/versions/${id}`)
      return version === undefined ? undefined : workerVersion(id, version)
    },
    has: async (type, resource) => {
      const path = `${RESOURCES[type]}/${encodeURIComponent(resource)}`
      const answer = await send(account + path)
      if (answer.status === 404) return false
      if (answer.status !== 401 && answer.status !== 403) resultOf(path, answer)
      return true
    },
    findNamespace: async (title) => {
      for (let page = 1; ; page++) {
        const result = await read(`/storage/kv/namespaces?per_page=${PAGE}&page=${page}`)
        const namespaces = Array.isArray(result) ? result.filter(isObject) : []
        const match = namespaces.find((each) => each['title'] === title)
        if (match) return String(match['id'])
        if (namespaces.length < PAGE) return undefined
      }
    },
    readValue: async (namespace, key) => {
      const path = `/storage/kv/namespaces/${namespace}/values/${key}`
      const answer = await send(account + path)
      if (isAbsent(answer)) return undefined
      if (answer.status !== 200) resultOf(path, answer)
      return answer.body
    },
    writeValue: async (namespace, key, value) => {
      const path = `/storage/kv/namespaces/${namespace}/values/${key}`
      resultOf(path, await send(account + path, { method: 'PUT', body: value }))
    },
  }
}

function workerVersion(id: string, version: unknown): WorkerVersion {
  const { annotations, metadata, resources } = isObject(version) ? version : {}
  const notes = isObject(annotations) ? annotations : {}
  const { author_email: author, created_on: at } = isObject(metadata) ? metadata : {}
  const script = isObject(resources) && isObject(resources['script']) ? resources['script'] : {}
  const bindings = listOf(resources, 'bindings').map((binding) => {
    const { name, type, namespace_id: namespace, id: database, database_id: other, bucket_name: bucket } = binding
    const resource = [namespace, database, other, bucket].find((each) => typeof each === 'string')
    return { name: String(name), type: String(type), ...(typeof resource === 'string' && { resource }) }
  })
  return {
    id,
    tag: textOf(notes['workers/tag']),
    message: textOf(notes['workers/message']),
    trigger: textOf(notes['workers/triggered_by']),
    etag: textOf(script['etag']),
    author: textOf(author),
    at: textOf(at),
    bindings,
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function listOf(value: unknown, member: string): Record<string, unknown>[] {
  const list = isObject(value) ? value[member] : undefined
  return Array.isArray(list) ? list.filter(isObject) : []
}

function isAbsent({ status, body }: Answer): boolean {
  return status === 404 && errorsOf(body).some(({ code }) => ABSENT.has(Number(code)))
}

function errorsOf(body: string): Record<string, unknown>[] {
  try {
    return listOf(JSON.parse(body), 'errors')
  } catch {
    return []
  }
}

/** Returns the result of an answer. Throws a Failure with Cloudflare's reason if it is an error. */
function resultOf(path: string, { status, body }: Answer): unknown {
  const [first] = errorsOf(body)
  if (status === 401 || status === 403) {
    throw new Failure(
      `Cloudflare refuses ${path}: ${textOf(first?.['message']) || `HTTP ${status}`}.`,
      'The token needs the permissions "Workers Scripts: Edit" and "Workers KV Storage: Edit" of this account.',
    )
  }
  if (status >= 300) {
    throw new Failure(`Cloudflare answers ${path} with ${textOf(first?.['message']) || `HTTP ${status}`}.`)
  }
  const parsed: unknown = JSON.parse(body)
  return isObject(parsed) ? parsed['result'] : undefined
}

async function onlyAccount(send: (path: string) => Promise<Answer>): Promise<string> {
  const result = resultOf('/accounts', await send('/accounts'))
  const accounts = Array.isArray(result) ? result.filter(isObject) : []
  const [only] = accounts
  if (only && accounts.length === 1) return String(only['id'])
  throw new Failure(
    `This login has ${accounts.length} accounts.`,
    'Set CLOUDFLARE_ACCOUNT_ID, or account_id in the wrangler.toml of the edge.',
  )
}

/** Returns the token of `wrangler login`. Throws a Failure if there is none. */
async function loginToken({ root, env }: AccountOptions): Promise<string> {
  const child = spawnWrangler(['auth', 'token', '--json'], {
    root,
    env: { ...env, ...UNATTENDED },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [out] = await Promise.all([child.stdout ? text(child.stdout) : '', once(child, 'close')])
  const token = /"token":\s*"([^"]+)"/.exec(out)?.[1]
  if (child.exitCode === 0 && token !== undefined) return token
  throw new Failure(
    'There is no login for Cloudflare.',
    'Run `npx wrangler login`, or set CLOUDFLARE_API_TOKEN and CLOUDFLARE_ACCOUNT_ID.',
  )
}
