import { fromBase64Url } from '../../contract/bytes.ts'
import { verifyWithJwks } from 'hono/utils/jwt/jwt'
import { type IdentityProvider, isScopeClaim } from '../../contract/identity-provider.ts'
import { ID } from '../../contract/id.ts'
import { isObject, sha256 } from '../../contract/json.ts'
import type { PublicKeys } from '../../contract/isolate.ts'
import type { ReadToken } from '../../contract/setup.ts'
import type { Caller } from '../../contract/tool.ts'
import { withTimeLimit } from '../../contract/time-limit.ts'
import { messageOf } from '../../contract/thrown.ts'
import { Problem } from '../problem.ts'

/** The header in which Cloudflare Access passes on the token of a request. */
const ACCESS_HEADER = 'cf-access-jwt-assertion'
const JWT = /^[\w-]+\.[\w-]+\.[\w-]+$/
/** How long public keys are cached, and the least time before a token with an unknown key causes another read. */
const FRESH_MS = 60 * 60 * 1000
const LEAST_MS = 60_000
/** How long an identity provider may take to send its keys, and for how long nobody asks it again if it does not. */
const TIMEOUT_MS = 5000
const DIGITS = 12

type PublicKey = JsonWebKey & { readonly kid: string }

/**
 * Returns the caller that a token of an identity provider names; undefined if the request has no token. A token is sent
 * as `Authorization: Bearer`, or added by Cloudflare Access; its audience is that of the provider, or the URL of the path
 * `resource` at this edge. Throws a Problem 401 for a token that is not valid, 403
 * for one whose claims give no tenant, and for a request of another site that Access let through by its cookie.
 */
export async function callerOfToken(
  request: Request,
  bearer: string | undefined,
  setup: Parameters<ReadToken>[2],
  resource?: string,
): Promise<Caller | undefined> {
  const token = bearer ?? request.headers.get(ACCESS_HEADER) ?? ''
  const { config } = setup
  if (config.identityProviders.length === 0 || !JWT.test(token)) return undefined
  const issuer = issuerOf(token)
  const provider = config.identityProviders.find((each) => each.issuer === issuer)
  if (!provider) throw invalidToken('The issuer of this token is not an identity provider of this edge.')
  const claims = await verify(
    token,
    provider,
    resource === undefined ? [] : [new URL(resource, request.url).href],
    setup,
  )
  if (bearer === undefined) checkSite(request, config.corsOrigins)
  const tenant = typeof provider.tenant === 'string' ? provider.tenant : readClaim(claims, provider.tenant.claim)
  if (typeof tenant !== 'string' || !ID.test(tenant)) {
    throw new Problem({ status: 403, code: 'no_tenant', message: 'This token names no tenant of this edge.' })
  }
  const name = (await sha256(JSON.stringify([issuer, claims['sub']]))).slice(0, DIGITS)
  return { tenant, key: `${provider.id}:${name}`, scopes: scopesOf(claims, provider.scopes) }
}

async function verify(
  token: string,
  provider: IdentityProvider,
  resources: readonly string[],
  setup: Parameters<ReadToken>[2],
): Promise<Readonly<Record<string, unknown>>> {
  const { issuer, audience, algorithm } = provider
  const options = { verification: { iss: issuer, aud: [audience, ...resources] }, allowedAlgorithms: [algorithm] }
  const cachedKeys = await currentKeys(provider, setup, FRESH_MS)
  const claims =
    (await checked(() => verifyWithJwks(token, { ...options, keys: cachedKeys }))) ??
    (await checked(async () =>
      verifyWithJwks(token, { ...options, keys: await currentKeys(provider, setup, LEAST_MS) }),
    ))
  // A token without an expiry could never be revoked.
  if (!claims || typeof claims['exp'] !== 'number' || typeof claims['sub'] !== 'string') {
    throw invalidToken('This token is invalid or has expired.')
  }
  return claims
}

async function checked<Claims>(verified: () => Promise<Claims>): Promise<Claims | undefined> {
  try {
    return await verified()
  } catch (error) {
    if (error instanceof Problem) throw error
    return undefined
  }
}

/**
 * Returns the provider's public keys, read again if they are older. If that fails, the older ones still count; they do, too,
 * for all other requests while one reads them again because of their age.
 */
async function currentKeys(
  provider: IdentityProvider,
  { isolate, report }: Parameters<ReadToken>[2],
  mostAgeMs: number,
): Promise<PublicKey[]> {
  const keySets = (isolate.publicKeys ??= new Map<string, PublicKeys>())
  let cached = keySets.get(provider.id)
  const now = Date.now()
  if (cached && (now - cached.at < mostAgeMs || now - (cached.failedAt ?? 0) < TIMEOUT_MS)) return [...cached.keys]
  if (cached && mostAgeMs === FRESH_MS) {
    cached = { ...cached, at: now - FRESH_MS + LEAST_MS }
    keySets.set(provider.id, cached)
  }
  try {
    const keys = await withTimeLimit(TIMEOUT_MS, async (signal): Promise<readonly unknown[]> => {
      const response = await fetch(provider.jwks, { redirect: 'manual', signal })
      if (!response.ok) throw new Error(`the request for the public keys was answered with status ${response.status}`)
      const body: unknown = await response.json()
      if (isObject(body) && Array.isArray(body['keys'])) return body['keys']
      throw new Error('the request for the public keys was answered without keys')
    })
    keySets.set(provider.id, { keys: keys.filter(isPublicKey), at: Date.now() })
  } catch (error) {
    report({ event: 'identity_provider.failed', provider: provider.id, detail: messageOf(error) })
    // Another request may have read them meanwhile.
    const current = keySets.get(provider.id)
    if (!current) {
      const message = 'The keys of the identity provider cannot be fetched now.'
      throw new Problem({ status: 503, code: 'identity_unavailable', message, retryAfterMs: TIMEOUT_MS })
    }
    if (current === cached) keySets.set(provider.id, { ...current, failedAt: Date.now() })
  }
  return [...(keySets.get(provider.id)?.keys ?? [])]
}

function isPublicKey(value: unknown): value is PublicKey {
  return isObject(value) && typeof value['kid'] === 'string' && value['kty'] !== 'oct'
}

/** Reads the `iss` of a token before its signature is checked: it only says whose keys to check it with. */
function issuerOf(token: string): unknown {
  try {
    const claims: unknown = JSON.parse(new TextDecoder().decode(fromBase64Url(token.split('.')[1] ?? '')))
    return isObject(claims) ? claims['iss'] : undefined
  } catch {
    return undefined
  }
}

/** Returns a claim; Cloudflare Access has those of the provider behind it in `custom`. */
function readClaim(claims: Readonly<Record<string, unknown>>, name: string): unknown {
  const { custom } = claims
  return Object.hasOwn(claims, name) ? claims[name] : isObject(custom) && Object.hasOwn(custom, name) && custom[name]
}

function scopesOf(claims: Readonly<Record<string, unknown>>, scopes: IdentityProvider['scopes']): readonly string[] {
  if ('length' in scopes) return scopes
  const claim = readClaim(claims, scopes.claim)
  const value = typeof claim === 'string' && isScopeClaim(scopes.claim) ? claim.split(' ') : claim
  const values: unknown[] = Array.isArray(value) ? value : [value]
  const scopesOfClaim = values.flatMap((each) =>
    typeof each === 'string' && Object.hasOwn(scopes.map, each) ? (scopes.map[each] ?? []) : [],
  )
  return [...new Set(scopesOfClaim)]
}

/** Refuses a request that a page of another site made: the browser adds the cookie of Access to that too. */
function checkSite(request: Request, corsOrigins: readonly string[]): void {
  if (request.method === 'GET' || request.method === 'HEAD') return
  const origin = request.headers.get('origin')
  const isOwn =
    origin === null
      ? request.headers.get('sec-fetch-site') !== 'cross-site'
      : origin === new URL(request.url).origin || corsOrigins.includes(origin)
  if (isOwn) return
  throw new Problem({ status: 403, code: 'cross_site', message: 'Pages of other sites may not send this request.' })
}

function invalidToken(message: string): Problem {
  return new Problem({ status: 401, code: 'unauthorized', message })
}
