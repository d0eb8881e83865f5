import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'

/** An edge that binds the tool Worker, and one that exports it from its own module. */
const CONFIGS = { bound: 'bound.toml', exported: 'wrangler.toml' } as const
type Profile = keyof typeof CONFIGS

const started: Partial<Record<Profile, { readonly harness: TestHarness; readonly url: URL }>> = {}
let model: ModelServer

/** The model calls the tool `add` once, then answers with its result. */
beforeAll(async () => {
  model = await startModelServer(({ body: { messages } }) => {
    const last = messages.at(-1)
    if (last?.['role'] === 'tool') return { chunks: chunksOf({ text: `The sum is in ${String(last['content'])}` }) }
    return { chunks: chunksOf({ calls: [{ tool: 'add', arguments: '{"a":1,"b":2}' }] }) }
  })
  const vars = { AUTH: 'open', MODEL: 'openai/test', OPENAI_API_KEY: 'k', OPENAI_BASE_URL: model.baseUrl }
  for (const [profile, config] of Object.entries(CONFIGS)) {
    const workers = [
      { configPath: `test/fixtures/single-worker/${config}`, vars },
      ...(profile === 'bound' ? [{ configPath: 'test/fixtures/paired-tools/wrangler.toml' }] : []),
    ]
    const harness = createTestHarness({ root: new URL('../..', import.meta.url).pathname, workers })
    started[profile as Profile] = { harness, url: (await harness.listen()).url }
  }
})

afterAll(async () => {
  for (const { harness } of Object.values(started)) await harness.close()
  await model?.close()
})

/** Sends a request to both edges and returns what each answers, without ids and durations. */
async function both(path: string, json?: object): Promise<Record<Profile, unknown>> {
  const ask = async (profile: Profile) => {
    const init = json && {
      method: 'POST',
      body: JSON.stringify(json),
      headers: { 'content-type': 'application/json' },
    }
    const response = await fetch(new URL(path, started[profile]?.url), init)
    const body: unknown = await response.json()
    return { status: response.status, body: comparable(body) }
  }
  return { bound: await ask('bound'), exported: await ask('exported') }
}

/** Returns a value without what differs from run to run. */
function comparable(value: unknown): unknown {
  const text = JSON.stringify(value, (key, child: unknown) =>
    ['durationMs', 'id', 'runId', 'callId', 'requestId', 'created'].includes(key) ? undefined : child,
  )
  return JSON.parse(text.replaceAll(/(?:run|call|conv)_\w+/g, 'an id')) as unknown
}

describe('a tool Worker that an edge exports from its own module', () => {
  test.each(['add', 'refuse', 'crash', 'wait', 'large', 'pay'])(
    'has the same definition of the tool %s as one that is bound',
    async (name) => {
      const { bound, exported } = await both(`/tools/${name}`)
      expect(exported).toEqual(bound)
      expect(exported).toMatchObject({ status: 200, body: { name } })
    },
  )

  test.each([
    ['add', { a: 1, b: 2 }, { status: 200, body: { ok: true, structured: { sum: 3 } } }],
    ['add', { a: 1, b: 'two' }, { status: 422, body: { code: 'invalid_arguments' } }],
    ['refuse', {}, { body: { ok: false, error: { code: 'closed', message: 'Not on Sundays.' } } }],
    ['crash', {}, { body: { ok: false, error: { code: 'tool_failed' } } }],
    ['wait', {}, { body: { ok: false, error: { code: 'timeout' } } }],
    ['large', {}, { body: { ok: true } }],
  ])('answers a call of %s with %o as one that is bound does', async (name, args, answer) => {
    const { bound, exported } = await both(`/tools/${name}/call`, { arguments: args })
    expect(exported).toEqual(bound)
    expect(exported).toMatchObject(answer)
  })

  test('needs the same approvals', async () => {
    const { bound, exported } = await both('/tools/pay/call', { arguments: {} })
    expect(exported).toEqual(bound)
  })

  test('is called in runs with and without a conversation, in any number of requests', async () => {
    const run = { input: 'Add 1 and 2', tools: ['add'] }
    for (let round = 0; round < 3; round++) {
      const { bound, exported } = await both('/runs', run)
      expect(exported).toEqual(bound)
      expect(exported).toMatchObject({ body: { status: 'completed', answer: 'The sum is in {"sum":3}' } })
    }
    await both('/conversations', { id: 'one' })
    for (let round = 0; round < 3; round++) {
      const { bound, exported } = await both('/conversations/one/runs', run)
      expect(exported).toEqual(bound)
      expect(exported).toMatchObject({ body: { status: 'completed', answer: 'The sum is in {"sum":3}' } })
    }
  })
})
