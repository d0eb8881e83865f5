import { type ApiKey, isStrings, type Scope, SCOPES } from '../../contract/api-key.ts'
import type { Author } from '../../contract/catalogue.ts'
import { parseJson, sha256 } from '../../contract/json.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { KeyStates, Report, Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import type { Caller } from '../../contract/tool.ts'
import { Problem } from '../problem.ts'
import type { Dialect } from '../surface.ts'

const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Authenticates the caller of a request. `AUTH=keys`: the bearer of a key whose hash is configured, or of a token of a
 * configured identity provider, which may also come in the header `keyHeader`, and may be for the `resource`. `AUTH=open`: anyone, but only if the
 * request's host is loopback, so that an edge deployed open by mistake answers nobody.
 */
export async function authenticate(
  request: Request,
  setup: Setup,
  now: number,
  { keyHeader, resource }: Partial<Dialect> = {},
): Promise<Caller> {
  const { config, keyStates, storedKeys, identityTokens } = setup
  if (config.auth === 'open') return openCaller(request)
  const { apiKeys, identityProviders } = config
  if (apiKeys.length === 0 && identityProviders.length === 0 && !storedKeys) {
    throw new Problem({ status: 503, code: 'auth_not_configured', message: 'No API keys are configured.' })
  }
  const { headers } = request
  const authorization = headers.get('authorization')
  // If a request has both, `Authorization` counts.
  const bearer = /^Bearer +(\S+)$/i.exec(authorization ?? '')?.[1] ?? (keyHeader && headers.get(keyHeader)) ?? undefined
  const caller = (await identityTokens?.(request, bearer, setup, resource)) ?? (await callerOfKey(bearer, setup, now))
  if (await keyStates?.isDisabled(caller.key ?? '')) throw keyDisabled()
  return caller
}

function keyDisabled(): Problem {
  return new Problem({ status: 401, code: 'key_disabled', message: 'This key has been disabled.' })
}

/** Returns the caller of an API key. Throws a Problem 401 unless there is one, neither expired nor stored as disabled. */
export async function callerOfKey(
  bearer: string | undefined,
  { config, storedKeys }: Setup,
  now: number,
): Promise<Caller> {
  const hash = bearer && (await sha256(bearer))
  const configured = hash ? findKey(hash, config.apiKeys) : undefined
  const stored = hash && !configured ? await storedKeys?.find(hash) : undefined
  const apiKey = configured ?? stored
  if (!apiKey)
    throw new Problem({ status: 401, code: 'unauthorized', message: 'Send a valid key: Authorization: Bearer …' })
  if (apiKey.expires <= now) {
    throw new Problem({ status: 401, code: 'key_expired', message: 'This key has expired.' })
  }
  if (stored?.disabled) throw keyDisabled()
  return { tenant: apiKey.tenant, key: apiKey.id, scopes: apiKey.scopes }
}

/** Throws a Problem for a caller without the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return
  throw new Problem({
    status: 403,
    code: 'missing_scope',
    message: `This request needs a key with the scope "${scope}".`,
  })
}

/** Returns the caller as history entries name their author. */
export function authorOf({ tenant, key }: Caller): Author {
  return { tenant, key }
}

/** Whether a request to this host comes from the machine that the edge runs on. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.has(hostname)
}

function openCaller(request: Request): Caller {
  if (isLoopback(new URL(request.url).hostname)) return { tenant: 'local', scopes: SCOPES }
  const message = 'AUTH is "open", which serves loopback addresses only; set it to "keys".'
  throw new Problem({ status: 403, code: 'auth_open_not_local', message })
}

/** Finds a key by its hash. Compares with every configured hash in constant time. */
function findKey(hash: string, keys: readonly ApiKey[]): ApiKey | undefined {
  let match: ApiKey | undefined
  for (const candidate of keys) for (const each of candidate.sha256) if (isSame(hash, each)) match = candidate
  return match
}

function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at)
  return difference === 0
}

/** The part of a KV namespace that is used here. */
export interface KeyNamespace {
  get(key: string, options: { readonly type: 'text'; readonly cacheTtl: number }): Promise<string | null>
  put(key: string, value: string, options: { readonly expirationTtl: number }): Promise<void>
}

interface KeyStatesOptions {
  readonly namespace: KeyNamespace
  readonly report: Report
  readonly now?: () => number
}

/** The list's key in KV: a JSON array of the ids of disabled keys. */
const DISABLED = 'disabled'
const FRESH_MS = 5000
/** The shortest time for which KV can cache a value at a location, in seconds. */
const CACHE_SECONDS = 30
/**
 * How long the last use of a key is stored, in seconds. It must expire, because each caller of an identity provider
 * counts as a key.
 */
const USED_SECONDS = 400 * 24 * 60 * 60
/** How often, at most, an isolate records that a key is used. */
const USED_MS = 10 * 60 * 1000
/** For how many keys an isolate remembers that it has recorded their use. */
const MOST_KEYS = 10_000

/**
 * Reads from KV which keys are disabled, at most every five seconds. Records under `used:<id>` when a key was last
 * used, to within ten minutes, and stores that for 400 days. If KV fails, the list that was read last still applies; if
 * none was read yet, every request is refused.
 */
export function keyStates({ namespace, report, now = Date.now }: KeyStatesOptions): KeyStates {
  let disabled: ReadonlySet<string> | undefined
  let readAt = -Infinity
  const used = new RecentMap<string, true>({ most: MOST_KEYS, maxAgeMs: USED_MS, now })
  return {
    isDisabled: async (id) => {
      if (now() - readAt >= FRESH_MS) {
        readAt = now()
        try {
          const list = parseJson((await namespace.get(DISABLED, { type: 'text', cacheTtl: CACHE_SECONDS })) ?? '[]')
          if (!isStrings(list)) throw new TypeError('"disabled" in KEYS is not a JSON array of strings')
          disabled = new Set(list)
        } catch (error) {
          report({ event: 'keys.unreadable', detail: messageOf(error) })
        }
      }
      if (disabled) return disabled.has(id)
      readAt = -Infinity
      const message = 'Whether this key is disabled cannot be checked now.'
      throw new Problem({ status: 503, code: 'keys_unavailable', message, retryAfterMs: FRESH_MS })
    },
    used: async (id) => {
      if (used.get(id)) return
      used.set(id, true)
      await namespace
        .put(`used:${id}`, new Date(now()).toISOString(), { expirationTtl: USED_SECONDS })
        .catch((error: unknown) => {
          report({ event: 'keys.use_lost', key: id, detail: messageOf(error) })
        })
    },
  }
}
