import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ChatModel, ModelError, ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { openai } from '../../src/model/openai.ts'
import { retrying, type RetryOptions } from '../../src/model/retry.ts'
import { COUNTS_TIMERS } from '../fixtures/counts-timers.ts'
import { callAnswer, say, type Script, scripted } from '../fixtures/scripted.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { modelSuite } from '../suites/model.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }
const NEVER = new AbortController().signal

const BUSY: ModelError = { code: 'model_unavailable', message: 'Busy.', status: 503, retryable: true }

const failing = (error: Partial<ModelError> = {}): readonly ModelEvent[] => [
  { type: 'error', error: { ...BUSY, ...error } },
]

async function gather(model: ChatModel, signal = NEVER): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(REQUEST, signal)) events.push(event)
  return events
}

/** What comes of these answers, how often the model was asked, and how long was slept between. */
async function play(scripts: readonly Script[], options: RetryOptions = {}, signal = NEVER) {
  const model = scripted(scripts)
  const slept: number[] = []
  const sleep = (ms: number) => {
    slept.push(ms)
    return Promise.resolve()
  }
  const events = await gather(retrying(model, { random: () => 0.5, sleep, ...options }), signal)
  return { events, slept, requestCount: model.requests.length }
}

modelSuite('a retried script', (scene) => {
  const answer: Script =
    scene === 'cut'
      ? [
          { type: 'text', text: 'It is ' },
          ...failing({ code: 'model_stream_cut', message: "The model's answer was cut off." }),
        ]
      : scene === 'refused'
        ? failing({ code: 'model_refused_request', retryable: false })
        : scene === 'endless'
          ? async function* () {
              yield { type: 'text', text: 'It ' }
              await new Promise(() => {})
            }
          : [
              { type: 'reasoning', text: scene.reasoning ?? '' },
              { type: 'text', text: scene.text ?? '' },
              ...(scene.calls ?? []).flatMap(({ tool, arguments: args }, index): ModelEvent[] => [
                { type: 'call.delta', index, tool, arguments: args },
                { type: 'call', index, tool, arguments: args },
              ]),
              {
                type: 'finish',
                finish: scene.finish ?? (scene.calls ? 'tool_calls' : 'stop'),
                ...(scene.usage && { usage: scene.usage }),
              },
            ]
  const sleep = () => Promise.resolve()
  const model = retrying(scripted([failing(), answer, answer]), { sleep })
  return Promise.resolve({ model, close: () => Promise.resolve() })
})

describe('a model that fails before its first event', () => {
  test('is asked again, and only its answer is emitted', async () => {
    const { events, slept, requestCount } = await play([
      failing(),
      failing({ code: 'model_unreachable' }),
      say('Hello.'),
    ])
    expect(events).toEqual(say('Hello.'))
    expect([requestCount, slept]).toEqual([3, [250, 500]])
  })

  test('is not retried if it was silent, so that the next model of a list is called at once', async () => {
    const silent = failing({ code: 'model_timeout' })
    expect(await play([silent, say('Never heard.')])).toEqual({ events: silent, slept: [], requestCount: 1 })
  })

  test('is tried three times by default; then its last error is returned', async () => {
    const busy = [failing(), failing(), failing({ message: 'Still busy.' }), say('Never heard.')]
    const last = failing({ message: 'Still busy.', attempts: 3 })
    expect(await play(busy)).toEqual({ events: last, slept: [250, 500], requestCount: 3 })
    expect(await play(busy, { attempts: 1 })).toEqual({ events: failing(), slept: [], requestCount: 1 })
  })

  test('is retried after a random delay, below twice as long each time, up to 8 s', async () => {
    const never = Array.from({ length: 8 }, () => failing())
    const { slept } = await play(never, { attempts: 8, random: () => 1 })
    expect(slept).toEqual([500, 1000, 2000, 4000, 8000, 8000, 8000])
    expect((await play(never, { attempts: 3, random: () => 0 })).slept).toEqual([0, 0])
  })

  test('is retried after the delay that its provider gives, up to two seconds; the run waits longer', async () => {
    const { events, slept } = await play([failing({ retryAfterMs: 2000 }), failing({ retryAfterMs: 0 }), say('Hello.')])
    expect([events, slept]).toEqual([say('Hello.'), [2000, 500]])
    const later = failing({ code: 'model_rate_limited', status: 429, retryAfterMs: 2001 })
    expect(await play([later])).toEqual({ events: later, slept: [], requestCount: 1 })
  })

  test('is asked once by a run that has waited for it, and reports the requests made before its provider was spared', async () => {
    const model = scripted([failing(), say('Never heard.')])
    const events: ModelEvent[] = []
    for await (const event of retrying(model).stream({ ...REQUEST, waits: 1 }, NEVER)) events.push(event)
    expect([events, model.requests.length]).toEqual([failing(), 1])
    const spared = failing({ attempts: 0, retryAfterMs: 250 })
    expect(await play([spared])).toEqual({ events: spared, slept: [], requestCount: 1 })
    const { events: later } = await play([failing(), spared])
    expect(later).toEqual(failing({ attempts: 1, retryAfterMs: 250 }))
  })

  test('permanently is not retried', async () => {
    const refusal = failing({ code: 'model_refused_request', status: 400, retryable: false })
    expect(await play([refusal])).toEqual({ events: refusal, slept: [], requestCount: 1 })
  })
})

describe('after the first event', () => {
  test.each([
    ['text', say('It is ').slice(0, 1)],
    ['reasoning', [{ type: 'reasoning', text: 'Hm.' }] as const],
    ['a part of a call', callAnswer('clock').slice(0, 1)],
  ])('such as %s, an error is returned', async (_, modelEvents) => {
    const events = [...modelEvents, ...failing()]
    expect(await play([events])).toEqual({ events, slept: [], requestCount: 1 })
  })

  test('a stream that ends early is not repeated', async () => {
    expect(await play([[]])).toEqual({ events: [], slept: [], requestCount: 1 })
  })

  test('a reader that leaves closes the stream', async () => {
    const listenerCounts: number[] = []
    let requestCount = 0
    const model: ChatModel = {
      name: 'own/model',
      async *stream() {
        const number = (requestCount += 1)
        try {
          yield* number === 1 ? failing() : say('Hello.')
        } finally {
          listenerCounts.push(number)
        }
      },
    }
    const retried = retrying(model, { sleep: () => Promise.resolve() })
    for await (const event of retried.stream(REQUEST, NEVER)) {
      expect([event, listenerCounts]).toEqual([{ type: 'text', text: 'Hello.' }, [1]])
      break
    }
    expect([retried.name, listenerCounts]).toEqual(['own/model', [1, 2]])
  })
})

describe('the wait before a retry', () => {
  beforeEach(() => {
    vi.useFakeTimers()
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('has the right length and leaves no timer behind', COUNTS_TIMERS, async () => {
    const model = scripted([failing({ retryAfterMs: 2000 }), say('Hello.')])
    const gathered = gather(retrying(model))
    await vi.advanceTimersByTimeAsync(1999)
    expect(model.requests).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect([await gathered, vi.getTimerCount()]).toEqual([say('Hello.'), 0])
  })

  test('ends at once when the caller leaves, and the model is not called again', COUNTS_TIMERS, async () => {
    const leave = new AbortController()
    const model = scripted([failing({ retryAfterMs: 1900 }), say('Never heard.')])
    const gathered = gather(retrying(model), leave.signal)
    await vi.advanceTimersByTimeAsync(10)
    expect(vi.getTimerCount()).toBe(1)
    leave.abort()
    await gathered
    expect([model.requests.length, vi.getTimerCount()]).toEqual([1, 0])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(model.requests).toHaveLength(1)
  })

  test('does not begin for a caller that has left', async () => {
    const leave = new AbortController()
    const failsLate: Script = async function* () {
      leave.abort()
      yield* failing()
    }
    const { slept, requestCount } = await play([failsLate, say('Never heard.')], {}, leave.signal)
    expect([slept, requestCount]).toEqual([[], 1])
  })
})

describe('a model over HTTP', () => {
  const servers: ModelServer[] = []

  afterEach(async () => {
    await Promise.all(servers.splice(0).map((server) => server.close()))
  })

  test.each([408, 409, 429, 500, 502, 503, 529])('retries status %i', async (status) => {
    const server = await startModelServer((_, index) =>
      index === 0 ? { status, body: '' } : { chunks: chunksOf({ text: 'Hello.' }) },
    )
    servers.push(server)
    const model = retrying(openai({ baseUrl: server.baseUrl })('probe'), { sleep: () => Promise.resolve() })
    expect(await gather(model)).toEqual(say('Hello.'))
    expect(server.calls).toHaveLength(2)
  })

  test('asks again for an HTML page with status 200, as a proxy sends it, three times in all', async () => {
    const page = { headers: { 'content-type': 'text/html' }, body: '<h1>Back soon</h1>' }
    const server = await startModelServer((_, index) =>
      index === 0 || index > 1 ? page : { chunks: chunksOf({ text: 'Hello.' }) },
    )
    servers.push(server)
    const model = retrying(openai({ baseUrl: server.baseUrl })('probe'), { sleep: () => Promise.resolve() })
    expect(await gather(model)).toEqual(say('Hello.'))
    expect(await gather(model)).toMatchObject([{ type: 'error', error: { code: 'model_bad_response', attempts: 3 } }])
    expect(server.calls).toHaveLength(5)
  })

  test('obeys x-should-retry: false', async () => {
    const server = await startModelServer(() => ({ status: 503, headers: { 'x-should-retry': 'false' }, body: 'No.' }))
    servers.push(server)
    const model = retrying(openai({ baseUrl: server.baseUrl })('probe'), { sleep: () => Promise.resolve() })
    expect(await gather(model)).toEqual(failing({ message: 'No.', retryable: false }))
    expect(server.calls).toHaveLength(1)
  })
})
