import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { memoryKv } from '../fixtures/memory-kv.ts'
import { AuthorizationServer } from '../fixtures/authorization-server.ts'
import { testEdge } from '../fixtures/edge.ts'

/** `/mcp` as a protected resource of OAuth 2.1: RFC 9728 and RFC 8707, as MCP has them. */

const ORIGIN = 'http://127.0.0.1:8787'
const RESOURCE = `${ORIGIN}/mcp`
const METADATA = '/.well-known/oauth-protected-resource'
const HINT = `resource_metadata="${ORIGIN}${METADATA}/mcp"`

const people = new AuthorizationServer()
beforeAll(() => people.listen())
afterAll(() => people.close())

/** An edge with keys, and with these identity providers. */
function guardedEdge(...providers: readonly object[]) {
  const key = apiKey('reader', { scopes: ['tools:read'] })
  return testEdge({
    vars: {
      ...withKeys(key, apiKey('both', { scopes: ['tools:read', 'chat'] })),
      IDENTITY_PROVIDERS: JSON.stringify(providers),
    },
  })
}

const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }

/** The status of a request to `/mcp`, and its challenge. */
async function challenged(edge: ReturnType<typeof guardedEdge>, token?: string): Promise<[number, string | null]> {
  const { status, headers } = await edge.ask('/mcp', { json: ping, headers: token === undefined ? {} : bearer(token) })
  return [status, headers.get('www-authenticate')]
}

describe('the metadata of /mcp', () => {
  test.each([METADATA, `${METADATA}/mcp`])('at %s names where to sign in, and with which scopes', async (path) => {
    const edge = guardedEdge(
      people.provider(),
      people.provider({ id: 'robots', issuer: 'https://ci.example.com', scopes: ['chat'] }),
    )
    const response = await edge.ask(path)
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        resource: RESOURCE,
        authorization_servers: [people.issuer, 'https://ci.example.com'],
        scopes_supported: ['edge.call', 'edge.read'],
        bearer_methods_supported: ['header'],
      },
    ])
  })

  test('names the edge first, where people can sign in there too', async () => {
    const signIn = { grants: memoryKv().namespace, scopes: ['tools:read', 'chat', 'approve'] }
    const edge = testEdge({
      vars: { ...withKeys(), IDENTITY_PROVIDERS: JSON.stringify([people.provider()]) },
      setup: { signIn },
    })
    expect(await (await edge.ask(METADATA)).json()).toEqual({
      resource: RESOURCE,
      authorization_servers: [ORIGIN, people.issuer],
      scopes_supported: ['tools:read', 'chat'],
      bearer_methods_supported: ['header'],
    })
  })

  test('names no scopes where the provider’s are of the edge alone', async () => {
    const map = { 'a "word"': ['chat', 'tools:read'], ключ: ['chat'] }
    for (const scopes of [
      ['chat', 'tools:read'],
      { claim: 'groups', map: { staff: ['chat'] } },
      { claim: 'scope', map },
    ]) {
      expect(await (await guardedEdge(people.provider({ scopes })).ask(METADATA)).json()).toEqual({
        resource: RESOURCE,
        authorization_servers: [people.issuer],
        bearer_methods_supported: ['header'],
      })
    }
  })

  test('names nobody to sign in with where there are API keys alone', async () => {
    const response = await testEdge({ vars: withKeys(apiKey('one')) }).ask(METADATA)
    expect(await response.json()).toEqual({ resource: RESOURCE, bearer_methods_supported: ['header'] })
  })

  test('can be read by the pages of any origin', async () => {
    const origin = 'https://app.example.com'
    for (const vars of [{}, { CORS_ORIGINS: 'https://other.example.com' }]) {
      const edge = testEdge({ vars: { ...withKeys(apiKey('one')), ...vars } })
      const headers = { origin, 'access-control-request-headers': 'mcp-protocol-version' }
      const preflight = await edge.ask(`${METADATA}/mcp`, { method: 'OPTIONS', headers })
      const { headers: answered } = await edge.ask(`${METADATA}/mcp`, { headers: { origin } })
      expect([preflight.status, preflight.headers.get('access-control-allow-headers')]).toEqual([
        204,
        'mcp-protocol-version',
      ])
      for (const each of [preflight.headers, answered]) expect(each.get('access-control-allow-origin')).toBe('*')
      const other = await edge.ask('/health', { headers: { origin } })
      expect(other.headers.get('access-control-allow-origin')).toBe(null)
    }
  })
})

describe('a refusal of /mcp says how to get in', () => {
  test('without a token', async () => {
    expect(await challenged(guardedEdge(people.provider()))).toEqual([
      401,
      `Bearer ${HINT}, scope="edge.call edge.read"`,
    ])
  })

  test('with a token that is not valid, and with one for another audience', async () => {
    const edge = guardedEdge(people.provider())
    const challenge = `Bearer ${HINT}, scope="edge.call edge.read", error="invalid_token"`
    const scope = 'edge.call edge.read'
    const wrong = [
      'wrong',
      await people.token({ aud: 'another', scope }),
      await people.token({ aud: `${RESOURCE}/`, scope }),
      await people.token({ aud: 'https://another.example.com/mcp', scope }),
      await people.token({ aud: RESOURCE, scope, exp: 1 }),
      await people.token({ aud: RESOURCE, scope, iss: 'https://evil.example.com' }),
    ]
    for (const token of wrong) expect(await challenged(edge, token)).toEqual([401, challenge])
  })

  test('with a token or a key that lacks a scope', async () => {
    const edge = guardedEdge(people.provider())
    const challenge = `Bearer ${HINT}, scope="edge.call edge.read", error="insufficient_scope"`
    expect(await challenged(edge, await people.token({ aud: RESOURCE, scope: 'edge.read' }))).toEqual([403, challenge])
    expect(await challenged(edge, 'reader')).toEqual([403, challenge])
  })

  test('where there is nobody to sign in with', async () => {
    const edge = testEdge({ vars: withKeys(apiKey('one')) })
    expect(await challenged(edge)).toEqual([401, `Bearer ${HINT}`])
  })

  test('which other routes do not', async () => {
    const { status, headers } = await guardedEdge(people.provider()).ask('/tools')
    expect([status, headers.get('www-authenticate')]).toEqual([401, 'Bearer'])
  })
})

describe('a token for /mcp', () => {
  test('may name the address of /mcp as its audience, there alone, or the configured audience', async () => {
    const edge = guardedEdge(people.provider())
    const scope = 'edge.call edge.read'
    const statuses = async (token: string) => [
      (await challenged(edge, token))[0],
      (await edge.ask('/tools', { headers: bearer(token) })).status,
    ]
    expect(await statuses(await people.token({ aud: RESOURCE, scope }))).toEqual([200, 401])
    expect(await statuses(await people.token({ aud: [RESOURCE, 'another'], scope }))).toEqual([200, 401])
    expect(await statuses(await people.token({ aud: 'the-edge', scope }))).toEqual([200, 200])
    expect((await challenged(edge, 'both'))[0]).toBe(200)
  })

  test('has its scopes in the claim `scope` or `scp`, as a text or a list, and groups are one word each', async () => {
    const statusWith = async (claim: string, value: unknown) => {
      const map = { 'edge.call': ['chat'], 'edge.read': ['tools:read'] }
      const edge = guardedEdge(people.provider({ scopes: { claim, map } }))
      return (await challenged(edge, await people.token({ aud: RESOURCE, [claim]: value })))[0]
    }
    expect(await statusWith('scope', 'openid edge.call edge.read')).toBe(200)
    expect(await statusWith('scp', 'edge.read edge.call')).toBe(200)
    expect(await statusWith('scp', ['edge.read', 'edge.call'])).toBe(200)
    expect(await statusWith('scope', 'edge.callx edge.read')).toBe(403)
    expect(await statusWith('groups', 'edge.call edge.read')).toBe(403)
  })
})
