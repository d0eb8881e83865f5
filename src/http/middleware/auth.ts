import { type ApiKey, type Scope, SCOPES } from '../../contract/api-key.ts'
import type { Author } from '../../contract/catalogue.ts'
import { sha256 } from '../../contract/json.ts'
import type { Setup } from '../../contract/setup.ts'
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
