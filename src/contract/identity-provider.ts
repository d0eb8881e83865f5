import { type CallerTerms, callerTerms, isLike, isStrings, objectsVar, PLACE } from './api-key.ts'
import { ID } from './id.ts'
import { isObject } from './json.ts'
import { ConfigError, type Vars } from './vars.ts'

/** An identity provider, whose signed tokens (JWT, RFC 7519) name callers. */
export interface IdentityProvider extends CallerTerms {
  /** Prefix of the names of its callers in records. */
  readonly id: string
  /** The exact `iss` of its tokens. */
  readonly issuer: string
  /** What `aud` of its tokens must contain. */
  readonly audience: string
  /** The URL of its public keys (JWKS, RFC 7517). Default: that of Cloudflare Access, `<issuer>/cdn-cgi/access/certs`. */
  readonly jwks: string
  /** The one algorithm that its tokens are signed with. */
  readonly algorithm: Algorithm
  /** The tenant of all its callers, or the claim that names it. */
  readonly tenant: string | { readonly claim: string }
  /** The scopes of all its callers, or those by the values of a claim, such as groups. */
  readonly scopes:
    | readonly string[]
    | { readonly claim: string; readonly map: Readonly<Record<string, readonly string[]>> }
}

const ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'] as const
export type Algorithm = (typeof ALGORITHMS)[number]

const PROVIDERS = `a JSON array of { "id": 1 to 64 letters, digits, "_" or "-", once each, "issuer": https URL, "audience": text, "jwks"?: https URL, "algorithm"?: "RS256" (the default) or another of RS, PS, ES and EdDSA, "tenant": as the id, or { "claim": text }, "scopes": [texts], or { "claim": text, "map": { value: [texts] } }, "rate"?, "budget"?, ${PLACE} }`

/** Reads `IDENTITY_PROVIDERS`. Throws a ConfigError that says what is expected, and never what there is. */
export function readIdentityProviders(vars: Vars): IdentityProvider[] {
  const wrong = new ConfigError('IDENTITY_PROVIDERS', PROVIDERS)
  const providers = objectsVar(vars, 'IDENTITY_PROVIDERS', PROVIDERS).map((entry): IdentityProvider => {
    const { id, issuer, audience, jwks, algorithm = 'RS256', tenant, scopes } = entry
    const allowedAlgorithm = ALGORITHMS.find((each) => each === algorithm)
    if (!isLike(id, ID) || !isUrl(issuer) || !isLike(audience, /./) || !allowedAlgorithm) throw wrong
    const keysUrl = jwks ?? `${issuer.replace(/\/+$/, '')}/cdn-cgi/access/certs`
    if (!isUrl(keysUrl) || !isTenant(tenant) || !isScopes(scopes)) throw wrong
    const terms = callerTerms(entry, 'IDENTITY_PROVIDERS', PROVIDERS)
    return { id, issuer, audience, jwks: keysUrl, algorithm: allowedAlgorithm, tenant, scopes, ...terms }
  })
  if (new Set(providers.map(({ id }) => id)).size < providers.length) throw wrong
  return providers
}

/**
 * Whether a claim has the scopes that a client has asked for: `scope` (RFC 9068), or `scp`, as some providers call it.
 * A text in it is a list with spaces.
 */
export function isScopeClaim(name: string): boolean {
  return name === 'scope' || name === 'scp'
}

function isTenant(value: unknown): value is IdentityProvider['tenant'] {
  return isLike(value, ID) || (isObject(value) && isLike(value['claim'], /./))
}

function isScopes(value: unknown): value is IdentityProvider['scopes'] {
  if (isStrings(value)) return true
  if (!isObject(value) || !isLike(value['claim'], /./)) return false
  const { map } = value
  return isObject(map) && Object.values(map).every(isStrings)
}

/** An https URL; on a developer's machine, also http of loopback. */
function isUrl(value: unknown): value is string {
  return isLike(value, /^(?:https:\/\/|http:\/\/(?:127\.0\.0\.1|localhost)[:/])/) && URL.canParse(value)
}
