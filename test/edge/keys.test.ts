import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { apiKey, bearer, keyName, withKeys } from '../fixtures/keys.ts'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { eventually } from '../fixtures/eventually.ts'

const NAME = 'keyed-edge'
const budget = { tokens: 25, per: 'month' }

let model: ModelServer
let harness: TestHarness
let url: URL
let reply: () => ModelReply | Promise<ModelReply>

beforeAll(async () => {
  model = await startModelServer(() => reply())
  const keys = withKeys(
    apiKey('rated', { rate: 'RATE_STANDARD' }),
    apiKey('other', { rate: 'RATE_STANDARD' }),
    apiKey('guesser'),
    ...['stateless', 'kept', 'leaving', 'going'].map((key) => apiKey(key, { budget })),
  )
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/keyed-edge/wrangler.toml',
        vars: { ...keys, MODEL: 'openai/test', OPENAI_BASE_URL: model.baseUrl },
      },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness?.close()
  await model?.close()
})

function ask(path: string, key: string, { json, ...init }: RequestInit & { json?: object } = {}): Promise<Response> {
  return fetch(new URL(path, url), {
    ...init,
    ...(json && { method: 'POST', body: JSON.stringify(json) }),
    headers: { ...bearer(key), 'content-type': 'application/json', ...(init.headers as object) },
  })
}

const say = (text: string): ModelReply => ({ chunks: chunksOf({ text, usage: { inputTokens: 10, outputTokens: 5 } }) })

/** What is counted comes in after the answer. */
async function counted(key: string, expected: object): Promise<void> {
  await eventually(async () => expect(await (await ask('/usage', key)).json()).toMatchObject(expected))
}

describe('a key', () => {
  test('has its own rate limit', async () => {
    const statuses = []
    // The binding's minute may pass between two of them, once.
    for (let request = 0; request < 5; request++) statuses.push((await ask('/v1/models', 'rated')).status)
    expect([statuses[0], statuses.at(-1)]).toEqual([200, 429])
    expect((await ask('/v1/models', 'other')).status).toBe(200)
  })

  test('that guesses ids starts at most 100 objects in a minute', async () => {
    const worker = harness.getWorker(NAME)
    const before = (await worker.listDurableObjectIds('Conversation')).length
    const statuses: number[] = []
    const guess = async (id: number) => {
      const response = await ask(`/conversations/guess${id}/messages`, 'guesser')
      await response.body?.cancel()
      statuses.push(response.status)
    }
    for (let id = 0; id < 400; id += 20) await Promise.all(Array.from({ length: 20 }, (_, at) => guess(id + at)))
    expect(new Set(statuses)).toEqual(new Set([404, 429]))
    const started = (await worker.listDurableObjectIds('Conversation')).length - before
    expect(started).toBe(statuses.filter((status) => status === 404).length)
    // Requests side by side may overshoot by those under way, and a minute may end meanwhile, once.
    expect(started).toBeLessThanOrEqual(240)
  })

  test('has a budget for runs without a conversation', async () => {
    reply = () => say('Hi.')
    for (const runs of [1, 2]) {
      expect((await ask('/runs', 'stateless', { json: { input: 'Hi' } })).status).toBe(200)
      await counted('stateless', { key: keyName('stateless'), tokens: 15 * runs, runs })
    }
    const refusal = await ask('/runs', 'stateless', { json: { input: 'Hi' } })
    expect([refusal.status, await refusal.json()]).toMatchObject([429, { code: 'budget_exhausted', which: 'tokens' }])
  })

  test('has a budget for runs in conversations, even if their objects are lost', async () => {
    reply = () => say('Hi.')
    const headers = { 'x-conversation-id': 'c' }
    const json = { messages: [{ role: 'user', content: 'Hi' }] }
    expect((await ask('/v1/chat/completions', 'kept', { json, headers })).status).toBe(200)
    await harness.getWorker(NAME).evictDurableObject('Conversation', { name: 'v1/acme/c' })
    await counted('kept', { tokens: 15, runs: 1 })
    await harness.getWorker(NAME).evictDurableObject('Directory', { name: 'acme' })
    await counted('kept', { tokens: 15, runs: 1 })
  })

  test('is charged for runs whose client disconnected', async () => {
    const rest = Promise.withResolvers<void>()
    const chunks = chunksOf({ text: 'One two three', usage: { inputTokens: 10, outputTokens: 5 } })
    reply = () => ({ chunks: [...chunks.slice(0, 2), rest.promise, ...chunks.slice(2)] })
    const disconnect = new AbortController()
    const headers = { accept: 'text/event-stream' }
    const response = await ask('/runs', 'leaving', { json: { input: 'Hi' }, headers, signal: disconnect.signal })
    await response.body?.getReader().read()
    disconnect.abort()
    rest.resolve()
    await counted('leaving', { runs: 1 })
  })

  test('is charged for a conversation that is deleted at once', async () => {
    reply = () => say('Hi.')
    await ask('/conversations', 'going', { json: { id: 'gone' } })
    expect((await ask('/conversations/gone/runs', 'going', { json: { input: 'Hi' } })).status).toBe(200)
    expect((await ask('/conversations/gone', 'going', { method: 'DELETE' })).status).toBe(204)
    expect(await (await ask('/usage', 'going')).json()).toMatchObject({ tokens: 15, runs: 1 })
  })
})
