import { expect, test } from 'vitest'
import { signInEdge, type Tokens } from '../fixtures/sign-in.ts'

/** What becomes of a sign-in when a refresh token comes back, with the real library. */

const tokensOf = (response: Response) => response.json() as Promise<Tokens>
const errorOf = async (response: Response) => [response.status, ((await response.json()) as any).error]

async function signedIn() {
  const edge = signInEdge()
  const client = await edge.register()
  const first = await edge.signIn(client, 'ann')
  return { edge, client, first, refresh: (token: string) => edge.refresh(client, token) }
}

test('a token that comes back after its successor was used ends the sign-in', async () => {
  const { edge, first, refresh } = await signedIn()
  const second = await tokensOf(await refresh(first.refresh_token))
  const third = await tokensOf(await refresh(second.refresh_token))
  expect(await edge.mcpStatus(third.access_token)).toBe(200)
  expect(await errorOf(await refresh(first.refresh_token))).toEqual([400, 'invalid_grant'])
  expect(await errorOf(await refresh(third.refresh_token))).toEqual([400, 'invalid_grant'])
  expect([await edge.mcpStatus(third.access_token), await edge.mcpStatus(first.access_token)]).toEqual([401, 401])
  expect(edge.reports).toEqual([{ event: 'sign_in.reused', key: 'ann' }])
})

test('a token that somebody else has used ends the sign-in, when its owner comes with the one that it replaced', async () => {
  const { edge, client, first, refresh } = await signedIn()
  const mine = await tokensOf(await refresh(first.refresh_token))
  // Not the same request, so it is not answered as the first was.
  const stolen = await tokensOf(await edge.refresh(client, first.refresh_token, { scope: 'chat tools:read' }))
  expect(stolen.refresh_token).not.toBe(mine.refresh_token)
  expect((await refresh(mine.refresh_token)).status).toBe(400)
  expect((await refresh(stolen.refresh_token)).status).toBe(400)
  expect(await edge.mcpStatus(stolen.access_token)).toBe(401)
})

test('the same request again gets the same answer: an answer that was lost, or a client that runs twice', async () => {
  const { edge, first, refresh } = await signedIn()
  const answers = await Promise.all(Array.from({ length: 4 }, () => refresh(first.refresh_token)))
  const tokens = await Promise.all([...answers, await refresh(first.refresh_token)].map(tokensOf))
  expect(new Set(tokens.map(({ refresh_token: token }) => token)).size).toBe(1)
  expect(new Set(tokens.map(({ access_token: token }) => token)).size).toBe(1)
  const [next] = tokens
  expect(await edge.mcpStatus(next?.access_token ?? '')).toBe(200)
  expect((await refresh(next?.refresh_token ?? '')).status).toBe(200)
  expect(edge.reports).toEqual([])
})

test('a token works until its successor is used, however often the answer was lost', async () => {
  const { edge, client, first, refresh } = await signedIn()
  let last = first
  for (const scope of ['chat', 'tools:read', 'chat tools:read', 'tools:read chat'])
    last = await tokensOf(await edge.refresh(client, first.refresh_token, { scope }))
  expect((await refresh(last.refresh_token)).status).toBe(200)
  expect(edge.reports).toEqual([])
})

test('what was never a refresh token of the grant ends nothing', async () => {
  const { edge, first, refresh } = await signedIn()
  const [user = '', grant = ''] = first.refresh_token.split(':')
  const forgeries = [`${user}:${grant}:${'x'.repeat(32)}`, first.access_token, `${user}:${grant}:`, ':', '::', 'x']
  for (const token of forgeries) expect([token, (await refresh(token)).status]).toEqual([token, 400])
  expect(await edge.mcpStatus(first.access_token)).toBe(200)
  expect((await refresh(first.refresh_token)).status).toBe(200)
})

test('a new sign-in of the same key with the same client ends the older one, and no other', async () => {
  const { edge, client, first, refresh } = await signedIn()
  const other = await edge.signIn(client, 'bo')
  const elsewhere = await edge.signIn(await edge.register(), 'ann')
  expect(await edge.mcpStatus(first.access_token)).toBe(200)
  const next = await edge.signIn(client, 'ann')
  const statuses = await Promise.all(
    [first, next, other, elsewhere].map(({ access_token: token }) => edge.mcpStatus(token)),
  )
  expect(statuses).toEqual([401, 200, 200, 200])
  expect(await errorOf(await refresh(first.refresh_token))).toEqual([400, 'invalid_grant'])
  expect((await refresh(next.refresh_token)).status).toBe(200)
})

test('an answer that is kept for a repeated request cannot be read without it', async () => {
  const { edge, client, first, refresh } = await signedIn()
  const next = await tokensOf(await refresh(first.refresh_token))
  const stored = [...edge.entries].map(([name, { value }]) => `${name} ${value}`).join('\n')
  expect(stored).toContain('refreshed:')
  for (const token of [first, next].flatMap((each) => [each.access_token, each.refresh_token]))
    expect(stored).not.toContain(token.split(':')[2] ?? '')
  // Another client with the token is refused, and gets nothing that was kept.
  const { status } = await edge.refresh(await edge.register(), first.refresh_token)
  expect([client === '', status]).toEqual([false, 400])
})
