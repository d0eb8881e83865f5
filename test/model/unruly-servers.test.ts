import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ModelEvent, ModelProvider } from '../../src/contract/model.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { gemini } from '../../src/model/gemini.ts'
import { openai, responses } from '../../src/model/openai.ts'

interface Answer {
  readonly events: ModelEvent[]
  /** Resolves once the model has closed the connection. */
  readonly closed: Promise<void>
  readonly end: Promise<void>
  send: (text: string) => void
  breakOff: () => void
}

/** Asks a model whose server sends what the test says, and keeps its connection open. */
function listenTo(make: (send: typeof fetch) => ModelProvider, contentType = 'text/event-stream'): Answer {
  const closed = Promise.withResolvers<void>()
  let server: ReadableStreamDefaultController<Uint8Array> | undefined
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => void (server = controller),
    cancel: () => closed.resolve(),
  })
  const model = make(async () => new Response(body, { headers: { 'content-type': contentType } }))('probe')
  const events: ModelEvent[] = []
  async function listen(): Promise<void> {
    const request = { messages: [{ role: 'user', content: 'Hi' }], tools: [] } as const
    for await (const event of model.stream(request, new AbortController().signal)) events.push(event)
  }
  return {
    events,
    closed: closed.promise,
    end: listen(),
    send: (text) => server?.enqueue(new TextEncoder().encode(text)),
    breakOff: () => server?.error(new TypeError('terminated')),
  }
}

const chat = (fetch: typeof globalThis.fetch) => openai({ fetch })
const TEXT: ModelEvent = { type: 'text', text: 'Noon.' }
const FINISH = { type: 'finish', finish: 'stop' }
const USAGE = { inputTokens: 9, outputTokens: 2 }

const sse = (...chunks: readonly object[]) => chunks.map((each) => `data: ${JSON.stringify(each)}\n\n`).join('')
const chunk = (delta: object, finish_reason: string | null = null) => ({
  choices: [{ index: 0, delta, finish_reason }],
})
const USAGE_CHUNK = { choices: [], usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } }
const FINISHED = sse(chunk({ content: 'Noon.' }), chunk({}, 'stop'))

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** Answers that have given their stop reason, and not the event after which a format has no more. */
const ANSWERS: readonly (readonly [string, (send: typeof fetch) => ModelProvider, string])[] = [
  ['Chat Completions', chat, FINISHED],
  [
    'Messages',
    (fetch) => anthropic({ fetch }),
    sse(
      { type: 'message_start', message: { content: [] } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Noon.' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
    ),
  ],
  [
    'Gemini',
    (fetch) => gemini({ fetch }),
    sse({ candidates: [{ content: { parts: [{ text: 'Noon.' }] }, finishReason: 'STOP' }] }),
  ],
]

describe.each(ANSWERS)('an answer of %s that is over, on a connection that stays open', (_, make, finished) => {
  test('ends after five seconds, and the connection is closed', async () => {
    const answer = listenTo(make)
    answer.send(finished)
    await vi.advanceTimersByTimeAsync(4900)
    expect(answer.events).toEqual([TEXT])
    await vi.advanceTimersByTimeAsync(200)
    await answer.end
    expect(answer.events).toMatchObject([TEXT, FINISH])
    await answer.closed
  })

  test('ends then even if its server continues with comments', async () => {
    const answer = listenTo(make)
    answer.send(finished)
    for (let second = 0; second < 5; second++) {
      await vi.advanceTimersByTimeAsync(1000)
      if (second < 4) answer.send(': keep-alive\n\n')
    }
    await answer.end
    expect(answer.events).toMatchObject([TEXT, FINISH])
  })

  test('ends at once where the connection breaks', async () => {
    const answer = listenTo(make)
    answer.send(finished)
    await vi.advanceTimersByTimeAsync(100)
    answer.breakOff()
    await answer.end
    expect(answer.events).toMatchObject([TEXT, FINISH])
  })
})

test.each([
  [
    'Messages',
    (fetch: typeof globalThis.fetch) => anthropic({ fetch }),
    sse(
      { type: 'message_start', message: { content: [] } },
      { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'Noon.' } },
      { type: 'message_delta', delta: { stop_reason: 'end_turn' } },
      { type: 'message_stop' },
    ),
  ],
  [
    'Responses',
    (fetch: typeof globalThis.fetch) => responses({ fetch }),
    sse(
      { type: 'response.output_text.delta', item_id: 'm', delta: 'Noon.' },
      { type: 'response.completed', response: { status: 'completed', output: [] } },
    ),
  ],
  ['Chat Completions', chat, `${FINISHED}data: [DONE]\n`],
])('an answer of %s ends at once with its last event, on an open connection', async (_, make, body) => {
  const answer = listenTo(make)
  answer.send(body)
  await answer.end
  expect(answer.events).toMatchObject([TEXT, FINISH])
  await answer.closed
})

test('usage that comes after the stop reason counts, also with text that comes later', async () => {
  const answer = listenTo(chat)
  answer.send(sse(chunk({ content: 'No' }, 'stop')))
  await vi.advanceTimersByTimeAsync(4000)
  answer.send(sse(chunk({ content: 'on.' }, 'stop')))
  await vi.advanceTimersByTimeAsync(4000)
  answer.send(sse(USAGE_CHUNK))
  await vi.advanceTimersByTimeAsync(1100)
  await answer.end
  expect(answer.events).toEqual([
    { type: 'text', text: 'No' },
    { type: 'text', text: 'on.' },
    { ...FINISH, usage: USAGE },
  ])
})

test('a text without a stop reason is waited for', async () => {
  const answer = listenTo(chat)
  answer.send(sse(chunk({ content: 'Noon.' })))
  await vi.advanceTimersByTimeAsync(50_000)
  expect(answer.events).toEqual([TEXT])
  answer.send(sse(chunk({}, 'stop')))
  await vi.advanceTimersByTimeAsync(5100)
  await answer.end
  expect(answer.events).toMatchObject([TEXT, FINISH])
})

describe.each([
  'text/event-stream',
  'application/x-ndjson',
  'application/json',
  'application/stream+json',
  'text/plain; charset=utf-8',
  'application/octet-stream',
])('a server whose type is %s', (type) => {
  const lines = [chunk({ content: 'No' }), chunk({ content: 'on.' }), chunk({}, 'stop'), USAGE_CHUNK]

  test.each([
    ['JSON on each line', (each: object) => `${JSON.stringify(each)}\n`],
    ['an event stream', (each: object) => sse(each)],
  ])('streams %s as it comes', async (_, frame) => {
    const answer = listenTo(chat, type)
    for (const [index, each] of lines.entries()) {
      answer.send(frame(each))
      await vi.advanceTimersByTimeAsync(10)
      if (index < 2) expect(answer.events).toHaveLength(index + 1)
    }
    await vi.advanceTimersByTimeAsync(5000)
    await answer.end
    expect(answer.events).toEqual([
      { type: 'text', text: 'No' },
      { type: 'text', text: 'on.' },
      { ...FINISH, usage: USAGE },
    ])
  })
})

test('a page is not an answer, and is not read', async () => {
  const answer = listenTo(chat, 'text/html')
  answer.send('<p>Welcome</p>')
  await answer.end
  expect(answer.events).toMatchObject([{ type: 'error', error: { code: 'model_bad_response' } }])
  await answer.closed
})
