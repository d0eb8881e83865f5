import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test, vi } from 'vitest'
import { FIRST_BYTES } from '../../src/contract/quotas.ts'
import { makeDirectory } from '../fixtures/directories.ts'
import { apiKey, bearer, keyName, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from '../http/kept-edge.ts'
import { controlledEdge } from './controlled-edge.ts'

const [one, two, stranger] = [bearer('one'), bearer('two'), bearer('stranger')]

function stage(vars: Record<string, unknown>, options: Partial<Parameters<typeof keptEdge>[0]> = {}) {
  const keys = withKeys(apiKey('one'), apiKey('two'), apiKey('stranger', { tenant: 'other' }))
  const edge = keptEdge({ script: [], ...options, vars: { ...keys, ...vars } })
  const quotasOf = async (headers: Record<string, string>) =>
    ((await (await edge.fetch('/usage', { headers })).json()) as any).quotas
  return { ...edge, quotasOf }
}

const refusal = async (response: Response) => [response.status, await response.json()]
const reached = (status: number, quota: string, used: number, limit: number) => [
  status,
  expect.objectContaining({ code: 'quota_exceeded', quota, used, limit }),
]

describe('the quotas of a tenant', () => {
  test('refuse a conversation too many with 507, on every way to create one, and no request to an existing one', async () => {
    const { post, fetch, objects, quotasOf } = stage({ MAX_CONVERSATIONS: 2 }, { script: [say('Hi.'), say('Again.')] })
    const chat = (id: string) =>
      post('/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }] }, { ...one, 'x-conversation-id': id })
    expect((await post('/conversations', { id: 'a' }, one)).status).toBe(201)
    expect((await chat('b')).status).toBe(200)
    const full = reached(507, 'conversations', 2, 2)
    const response = await post('/conversations', { id: 'c' }, two)
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await refusal(response)).toEqual(full)
    const [last] = ((await (await fetch('/conversations/b/messages', { headers: one })).json()) as any).toReversed()
    expect(await refusal(await post('/conversations/b/fork', { at: last.position }, one))).toEqual(full)
    const { status } = await chat('d')
    expect(status).toBe(507)
    expect([...objects.keys()]).toEqual(['v1/acme/a', 'v1/acme/b'])

    expect((await post('/conversations', { id: 'a' }, one)).status).toBe(200)
    expect((await chat('b')).status).toBe(200)
    expect((await post('/conversations', { id: 'c' }, stranger)).status).toBe(201)
    expect(await quotasOf(one)).toMatchObject({ conversations: { used: 2, limit: 2 } })
    expect(await quotasOf(stranger)).toMatchObject({ conversations: { used: 1, limit: 2 } })
    await fetch('/conversations/a', { method: 'DELETE', headers: one })
    expect((await post('/conversations', { id: 'c' }, one)).status).toBe(201)
  })

  test('refuse runs with 507 while its conversations store too much, and count what they report', async () => {
    const text = 'x'.repeat(200_000)
    const script = [say(text), say(text), say('Hi.'), say('Hi.')]
    const { post, fetch, settle, quotasOf } = stage({ MAX_STORED_BYTES: 3 * FIRST_BYTES }, { script })
    const run = (id: string) => post(`/conversations/${id}/runs`, { input: 'Hi' }, one)
    for (const id of ['large', 'small']) await post('/conversations', { id }, one)
    expect((await quotasOf(one)).storedBytes.used).toBe(2 * FIRST_BYTES)
    expect((await run('large')).status).toBe(200)
    await settle()
    const { used } = (await quotasOf(one)).storedBytes
    expect(used).toBeGreaterThan(3 * FIRST_BYTES)
    expect(await refusal(await run('large'))).toEqual(reached(507, 'storedBytes', used, 3 * FIRST_BYTES))
    expect(await refusal(await post('/conversations', { id: 'new' }, one))).toEqual(
      reached(507, 'storedBytes', used, 3 * FIRST_BYTES),
    )
    // Known runs are answered, and other tenants are not affected.
    expect((await fetch('/conversations/large/runs', { headers: one })).status).toBe(200)
    expect((await post('/conversations', { id: 'new' }, stranger)).status).toBe(201)
    await fetch('/conversations/small', { method: 'DELETE', headers: one })
    await fetch('/conversations/large', { method: 'DELETE', headers: one })
    expect((await quotasOf(one)).storedBytes.used).toBe(0)
    expect((await post('/conversations', { id: 'new' }, one)).status).toBe(201)
  })

  test.each([
    ['stored responses', '/v1/responses', {}],
    ['runs with a key', '/runs', { 'idempotency-key': 'k1' }],
  ])('count large %s until they end, and refuse more with 507', async (_, path, headers) => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const script = Array.from({ length: 4 }, () => say('x'.repeat(300_000)))
    const { post, settle, quotasOf } = stage({ MAX_STORED_BYTES: 3 * FIRST_BYTES }, { script })
    const send = (more: object = {}) => post(path, { input: 'Hi' }, { ...one, ...headers, ...more })
    expect((await send()).status).toBe(200)
    await settle()
    const { used } = (await quotasOf(one)).storedBytes
    expect(used).toBeGreaterThan(3 * FIRST_BYTES)
    expect((await quotasOf(one)).conversations.used).toBe(0)
    const response = await send(path === '/runs' ? { 'idempotency-key': 'k2' } : {})
    expect([response.status, JSON.stringify(await response.json())]).toEqual([
      507,
      expect.stringContaining('quota_exceeded'),
    ])
    vi.setSystemTime(Date.now() + 31 * 24 * 60 * 60 * 1000)
    expect((await quotasOf(one)).storedBytes.used).toBe(0)
    expect((await send({ 'idempotency-key': 'k3' })).status).toBe(200)
    vi.useRealTimers()
  })

  test('refuse a definition too many with 507, but for the edge and for new versions', async () => {
    const [author, admin] = ['acme: chat tools:read tools:write', 'ops: tools:read tools:admin']
    const { as } = controlledEdge({ workers: {}, keys: [author, admin], vars: { MAX_DEFINITIONS: 2 } })
    const put = async (key: string, name: string, text = 'x') => {
      const json = { description: `Says ${text}.`, inputSchema: { type: 'object' }, static: { text } }
      const { status, body } = await as(key)(`/tools/${name}`, { method: 'PUT', json })
      return [status, body]
    }
    expect((await put(author, 'a'))[0]).toBe(201)
    expect((await put(author, 'b'))[0]).toBe(201)
    expect(await put(author, 'c')).toEqual(reached(507, 'definitions', 2, 2))
    expect((await put(author, 'b', 'y'))[0]).toBe(200)
    for (const name of ['c', 'd', 'e']) expect((await put(admin, name))[0]).toBe(201)
    expect((await as(author)('/usage')).body.quotas.definitions).toEqual({ used: 2, limit: 2 })
    await as(author)('/tools/a', { method: 'DELETE' })
    expect((await put(author, 'f'))[0]).toBe(201)
  })
})

test('the totals of a tenant stay the same when their object starts again', async () => {
  const database = new DatabaseSync(':memory:')
  for (const id of ['a', 'b']) await makeDirectory(database).add(id)
  await makeDirectory(database).resize('b', 1_000_000)
  const totals = { conversations: 2, storedBytes: FIRST_BYTES + 1_000_000 }
  expect(await makeDirectory(database).room('b')).toEqual({ ...totals, isListed: true })
  expect(await makeDirectory(database).room('c')).toEqual({ ...totals, isListed: false })
})

describe('the quotas of what is under way', () => {
  test('refuse a run too many with 429, without a conversation and in one, until another has ended', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = tool('slow', () => gate.promise.then(() => 'done'))
    const script = [ask(['slow']), say('Hi.'), say('Hi.'), say('Hi.')]
    const { post, quotasOf } = stage(
      { MAX_CONCURRENT_RUNS: 2, MAX_CONCURRENT_RUNS_PER_KEY: 1 },
      { script, tools: [slow] },
    )
    await post('/conversations', { id: 'a' }, one)
    await post('/conversations', { id: 'b' }, one)
    const runIn = (path: string, headers: Record<string, string>, json: object = {}) =>
      post(path, { input: 'Hi', ...json }, headers)
    const first = runIn('/runs', one)
    await expect.poll(async () => (await quotasOf(one)).concurrentRunsPerKey.used).toBe(1)
    const ofKey = reached(429, 'concurrentRunsPerKey', 1, 1)
    const response = await runIn('/runs', one)
    expect(response.headers.get('retry-after')).toBe('1')
    expect(await refusal(response)).toEqual(ofKey)
    expect(await refusal(await runIn('/conversations/a/runs', one))).toEqual(ofKey)
    expect(await (await runIn('/runs', stranger)).json()).toMatchObject({ answer: 'Hi.' })
    gate.resolve()
    expect((await first).status).toBe(200)
    expect((await runIn('/conversations/a/runs', one)).status).toBe(200)
    expect(await quotasOf(one)).toMatchObject({
      concurrentRuns: { used: 0, limit: 2 },
      concurrentRunsPerKey: { used: 0, limit: 1 },
    })
  })

  test('refuse a request too many with 429 while streams are open, and take nothing from other keys', async () => {
    const gate = Promise.withResolvers<void>()
    const slow = tool('slow', () => gate.promise.then(() => 'done'))
    const edge = stage(
      { MAX_OPEN_REQUESTS: 3, MAX_OPEN_REQUESTS_PER_KEY: 2 },
      { script: [ask(['slow']), ask(['slow']), say('Hi.'), say('Hi.')], tools: [slow] },
    )
    const events = { ...one, accept: 'text/event-stream' }
    await edge.post('/conversations', { id: 'c' }, one)
    const stream = await edge.post('/conversations/c/runs', { input: 'Hi' }, events)
    const { runId } = (await firstEvent(stream)) as { runId: string }
    const follower = await edge.fetch(`/conversations/c/runs/${runId}/events`, { headers: one })
    const status = async (headers: Record<string, string>) => (await edge.fetch('/conversations', { headers })).status
    const body = await (await edge.fetch('/conversations', { headers: one })).json()
    expect(body).toMatchObject({ code: 'quota_exceeded', quota: 'openRequestsPerKey', used: 2, limit: 2 })
    expect([await status(one), await status(two), await status(stranger)]).toEqual([429, 200, 200])
    const third = await edge.post('/runs', { input: 'Hi' }, { ...two, accept: 'text/event-stream' })
    expect(await (await edge.fetch('/conversations', { headers: two })).json()).toMatchObject({
      quota: 'openRequests',
      used: 3,
    })
    await follower.body?.cancel()
    await third.body?.cancel()
    await expect.poll(() => status(one)).toBe(200)
    gate.resolve()
    await stream.body?.pipeTo(new WritableStream())
    await expect.poll(async () => (await edge.quotasOf(one)).openRequests.used).toBe(1)
  })

  test('are shown by GET /usage with what is used', async () => {
    const { fetch } = stage({})
    expect(await (await fetch('/usage', { headers: one })).json()).toEqual({
      key: keyName('one'),
      quotas: {
        conversations: { used: 0, limit: 100_000 },
        storedBytes: { used: 0, limit: 10 * 1024 ** 3 },
        definitions: { used: 0, limit: 1000 },
        openRequests: { used: 1, limit: 1000 },
        openRequestsPerKey: { used: 1, limit: 500 },
        concurrentRuns: { used: 0, limit: 1000 },
        concurrentRunsPerKey: { used: 0, limit: 500 },
      },
    })
  })
})

/** Reads the first event of a stream, which stays open. */
async function firstEvent({ body }: Response): Promise<unknown> {
  const reader = body?.getReader()
  const { value } = (await reader?.read()) ?? {}
  reader?.releaseLock()
  const line = new TextDecoder().decode(value as Uint8Array).match(/^data: (.*)$/m)?.[1] ?? '{}'
  return JSON.parse(line)
}
