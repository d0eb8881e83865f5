import { execFile } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import { type AddressInfo, createServer } from 'node:net'
import {
  Client as ModernClient,
  type OAuthDiscoveryState,
  StreamableHTTPClientTransport as ModernTransport,
  UnauthorizedError as ModernUnauthorizedError,
} from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { type OAuthClientProvider, UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { OAuthClientInformationMixed, OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { AuthorizationServer } from '../fixtures/authorization-server.ts'
import { launchChromium, missingChromium } from '../fixtures/chromium.ts'
import { apiKey, bearer, keyName, sha256, withKeys } from '../fixtures/keys.ts'

/** An edge that is its own authorization server: people sign in to `/mcp` with an API key. */

const CALLBACK = 'https://client.example.com/callback'
const SCOPES = ['tools:read', 'chat', 'approve', 'finance']

const people = new AuthorizationServer()
let harness: TestHarness
let origin: string

beforeAll(async () => {
  await people.listen()
  const vars = withKeys(
    apiKey('operator', { scopes: ['keys', ...SCOPES] }),
    apiKey('both'),
    apiKey('rated', { rate: 'RATE_STANDARD' }),
    apiKey('reader', { scopes: ['tools:read'] }),
    apiKey('all', { id: 'all', scopes: [...SCOPES, 'tools:admin', 'keys'] }),
  )
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/sign-in-edge/wrangler.toml',
        vars: {
          ...vars,
          IDENTITY_PROVIDERS: JSON.stringify([people.provider()]),
          TOOL_POLICY: JSON.stringify({ ledger: { scopes: ['finance'] } }),
        },
      },
    ],
  })
  const { url } = await harness.listen()
  origin = url.origin
})
afterAll(async () => {
  people.close()
  await harness?.close()
})

const send = (path: string, init: RequestInit = {}) => fetch(new URL(path, origin), { redirect: 'manual', ...init })

async function jsonOf(response: Response): Promise<[status: number, body: any]> {
  return [response.status, await response.json()]
}

function post(path: string, fields: Record<string, string> | URLSearchParams, headers: Record<string, string> = {}) {
  return send(path, { method: 'POST', body: new URLSearchParams(fields), headers })
}

/** The page of the edge as a browser has it: its text, and the cookies that came with it. */
interface Page {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly cookie: string
  readonly handle: string
}

async function pageOf(response: Response): Promise<Page> {
  const text = await response.text()
  const cookie = response.headers
    .getSetCookie()
    .map((each) => each.split(';')[0])
    .join('; ')
  return {
    status: response.status,
    headers: response.headers,
    text,
    cookie,
    handle: /name="handle" value="([^"]*)"/.exec(text)?.[1] ?? '',
  }
}

async function open(url: string): Promise<Page> {
  return pageOf(await send(url))
}

/** Fills in the form of a page. */
async function submit(
  { handle, cookie }: Pick<Page, 'handle' | 'cookie'>,
  {
    key = 'both',
    scopes = ['tools:read', 'chat'],
    decision = 'allow',
  }: { key?: string; scopes?: string[]; decision?: string } = {},
): Promise<Page> {
  const fields = new URLSearchParams({ handle, key, decision })
  for (const scope of scopes) fields.append('scope', scope)
  return pageOf(await post('/oauth/authorize', fields, { cookie }))
}

/** Where a page sends the browser. */
function addressIn({ text }: Page): URL {
  const [, address = ''] = /http-equiv="refresh" content="0;url=([^"]*)"/.exec(text) ?? []
  return new URL(address.replaceAll('&amp;', '&'))
}

async function register(metadata: object = {}): Promise<any> {
  const body = { client_name: 'Notes', redirect_uris: [CALLBACK], token_endpoint_auth_method: 'none', ...metadata }
  const init = { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
  return (await send('/oauth/register', init)).json()
}

interface Attempt {
  readonly client: string
  readonly verifier: string
  /** The address that a browser opens. */
  readonly url: string
}

/** What a client does to have a person sign in; `more` replaces parameters, those that are undefined are left out. */
async function attempt(more: Record<string, string | undefined> = {}, metadata: object = {}): Promise<Attempt> {
  const { client_id: client } = await register(metadata)
  const verifier = randomBytes(32).toString('base64url')
  const parameters = {
    response_type: 'code',
    client_id: client,
    redirect_uri: CALLBACK,
    state: 'the-state',
    scope: 'tools:read chat',
    resource: `${origin}/mcp`,
    code_challenge: createHash('sha256').update(verifier).digest('base64url'),
    code_challenge_method: 'S256',
    ...more,
  }
  const entries = Object.entries(parameters).filter((entry): entry is [string, string] => entry[1] !== undefined)
  return { client, verifier, url: `/oauth/authorize?${new URLSearchParams(entries).toString()}` }
}

function exchange({ client, verifier }: Attempt, code: string, more: Record<string, string> = {}): Promise<Response> {
  const grant = { grant_type: 'authorization_code', code, code_verifier: verifier }
  return post('/oauth/token', { ...grant, client_id: client, redirect_uri: CALLBACK, ...more })
}

function refresh(client: string, token: string, more: Record<string, string> = {}): Promise<Response> {
  return post('/oauth/token', { grant_type: 'refresh_token', refresh_token: token, client_id: client, ...more })
}

/** Signs a person in, from the first request to the tokens. */
async function signedIn({ key = 'both', scopes = ['tools:read', 'chat'] } = {}) {
  const request = await attempt()
  const code = addressIn(await submit(await open(request.url), { key, scopes })).searchParams.get('code') ?? ''
  const [status, tokens] = await jsonOf(await exchange(request, code))
  expect(status).toBe(200)
  return { ...request, code, access: tokens.access_token, refresh: tokens.refresh_token, tokens }
}

/** Whom a tool sees that is called with this token; the status of a refusal. */
async function callerWith(token: string, base = origin): Promise<unknown> {
  const params = { name: 'whoami', arguments: {} }
  const response = await fetch(new URL('/mcp', base), {
    method: 'POST',
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params }),
    headers: { ...bearer(token), 'content-type': 'application/json', accept: 'application/json' },
  })
  if (response.status !== 200) return response.status
  return JSON.parse(((await response.json()) as any).result.content[0].text)
}

/** Changes stored keys as an operator does. */
async function operate(method: string, path: string, body?: object): Promise<any> {
  const headers = { ...bearer('operator'), 'content-type': 'application/json' }
  const response = await send(path, { method, headers, ...(body && { body: JSON.stringify(body) }) })
  return response.status === 204 ? undefined : response.json()
}

/** A port for the suite, which has no way to say that it takes any. */
async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

/** What an application remembers of its sign-in: at first nothing. `opened` is the page that it has a person open. */
class Person implements OAuthClientProvider {
  readonly redirectUrl = CALLBACK
  readonly clientMetadata = { client_name: 'Notes', redirect_uris: [CALLBACK] }
  opened: URL | undefined
  token: OAuthTokens | undefined
  client: OAuthClientInformationMixed | undefined
  #verifier = ''
  #servers: OAuthDiscoveryState | undefined

  state = () => 'the-state'
  clientInformation = () => this.client
  saveClientInformation = (client: OAuthClientInformationMixed) => void (this.client = client)
  tokens = () => this.token
  saveTokens = (tokens: OAuthTokens) => void (this.token = tokens)
  redirectToAuthorization = (url: URL) => void (this.opened = url)
  saveCodeVerifier = (verifier: string) => void (this.#verifier = verifier)
  codeVerifier = () => this.#verifier
  saveDiscoveryState = (servers: OAuthDiscoveryState) => void (this.#servers = servers)
  discoveryState = () => this.#servers
}

describe('the client of the MCP SDK', () => {
  test('signs in from nothing with the address of the edge, calls a tool, refreshes, and signs out', async () => {
    const authProvider = new Person()
    const address = new URL('/mcp', origin)
    const connect = async () => {
      const client = new Client({ name: 'test', version: '1' })
      await client.connect(new StreamableHTTPClientTransport(address, { authProvider }))
      return client
    }
    await expect(connect()).rejects.toThrow(UnauthorizedError)
    expect(Object.fromEntries(authProvider.opened?.searchParams ?? [])).toMatchObject({
      response_type: 'code',
      code_challenge_method: 'S256',
      resource: address.href,
      scope: 'tools:read chat',
    })
    const back = addressIn(await submit(await open(authProvider.opened?.href ?? '')))
    expect([back.origin + back.pathname, back.searchParams.get('state'), back.searchParams.get('iss')]).toEqual([
      CALLBACK,
      'the-state',
      origin,
    ])
    await new StreamableHTTPClientTransport(address, { authProvider }).finishAuth(back.searchParams.get('code') ?? '')
    const client = await connect()
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual(['whoami'])
    const caller = { tenant: 'acme', key: keyName('both'), scopes: ['tools:read', 'chat'] }
    expect(await client.callTool({ name: 'whoami' })).toMatchObject({ content: [{ text: JSON.stringify(caller) }] })

    // A token that is over is replaced without the person.
    const first = authProvider.token
    authProvider.token = { ...first!, access_token: 'over' }
    expect(await client.callTool({ name: 'whoami' })).toMatchObject({ content: [{ text: JSON.stringify(caller) }] })
    const second = authProvider.token
    expect(second.access_token).not.toBe(first?.access_token)
    expect(second.refresh_token).not.toBe(first?.refresh_token)

    const clientId = authProvider.client?.client_id ?? ''
    const secret = authProvider.client?.client_secret
    const revocation = {
      token: second.refresh_token ?? '',
      client_id: clientId,
      ...(secret && { client_secret: secret }),
    }
    expect((await post('/oauth/token', revocation)).status).toBe(200)
    expect([await callerWith(second.access_token), await callerWith(first?.access_token ?? '')]).toEqual([401, 401])
    await client.close()
  })
})

describe('the client of the MCP SDK for 2026-07-28', () => {
  test('signs in from nothing, and calls a tool', async () => {
    const authProvider = new Person()
    const connect = async () => {
      const client = new ModernClient({ name: 'test', version: '1' }, { versionNegotiation: { mode: 'auto' } })
      await client.connect(new ModernTransport(new URL('/mcp', origin), { authProvider }))
      return client
    }
    await expect(connect()).rejects.toThrow(ModernUnauthorizedError)
    const back = addressIn(await submit(await open(authProvider.opened?.href ?? '')))
    await new ModernTransport(new URL('/mcp', origin), { authProvider }).finishAuth(back.searchParams)
    const client = await connect()
    const caller = { tenant: 'acme', key: keyName('both'), scopes: ['tools:read', 'chat'] }
    expect(await client.callTool({ name: 'whoami' })).toMatchObject({ content: [{ text: JSON.stringify(caller) }] })
    await client.close()
  })
})

describe('a client finds', () => {
  test('the edge as the authorization server of /mcp', async () => {
    const { headers } = await send('/mcp', { method: 'POST', body: '{}' })
    const hint = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`
    expect(headers.get('www-authenticate')).toBe(`Bearer ${hint}, scope="tools:read chat"`)
    expect(await jsonOf(await send('/.well-known/oauth-protected-resource/mcp'))).toEqual([
      200,
      {
        resource: `${origin}/mcp`,
        authorization_servers: [origin, people.issuer],
        scopes_supported: ['tools:read', 'chat'],
        bearer_methods_supported: ['header'],
      },
    ])
  })

  test('the endpoints, and what they can do', async () => {
    const response = await send('/.well-known/oauth-authorization-server', {
      headers: { origin: 'https://any.example.com' },
    })
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toMatchObject({
      issuer: origin,
      authorization_endpoint: `${origin}/oauth/authorize`,
      token_endpoint: `${origin}/oauth/token`,
      registration_endpoint: `${origin}/oauth/register`,
      revocation_endpoint: `${origin}/oauth/token`,
      scopes_supported: SCOPES,
      response_types_supported: ['code'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      code_challenge_methods_supported: ['S256'],
      client_id_metadata_document_supported: true,
      authorization_response_iss_parameter_supported: true,
    })
  })
})

describe('the page on which a person signs in', () => {
  test('names the client, where its access is sent, and the scopes, and cannot be framed or scripted', async () => {
    const { url } = await attempt({ scope: 'tools:read chat approve keys' })
    const { status, text, headers } = await open(url)
    expect(status).toBe(200)
    expect(text).toContain('Let Notes use the tools of')
    expect(text).toContain('<b>client.example.com</b>')
    const boxes = [...text.matchAll(/name="scope" value="([^"]*)" (checked)?/g)].map(([, name, checked]) => [
      name,
      checked,
    ])
    expect(boxes).toEqual([
      ['tools:read', 'checked'],
      ['chat', 'checked'],
      ['approve', 'checked'],
      ['finance', undefined],
    ])
    const [, nonce] = /<style nonce="([^"]*)">/.exec(text) ?? []
    expect(headers.get('content-security-policy')).toBe(
      `default-src 'none'; style-src 'nonce-${nonce}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'`,
    )
    expect(text).not.toContain('<script')
    expect(
      ['x-frame-options', 'cache-control', 'referrer-policy', 'x-content-type-options'].map((name) =>
        headers.get(name),
      ),
    ).toEqual(['DENY', 'no-store', 'no-referrer', 'nosniff'])
    expect(headers.getSetCookie()).toEqual([
      expect.stringMatching(/^__Host-edgecall-consent-\S+; Path=\/; Secure; HttpOnly; SameSite=Lax; /),
    ])
    expect(headers.get('access-control-allow-origin')).toBe(null)
  })

  test('shows the name of a client as text, without characters that hide others', async () => {
    const { url } = await attempt({}, { client_name: `<img src=x onerror="alert(1)">\u202e&'` })
    const { text } = await open(url)
    expect(text).toContain('Let &lt;img src=x onerror=&quot;alert(1)&quot;&gt;&amp;&#39; use the tools')
    expect(text).not.toContain('<img')
  })

  test('tells that an app on this computer gets the access', async () => {
    for (const redirect of ['http://127.0.0.1:7000/callback', 'cursor://anysphere.cursor-mcp/oauth/callback']) {
      const { url } = await attempt({ redirect_uri: redirect }, { redirect_uris: [redirect] })
      const form = await open(url)
      expect(form.text).toContain('an app on this computer')
      expect(addressIn(await submit(form)).href).toMatch(`${redirect}?code=`)
    }
  })

  test('names the site that publishes a client whose id is an address', async () => {
    const request = await attempt({ client_id: 'https://published.example.com/client.json' })
    const form = await open(request.url)
    expect(form.text).toContain('Let Published use the tools')
    expect(form.text).toContain('<b>published.example.com</b>')
    const code = addressIn(await submit(form)).searchParams.get('code') ?? ''
    const client = { client_id: 'https://published.example.com/client.json' }
    const [status, { access_token: token }] = await jsonOf(await exchange(request, code, client))
    expect([status, await callerWith(token)]).toMatchObject([200, { key: keyName('both') }])
    for (const path of ['no', 'moved.json']) {
      const { url } = await attempt({ client_id: `https://published.example.com/${path}` })
      const { status: refusal, text } = await open(url)
      expect([refusal, text.includes('The description of this app cannot be read.')]).toEqual([400, true])
    }
  })

  test('sends a person who refuses back with an error', async () => {
    const back = addressIn(await submit(await open((await attempt()).url), { decision: 'deny' }))
    expect([back.origin + back.pathname, Object.fromEntries(back.searchParams)]).toEqual([
      CALLBACK,
      { error: 'access_denied', state: 'the-state', iss: origin },
    ])
  })

  test('refuses a key that is wrong or lacks a scope, and asks again', async () => {
    const { url } = await attempt()
    const wrong = await submit(await open(url), { key: 'nothing' })
    expect([wrong.status, wrong.text.includes('This is not a valid key of this edge.')]).toEqual([422, true])
    const lacking = await submit(wrong, { key: 'reader' })
    expect([lacking.status, lacking.text.includes('This key does not have the scope chat.')]).toEqual([422, true])
    const none = await submit(lacking, { scopes: [] })
    expect([none.status, none.text.includes('Choose what the app may do.')]).toEqual([422, true])
    expect(addressIn(await submit(none)).searchParams.has('code')).toBe(true)
    expect(`${wrong.text}${lacking.text}`).not.toContain('nothing')
  })

  test('answers a form of another site, or of another browser, with an error and nothing else', async () => {
    const { url } = await attempt()
    const [mine, other] = [await open(url), await open(url)]
    const forged = [
      await submit({ handle: mine.handle, cookie: '' }),
      await submit({ handle: mine.handle, cookie: other.cookie }),
      await submit({ handle: 'made-up', cookie: mine.cookie }),
      await submit({ handle: mine.handle, cookie: '' }, { decision: 'deny' }),
    ]
    for (const each of forged) expect([each.status, each.text.includes('refresh')]).toEqual([400, false])
    expect(addressIn(await submit(mine)).searchParams.has('code')).toBe(true)
    // A form counts once.
    expect((await submit(mine)).status).toBe(400)
  })

  test('never redirects to an address that is not that of the client', async () => {
    const { url, client } = await attempt()
    const evil = 'https://evil.example.com/callback'
    const odd = { redirect_uris: [CALLBACK, 'ms-msdt:/id'] }
    const wrong = [
      (await attempt({ redirect_uri: evil })).url,
      (await attempt({ redirect_uri: `${CALLBACK}/..` })).url,
      (await attempt({ redirect_uri: `${CALLBACK}?more=1` })).url,
      (await attempt({ redirect_uri: undefined })).url,
      (await attempt({ redirect_uri: 'ms-msdt:/id' }, odd)).url,
      (await attempt({ redirect_uri: 'ms-msdt:/id', code_challenge_method: 'plain' }, odd)).url,
      url.replace(client, 'nobody'),
      url.replace(client, encodeURIComponent('https://127.0.0.1/client.json')),
    ]
    for (const each of wrong) {
      const { status, headers, text } = await open(each)
      expect([each, status, headers.get('location'), /refresh|href/.test(text)]).toEqual([each, 400, null, false])
    }
  })

  test('shows a person other faults of a request, with a link back to the client', async () => {
    const secretive = { token_endpoint_auth_method: 'client_secret_post' }
    const faults: [Promise<Attempt>, string][] = [
      [attempt({ code_challenge_method: 'plain' }), 'invalid_request'],
      [attempt({ code_challenge_method: undefined }), 'invalid_request'],
      [attempt({ code_challenge: undefined, code_challenge_method: undefined }), 'invalid_request'],
      [attempt({ code_challenge: undefined, code_challenge_method: undefined }, secretive), 'invalid_request'],
      [attempt({ response_type: 'token' }), 'unsupported_response_type'],
      [attempt({ resource: 'https://another.example.com/mcp' }), 'invalid_target'],
      [attempt({ resource: `${origin}/tools` }), 'invalid_target'],
    ]
    for (const [request, code] of faults) {
      const { url } = await request
      const { status, headers, text } = await open(url)
      // Anybody can register an address, and send others a link with a fault: nobody is sent there unasked.
      expect([headers.get('location'), text.includes('refresh')]).toEqual([null, false])
      const [, link = ''] = /<a href="([^"]*)">Back to client\.example\.com<\/a>/.exec(text) ?? []
      const back = new URL(link.replaceAll('&amp;', '&'))
      const { error, state, iss } = Object.fromEntries(back.searchParams)
      expect([url, status, back.origin + back.pathname, error, state, iss]).toEqual([
        url,
        400,
        CALLBACK,
        code,
        'the-state',
        origin,
      ])
    }
  })
})

describe('a code', () => {
  const codeFor = async (request: Attempt) =>
    addressIn(await submit(await open(request.url))).searchParams.get('code') ?? ''

  test('is of no use without the verifier, the redirect URI and the client that it was made for', async () => {
    const request = await attempt()
    const { client: other } = await attempt()
    const code = await codeFor(request)
    const refusals = [
      await exchange(request, code, { code_verifier: randomBytes(32).toString('base64url') }),
      await exchange(request, code, { code_verifier: '' }),
      await exchange(request, code, { redirect_uri: 'https://evil.example.com/callback' }),
      await exchange(request, code, { client_id: other }),
      await exchange(request, code, { resource: 'https://another.example.com/mcp' }),
      await exchange(request, `${code}x`),
    ]
    expect(refusals.map(({ status }) => status)).toEqual([400, 400, 400, 400, 400, 400])
    expect((await exchange(request, code)).status).toBe(200)
  })

  test('is good for one exchange; a second ends the sign-in', async () => {
    const person = await signedIn()
    expect(person.tokens).toMatchObject({ expires_in: 3600, scope: 'tools:read chat', resource: `${origin}/mcp` })
    expect(await callerWith(person.access)).toMatchObject({ tenant: 'acme' })
    expect((await exchange(person, person.code)).status).toBe(400)
    expect(await callerWith(person.access)).toBe(401)
    expect((await refresh(person.client, person.refresh)).status).toBe(400)
  })
})

describe('a token', () => {
  test('is for /mcp at the address of its edge, and nothing else', async () => {
    const { access } = await signedIn({ key: 'all', scopes: SCOPES })
    expect(await callerWith(access)).toEqual({ tenant: 'acme', key: 'all', scopes: SCOPES })
    const elsewhere = ['/tools', '/caller', '/keys', '/conversations', '/v1/models']
    const statuses = await Promise.all(
      elsewhere.map(async (path) => (await send(path, { headers: bearer(access) })).status),
    )
    expect(statuses).toEqual([401, 401, 401, 401, 401])
    expect(await callerWith(access, origin.replace('127.0.0.1', 'localhost'))).toBe(401)
    expect(await callerWith(`${access}x`)).toBe(401)
  })

  test('has no scope that the person did not grant, whatever the client asks for', async () => {
    const request = await attempt({ scope: 'tools:read chat keys tools:admin finance' })
    const form = await open(request.url)
    // The form may be changed, too: `keys` and `tools:admin` are not on offer, though the key has them.
    const answer = await submit(form, { key: 'all', scopes: ['tools:read', 'chat', 'keys', 'tools:admin'] })
    const code = addressIn(answer).searchParams.get('code') ?? ''
    const [, tokens] = await jsonOf(await exchange(request, code, { scope: 'tools:read chat keys finance' }))
    expect(tokens.scope).toBe('tools:read chat')
    const [, wider] = await jsonOf(
      await refresh(request.client, tokens.refresh_token, { scope: 'tools:read chat finance keys' }),
    )
    expect(wider.scope).toBe('tools:read chat')
    const caller = { tenant: 'acme', key: 'all', scopes: ['tools:read', 'chat'] }
    expect(await callerWith(wider.access_token)).toEqual(caller)
    const [, narrower] = await jsonOf(await refresh(request.client, wider.refresh_token, { scope: 'chat' }))
    expect([narrower.scope, await callerWith(narrower.access_token)]).toEqual(['chat', 403])
  })

  test('is accepted beside keys and the tokens of identity providers, which it does not replace', async () => {
    const token = await people.token({ aud: `${origin}/mcp`, scope: 'edge.call edge.read' })
    expect(await callerWith(token)).toMatchObject({ tenant: 'acme', key: expect.stringMatching(/^people:/) })
    expect(await callerWith('both')).toMatchObject({ key: keyName('both') })
    expect((await submit(await open((await attempt()).url), { key: token })).status).toBe(422)
  })

  test('finds the tools that the policies leave to its scopes', async () => {
    const toolsWith = async (scopes: string[]) => {
      const { access } = await signedIn({ key: 'all', scopes })
      const json = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
      const headers = { ...bearer(access), 'content-type': 'application/json' }
      const response = await send('/mcp', { method: 'POST', body: JSON.stringify(json), headers })
      return ((await response.json()) as any).result.tools.map(({ name }: { name: string }) => name)
    }
    expect(await toolsWith(['tools:read', 'chat'])).toEqual(['whoami'])
    expect(await toolsWith(['tools:read', 'chat', 'finance'])).toEqual(['ledger', 'whoami'])
  })

  test('counts against the rate of its key', async () => {
    const { access } = await signedIn({ key: 'rated' })
    const afterKey = async () => {
      while ((await callerWith('rated')) !== 429);
      return callerWith(access)
    }
    // The minute of the binding may pass between a request with the key and one with the token, once.
    expect([await afterKey(), await afterKey()]).toContain(429)
  })

  test('of another client is not refreshed or revoked', async () => {
    const [mine, other] = [await signedIn(), await signedIn()]
    expect((await refresh(other.client, mine.refresh)).status).toBe(400)
    expect((await post('/oauth/token', { token: mine.refresh, client_id: other.client })).status).toBe(200)
    expect(await callerWith(mine.access)).toMatchObject({ tenant: 'acme' })
  })

  test('is refreshed with the newest refresh token, and older ones end', async () => {
    const { client, refresh: first } = await signedIn()
    const [, second] = await jsonOf(await refresh(client, first))
    const [, third] = await jsonOf(await refresh(client, second.refresh_token))
    expect(await callerWith(third.access_token)).toMatchObject({ tenant: 'acme' })
    expect((await refresh(client, first)).status).toBe(400)
  })

  test.each<[string, (id: string) => Promise<unknown>]>([
    ['is disabled', (id) => operate('PATCH', `/keys/${id}`, { disabled: true })],
    ['is removed', (id) => operate('DELETE', `/keys/${id}`)],
    ['is rotated', (id) => operate('POST', `/keys/${id}/rotate`, {})],
    ['has expired', (id) => operate('PATCH', `/keys/${id}`, { expires: '2020-01-01' })],
    ['loses a scope', (id) => operate('PATCH', `/keys/${id}`, { scopes: ['tools:read', 'chat'] })],
  ])('ends when its key %s', async (state, change) => {
    const id = state.replaceAll(' ', '-')
    const scopes = ['tools:read', 'chat', 'approve']
    const { key } = await operate('POST', '/keys', { id, tenant: 'acme', scopes })
    const { client, access, refresh: token } = await signedIn({ key, scopes })
    expect(await callerWith(access)).toEqual({ tenant: 'acme', key: id, scopes })
    await change(id)
    expect(await callerWith(access)).toBe(401)
    expect(await jsonOf(await refresh(client, token))).toMatchObject([400, { error: 'invalid_grant' }])
  })
})

describe.skipIf(missingChromium)('in a browser', () => {
  test('a person signs in without a script, and comes back to the program that has asked', async () => {
    const addresses: string[] = []
    const program = createHttpServer((request, response) => {
      addresses.push(request.url ?? '')
      response.end('You are back.')
    })
    await new Promise<void>((resolve) => void program.listen(0, '127.0.0.1', resolve))
    const { port } = program.address() as AddressInfo
    const redirect = `http://127.0.0.1:${port}/callback`
    const { url } = await attempt({ redirect_uri: redirect }, { redirect_uris: [redirect] })
    const browser = await launchChromium()
    try {
      const page = await browser.newPage({ javaScriptEnabled: false })
      const complaints: string[] = []
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
      await page.goto(new URL(url, origin).href)
      await page.getByLabel('Your API key of this edge').fill('wrong')
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.getByRole('alert').waitFor()
      await page.getByLabel('Your API key of this edge').fill('both')
      await page.getByRole('button', { name: 'Allow' }).click()
      await page.waitForURL(`${redirect}?**`)
      expect(await page.textContent('body')).toBe('You are back.')
      expect(complaints.filter((text) => !text.includes('422'))).toEqual([])
      expect(addresses[0]).toMatch(/^\/callback\?code=/)
    } finally {
      await browser.close()
      program.closeAllConnections()
      program.close()
    }
  })
})

describe('MCP’s own suite for authorization servers', () => {
  const SUITE = new URL('../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url).pathname

  test('passes', async () => {
    const port = await freePort()
    const redirect = `http://127.0.0.1:${port}/callback`
    const { client_id: client } = await register({ redirect_uris: [redirect] })
    const args = ['authorization', '--url', origin, '--client-id', client, '--resource', `${origin}/mcp`]
    const suite = execFile(process.execPath, [SUITE, ...args, '--port', String(port)])
    let out = ''
    suite.stderr?.on('data', (text: string) => void (out += text))
    suite.stdout?.on('data', (text: string) => {
      out += text
      const [, url] = new RegExp(`^(${origin}/oauth/authorize\\S+)$`, 'm').exec(text) ?? []
      if (url)
        void open(url)
          .then(submit)
          .then((back) => fetch(addressIn(back)))
    })
    const code = await new Promise((resolve) => suite.on('exit', resolve))
    expect([code, out]).toEqual([0, expect.stringMatching(/authorization-code-grant[^]*1 passed, 0 failed/)])
  })
})

test('a token that cannot be checked is refused for now', async () => {
  const { access } = await signedIn()
  const { GRANTS: grants } = await harness.getWorker<{ GRANTS: KVNamespace }>('sign-in-edge').getEnv()
  const [userId = '', grantId = ''] = access.split(':')
  const { keys } = await grants.list({ prefix: `token:${userId}:${grantId}:` })
  for (const { name } of keys) await grants.put(name, 'no JSON')
  expect(await callerWith(access)).toBe(503)
})

test('the namespace has neither keys nor their hashes, nor tokens', async () => {
  const { access, refresh: token, code } = await signedIn()
  const { GRANTS: grants } = await harness.getWorker<{ GRANTS: KVNamespace }>('sign-in-edge').getEnv()
  const { keys } = await grants.list()
  const values = await Promise.all(keys.map(async ({ name }) => `${name} ${await grants.get(name)}`))
  const stored = values.join('\n')
  expect(stored).toContain(`grant:${keyName('both')}:`)
  for (const secret of [sha256('both'), access, token, code]) expect(stored).not.toContain(secret)
})

test('people sign in over https, and over http on the machine of the edge alone', async () => {
  const worker = harness.getWorker('sign-in-edge')
  const { url } = await attempt()
  for (const path of [url, '/.well-known/oauth-authorization-server']) {
    const response = await worker.fetch(`http://edge.example.com${path}`)
    expect([response.status, (await response.text()).includes('over https only')]).toEqual([400, true])
  }
  const response = await worker.fetch('https://edge.example.com/.well-known/oauth-authorization-server')
  expect(await response.json()).toMatchObject({ issuer: 'https://edge.example.com' })
})

test('what clients send has at most 256 KiB', async () => {
  const large = 'x'.repeat(256 * 1024 + 1)
  for (const path of ['/oauth/token', '/oauth/register', '/oauth/authorize']) {
    expect((await send(path, { method: 'POST', body: large })).status).toBe(413)
  }
})

test('an address that enters ten wrong keys must wait', async () => {
  const headers = { 'cf-connecting-ip': '192.0.2.7' }
  const { url } = await attempt()
  let form = await open(url)
  const statuses: number[] = []
  for (let guess = 0; guess < 12; guess++) {
    const fields = { handle: form.handle, key: `guess-${guess}`, decision: 'allow', scope: 'chat' }
    const response = await post('/oauth/authorize', fields, { ...headers, cookie: form.cookie })
    statuses.push(response.status)
    if (response.status === 422) form = await pageOf(response)
  }
  expect(statuses).toEqual([...Array<number>(10).fill(422), 429, 429])
})

test('nobody can sign in to an edge that is open, where nobody needs to', async () => {
  const openHarness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [{ configPath: 'test/fixtures/sign-in-edge/wrangler.toml', vars: { AUTH: 'open' } }],
  })
  try {
    const { url } = await openHarness.listen()
    const answers = ['/.well-known/oauth-authorization-server', '/oauth/authorize', '/oauth/token'].map(
      async (path) => {
        const response = await fetch(new URL(path, url))
        return [response.status, (await response.text()).includes('nobody needs to sign in')]
      },
    )
    expect(await Promise.all(answers)).toEqual([
      [404, true],
      [404, true],
      [404, true],
    ])
    const metadata = await (await fetch(new URL('/.well-known/oauth-protected-resource', url))).json()
    expect(metadata).toEqual({ resource: new URL('/mcp', url).href, bearer_methods_supported: ['header'] })
  } finally {
    await openHarness.close()
  }
})
