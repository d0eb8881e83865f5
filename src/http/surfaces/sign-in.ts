import {
  AuthorizationError,
  type AuthRequest,
  authorizationErrorRedirect,
  CimdFetchError,
  OAuthAuthorizationServer,
  OAuthError,
} from '@cloudflare/workers-oauth-provider'
import type { Context } from 'hono'
import { Hono } from 'hono/tiny'
import { keyOfCaller } from '../../contract/caller-terms.ts'
import { sha256 } from '../../contract/json.ts'
import { readBody } from '../../contract/bytes.ts'
import type { ReadToken, Setup, SignIn } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { withDeadline, withTimeLimit } from '../../contract/time-limit.ts'
import type { Caller } from '../../contract/tool.ts'
import type { EdgeEnv } from '../context.ts'
import { callerOfKey, isLoopback } from '../middleware/auth.ts'
import { countWrongKey } from '../middleware/rate.ts'
import { Problem, type ProblemDetails, problemHeaders } from '../problem.ts'
import { bodyTooLarge } from '../request-body.ts'
import type { Surface } from '../surface.ts'
import { MCP_SCOPES } from './mcp-metadata.ts'
import { type ConsentForm, consentPage, faultPage, messagePage, returnPage } from './sign-in-page.ts'
import { refreshGrant } from './sign-in-refresh.ts'

/** The scheme of a redirect URI: of the web, of a domain name (RFC 8252), or of an editor that has one without. */
const REDIRECT_SCHEME = /^(?:https?|cursor|vscode|vscode-insiders|windsurf|[a-z][a-z\d+-]*\.[a-z\d.+-]+):/i
/** What tokens look like: the id of the key, the id of the grant, and a secret. */
const TOKEN = /^[\w-]+:[^:]+:[^:]+$/
/** The most bytes of what clients and people send, and the most fields of a form without those of scopes. */
const MOST_BYTES = 16 * 1024
const MOST_FIELDS = 20
/** A grant that no client uses for this long ends. */
const IDLE_SECONDS = 30 * 24 * 60 * 60

/** What a grant stores of the key that a person signed in with. The library encrypts it with the client's token. */
interface GrantedKey {
  readonly tenant: string
  readonly key: string
  readonly sha256: string
}

type KeySetup = Parameters<ReadToken>[2]

/** What the library needs of the env. */
interface Bindings {
  readonly OAUTH_KV: object
}

/** The library’s server, which takes no more of a context than this edge has. */
interface Server {
  fetch(request: Request, env: Bindings, context: object): Promise<Response>
  getOAuthApi(env: Bindings): ReturnType<OAuthAuthorizationServer['getOAuthApi']>
  validateToken(
    resource: string,
    token: string,
    env: Bindings,
  ): Promise<{ readonly props: GrantedKey; readonly scope: readonly string[] } | null>
}

const TOKEN_PATH = '/oauth/token'

const page = new Hono<EdgeEnv>()
const endpoints = new Hono<EdgeEnv>()

/**
 * The edge as an authorization server (OAuth 2.1) for its `/mcp`: the page on which people sign in with an API key, and the
 * endpoints of clients, for metadata (RFC 8414), registration (RFC 7591), tokens and their revocation (RFC 7009).
 */
export const signIn: readonly Surface[] = [
  {
    routes: { '/oauth/authorize': page },
    isPublic: true,
    dialect: { under: '/oauth/authorize', answer: ({ details }) => errorPage(details) },
  },
  {
    routes: {
      '/.well-known/oauth-authorization-server': endpoints,
      '/oauth/register': endpoints,
      [TOKEN_PATH]: endpoints,
    },
    isPublic: true,
    anyOrigin: true,
    dialect: { under: '/oauth/', answer: ({ details }) => oauthError(details) },
  },
]

endpoints.all('/', async (c) => {
  const { setup } = c.env
  const { raw } = c.req
  const { grants } = signInOf(setup)
  const server = serverAt(raw.url, setup)
  const text = raw.body ? await readText(raw) : undefined
  const perform = (namespace: object) => {
    const request = text === undefined ? raw : new Request(raw, { method: raw.method, body: text })
    return server.fetch(request, { OAUTH_KV: namespace }, {})
  }
  if (text === undefined || c.req.path !== TOKEN_PATH) return perform(grants)
  const form = readForm(text)
  const token = form.get('refresh_token')
  if (form.get('grant_type') !== 'refresh_token' || token === null) return perform(grants)
  const content = `${raw.headers.get('authorization') ?? ''}\n${text}`
  return refreshGrant({ token, content, grants, isolate: setup.isolate, perform, endGrant })

  async function endGrant(grant: string, user: string): Promise<void> {
    setup.report({ event: 'sign_in.reused', key: user })
    await server.getOAuthApi({ OAUTH_KV: grants }).revokeGrant(grant, user)
  }
})

page.get('/', async (c) => {
  const { raw } = c.req
  const api = oauthApi(c)
  if (!REDIRECT_SCHEME.test(c.req.query('redirect_uri') ?? ''))
    throw refusal('This app cannot be opened by its address.')
  try {
    const request = await api.parseAuthRequest(raw)
    await refuseRedirected(request.clientId)
    if (request.codeChallenge) return await askConsent(c, request)
    // The library lets clients with a secret go without.
    const text = 'PKCE with S256 is required.'
    return faultPage(text, authorizationErrorRedirect(request, 'invalid_request', text))
  } catch (error) {
    if (error instanceof AuthorizationError && error.redirectTo) return faultPage(sentence(error), error.redirectTo)
    throw asProblem(error)
  }
})

page.post('/', async (c) => {
  const { setup } = c.env
  const { raw } = c.req
  const form = readForm(await readText(raw), MOST_FIELDS + signInOf(setup).scopes.length)
  const api = oauthApi(c)
  const handle = form.get('handle') ?? ''
  try {
    if (form.get('decision') !== 'allow') {
      const { redirectTo, headers } = await api.denyConsent(raw, handle)
      return returnPage(redirectTo, headers)
    }
    const { request, headers } = await api.approveConsent(raw, handle)
    const scopes = signInOf(setup).scopes.filter((scope) => form.getAll('scope').includes(scope))
    const key = await enteredKey(c, form.get('key')?.trim() ?? '', scopes)
    if ('message' in key) return await askConsent(c, request, { scopes, message: key.message })
    const { redirectTo } = await api.completeAuthorization({
      request,
      userId: key.key,
      metadata: {},
      scope: scopes,
      props: key,
    })
    return returnPage(redirectTo, headers)
  } catch (error) {
    throw asProblem(error)
  }
})

/** Answers with the page that asks a person for a key and for consent: again, if `correction` says what was wrong. */
async function askConsent(
  c: Context<EdgeEnv>,
  request: AuthRequest,
  correction?: { readonly scopes: readonly string[]; readonly message: string },
): Promise<Response> {
  const api = oauthApi(c)
  const { scopes: offered } = signInOf(c.env.setup)
  const client = await api.describeConsent(request)
  const { handle, headers } = await api.beginConsent(request)
  const requested = offered.filter((scope) => request.scope.includes(scope))
  const ticked = correction?.scopes ?? (requested.length > 0 ? requested : MCP_SCOPES)
  const form: ConsentForm = {
    client,
    handle,
    host: new URL(c.req.url).host,
    scopes: offered.map((name) => ({ name, isTicked: ticked.includes(name) })),
    message: correction?.message,
  }
  return consentPage(form, headers)
}

/** Returns the key that a person has entered, if it has these scopes; else what to tell the person. */
async function enteredKey(
  c: Context<EdgeEnv>,
  text: string,
  scopes: readonly string[],
): Promise<GrantedKey | { readonly message: string }> {
  const { setup } = c.env
  if (scopes.length === 0) return { message: 'Choose what the app may do.' }
  let caller: Caller
  try {
    caller = await callerOfKey(text, setup, Date.now())
  } catch (error) {
    if (!(error instanceof Problem) || error.details.status !== 401) throw error
    countWrongKey(setup, c.req.raw)
    return { message: 'This is not a valid key of this edge.' }
  }
  const { tenant, key = '' } = caller
  const lacking = scopes.filter((scope) => !caller.scopes.includes(scope))
  if (lacking.length > 0) return { message: `This key does not have the scope ${lacking.join(', ')}.` }
  const grantedKey = { tenant, key, sha256: await sha256(text) }
  return (await isLive(setup, grantedKey, scopes)) ? grantedKey : { message: 'This key has been disabled.' }
}

/**
 * Returns the caller that an access token of this edge names; undefined if the request has none that is valid. A token is
 * for the one resource that it was issued for, at this origin.
 */
export async function callerOfGrant(
  request: Request,
  bearer: string | undefined,
  setup: KeySetup,
  resource?: string,
): Promise<Caller | undefined> {
  const { origin } = new URL(request.url)
  if (!setup.signIn || bearer === undefined || !TOKEN.test(bearer) || resource !== MCP) return undefined
  if (!isSecure(request.url)) return undefined
  const token = await available(setup, () =>
    serverAt(request.url, setup).validateToken(`${origin}${MCP}`, bearer, { OAUTH_KV: signInOf(setup).grants }),
  )
  if (!token) return undefined
  const { props, scope: scopes } = token
  if (!(await isLive(setup, props, scopes))) {
    throw new Problem({ status: 401, code: 'unauthorized', message: 'The key of this sign-in is not valid any more.' })
  }
  return { tenant: props.tenant, key: props.key, scopes }
}

/** The path of the resource that tokens are for. */
const MCP = '/mcp'

/** Whether the key of a grant still lets callers in, with these scopes. */
async function isLive(
  setup: KeySetup,
  { tenant, key: id, sha256: hash }: GrantedKey,
  scopes: readonly string[],
): Promise<boolean> {
  const key = await keyOfCaller(setup, { tenant, key: id, scopes })
  if (!key?.sha256.includes(hash) || key.expires <= Date.now()) return false
  if ('disabled' in key && key.disabled) return false
  if (!scopes.every((scope) => key.scopes.includes(scope))) return false
  return !(await setup.keyStates?.isDisabled(id))
}

/** Returns the server of the origin of a URL. Throws a Problem if that is neither https nor of this machine. */
function serverAt(url: string, setup: KeySetup): Server {
  const { origin } = new URL(url)
  const { scopes } = signInOf(setup)
  if (!isSecure(url)) throw refusal('People can sign in over https only.')
  return new OAuthAuthorizationServer<Bindings>({
    issuer: origin,
    resources: [`${origin}${MCP}`],
    authorizeEndpoint: '/oauth/authorize',
    tokenEndpoint: TOKEN_PATH,
    clientRegistrationEndpoint: '/oauth/register',
    scopesSupported: [...scopes],
    clientIdMetadataDocumentEnabled: true,
    allowPrivateUseRedirectUris: true,
    refreshTokenIdleTTL: IDLE_SECONDS,
    cookiePrefix: '__Host-edgecall-',
    tokenExchangeCallback: ({ props, scope }) => checkGrant(setup, props, scope),
    onError: ({ status, code, description }) => {
      if (status >= 500) setup.report({ event: 'sign_in.failed', code, detail: description })
    },
  })
}

function isSecure(url: string): boolean {
  const { protocol, hostname } = new URL(url)
  return protocol === 'https:' || isLoopback(hostname)
}

/** Throws an error for the client unless the key of a grant is still valid: then the library ends the grant. */
async function checkGrant(setup: KeySetup, key: GrantedKey, scopes: readonly string[]): Promise<void> {
  let isValid: boolean
  try {
    isValid = await isLive(setup, key, scopes)
  } catch (error) {
    const description = messageOf(error)
    throw new OAuthError('temporarily_unavailable', { description, statusCode: 503, headers: { 'retry-after': '5' } })
  }
  if (!isValid) throw new OAuthError('invalid_grant', { description: 'The key of this sign-in is not valid any more.' })
}

/** How long KV may take to say of a token whose it is, in milliseconds. */
const GRANTS_MS = 2000

/** Performs work on the namespace of grants. Throws a Problem 503 if that cannot be read, or does not answer. */
async function available<Value>({ report }: KeySetup, work: () => Promise<Value>): Promise<Value> {
  try {
    return await withDeadline(GRANTS_MS, work())
  } catch (error) {
    if (error instanceof Problem) throw error
    report({ event: 'sign_in.failed', detail: messageOf(error) })
    const message = 'Whether this token is valid cannot be checked now.'
    throw new Problem({ status: 503, code: 'keys_unavailable', message, retryAfterMs: RETRY_MS })
  }
}

const RETRY_MS = 5000

function oauthApi({ env: { setup }, req }: Context<EdgeEnv>): ReturnType<Server['getOAuthApi']> {
  return serverAt(req.url, setup).getOAuthApi({ OAUTH_KV: signInOf(setup).grants })
}

/** Returns what the edge needs to be an authorization server. Throws a Problem 404 where nobody needs to sign in. */
function signInOf({ signIn: service }: Pick<Setup, 'signIn'>): SignIn {
  if (service) return service
  throw new Problem({ status: 404, code: 'not_found', message: 'AUTH is "open": nobody needs to sign in.' })
}

/** Reads a body. Throws a Problem 413 for one that is larger than any client sends. */
async function readText(request: Request): Promise<string> {
  const { bytes, isComplete } = await readBody(request, MOST_BYTES)
  if (isComplete) return new TextDecoder().decode(bytes)
  throw bodyTooLarge(MOST_BYTES)
}

/** Parses a form. Throws a Problem 400 for one of more fields: the library compares each with all others. */
function readForm(text: string, most = MOST_FIELDS): URLSearchParams {
  if (text.split('&', most + 1).length <= most) return new URLSearchParams(text)
  throw refusal(`A form has at most ${most} fields.`)
}

function refusal(message: string): Problem {
  return new Problem({ status: 400, code: 'invalid_request', message })
}

/**
 * Throws a Problem if the address that is the id of a client redirects: the library follows that, and the page would name the
 * site of the address as the publisher of what another site has written.
 */
async function refuseRedirected(clientId: string): Promise<void> {
  if (!clientId.startsWith('https:')) return
  const options = { redirect: 'manual', headers: { accept: 'application/json' } } as const
  const response = await withTimeLimit(DESCRIPTION_MS, (signal) => fetch(clientId, { ...options, signal })).catch(
    () => {
      throw refusal(UNREADABLE)
    },
  )
  await response.body?.cancel()
  if (!response.ok) throw refusal(UNREADABLE)
}

/** How long a site may take to send the description of a client, in milliseconds. */
const DESCRIPTION_MS = 5000
const UNREADABLE = 'The description of this app cannot be read.'

/** Returns the Problem of a request that must not be sent back to its client, since that is not known to be the client. */
function asProblem(error: unknown): unknown {
  if (error instanceof AuthorizationError) return refusal(sentence(error))
  return error instanceof CimdFetchError ? refusal(UNREADABLE) : error
}

/** Returns the description of an error of the library, which may end without a full stop. */
function sentence({ description }: AuthorizationError): string {
  return `${description.replace(/\.$/, '')}.`
}

function errorPage(details: ProblemDetails): Promise<Response> {
  return messagePage(details.message, details.status, problemHeaders(details))
}

/** Answers a client with an error as RFC 6749 has them. */
function oauthError(details: ProblemDetails): Response {
  const { status, message } = details
  const error = status === 429 || status >= 500 ? 'temporarily_unavailable' : 'invalid_request'
  return Response.json({ error, error_description: message }, { status, headers: problemHeaders(details) })
}
