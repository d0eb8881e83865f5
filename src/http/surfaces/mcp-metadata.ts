import { Hono } from 'hono/tiny'
import type { Scope } from '../../contract/api-key.ts'
import { isScopeClaim } from '../../contract/identity-provider.ts'
import type { Setup } from '../../contract/setup.ts'
import type { EdgeEnv } from '../context.ts'
import type { ProblemDetails } from '../problem.ts'
import type { ProblemContext, Surface } from '../surface.ts'

/** The scopes that each request to `/mcp` needs. */
export const MCP_SCOPES: readonly Scope[] = ['tools:read', 'chat']

const PATH = '/.well-known/oauth-protected-resource'

const app = new Hono<EdgeEnv>()
for (const path of ['/', '/mcp']) app.get(path, (c) => c.json(metadata(c.req.url, c.env.setup)))

/**
 * What clients read to sign in to `/mcp`: its metadata as a protected resource of OAuth 2.0 (RFC 9728), at the address
 * that is made of its own, and at that of the whole edge, where some clients look.
 */
export const mcpMetadata: Surface = { routes: { [PATH]: app }, isPublic: true, anyOrigin: true }

function metadata(url: string, setup: Setup): object {
  const issuers = setup.config.identityProviders.map(({ issuer }) => issuer)
  // Clients sign in with the first.
  if (setup.signIn) issuers.unshift(new URL(url).origin)
  const scopes = requestableScopes(setup)
  return {
    resource: new URL('/mcp', url).href,
    // RFC 9728 leaves out lists without elements.
    ...(issuers.length > 0 && { authorization_servers: issuers }),
    ...(scopes.length > 0 && { scopes_supported: scopes }),
    bearer_methods_supported: ['header'],
  }
}

/**
 * Returns the header `WWW-Authenticate` (RFC 6750, RFC 9728) of a refusal that a sign-in can change: where the metadata
 * is, and which scopes to ask for.
 */
export function challenge(
  { status, code }: ProblemDetails,
  { request, setup }: ProblemContext,
): Readonly<Record<string, string>> | undefined {
  const lacksScope = code === 'missing_scope'
  if (status !== 401 && !lacksScope) return undefined
  const parameters = [['resource_metadata', new URL(`${PATH}/mcp`, request.url).href]]
  const scopes = requestableScopes(setup)
  if (scopes.length > 0) parameters.push(['scope', scopes.join(' ')])
  if (lacksScope) parameters.push(['error', 'insufficient_scope'])
  else if (request.headers.has('authorization')) parameters.push(['error', 'invalid_token'])
  return { 'www-authenticate': `Bearer ${parameters.map(([name, value]) => `${name}="${value}"`).join(', ')}` }
}

/**
 * Returns the scopes by which the edge, or the first identity provider, with which clients sign in, can be asked for what
 * `/mcp` needs. None, if the provider gives scopes to its callers by other claims: it may refuse to sign in clients that
 * ask for scopes that it does not know.
 */
function requestableScopes({ signIn, config }: Setup): readonly string[] {
  if (signIn) return MCP_SCOPES
  const [provider] = config.identityProviders
  if (!provider || !('claim' in provider.scopes) || !isScopeClaim(provider.scopes.claim)) return []
  return Object.entries(provider.scopes.map).flatMap(([name, scopes]) =>
    SCOPE_TOKEN.test(name) && MCP_SCOPES.some((scope) => scopes.includes(scope)) ? [name] : [],
  )
}

/** What RFC 6749 allows as the name of a scope. */
export const SCOPE_TOKEN = /^[\x21\x23-\x5b\x5d-\x7e]+$/
