import { textOf } from '../json.ts'
import type { Challenge } from './challenge.ts'
import { checkEndpoint, fetchJson } from './http.ts'

/** An authorization server, as its metadata describes it (RFC 8414). */
export interface AuthorizationServer {
  readonly issuer: string
  readonly authorizationEndpoint: string
  readonly tokenEndpoint: string
  readonly registrationEndpoint?: string
  readonly scopes: readonly string[]
  readonly authMethods: readonly string[]
  readonly takesMetadataDocuments: boolean
  /** Whether its redirects always name it by `iss` (RFC 9207). */
  readonly namesItself: boolean
}

/** Where and for what access to a server is granted. */
export interface Discovery {
  readonly authorizationServer: AuthorizationServer
  /** The resource that tokens are for (RFC 8707). */
  readonly resource: string
  /** The scopes that the server names in its metadata. */
  readonly scopes: readonly string[]
}

/**
 * Finds the authorization server of an MCP server: by the server's metadata (RFC 9728), or at the server's own origin
 * for an older one. `choose` returns one of those that the server names, or rejects. Rejects with an Error if the
 * metadata is missing, speaks for another server, or names addresses that are not public.
 */
export async function discover(
  serverUrl: string,
  { resourceMetadata }: Challenge,
  choose: (issuers: readonly [string, ...string[]]) => Promise<string>,
): Promise<Discovery> {
  const { origin, pathname } = new URL(serverUrl)
  const wellKnown = `${origin}/.well-known/oauth-protected-resource`
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const addresses = resourceMetadata === undefined ? [`${wellKnown}${path}`, wellKnown] : [resourceMetadata]
  const fields = await firstFound(addresses, serverUrl)
  if (!fields) {
    const issuer = await choose([origin])
    const authorizationServer = await describeServer(issuer, serverUrl)
    return { authorizationServer: authorizationServer ?? withoutMetadata(issuer), resource: serverUrl, scopes: [] }
  }
  const resource = textOf(fields['resource'])
  if (!coversUrl(resource, serverUrl)) throw new Error(`its metadata is that of another resource, "${resource}"`)
  const [first = origin, ...others] = textsOf(fields['authorization_servers'])
  const issuer = await choose([first, ...others])
  const authorizationServer = await describeServer(issuer, serverUrl)
  if (!authorizationServer) throw new Error(`its authorization server ${issuer} has no metadata`)
  return { authorizationServer, resource, scopes: textsOf(fields['scopes_supported']) }
}

async function firstFound(
  addresses: readonly string[],
  serverUrl: string,
): Promise<Readonly<Record<string, unknown>> | undefined> {
  for (const address of addresses) {
    const { status, fields } = await fetchJson(checkEndpoint(address, serverUrl))
    if (status === 200) return fields
  }
  return undefined
}

/** Whether a resource is the server, or a path above it. */
function coversUrl(resource: string, serverUrl: string): boolean {
  if (!URL.canParse(resource)) return false
  const [outer, inner] = [new URL(resource), new URL(serverUrl)]
  const base = outer.pathname.replace(/\/$/, '')
  return outer.origin === inner.origin && (inner.pathname === base || inner.pathname.startsWith(`${base}/`))
}

/** Reads the metadata of an issuer; undefined if there is none. */
async function describeServer(issuer: string, serverUrl: string): Promise<AuthorizationServer | undefined> {
  const { origin, pathname } = new URL(checkEndpoint(issuer, serverUrl))
  const path = pathname === '/' ? '' : pathname.replace(/\/$/, '')
  const fields = await firstFound(
    [
      `${origin}/.well-known/oauth-authorization-server${path}`,
      `${origin}/.well-known/openid-configuration${path}`,
      ...(path === '' ? [] : [`${origin}${path}/.well-known/openid-configuration`]),
    ],
    serverUrl,
  )
  if (!fields) return undefined
  // Compared as texts (RFC 8414 §3.3): metadata of another issuer could lead anywhere.
  if (fields['issuer'] !== issuer) throw new Error(`the metadata of ${issuer} names another issuer`)
  const challenges = fields['code_challenge_methods_supported']
  if (challenges !== undefined && !textsOf(challenges).includes('S256')) throw new Error(`${issuer} has no PKCE`)
  const registration = fields['registration_endpoint']
  return {
    issuer,
    authorizationEndpoint: endpointOf(fields['authorization_endpoint'], serverUrl),
    tokenEndpoint: checkEndpoint(fields['token_endpoint'], serverUrl),
    ...(registration !== undefined && { registrationEndpoint: checkEndpoint(registration, serverUrl) }),
    scopes: textsOf(fields['scopes_supported']),
    authMethods: textsOf(fields['token_endpoint_auth_methods_supported']),
    takesMetadataDocuments: fields['client_id_metadata_document_supported'] === true,
    namesItself: fields['authorization_response_iss_parameter_supported'] === true,
  }
}

/** An authorization server of machines alone has no authorization endpoint. */
function endpointOf(address: unknown, serverUrl: string): string {
  return address === undefined ? '' : checkEndpoint(address, serverUrl)
}

/** The endpoints of a server of the revision 2025-03-26 without metadata. */
function withoutMetadata(issuer: string): AuthorizationServer {
  return {
    issuer,
    authorizationEndpoint: `${issuer}/authorize`,
    tokenEndpoint: `${issuer}/token`,
    registrationEndpoint: `${issuer}/register`,
    scopes: [],
    authMethods: [],
    takesMetadataDocuments: false,
    namesItself: false,
  }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : []
}
