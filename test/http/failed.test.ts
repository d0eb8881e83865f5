import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const failing: ModelEvent[] = [
  { type: 'error', error: { code: 'model_unavailable', message: 'Gone.', retryable: false } },
]
const messages = [{ role: 'user', content: 'Go', parts: [{ type: 'text', text: 'Go' }] }]

/** What asks in the conversation "c", and wants a run's answer whole or as it comes. */
const REQUESTS: readonly [path: string, body: object][] = [
  ['/conversations/c/runs', { input: 'Go' }],
  ['/conversations/c/runs?format=ui-message', { input: 'Go' }],
  ['/v1/chat/completions', { messages, edgecall: { conversation: 'c' } }],
  ['/v1/chat/completions', { messages, edgecall: { conversation: 'c' }, stream: true }],
  ['/v1/responses', { input: 'Go', conversation: 'c' }],
  ['/chat', { id: 'c', messages }],
]

describe('the response of a failed run has the headers of every run', () => {
  test.each(REQUESTS)('%s %j', async (path, body) => {
    const edge = keptEdge({ script: [failing] })
    await edge.post('/conversations', { id: 'c' })
    const response = await edge.post(path, body)
    const [run] = await (await edge.fetch('/conversations/c/runs')).json<any[]>()
    expect([response.status, response.headers.get('x-run-id'), response.headers.get('x-conversation-id')]).toEqual([
      502,
      run.id,
      'c',
    ])
  })

  test('when its Idempotency-Key is sent again', async () => {
    const edge = keptEdge({ script: [failing] })
    const headers = { 'idempotency-key': 'once' }
    const results = []
    for (const path of ['/v1/chat/completions', '/v1/chat/completions']) {
      const response = await edge.post(path, { messages }, headers)
      results.push([response.status, response.headers.get('x-run-id'), response.headers.get('idempotent-replayed')])
    }
    expect(results).toEqual([
      [502, results[0]?.[1], null],
      [502, expect.stringMatching(/^run_/), 'true'],
    ])
  })

  test('when the wait has elapsed, with its location', async () => {
    const edge = keptEdge({ script: [say('Late.')] })
    await edge.post('/conversations', { id: 'c' })
    const response = await edge.post('/conversations/c/runs', { input: 'Go' }, { prefer: 'wait=0' })
    const { runId } = await response.json<any>()
    const { status, headers } = response
    expect([status, headers.get('x-run-id'), headers.get('x-conversation-id'), headers.get('location')]).toEqual([
      504,
      runId,
      'c',
      `/conversations/c/runs/${runId}`,
    ])
  })
})

describe('a request without a conversation, whose model is overloaded', () => {
  afterEach(() => void vi.useRealTimers())

  const vars = { MODEL_WAIT_MS: '120000' }
  const chat = { messages: [{ role: 'user', content: 'Go' }] }
  const toChat = ['/v1/chat/completions', chat] as const
  const toMessages = ['/v1/messages', { ...chat, max_tokens: 10 }] as const
  const toResponses = ['/v1/responses', { input: 'Go', store: false }] as const
  const pick = { name: 'pick', input_schema: { type: 'object' } }

  function overload(code: string, status?: number, retryAfterMs?: number): ModelEvent[] {
    const rest = { ...(status && { status }), ...(retryAfterMs && { retryAfterMs }) }
    return [{ type: 'error', error: { code, message: 'Busy.', retryable: true, ...rest } }]
  }

  /** Answers, while time passes without waiting for it. */
  async function answerInTime(answer: Promise<Response>): Promise<Response> {
    const pending = Symbol('pending')
    const nextTurn = () => new Promise<typeof pending>((resolve) => setImmediate(resolve, pending))
    while ((await Promise.race([answer, nextTurn()])) === pending) await vi.advanceTimersByTimeAsync(50)
    return answer
  }

  test.each([
    [429, 'model_rate_limited', 429, toChat],
    [429, 'model_rate_limited', 429, toMessages],
    [503, 'model_unavailable', 503, toChat],
    [529, 'model_unavailable', 529, toMessages],
    [529, 'model_unavailable', 529, toResponses],
    [500, 'model_unavailable', 502, toResponses],
    [undefined, 'model_unreachable', 502, toMessages],
  ] as const)('waits ten seconds for a %s (%s), and then says %s', async (status, code, expected, [path, body]) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    for (const stream of [false, true]) {
      const times: number[] = []
      async function* fail(): AsyncGenerator<ModelEvent> {
        times.push(Date.now())
        yield* overload(code, status)
      }
      const edge = keptEdge({ script: Array.from({ length: 20 }, () => fail), vars })
      const answer = await answerInTime(edge.post(path, { ...body, stream }))
      const waited = (times.at(-1) ?? 0) - (times[0] ?? 0)
      // The clock may move while an answer is read.
      expect(waited >= 10_000 && waited < 12_000).toBe(true)
      expect([answer.status, answer.headers.get('x-should-retry')]).toEqual([expected, 'true'])
    }
  })

  test.each([toChat, toMessages, toResponses])('passes on a longer Retry-After at once: %s', async (path, body) => {
    for (const stream of [false, true]) {
      const edge = keptEdge({ script: [overload('model_rate_limited', 429, 30_000)], vars })
      const { status, headers } = await edge.post(path, { ...body, stream })
      expect([status, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([429, '30', 'true'])
    }
  })

  test('is overloaded for clients of Anthropic, as with the tools of client and edge', async () => {
    const edge = keptEdge({ script: [overload('model_unavailable', 529, 30_000)], vars, tools: [tool('a', () => 'b')] })
    const [path, body] = toMessages
    const answer = await edge.post(path, { ...body, tools: [pick], stream: true })
    expect([answer.status, answer.headers.get('x-should-retry'), await answer.json()]).toMatchObject([
      529,
      'true',
      { error: { type: 'overloaded_error', details: { error_code: 'model_unavailable' } } },
    ])
  })

  test('waits longer if it says so', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const edge = keptEdge({ script: [overload('model_unavailable', 503, 20_000), say('Late.')], vars })
    const [path, body] = toChat
    const limited = { ...body, edgecall: { limits: { modelWaitMs: 60_000 } } }
    expect((await answerInTime(edge.post(path, limited))).status).toBe(200)
  })

  test('asks its SDK not to send it again with an Idempotency-Key that has its answer', async () => {
    const error = { code: 'model_unavailable', message: 'Busy.', retryable: true, attempts: 3 }
    const edge = keptEdge({ script: [[{ type: 'error', error }]] })
    const [path, body] = toChat
    const answers = []
    for (const _ of [1, 2]) answers.push(await edge.post(path, body, { 'idempotency-key': 'once' }))
    expect(answers[1]?.headers.get('x-should-retry')).toBe('false')
  })
})
