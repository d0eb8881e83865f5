import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { ConnectionService } from '../../src/contract/connection.ts'
import { testEdge } from '../fixtures/edge.ts'

const requests: string[] = []
const service: ConnectionService = {
  connections: async (owner) => {
    const signIn = owner === '' ? 'edge' : 'tenant'
    return [{ server: `files-${owner}`, url: 'https://files.example.com/mcp', signIn, connected: true }]
  },
  signIn: async (owner, server) => {
    requests.push(`${owner}:${server}`)
    return server === 'files' ? { url: 'https://auth.example.com/authorize' } : { error: 'There is no such server.' }
  },
  disconnect: async (_owner, server) => server === 'files',
  finish: async (query) => (query.includes('code=right') ? { server: 'files' } : { error: 'This is not known.' }),
}

function edge(...scopes: string[]) {
  const sha256 = createHash('sha256').update('ek_test').digest('hex')
  const vars = { AUTH: 'keys', API_KEYS: JSON.stringify([{ sha256, tenant: 'acme', scopes }]) }
  const open = testEdge({ vars, setup: { connections: service } })
  return (path: string, method = 'GET') => open.ask(path, { method, headers: { authorization: 'Bearer ek_test' } })
}

describe('/connections', () => {
  test('lists the tenant’s connections, and those of the edge to its administrators', async () => {
    const names = async (...scopes: string[]) => {
      const list = (await (await edge(...scopes)('/connections')).json()) as { owner: string; server: string }[]
      return list.map(({ owner, server }) => [owner, server])
    }
    expect(await names('tools:read')).toEqual([['tenant', 'files-acme']])
    expect(await names('tools:read', 'tools:admin')).toEqual([
      ['edge', 'files-'],
      ['tenant', 'files-acme'],
    ])
  })

  test('begins sign-ins for the tenant or the edge, as the key may', async () => {
    requests.splice(0)
    const response = await edge('tools:write')('/connections/files', 'POST')
    expect(await response.json()).toEqual({ url: 'https://auth.example.com/authorize' })
    await edge('tools:admin')('/connections/files', 'POST')
    expect(requests).toEqual(['acme:files', ':files'])
    expect((await edge('tools:write')('/connections/files?owner=edge', 'POST')).status).toBe(403)
    expect((await edge('chat')('/connections/files', 'POST')).status).toBe(403)
    expect((await edge('tools:write')('/connections/nope', 'POST')).status).toBe(422)
    expect(requests).toEqual(['acme:files', ':files', 'acme:nope'])
  })

  test('forgets a connection', async () => {
    expect((await edge('tools:write')('/connections/files', 'DELETE')).status).toBe(204)
    expect((await edge('tools:write')('/connections/nope', 'DELETE')).status).toBe(404)
  })

  test('ends a sign-in without a key, and shows the browser no more than how it went', async () => {
    const open = testEdge({ setup: { connections: service } })
    const right = await open.ask('/connections/callback?state=s&code=right')
    expect([right.status, await right.text()]).toEqual([200, 'You are connected to files. You can close this page.'])
    expect(right.headers.get('referrer-policy')).toBe('no-referrer')
    const wrong = await open.ask('/connections/callback?state=s&code=wrong')
    expect([wrong.status, await wrong.text()]).toEqual([400, 'This is not known.'])
  })

  test('is 404 in an edge without connections', async () => {
    expect((await testEdge().ask('/connections')).status).toBe(404)
  })
})
