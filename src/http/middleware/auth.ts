import type { Author } from '../../contract/catalogue.ts'
import type { ApiKey, Config } from '../../contract/config.ts'
import { sha256 } from '../../contract/json.ts'
import type { Caller } from '../../contract/tool.ts'
import { Problem } from '../problem.ts'

export type Scope = 'chat' | 'tools:read' | 'tools:write' | 'tools:admin' | 'approve'

const EVERY_SCOPE: readonly Scope[] = ['chat', 'tools:read', 'tools:write', 'tools:admin', 'approve']
/** How many digits of a key's hash name the key in records. */
const KEY_DIGITS = 12
const LOOPBACK = new Set(['localhost', '127.0.0.1', '[::1]'])

/**
 * Authenticates the caller of a request. `AUTH=keys`: the bearer of a key whose hash is configured. `AUTH=open`:
 * anyone, but only if the request's host is loopback, so that an edge deployed open by mistake answers nobody.
 */
export async function authenticate(request: Request, config: Config, now: number): Promise<Caller> {
  if (config.auth === 'open') return openCaller(request)
  if (config.apiKeys.length === 0) {
    throw new Problem({ status: 503, code: 'auth_not_configured', message: 'No API keys are configured.' })
  }
  const key = /^Bearer +(\S+)$/i.exec(request.headers.get('authorization') ?? '')?.[1]
  const apiKey = key && (await findKey(key, config.apiKeys))
  if (!apiKey)
    throw new Problem({ status: 401, code: 'unauthorized', message: 'Send a valid key: Authorization: Bearer …' })
  if (apiKey.expires <= now) {
    throw new Problem({ status: 401, code: 'key_expired', message: 'This key has expired.' })
  }
  return { tenant: apiKey.tenant, key: apiKey.sha256.slice(0, KEY_DIGITS), scopes: apiKey.scopes }
}

/** Returns the configuration of the caller's API key; undefined for a caller without a key (`AUTH=open`). */
export function apiKeyOf({ apiKeys }: Config, { tenant, key }: Caller): ApiKey | undefined {
  return key === undefined
    ? undefined
    : apiKeys.findLast((each) => each.tenant === tenant && each.sha256.startsWith(key))
}

/** Throws a Problem for a caller without the scope. */
export function requireScope(caller: Caller, scope: Scope): void {
  if (caller.scopes.includes(scope)) return
  throw new Problem({ status: 403, code: 'missing_scope', message: `This needs a key with the scope "${scope}".` })
}

/** Returns the caller as history entries name their author. */
export function authorOf({ tenant, key }: Caller): Author {
  return { tenant, ...(key !== undefined && { key }) }
}

/** Whether a request to this host comes from the machine that the edge runs on. */
export function isLoopback(hostname: string): boolean {
  return LOOPBACK.has(hostname)
}

function openCaller(request: Request): Caller {
  if (isLoopback(new URL(request.url).hostname)) return { tenant: 'local', scopes: EVERY_SCOPE }
  const message = 'AUTH is "open", which is answered on loopback alone; set it to "keys".'
  throw new Problem({ status: 503, code: 'auth_open_not_local', message })
}

/** Finds a key by its hash. Every configured hash is compared to its end, so that timing reveals nothing of any key. */
async function findKey(key: string, keys: readonly ApiKey[]): Promise<ApiKey | undefined> {
  const hash = await sha256(key)
  let match: ApiKey | undefined
  for (const candidate of keys) if (isSame(hash, candidate.sha256)) match = candidate
  return match
}

function isSame(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at)
  return difference === 0
}
