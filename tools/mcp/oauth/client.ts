import { textOf } from '../json.ts'
import { signAssertion } from './assertion.ts'
import type { Target } from './config.ts'
import type { AuthorizationServer } from './discover.ts'
import { fetchJson } from './http.ts'

/** This edge as a client of one authorization server. Credentials never go to another one. */
export interface OAuthClient {
  readonly issuer: string
  readonly id: string
  readonly secret?: string
  readonly method: string
  /** The redirect URI that it was registered with. */
  readonly callback?: string
}

/** Returns the client that the configuration names, if it names one that this authorization server takes. */
export function configuredClient({ oauth }: Target, server: AuthorizationServer): OAuthClient | undefined {
  const { clientId: id, clientSecret: secret, privateKey } = oauth
  if (id === undefined || (isDocument(id) && !server.takesMetadataDocuments)) return undefined
  const method = privateKey ? 'private_key_jwt' : secret === undefined ? 'none' : secretMethod(server)
  return { issuer: server.issuer, id, secret, method }
}

/** Registers a client (RFC 7591). Rejects if the authorization server has no registration or refuses it. */
export async function registerClient(
  { name, oauth, callback }: Target,
  { issuer, registrationEndpoint, authMethods, scopes }: AuthorizationServer,
): Promise<OAuthClient> {
  if (registrationEndpoint === undefined) throw new Error(`set clientId: ${issuer} does not register clients`)
  const isPublic = authMethods.length > 0 && !authMethods.some((method) => method.startsWith('client_secret'))
  const method = isPublic ? 'none' : authMethods.includes('client_secret_basic') ? BASIC : (authMethods[0] ?? BASIC)
  const { status, fields } = await fetchJson(registrationEndpoint, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: `Edgecall (${name})`,
      application_type: 'web',
      ...(oauth.grant === 'authorization_code' && { redirect_uris: [callback], response_types: ['code'] }),
      grant_types: oauth.grant === 'authorization_code' ? [oauth.grant, 'refresh_token'] : [oauth.grant],
      token_endpoint_auth_method: method,
      ...(oauth.scope !== undefined && scopes.length > 0 && { scope: oauth.scope }),
    }),
  })
  const id = textOf(fields['client_id'])
  if (status >= 300 || id === '') throw new Error(`${issuer} refused to register a client (HTTP ${status})`)
  const secret = textOf(fields['client_secret'])
  const grantedMethod = textOf(fields['token_endpoint_auth_method']) || method
  return {
    issuer,
    id,
    ...(secret !== '' && { secret }),
    method: secret === '' ? 'none' : grantedMethod === 'none' ? BASIC : grantedMethod,
    callback,
  }
}

const BASIC = 'client_secret_basic'

function secretMethod({ authMethods }: AuthorizationServer): string {
  return authMethods.includes('client_secret_post') && !authMethods.includes(BASIC) ? 'client_secret_post' : BASIC
}

function isDocument(clientId: string): boolean {
  return clientId.startsWith('https://')
}

/** Returns a token request with the credentials of the client: in a header, in the body, or as a signed assertion. */
export async function tokenRequest(
  { oauth }: Pick<Target, 'oauth'>,
  { id, secret = '', method, issuer }: OAuthClient,
  fields: Readonly<Record<string, string>>,
): Promise<RequestInit> {
  const body = new URLSearchParams(fields)
  const headers = new Headers({ 'content-type': 'application/x-www-form-urlencoded' })
  if (method === BASIC) headers.set('authorization', `Basic ${btoa(`${formEncode(id)}:${formEncode(secret)}`)}`)
  else body.set('client_id', id)
  if (method === 'client_secret_post') body.set('client_secret', secret)
  if (method === 'private_key_jwt') {
    body.set('client_assertion_type', 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer')
    body.set('client_assertion', await signAssertion(oauth.privateKey ?? '', { clientId: id, audience: issuer }))
  }
  return { method: 'POST', headers, body: body.toString() }
}

/** Encodes as forms do (RFC 6749 §2.3.1). */
function formEncode(text: string): string {
  return new URLSearchParams({ '': text }).toString().slice(1)
}
