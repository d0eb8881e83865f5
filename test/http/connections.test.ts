import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import type { ConnectionService } from '../../src/contract/connection.ts'
import { testEdge } from '../fixtures/edge.ts'

const ISSUER = 'https://auth.example.com'
const requests: string[] = []
const service: ConnectionService = {
  connections: async (owner) => {
    const signIn = owner === '' ? 'edge' : 'tenant'
    return [{ server: `files-${owner}`, url: 'https://files.example.com/mcp', signIn, connected: true }]
  },
  signIn: async (owner, server, issuer) => {
    requests.push(`${owner}:${server}${issuer === undefined ? '' : `:${issuer}`}`)
    if (server === 'moved' && issuer !== ISSUER) return { error: 'It is held back.', issuer: ISSUER }
    return server === 'nope'
      ? { error: 'There is no such server.' }
      : { issuer: ISSUER, url: `${ISSUER}/authorize`, browser: 'b1' }
  },
  disconnect: async (_owner, server) => server === 'files',
  finish: async (query, browser) => {
    if (!query.includes('code=right')) return { error: 'This is not known.' }
    return browser === 'b1' ? { server: 'files' } : { server: 'files', code: 'K7QF-2M9P' }
  },
  confirm: async (owner, server, code) => {
    requests.push(`${owner}:${server}:${code}`)
    return code === 'K7QF-2M9P' ? { server } : { error: 'This is not the code that the page showed.' }
  },
}

function edge(...scopes: string[]) {
  const sha256 = createHash('sha256').update('ek_test').digest('hex')
  const vars = { AUTH: 'keys', API_KEYS: JSON.stringify([{ sha256, tenant: 'acme', scopes }]) }
  const open = testEdge({ vars, setup: { connections: service } })
  return (path: string, method = 'GET', json?: object) =>
    open.ask(path, { method, headers: { authorization: 'Bearer ek_test' }, ...(json && { json }) })
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
    expect(await response.json()).toEqual({ issuer: ISSUER, url: `${ISSUER}/authorize` })
    await edge('tools:admin')('/connections/files', 'POST')
    expect(requests).toEqual(['acme:files', ':files'])
    expect((await edge('tools:write')('/connections/files?owner=edge', 'POST')).status).toBe(403)
    expect((await edge('chat')('/connections/files', 'POST')).status).toBe(403)
    expect((await edge('tools:write')('/connections/nope', 'POST')).status).toBe(422)
    expect(requests).toEqual(['acme:files', ':files', 'acme:nope'])
  })

  test('says which authorization server nobody has accepted, and passes on which one a person accepts', async () => {
    const ask = edge('tools:admin')
    const refusal = await ask('/connections/moved', 'POST')
    expect([refusal.status, await refusal.json()]).toMatchObject([
      409,
      {
        code: 'issuer_not_accepted',
        detail: 'It is held back. If credentials may go there, send { "issuer": "https://auth.example.com" }.',
      },
    ])
    expect((await ask('/connections/moved', 'POST', { issuer: ISSUER })).status).toBe(200)
    expect(requests.slice(-2)).toEqual([':moved', `:moved:${ISSUER}`])
    expect((await ask('/connections/moved', 'POST', { issuer: 7 })).status).toBe(422)
  })

  test('forgets a connection', async () => {
    expect((await edge('tools:write')('/connections/files', 'DELETE')).status).toBe(204)
    expect((await edge('tools:write')('/connections/nope', 'DELETE')).status).toBe(404)
  })

  test('ends a sign-in without a key, and shows the browser no more than how it went', async () => {
    const open = testEdge({ setup: { connections: service } })
    const signIn = await open.ask('/connections/files', { method: 'POST' })
    expect(signIn.headers.get('set-cookie')).toBe(
      '__Host-edgecall-sign-in=b1; Path=/; Max-Age=900; Secure; HttpOnly; SameSite=Lax',
    )
    const headers = { cookie: 'other=1; __Host-edgecall-sign-in=b1' }
    const right = await open.ask('/connections/callback?state=s&code=right', { headers })
    expect([right.status, await right.text()]).toEqual([200, 'You are connected to files. You can close this page.'])
    expect(right.headers.get('referrer-policy')).toBe('no-referrer')
    const wrong = await open.ask('/connections/callback?state=s&code=wrong')
    expect([wrong.status, await wrong.text()]).toEqual([400, 'This is not known.'])
  })

  test('gives a browser that did not ask for the sign-in a code, which the one who asked sends with a key', async () => {
    const open = testEdge({ setup: { connections: service } })
    const page = await open.ask('/connections/callback?state=s&code=right', {
      headers: { cookie: '__Host-edgecall-sign-in=b2' },
    })
    expect([page.status, await page.text()]).toEqual([
      200,
      `The sign-in to files was asked for elsewhere. If you asked for it, enter this code there: K7QF-2M9P

If somebody sent you the link, close this page: with the code, they could use your account.`,
    ])
    const ask = edge('tools:write')
    const right = await ask('/connections/files', 'PUT', { code: 'K7QF-2M9P' })
    expect([right.status, await right.json()]).toEqual([200, { server: 'files' }])
    expect(requests.at(-1)).toBe('acme:files:K7QF-2M9P')
    const wrong = await ask('/connections/files', 'PUT', { code: 'AAAA-AAAA' })
    expect([wrong.status, await wrong.json()]).toMatchObject([422, { code: 'sign_in_failed' }])
    expect((await ask('/connections/files', 'PUT', {})).status).toBe(422)
    expect((await edge('chat')('/connections/files', 'PUT', { code: 'K7QF-2M9P' })).status).toBe(403)
  })

  test('is 404 in an edge without connections', async () => {
    expect((await testEdge().ask('/connections')).status).toBe(404)
  })
})
