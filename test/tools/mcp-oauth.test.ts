import { generateKeyPairSync } from 'node:crypto'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { SignInAnswer } from '../../src/contract/connection.ts'
import type { CallInput } from '../../src/contract/input.ts'
import type { ToolOutcome } from '../../src/contract/tool.ts'
import type { Target } from '../../tools/mcp/oauth/config.ts'
import { Connection } from '../../tools/mcp/oauth/connection.ts'
import { mcpService } from '../../tools/mcp/service.ts'
import { connectionService } from '../../tools/mcp/sign-in.ts'
import { toolRequest } from '../host/source/calls.ts'
import { LIFETIME } from './mcp-server.ts'
import { GuardedServer } from './mcp-oauth-server.ts'

let server: GuardedServer
const logs: string[] = []

beforeEach(async () => {
  server = await new GuardedServer().listen()
  vi.spyOn(console, 'error').mockImplementation((text: string) => void logs.push(text))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  server.close()
  logs.splice(0)
})

/** The objects of the binding CONNECTIONS, each with a storage of its own. */
function namespace() {
  const objects = new Map<string, Connection>()
  return {
    idFromName: (name: string) => Buffer.from(name).toString('hex'),
    idFromString: (id: string) => id,
    get: (id: string) => {
      const storage = new Map<string, unknown>()
      const connection =
        objects.get(id) ??
        new Connection({
          get: async <Value>(key: string) => structuredClone(storage.get(key)) as Value | undefined,
          put: async (key, value) => void storage.set(key, structuredClone(value)),
          delete: async (key) => storage.delete(key),
        })
      objects.set(id, connection)
      return {
        token: connection.token.bind(connection),
        renewToken: connection.renewToken.bind(connection),
        signIn: (target: Target, consent?: string) => connection.signIn(target, id, consent),
        serverOf: connection.serverOf.bind(connection),
        finish: (target: Target, nonce: string, back: string, browser?: string) =>
          connection.finish(target, nonce, new URLSearchParams(back), browser),
        confirm: connection.confirm.bind(connection),
        state: connection.state.bind(connection),
        hold: connection.hold.bind(connection),
        forget: connection.forget.bind(connection),
      }
    },
  }
}

const CALLBACK = 'https://edge.example.com/connections/callback'

function worker(oauth: object, more: object = {}) {
  const env = {
    MCP_SERVERS: JSON.stringify([{ name: 'files', url: server.mcp.url, oauth, ...more }]),
    MCP_CALLBACK_URL: CALLBACK,
    SECRET_CLIENT: 'client-secret-of-the-edge',
    SECRET_KEY: privateKey(),
    CONNECTIONS: namespace(),
  }
  const service = () => mcpService(LIFETIME, env)
  const connections = connectionService(env)
  return {
    connections,
    names: async () => (await service().describe()).tools.map(({ name }) => name),
    call: async (tenant = 'acme', input?: CallInput): Promise<ToolOutcome> => {
      const [tool] = (await service().describe()).tools
      const caller = { tenant, scopes: [] }
      const context = { hash: tool?.hash ?? '', deadline: Date.now() + 30_000, caller, input }
      return service().call(toolRequest('echo', {}, context))
    },
    /** Signs in, from the first address to the last. */
    connect: async (owner: string) => {
      const signIn = await connections.signIn(owner, 'files')
      const browser = 'browser' in signIn ? signIn.browser : undefined
      return connections.finish(await server.open(urlOf(signIn)), browser)
    },
  }
}

function urlOf(answer: SignInAnswer): string {
  return ('url' in answer && answer.url) || ''
}

const CREDENTIALS = { grant: 'client_credentials', clientId: 'edge', clientSecret: '{SECRET_CLIENT}' }
const SIGNING = { grant: 'client_credentials', clientId: 'edge', privateKey: '{SECRET_KEY}' }

/** A PKCS#8 key that signs assertions. */
function privateKey(): string {
  const pair = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return pair.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** What a server says that is held back, since it names another authorization server. */
const reason = (issuer: string, why: string) => `it names ${issuer} as its authorization server, but ${why}`

describe('the authorization server of a server', () => {
  test.each([
    ['a client secret', CREDENTIALS],
    ['a private key', SIGNING],
    ['a client secret of people', { clientId: 'edge', clientSecret: '{SECRET_CLIENT}' }],
  ])('gets nothing of %s until a person has accepted it', async (_, oauth) => {
    const mcp = worker(oauth)
    const text = reason(server.issuer, 'nobody has accepted it')
    if ('grant' in oauth) await expect(mcp.names()).rejects.toThrow(`files: ${text}`)
    expect(await mcp.connections.signIn('', 'files')).toEqual({
      error: `The server "files" is held back: ${text}.`,
      issuer: server.issuer,
    })
    expect(await mcp.connections.signIn('', 'files', 'https://other.example.com')).toHaveProperty('error')
    expect(await mcp.connections.connections('')).toMatchObject([{ connected: false, heldBack: text }])
    expect(server.requests).toEqual([])
    expect(logs.map((line) => JSON.parse(line) as object)).toContainEqual({
      event: 'mcp.held_back',
      server: 'files',
      detail: expect.stringContaining(text),
    })
    expect(await mcp.connections.signIn('', 'files', server.issuer)).toMatchObject({ issuer: server.issuer })
    if ('grant' in oauth) expect(await mcp.names()).toEqual(['echo'])
  })

  test.each([
    ['the configured one', CREDENTIALS, true],
    ['the accepted one', CREDENTIALS, false],
    ['the configured one, of a key', SIGNING, true],
    ['the one that a person signed in to', {}, false],
  ])('holds its server back when it is no longer %s', async (_, oauth, isConfigured) => {
    const before = server.issuer
    const mcp = worker({ ...oauth, ...(isConfigured && { issuer: before }) })
    if (!isConfigured) await mcp.connections.signIn('', 'files', before)
    if (!('grant' in oauth)) await mcp.connect('')
    expect(await mcp.call()).toMatchObject({ ok: true })
    const other = await new GuardedServer().listen()
    server.issuer = other.issuer
    const tokens = [...server.valid]
    server.valid.clear()
    const calls = server.mcp.of('tools/call').length
    const failure = {
      ok: false,
      error: {
        code: 'mcp_held_back',
        message: 'The server "files" is held back until an operator has checked its authorization server.',
      },
    }
    expect(await mcp.call()).toMatchObject(failure)
    expect(other.requests).toEqual([])
    const text = reason(other.issuer, `the accepted one is ${before}`)
    expect(await mcp.connections.connections('')).toMatchObject([{ issuer: before, heldBack: text }])
    expect(logs.at(-1)).toContain(text)
    // It stays held back when it accepts the old tokens again.
    for (const token of tokens) server.valid.add(token)
    server.issuer = before
    expect(await mcp.call()).toMatchObject(failure)
    expect(server.mcp.of('tools/call')).toHaveLength(calls)
    await mcp.connections.signIn('', 'files')
    if (!('grant' in oauth)) await mcp.connect('')
    expect(await mcp.call()).toMatchObject({ ok: true })
    other.close()
  })

  test('of a tenant is the one that the edge trusts, and what one tenant finds holds the server back for all', async () => {
    const mcp = worker({ owner: 'tenant', clientId: 'edge', clientSecret: '{SECRET_CLIENT}' })
    expect(await mcp.connections.signIn('acme', 'files', server.issuer)).toEqual({
      error: 'An operator must accept the authorization server of "files" first.',
    })
    await mcp.connections.signIn('', 'files', server.issuer)
    await mcp.connect('')
    await mcp.connect('acme')
    expect(await mcp.call('acme')).toMatchObject({ ok: true })
    const other = await new GuardedServer().listen()
    server.issuer = other.issuer
    server.valid.clear()
    expect(await mcp.connections.signIn('acme', 'files', other.issuer)).toHaveProperty('error')
    expect(await mcp.call('acme')).toMatchObject({ ok: false, error: { code: 'mcp_held_back' } })
    expect(await mcp.call('other')).toMatchObject({ ok: false, error: { code: 'mcp_held_back' } })
    expect(await mcp.connections.connections('')).toMatchObject([{ heldBack: expect.stringContaining(other.issuer) }])
    expect(other.requests).toEqual([])
    other.close()
  })

  test('is the audience of signed assertions', async () => {
    const mcp = worker({ ...SIGNING, issuer: server.issuer })
    expect(await mcp.call()).toMatchObject({ ok: true })
    const [, claims = ''] = (server.requests[0]?.fields.get('client_assertion') ?? '').split('.')
    expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({ aud: server.issuer, iss: 'edge' })
  })
})

describe('a server that wants a token, with credentials of the edge', () => {
  test('gets a token of its authorization server, asked for once', async () => {
    const mcp = worker({ ...CREDENTIALS, issuer: server.issuer })
    expect(await mcp.call()).toMatchObject({ ok: true })
    expect(await mcp.call()).toMatchObject({ ok: true })
    expect(server.requests.map(({ path, fields }) => [path, Object.fromEntries(fields)])).toEqual([
      [
        '/token',
        { grant_type: 'client_credentials', resource: `${new URL(server.mcp.url).origin}/mcp`, scope: 'read' },
      ],
    ])
    expect(server.requests[0]?.authorization).toBe(`Basic ${btoa('edge:client-secret-of-the-edge')}`)
    expect(await mcp.connections.connections('')).toMatchObject([{ server: 'files', signIn: 'none', connected: true }])
  })

  test('gets another token before the first expires, and when it accepts it no longer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const mcp = worker({ ...CREDENTIALS, issuer: server.issuer })
    await mcp.call()
    vi.advanceTimersByTime(3_580_000)
    expect(await mcp.call()).toMatchObject({ ok: true })
    expect(server.requests).toHaveLength(2)
    server.valid.clear()
    expect(await mcp.call()).toMatchObject({ ok: true })
    expect(server.requests).toHaveLength(3)
  })

  test('cannot have the token said back to the model', async () => {
    server.mcp.call = (_params, _talk) => ({
      content: [{ type: 'text', text: `You sent ${[...server.valid].join()}` }],
    })
    expect(await worker({ ...CREDENTIALS, issuer: server.issuer }).call()).toMatchObject({
      content: [{ text: 'You sent [redacted]' }],
    })
    expect(logs.join()).not.toContain('token-of-the-server')
  })

  test('does not have credentials sent on to where a token endpoint redirects', async () => {
    server.redirectsTokens = true
    await expect(worker({ ...CREDENTIALS, issuer: server.issuer }).names()).rejects.toThrow()
    expect(server.requests.map(({ path }) => path)).toEqual(['/token'])
  })
})

describe('a server that people sign in to', () => {
  test('is listed once an operator has signed in, with PKCE, as a client that was registered', async () => {
    const mcp = worker({})
    await expect(mcp.names()).rejects.toThrow('nobody is signed in')
    expect(await mcp.connect('')).toEqual({ server: 'files' })
    expect(await mcp.names()).toEqual(['echo'])
    expect(server.requests.map(({ path }) => path)).toEqual(['/register', '/authorize', '/token'])
    expect(Object.fromEntries(server.requests[1]?.fields ?? [])).toMatchObject({
      response_type: 'code',
      client_id: 'registered',
      redirect_uri: CALLBACK,
      code_challenge_method: 'S256',
      scope: 'read',
    })
  })

  test('renews its tokens without anybody, and asks for a sign-in once they cannot be renewed', async () => {
    const mcp = worker({})
    await mcp.connect('')
    server.valid.clear()
    expect(await mcp.call()).toMatchObject({ ok: true })
    expect(server.requests.at(-1)?.fields.get('grant_type')).toBe('refresh_token')
    await mcp.connections.disconnect('', 'files')
    expect(await mcp.call()).toEqual({
      ok: false,
      error: {
        code: 'mcp_not_connected',
        message: 'This edge is not connected to the server "files". An operator must connect it.',
      },
    })
  })

  test('stays connected by a sign-in that was made while a renewal was under way, which is refused', async () => {
    const mcp = worker({})
    await mcp.connect('')
    const [first, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const send = fetch
    vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
      const isRenewal = typeof init?.body === 'string' && init.body.includes('grant_type=refresh_token')
      if (!isRenewal) return send(url, init)
      first.resolve()
      await end.promise
      return Response.json({ error: 'invalid_grant' }, { status: 400 })
    })
    server.valid.clear()
    const outcome = mcp.call()
    await first.promise
    await mcp.connect('')
    end.resolve()
    expect([await outcome, await mcp.call()]).toMatchObject([{ ok: true }, { ok: true }])
  })

  test('serves each tenant with its own connection, and asks a tenant without one to sign in', async () => {
    const mcp = worker({ owner: 'tenant' })
    await mcp.connect('')
    const outcome = await mcp.call('acme')
    const { sign_in: request } = (!outcome.ok && outcome.input?.requests) || {}
    expect(request).toMatchObject({ method: 'elicitation/create', params: { mode: 'url' } })
    const operators = [...server.valid]
    const end = await mcp.connections.finish(await server.open(String(request?.params['url'])))
    const code = 'code' in end ? end.code : ''
    const accept = (content: object) => ({ action: 'accept', ...content })
    const responses = { sign_in: accept({}), sign_in_code: accept({ content: { code } }), own: accept({}) }
    expect(await mcp.call('acme', { responses })).toMatchObject({ ok: true })
    // The server gets the answers to its own questions alone.
    expect(server.mcp.of('tools/call').at(-1)?.params['inputResponses']).toEqual({ own: accept({}) })
    expect(server.mcp.of('tools/call').at(-1)?.headers.authorization).not.toBe(`Bearer ${operators[0]}`)
    expect(await mcp.call('other')).toMatchObject({ ok: false, error: { code: 'input_required' } })
    expect(await mcp.connections.connections('other')).toMatchObject([{ signIn: 'tenant', connected: false }])
  })

  test('is connected only to the account of the one who asked, whose link another person may have opened', async () => {
    const mcp = worker({})
    const signIn = await mcp.connections.signIn('', 'files')
    const query = await server.open(urlOf(signIn))
    const end = await mcp.connections.finish(query, 'another browser')
    expect(end).toEqual({ server: 'files', code: expect.stringMatching(/^[A-Z2-9]{4}-[A-Z2-9]{4}$/) })
    expect(await mcp.connections.finish(query, 'browser' in signIn ? signIn.browser : '')).toHaveProperty('error')
    expect(server.requests.map(({ path }) => path)).toEqual(['/register', '/authorize'])
    expect(await mcp.connections.confirm('', 'files', 'AAAA-AAAA')).toHaveProperty('error')
    expect(await mcp.connections.confirm('acme', 'files', 'code' in end ? (end.code ?? '') : '')).toHaveProperty(
      'error',
    )
    expect(await mcp.connections.connections('')).toMatchObject([{ connected: false }])
    expect(await mcp.connections.confirm('', 'files', 'code' in end ? ` ${end.code?.toLowerCase()}` : '')).toEqual({
      server: 'files',
    })
    expect(await mcp.names()).toEqual(['echo'])
  })

  test('takes five wrong codes for a sign-in, and none after its end', async () => {
    const mcp = worker({})
    const end = await mcp.connections.finish(await server.open(urlOf(await mcp.connections.signIn('', 'files'))))
    const code = ('code' in end && end.code) || ''
    for (let tries = 0; tries < 5; tries++) await mcp.connections.confirm('', 'files', 'AAAA-AAAA')
    expect(await mcp.connections.confirm('', 'files', code)).toEqual({ error: 'No sign-in waits for a code.' })
    expect(server.requests.map(({ path }) => path)).not.toContain('/token')
  })

  test('ends a sign-in once, and only as it was begun', async () => {
    const mcp = worker({})
    const signIn = await mcp.connections.signIn('', 'files')
    const query = await server.open(urlOf(signIn))
    const forged = new URLSearchParams(query)
    forged.set('state', `${forged.get('state')}x`)
    expect(await mcp.connections.finish(forged.toString())).toHaveProperty('error')
    expect(await mcp.connections.finish(`${query}&iss=https://evil.example.com`)).toHaveProperty('error')
    expect(await mcp.connections.finish(query)).toHaveProperty('error')
    expect(server.requests.map(({ path }) => path)).not.toContain('/token')
    expect(await mcp.connections.signIn('acme', 'files')).toHaveProperty('error')
  })

  test.each(['http://10.0.0.8', 'https://internal.local', 'http://evil.example.com', 'https://127.0.0.1.nip.io:8443'])(
    'may not name %s as its authorization server',
    async (issuer) => {
      server.issuer = issuer
      expect(await worker({}).connections.signIn('', 'files')).toEqual({
        error: expect.stringContaining('is not an https address of a public server'),
      })
    },
  )
})
