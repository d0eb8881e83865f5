import { afterEach, describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { openai, type OpenAIOptions } from '../../src/model/openai.ts'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { modelSuite, type Scene } from '../suites/model.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }
const NEVER = new AbortController().signal
const KEY = 'sk-secret-1234567890'

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** A server with these replies, the last one again and again, and what it says to one request. */
async function exchange(
  replies: readonly ModelReply[],
  { request = REQUEST, ...options }: OpenAIOptions & { request?: ModelRequest } = {},
) {
  const server = await startModelServer((_, index) => replies[Math.min(index, replies.length - 1)]!)
  servers.push(server)
  const model = openai({ baseUrl: server.baseUrl, apiKey: KEY, ...options })('probe')
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, NEVER)) events.push(event)
  return { server, events, error: events.find((event) => event.type === 'error')?.error }
}

function replyTo(scene: Scene): ModelReply {
  if (scene === 'cut') return { chunks: chunksOf({ text: 'It is noon.' }).slice(0, 2), end: 'cut' }
  if (scene === 'endless') return { chunks: chunksOf({ text: 'It is noon.' }).slice(0, 2), end: 'hang' }
  if (scene === 'refused') return { status: 400, body: { error: { message: 'No.', type: 'invalid_request_error' } } }
  return { chunks: chunksOf(scene) }
}

modelSuite('OpenAI’s format', async (scene) => {
  const server = await startModelServer(() => replyTo(scene))
  return { model: openai({ baseUrl: server.baseUrl })('probe'), close: () => server.close() }
})

const said = (message: string, code?: string) => ({ error: { message, type: 'some_error', code } })

describe('a request', () => {
  test('goes to chat/completions with the key', async () => {
    const { server, events } = await exchange([{ chunks: chunksOf({ text: 'Hello.' }) }])
    expect(events).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', finish: 'stop' },
    ])
    expect(server.calls).toEqual([
      {
        path: '/v1/chat/completions',
        headers: expect.objectContaining({
          authorization: `Bearer ${KEY}`,
          'content-type': 'application/json',
          accept: 'text/event-stream',
        }),
        body: {
          model: 'probe',
          stream: true,
          stream_options: { include_usage: true },
          messages: [{ role: 'user', content: 'Hi' }],
        },
      },
    ])
  })

  test('goes without a key where there is none, whatever slashes the base ends in', async () => {
    const server = await startModelServer(() => ({ chunks: chunksOf({ text: 'Hello.' }) }))
    servers.push(server)
    const model = openai({ baseUrl: `${server.baseUrl}//`, apiKey: '', provider: 'groq' })('llama/4')
    for await (const event of model.stream(REQUEST, NEVER)) expect(event.type).not.toBe('error')
    expect(model.name).toBe('groq/llama/4')
    expect(server.calls[0]?.path).toBe('/v1/chat/completions')
    expect(server.calls[0]?.headers.authorization).toBeUndefined()
  })

  test('goes to OpenAI by default', async () => {
    const asked: unknown[] = []
    const model = openai({
      baseUrl: '',
      fetch: (input) => {
        asked.push(input)
        return Promise.reject(new TypeError('no network here'))
      },
    })('gpt-5')
    for await (const event of model.stream(REQUEST, NEVER)) expect(event.type).toBe('error')
    expect([asked, model.name]).toEqual([['https://api.openai.com/v1/chat/completions'], 'openai/gpt-5'])
  })
})

describe('an answer', () => {
  test('may come whole, from a server that does not stream', async () => {
    const message = { role: 'assistant', content: 'Hello.' }
    const body = { choices: [{ message, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 2 } }
    const { events } = await exchange([{ body }])
    expect(events).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
    ])
  })

  test('ends at [DONE], though the server keeps the connection', async () => {
    const { events, server } = await exchange([
      { chunks: [...chunksOf({ text: 'Hello.' }), 'data: [DONE]\n\n'], end: 'hang' },
    ])
    expect(events.at(-1)).toEqual({ type: 'finish', finish: 'stop' })
    await server.left
  })

  test('is cut where it ends without an end', async () => {
    const { error } = await exchange([{ chunks: chunksOf({ text: 'Hello.' }).slice(0, 2), end: 'close' }])
    expect(error).toEqual({
      code: 'model_stream_cut',
      message: "The model's answer was cut off.",
      retryable: true,
    })
  })

  test.each([
    [
      { 'content-type': 'text/html' },
      '<p>Welcome</p>',
      'The model server answered with "text/html", not with an event stream.',
      false,
    ],
    [{ 'content-type': 'application/json' }, '{"cho', 'The model server sent what is not JSON.', true],
    [{ 'content-type': 'application/json' }, '{}', 'The model server answered no completion.', true],
    [{ 'content-type': 'application/json' }, '', 'The model server answered no completion.', true],
  ])('is no answer with %j', async (headers, body, message, retryable) => {
    const { events } = await exchange([{ headers, body }])
    const status = retryable ? {} : { status: 200 }
    expect(events).toEqual([{ type: 'error', error: { code: 'model_bad_response', message, ...status, retryable } }])
  })
})

describe('a refusal', () => {
  test.each([
    [400, said('tools[0] is bad'), { code: 'model_refused_request', message: 'tools[0] is bad', retryable: false }],
    [
      401,
      said(`Incorrect API key provided: ${KEY}`),
      {
        code: 'model_unauthorized',
        message: 'The model provider refused the key of the edge.',
        retryable: false,
      },
    ],
    [
      403,
      'Forbidden',
      {
        code: 'model_unauthorized',
        message: 'The model provider refused the key of the edge.',
        retryable: false,
      },
    ],
    [404, said('No model "probe"'), { code: 'model_not_found', message: 'No model "probe"', retryable: false }],
    [422, { detail: 'Extra inputs' }, { code: 'model_refused_request', message: 'Extra inputs', retryable: false }],
    [429, said('Slow down'), { code: 'model_rate_limited', message: 'Slow down', retryable: true }],
    [429, said('Pay', 'insufficient_quota'), { code: 'model_rate_limited', message: 'Pay', retryable: false }],
    [500, '', { code: 'model_unavailable', message: 'The model server answered with status 500.', retryable: true }],
    [
      502,
      '<html>Bad gateway</html>',
      { code: 'model_unavailable', message: 'The model server answered with status 502.', retryable: true },
    ],
    [503, 'Loading the model', { code: 'model_unavailable', message: 'Loading the model', retryable: true }],
    [
      400,
      said(`Never repeat ${KEY} here`),
      { code: 'model_refused_request', message: 'Never repeat [key] here', retryable: false },
    ],
  ])('with status %i and body %j', async (status, body, error) => {
    const { events } = await exchange([{ status, body }])
    expect(events).toEqual([{ type: 'error', error: { ...error, status } }])
  })

  test.each([
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
  ])('says when to come again: %j', async (headers, retryAfterMs) => {
    const { error } = await exchange([{ status: 429, headers, body: said('Slow down') }])
    expect(error?.retryAfterMs).toBe(retryAfterMs)
  })

  test('with a date to come again has the time until then', async () => {
    const headers = { 'retry-after': new Date(Date.now() + 60_000).toUTCString() }
    const { error } = await exchange([{ status: 503, headers, body: '' }])
    expect(error?.retryAfterMs).toBeGreaterThan(50_000)
    expect(error?.retryAfterMs).toBeLessThanOrEqual(60_000)
  })

  test.each([
    [500, 'false', false],
    [400, 'true', true],
  ])('with status %i and x-should-retry: %s', async (status, advice, retryable) => {
    const { error } = await exchange([{ status, headers: { 'x-should-retry': advice }, body: '' }])
    expect(error?.retryable).toBe(retryable)
  })

  test('whose body breaks off still has its status', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const { error } = await exchange([], { fetch: () => Promise.resolve(new Response(body, { status: 503 })) })
    expect(error).toMatchObject({ code: 'model_unavailable', status: 503 })
  })

  test('of endless length is read in part', async () => {
    const { error } = await exchange([{ status: 400, body: 'x'.repeat(200_000) }])
    expect(error?.message).toHaveLength(1001)
  })
})

describe('a server', () => {
  test('that cannot be reached is told as such', async () => {
    const server = await startModelServer(() => ({ body: '' }))
    await server.close()
    const model = openai({ baseUrl: server.baseUrl, apiKey: KEY })('probe')
    const events: ModelEvent[] = []
    for await (const event of model.stream(REQUEST, NEVER)) events.push(event)
    expect(events).toEqual([
      {
        type: 'error',
        error: { code: 'model_unreachable', message: 'The model server cannot be reached.', retryable: true },
      },
    ])
  })

  test.each([
    ['before the first byte', [], { firstByteMs: 20 }],
    ['in the middle', chunksOf({ text: 'Hello.' }).slice(0, 2), { idleMs: 20 }],
    ['after a comment', [': ping\n\n'], { idleMs: 20 }],
  ])('that falls silent %s is given up', async (_, chunks, times) => {
    const { error, server } = await exchange([{ chunks, end: 'hang' }], times)
    expect(error).toEqual({
      code: 'model_timeout',
      message: 'The model server timed out.',
      retryable: true,
    })
    await server.left
  })

  test('is left when its reader leaves', async () => {
    const server = await startModelServer(() => replyTo('endless'))
    servers.push(server)
    for await (const event of openai({ baseUrl: server.baseUrl })('probe').stream(REQUEST, NEVER)) {
      expect(event).toEqual({ type: 'text', text: 'It ' })
      break
    }
    await server.left
  })
})

describe('reasoning of earlier steps', () => {
  const request: ModelRequest = {
    messages: [
      { role: 'user', content: 'What time is it?' },
      {
        role: 'assistant',
        content: '',
        reasoning: 'I need the clock.',
        calls: [{ callId: 'c1', tool: 'clock', arguments: '{}' }],
      },
      { role: 'tool', callId: 'c1', tool: 'clock', ok: true, content: [{ type: 'text', text: 'noon' }] },
    ],
    tools: [],
  }
  const refusal = {
    status: 400,
    body: { error: { message: 'The `reasoning_content` must be passed back to the API.' } },
  }
  const hello = { chunks: chunksOf({ text: 'Noon.' }) }

  test('is not sent, until a server refuses to go on without', async () => {
    const { server, events } = await exchange([refusal, hello], { request })
    expect(events).toEqual([
      { type: 'text', text: 'Noon.' },
      { type: 'finish', finish: 'stop' },
    ])
    expect(server.calls.map(({ body }) => body.messages[1]?.reasoning_content)).toEqual([
      undefined,
      'I need the clock.',
    ])
  })

  test('is sent at once to a server that once wanted it', async () => {
    const server = await startModelServer((_, index) => (index === 0 ? refusal : hello))
    servers.push(server)
    const provider = openai({ baseUrl: server.baseUrl })
    for (const model of [provider('probe'), provider('probe')]) {
      for await (const event of model.stream(request, NEVER)) expect(event.type).not.toBe('error')
    }
    const sent = server.calls.map(({ body }) => body.messages[1]?.reasoning_content !== undefined)
    expect(sent).toEqual([false, true, true])
  })

  test('is not asked about twice', async () => {
    const { server, error } = await exchange([refusal], { request })
    expect([server.calls.length, error?.code]).toEqual([2, 'model_refused_request'])
  })

  test('does not matter where the refusal is about something else', async () => {
    const other = { status: 400, body: { error: { message: 'Too long.' } } }
    const { server, error } = await exchange([other], { request })
    expect([server.calls.length, error]).toEqual([
      1,
      { code: 'model_refused_request', message: 'Too long.', status: 400, retryable: false },
    ])
  })
})
