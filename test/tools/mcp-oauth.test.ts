import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ToolOutcome } from '../../src/contract/tool.ts'
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
        signIn: (target: Parameters<Connection['signIn']>[0]) => connection.signIn(target, id),
        serverOf: connection.serverOf.bind(connection),
        finish: (target: Parameters<Connection['finish']>[0], nonce: string, back: string) =>
          connection.finish(target, nonce, new URLSearchParams(back)),
        state: connection.state.bind(connection),
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
    CONNECTIONS: namespace(),
  }
  const service = () => mcpService(LIFETIME, env)
  const connections = connectionService(env)
  return {
    connections,
    names: async () => (await service().describe()).tools.map(({ name }) => name),
    call: async (tenant = 'acme'): Promise<ToolOutcome> => {
      const [tool] = (await service().describe()).tools
      const caller = { tenant, scopes: [] }
      const context = { hash: tool?.hash ?? '', deadline: Date.now() + 30_000, caller }
      return service().call(toolRequest('echo', {}, context))
    },
    /** Signs in, from the first address to the last. */
    connect: async (owner: string) => {
      const signIn = await connections.signIn(owner, 'files')
      return connections.finish(await server.open('url' in signIn ? signIn.url : ''))
    },
  }
}

const CREDENTIALS = { grant: 'client_credentials', clientId: 'edge', clientSecret: '{SECRET_CLIENT}' }

describe('a server that wants a token, with credentials of the edge', () => {
  test('gets a token of its authorization server, asked for once', async () => {
    const mcp = worker(CREDENTIALS)
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
    const mcp = worker(CREDENTIALS)
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
    expect(await worker(CREDENTIALS).call()).toMatchObject({ content: [{ text: 'You sent [redacted]' }] })
    expect(logs.join()).not.toContain('token-of-the-server')
  })

  test('does not have credentials sent on to where a token endpoint redirects', async () => {
    server.redirectsTokens = true
    await expect(worker(CREDENTIALS).names()).rejects.toThrow()
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

  test('serves each tenant with its own connection, and asks a tenant without one to sign in', async () => {
    const mcp = worker({ owner: 'tenant' })
    await mcp.connect('')
    const outcome = await mcp.call('acme')
    const { sign_in: request } = (!outcome.ok && outcome.input?.requests) || {}
    expect(request).toMatchObject({ method: 'elicitation/create', params: { mode: 'url' } })
    const operators = [...server.valid]
    expect(await mcp.connections.finish(await server.open(String(request?.params['url'])))).toEqual({ server: 'files' })
    expect(await mcp.call('acme')).toMatchObject({ ok: true })
    expect(server.mcp.of('tools/call').at(-1)?.headers.authorization).not.toBe(`Bearer ${operators[0]}`)
    expect(await mcp.call('other')).toMatchObject({ ok: false, error: { code: 'input_required' } })
    expect(await mcp.connections.connections('other')).toMatchObject([{ signIn: 'tenant', connected: false }])
  })

  test('ends a sign-in once, and only as it was begun', async () => {
    const mcp = worker({})
    const signIn = await mcp.connections.signIn('', 'files')
    const query = await server.open('url' in signIn ? signIn.url : '')
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
