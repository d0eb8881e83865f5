import { expect, test } from 'vitest'
import { bearer, sha256 } from '../fixtures/keys.ts'
import { CALLBACK, signInEdge } from '../fixtures/sign-in.ts'

/** The controls of a sign-in at the edge, one row each. `edge/sign-in.test.ts` tries them in full, on workerd. */

const QUERY = { response_type: 'code', redirect_uri: CALLBACK, scope: 'chat' }
const CHALLENGE = { code_challenge: 'a'.repeat(43), code_challenge_method: 'S256' }

/** What the page answers to a client that asks in this way. */
async function open(query: Record<string, string>, metadata: object = {}): Promise<readonly [number, string]> {
  const edge = signInEdge()
  const client = await edge.register(metadata)
  const response = await edge.send(
    `/oauth/authorize?${new URLSearchParams({ ...query, client_id: client }).toString()}`,
  )
  return [response.status, await response.text()]
}

test('a client needs PKCE, and the address of a program that is one', async () => {
  expect((await open({ ...QUERY, ...CHALLENGE }))[1]).toContain('name="handle"')
  // The library asks it of public clients alone.
  for (const method of ['none', 'client_secret_post'])
    expect((await open(QUERY, { token_endpoint_auth_method: method }))[1]).not.toContain('name="handle"')
  const redirect = { redirect_uri: 'ms-msdt:/id' }
  const [status] = await open({ ...QUERY, ...CHALLENGE, ...redirect }, { redirect_uris: [CALLBACK, 'ms-msdt:/id'] })
  expect(status).toBe(400)
})

test('a token is for /mcp alone, and has the scopes that were on offer', async () => {
  const edge = signInEdge()
  const token = (await edge.signIn(await edge.register(), 'ann')).access_token
  const statusOf = async (path: string) => (await edge.send(path, { headers: bearer(token) })).status
  expect([await edge.mcpStatus(token), await statusOf('/tools'), await statusOf('/caller')]).toEqual([200, 401, 401])
  const more = (await edge.signIn(await edge.register(), 'ann', ['chat', 'keys'])) as { readonly scope?: string }
  expect(more.scope).toBe('chat')
})

test.each([
  ['is rotated', (key: object) => Object.assign(key, { sha256: [sha256('other')] })],
  ['has expired', (key: object) => Object.assign(key, { expires: 1 })],
  ['loses a scope', (key: object) => Object.assign(key, { scopes: ['tools:read'] })],
])('a sign-in ends when its key %s', async (_, change) => {
  const edge = signInEdge()
  const token = (await edge.signIn(await edge.register(), 'ann')).access_token
  expect(await edge.mcpStatus(token)).toBe(200)
  for (const key of edge.keys) if (key.id === 'ann') change(key)
  expect(await edge.mcpStatus(token)).toBe(401)
})

test('an address that enters ten wrong keys must wait', async () => {
  const edge = signInEdge()
  const client = await edge.register()
  for (let count = 0; count < 10; count++) await edge.signIn(client, 'wrong').catch(() => {})
  const response = await edge.send(
    `/oauth/authorize?${new URLSearchParams({ ...QUERY, ...CHALLENGE, client_id: client }).toString()}`,
  )
  expect(response.status).toBe(429)
})
