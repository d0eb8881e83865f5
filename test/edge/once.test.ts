import { createServer } from 'node:http'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'
import type { ToolDescription, ToolOutcome, ToolRequest } from '../../src/contract/tool.ts'
import type { Ask } from '../fixtures/once/index.ts'
import { hasSamples, sampleWorkers } from './stage.ts'

let posts: { url: string; key: string | string[] | undefined }[] = []
/** Counts what is posted to it, and answers the count after a while, so that calls overlap. */
const server = createServer((request, response) => {
  request.resume()
  posts.push({ url: request.url ?? '', key: request.headers['idempotency-key'] })
  const effects = posts.length
  setTimeout(() => response.writeHead(200).end(JSON.stringify({ effects })), 50)
})
let harness: ReturnType<typeof createTestHarness>

beforeAll(async () => {
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' && address?.port}`
  // The binding of a deleted sample must lead somewhere; its test is skipped.
  const unused = Object.fromEntries(
    ['bookings', 'mail'].flatMap((name) => (hasSamples(name) ? [] : [[`TOOL_${name.toUpperCase()}`, 'once']])),
  )
  harness = createTestHarness({
    workers: [
      { configPath: 'test/fixtures/once/wrangler.toml', vars: { EFFECT_URL: url }, bindingOverrides: unused },
      ...sampleWorkers('bookings'),
      ...sampleWorkers('mail').map((worker) => ({ ...worker, vars: { MAIL_URL: url } })),
    ],
  })
  await harness.listen()
})
afterAll(async () => {
  await harness.close()
  server.closeAllConnections()
  server.close()
})
beforeEach(() => {
  posts = []
})

async function ask<Answer = unknown>(request: Ask): Promise<Answer> {
  const response = await harness.fetch('/', { method: 'POST', body: JSON.stringify(request) })
  return (await response.json()) as Answer
}

describe('once', () => {
  const evict = () => harness.getWorker('once').evictDurableObject('Effects', { name: 'one' })

  test('gives concurrent calls with one key one effect and one result', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => ask({ ask: 'perform', key: 'a' })))
    expect(answers).toEqual(answers.map(() => ({ effects: 1 })))
    await evict()
    expect(await ask({ ask: 'perform', key: 'a' })).toEqual({ effects: 1 })
    expect([posts.length, await ask({ ask: 'status', key: 'a' })]).toEqual([1, 'done'])
  })

  test('leaves the key in doubt and repeats nothing if the object dies after the effect', async () => {
    expect(await ask({ ask: 'die', key: 'b' })).toEqual({ failed: 'died on the way' })
    expect(await ask({ ask: 'status', key: 'b' })).toBe('started')
    expect(await ask({ ask: 'perform', key: 'b' })).toEqual({ failed: 'in_doubt' })
    expect(posts).toHaveLength(1)
  })

  test('tells the model of a tool that the call is in doubt', async () => {
    await ask({ ask: 'die', key: 'e' })
    const message = expect.stringContaining('whether it took effect is unknown')
    expect(await ask({ ask: 'perform by a tool', key: 'e' })).toEqual({
      ok: false,
      error: { code: 'in_doubt', message },
    })
  })

  test('leaves nothing behind if the object dies in a transaction', async () => {
    expect(await ask({ ask: 'die in a transaction', key: 'c' })).toEqual({ failed: 'died on the way' })
    expect(await ask({ ask: 'status', key: 'c' })).toBe('absent')
    expect([await ask({ ask: 'count', key: 'c' }), await ask({ ask: 'count', key: 'c' })]).toEqual([1, 1])
    await evict()
    expect([await ask({ ask: 'count', key: 'c' }), await ask({ ask: 'count', key: 'd' })]).toEqual([1, 2])
  })

  test('in KV gives sequential calls one effect', async () => {
    expect(await ask({ ask: 'status in KV', key: 'a' })).toBe('absent')
    const perform = () => ask({ ask: 'perform in KV', key: 'a' })
    expect([await perform(), await perform()]).toEqual([{ effects: 1 }, { effects: 1 }])
    expect([posts.length, await ask({ ask: 'status in KV', key: 'a' })]).toEqual([1, 'done'])
  })
})

test('a ToolError of a Durable Object reaches the model as one of the tool', async () => {
  expect(await ask({ ask: 'refuse by a tool', message: 'The room is taken. Choose another night.' })).toEqual({
    ok: false,
    error: { code: 'refused', message: 'The room is taken. Choose another night.' },
  })
})

/** Calls a tool as the edge does, with the hash of its definition. */
async function call(binding: 'TOOL_BOOKINGS' | 'TOOL_MAIL', name: string, args: object, idempotencyKey: string) {
  const { tools } = await ask<ToolDescription>({ ask: binding })
  const request: ToolRequest = {
    name,
    arguments: { ...args },
    hash: tools.find((tool) => tool.name === name)?.hash ?? '',
    context: {
      runId: 'run_1',
      callId: 'call_1',
      idempotencyKey,
      attempt: 1,
      deadline: Date.now() + 30_000,
      caller: { tenant: 'acme', scopes: ['chat'] },
      values: {},
    },
  }
  return ask<ToolOutcome>({ ask: binding, request })
}

test.runIf(hasSamples('bookings'))('two calls with one key make one booking, even across an eviction', async () => {
  const stay = {
    guest: 'Noor Haddad',
    room: 'double',
    checkIn: new Date(Date.now() + 30 * 86_400_000).toISOString().slice(0, 10),
    nights: 2,
  }
  const book = (key: string) => call('TOOL_BOOKINGS', 'bookRoom', stay, key)
  const [first, second] = await Promise.all([book('key-1'), book('key-1')])
  expect(first).toMatchObject({ ok: true, structured: { number: 'B-12346', guest: 'Noor Haddad', price: 240 } })
  expect(second).toEqual(first)
  await harness.getWorker('edgecall-bookings').evictDurableObject('Bookings', { name: 'acme' })
  expect(await book('key-1')).toEqual(first)
  expect(await book('key-2')).toMatchObject({ structured: { number: 'B-12347' } })
  const cancelled = await call('TOOL_BOOKINGS', 'cancelBooking', { number: 'B-12345' }, 'key-3')
  expect(cancelled).toMatchObject({ ok: true, structured: { number: 'B-12345', state: 'cancelled' } })
  expect(await call('TOOL_BOOKINGS', 'findBooking', { number: 'B-12345' }, 'key-4')).toEqual(cancelled)
})

test.runIf(hasSamples('mail'))('two calls with one key send one mail, even across an eviction', async () => {
  const mail = { to: 'friend@example.com', subject: 'AI news', text: 'Nothing new.' }
  const send = (key: string) => call('TOOL_MAIL', 'sendMail', mail, key)
  const [first, second] = await Promise.all([send('key-1'), send('key-1')])
  expect(first).toMatchObject({
    ok: true,
    structured: { to: 'friend@example.com', source: expect.stringMatching(/^127\.0\.0\.1:/) },
  })
  expect(second).toEqual(first)
  await harness.getWorker('edgecall-mail').evictDurableObject('Outbox', { name: 'acme' })
  expect(await send('key-1')).toEqual(first)
  expect(posts).toEqual([{ url: '/messages', key: 'key-1' }])
  expect(await call('TOOL_MAIL', 'listSent', {}, 'key-2')).toMatchObject({
    structured: { mails: [{ to: 'friend@example.com', text: 'Nothing new.' }] },
  })
})
