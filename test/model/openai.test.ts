import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, test, vi } from 'vitest'
import { callId, newId } from '../../src/contract/id.ts'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { openai } from '../../src/model/openai.ts'
import type { ServerOptions } from '../../src/model/http-models.ts'
import {
  chunksOf,
  type ModelCall,
  type ModelReply,
  type ModelServer,
  startModelServer,
} from '../fixtures/model-server.ts'
import { modelSuite, type Scene } from '../suites/model.ts'
import { namelessCallSuite } from '../suites/nameless-call.ts'
import { playServer } from '../fixtures/play-server.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }
const NEVER = new AbortController().signal
const KEY = 'sk-secret-1234567890'

const servers: ModelServer[] = []

afterEach(async () => {
  vi.useRealTimers()
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** A server with these replies, the last one again and again, and what it says to one request. */
async function exchange(
  replies: readonly ModelReply[],
  { request = REQUEST, ...options }: ServerOptions & { request?: ModelRequest } = {},
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
  return {
    model: openai({ baseUrl: server.baseUrl })('probe'),
    lastRequest: () => server.calls.at(-1)?.body,
    close: () => server.close(),
  }
})

const errorBody = (message: string, code?: string) => ({ error: { message, type: 'some_error', code } })

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

  test('goes without a key if there is none, however many slashes the base URL ends in', async () => {
    const server = await startModelServer(() => ({ chunks: chunksOf({ text: 'Hello.' }) }))
    servers.push(server)
    const model = openai({ baseUrl: `${server.baseUrl}//`, apiKey: '', provider: 'groq' })('llama/4')
    for await (const event of model.stream(REQUEST, NEVER)) expect(event.type).not.toBe('error')
    expect(model.name).toBe('groq/llama/4')
    expect(server.calls[0]?.path).toBe('/v1/chat/completions')
    expect(server.calls[0]?.headers.authorization).toBeUndefined()
  })

  test('goes to OpenAI by default', async () => {
    const receivedRequests: unknown[] = []
    const model = openai({
      baseUrl: '',
      fetch: (input) => {
        receivedRequests.push(input)
        return Promise.reject(new TypeError('no network here'))
      },
    })('gpt-5')
    for await (const event of model.stream(REQUEST, NEVER)) expect(event.type).toBe('error')
    expect([receivedRequests, model.name]).toEqual([['https://api.openai.com/v1/chat/completions'], 'openai/gpt-5'])
  })
})

describe('an answer', () => {
  test('may be complete, from a server that does not stream', async () => {
    const message = { role: 'assistant', content: 'Hello.' }
    const body = { choices: [{ message, finish_reason: 'stop' }], usage: { prompt_tokens: 1, completion_tokens: 2 } }
    const { events } = await exchange([{ body }])
    expect(events).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
    ])
  })

  test('ends at [DONE], even if the server keeps the connection open', async () => {
    const { events, server } = await exchange([
      { chunks: [...chunksOf({ text: 'Hello.' }), 'data: [DONE]\n\n'], end: 'hang' },
    ])
    expect(events.at(-1)).toEqual({ type: 'finish', finish: 'stop' })
    await server.left
  })

  test('is cut off if it ends without a stop reason', async () => {
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
      'The model server answered with status 200 and "text/html", but with no event stream and no JSON. A proxy may have answered in its place, or the base URL of the provider is wrong.',
    ],
    [
      { 'content-type': 'application/json' },
      '{"cho',
      'The model server answered with status 200 and "application/json", but with no event stream and no JSON. A proxy may have answered in its place, or the base URL of the provider is wrong.',
    ],
    [{ 'content-type': 'application/json' }, '{}', 'The model server sent an empty answer.'],
    [
      { 'content-type': 'text/plain' },
      'upstream error',
      'The model server answered with status 200 and "text/plain", but with no event stream and no JSON. A proxy may have answered in its place, or the base URL of the provider is wrong.',
    ],
  ])('is invalid with %j', async (headers, body, message) => {
    const { events } = await exchange([{ headers, body }])
    expect(events).toEqual([{ type: 'error', error: { code: 'model_bad_response', message, retryable: true } }])
  })
})

describe('a refusal', () => {
  test.each([
    [
      400,
      errorBody('tools[0] is bad'),
      { code: 'model_refused_request', message: 'tools[0] is bad', retryable: false },
    ],
    [
      401,
      errorBody(`Incorrect API key provided: ${KEY}`),
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
    [404, errorBody('No model "probe"'), { code: 'model_not_found', message: 'No model "probe"', retryable: false }],
    [422, { detail: 'Extra inputs' }, { code: 'model_refused_request', message: 'Extra inputs', retryable: false }],
    [429, errorBody('Slow down'), { code: 'model_rate_limited', message: 'Slow down', retryable: true }],
    [429, errorBody('Pay', 'insufficient_quota'), { code: 'model_quota_exceeded', message: 'Pay', retryable: false }],
    [500, '', { code: 'model_unavailable', message: 'The model server answered with status 500.', retryable: true }],
    [422, '"Out of range"', { code: 'model_refused_request', message: 'Out of range', retryable: false }],
    [
      502,
      '<html>Bad gateway</html>',
      { code: 'model_unavailable', message: 'The model server answered with status 502.', retryable: true },
    ],
    [503, 'Loading the model', { code: 'model_unavailable', message: 'Loading the model', retryable: true }],
    [
      400,
      errorBody(`Never repeat ${KEY} here`),
      { code: 'model_refused_request', message: 'Never repeat [key] here', retryable: false },
    ],
  ])('with status %i and body %j becomes an error', async (status, body, error) => {
    const { events } = await exchange([{ status, body }])
    expect(events).toEqual([{ type: 'error', error: { ...error, status } }])
  })

  test('of tools names the model that lacks them', async () => {
    const refusal = errorBody('registry.ollama.ai/library/probe does not support tools')
    const { error } = await exchange([{ status: 400, body: refusal }])
    expect(error).toEqual({
      code: 'model_without_tools',
      message: 'The model openai/probe cannot call tools: registry.ollama.ai/library/probe does not support tools',
      status: 400,
      retryable: false,
    })
  })

  test.each([
    [{ 'retry-after-ms': '1500', 'retry-after': '9' }, 1500],
    [{ 'retry-after': '7' }, 7000],
    [{ 'retry-after': 'Thu, 01 Jan 1970 00:00:00 GMT' }, 0],
    [{ 'retry-after': 'soon' }, undefined],
    [{ 'retry-after': '-5' }, undefined],
    [{ 'retry-after': '1e400' }, undefined],
    [{ 'retry-after': '9'.repeat(20) }, 2 ** 31 - 1],
    [{ 'retry-after': '9'.repeat(400) }, 2 ** 31 - 1],
    [{ 'retry-after-ms': '9'.repeat(400) }, 2 ** 31 - 1],
    [{ 'retry-after': 'Fri, 31 Dec 9999 23:59:59 GMT' }, 2 ** 31 - 1],
  ])('has the retry delay: %j', async (headers, retryAfterMs) => {
    const { error } = await exchange([{ status: 429, headers, body: errorBody('Slow down') }])
    expect(error?.retryAfterMs).toBe(retryAfterMs)
  })

  test('with a date in Retry-After has the time until then', async () => {
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

  test('whose body breaks off keeps its status', async () => {
    const body = new ReadableStream({ pull: (controller) => controller.error(new Error('gone')) })
    const { error } = await exchange([], { fetch: () => Promise.resolve(new Response(body, { status: 503 })) })
    expect(error).toMatchObject({ code: 'model_unavailable', status: 503 })
  })

  test('of endless length is read only in part', async () => {
    const { error } = await exchange([{ status: 400, body: 'x'.repeat(200_000) }])
    expect(error?.message).toHaveLength(1001)
  })
})

describe('a server', () => {
  test('that cannot be reached is reported as such', async () => {
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

  test.each<[string, { body?: Promise<unknown>; chunks?: unknown[] }, ServerOptions]>([
    ['before it answers', { body: new Promise(() => {}) }, { connectMs: 500 }],
    ['before the first token', { chunks: [] }, { connectMs: 9000, firstByteMs: 40 }],
    ['after a comment', { chunks: [': ping\n\n'] }, { connectMs: 9000, firstByteMs: 9000, silenceMs: 20 }],
    ['in the middle', { chunks: chunksOf({ text: 'Hello.' }).slice(0, 2) }, { silenceMs: 20 }],
  ])('that is silent %s is given up', async (_, { body, ...reply }, times) => {
    const server = await startModelServer(async () => {
      await body
      return { chunks: [], ...reply, end: 'hang' }
    })
    servers.push(server)
    const events: ModelEvent[] = []
    const model = openai({ baseUrl: server.baseUrl, ...times })('probe')
    for await (const event of model.stream(REQUEST, NEVER)) events.push(event)
    expect(events.at(-1)).toEqual({
      type: 'error',
      error: { code: 'model_timeout', message: 'The model server timed out.', retryable: true },
    })
    await server.left
  })

  test('may be silent for longer before its first event than between two events', async () => {
    vi.useFakeTimers()
    let streamController: ReadableStreamDefaultController<Uint8Array> | undefined
    const body = new ReadableStream<Uint8Array>({ start: (controller) => void (streamController = controller) })
    const response = new Response(body, { headers: { 'content-type': 'text/event-stream' } })
    const send: typeof fetch = (_, init) => {
      init?.signal?.addEventListener('abort', () => streamController?.error(new Error('aborted')))
      return Promise.resolve(response)
    }
    const model = openai({ fetch: send, firstByteMs: 1000, silenceMs: 20 })('probe')
    const events: ModelEvent[] = []
    const read = (async () => {
      for await (const event of model.stream(REQUEST, NEVER)) events.push(event)
    })()
    await vi.advanceTimersByTimeAsync(800)
    for (const chunk of chunksOf({ text: 'Hello there.' }).slice(0, 2)) {
      streamController?.enqueue(new TextEncoder().encode(`data: ${JSON.stringify(chunk)}\n\n`))
    }
    await vi.advanceTimersByTimeAsync(15)
    expect(events).toEqual([{ type: 'text', text: 'Hello ' }])
    await vi.advanceTimersByTimeAsync(25)
    expect(events.at(-1)).toMatchObject({ type: 'error', error: { code: 'model_timeout' } })
    await read
  })

  test('is not aborted after the end of its answer', async () => {
    vi.useFakeTimers()
    let signal: AbortSignal | null | undefined
    const send: typeof fetch = (_, init) => {
      signal = init?.signal
      const text = chunksOf({ text: 'Hello.' }).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`)
      return Promise.resolve(new Response(text.join(''), { headers: { 'content-type': 'text/event-stream' } }))
    }
    const model = openai({ fetch: send, firstByteMs: 1000, silenceMs: 20 })('probe')
    const events = await Array.fromAsync(model.stream(REQUEST, NEVER))
    expect(events.at(-1)).toMatchObject({ type: 'finish' })
    await vi.advanceTimersByTimeAsync(10_000)
    expect(signal?.aborted).toBe(false)
  })

  test('that drops an idle connection as it is used is asked again at once, but only once', async () => {
    let requests = 0
    let drops = 1
    const server = createServer((request, response) => {
      requests += 1
      if (requests <= drops) return request.socket.destroy()
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      response.end('data: {"choices":[{"delta":{"content":"Hello."},"finish_reason":"stop"}]}\n\n')
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const model = openai({ baseUrl: `http://127.0.0.1:${port}/v1` })('probe')
    const outcomes: (string | number)[] = []
    for (const each of [1, 9]) {
      requests = 0
      drops = each
      for await (const event of model.stream(REQUEST, NEVER)) {
        outcomes.push(event.type === 'error' ? event.error.code : event.type)
      }
      outcomes.push(requests)
    }
    server.closeAllConnections()
    await new Promise<unknown>((resolve) => server.close(resolve))
    expect(outcomes).toEqual(['text', 'finish', 2, 'model_unreachable', 2])
  })

  test('is disconnected when the reader leaves', async () => {
    const server = await startModelServer(() => replyTo('endless'))
    servers.push(server)
    for await (const event of openai({ baseUrl: server.baseUrl })('probe').stream(REQUEST, NEVER)) {
      expect(event).toEqual({ type: 'text', text: 'It ' })
      break
    }
    await server.left
  })
})

describe('files in results', () => {
  const picture = { type: 'image', mediaType: 'image/png', data: 'AAAA' } as const
  const paper = { type: 'file', mediaType: 'application/pdf', data: 'BBBB' } as const
  const sound = { type: 'file', mediaType: 'audio/wav', data: 'CCCC' } as const
  const call = (callId: string) => ({ callId, tool: 'look', arguments: '{}' })
  const result = (callId: string, ...content: Extract<Message, { role: 'tool' }>['content']): Message => {
    return { role: 'tool', callId, tool: 'look', ok: true, content }
  }
  const request: ModelRequest = {
    messages: [
      { role: 'user', content: 'What is there?' },
      { role: 'assistant', content: '', calls: [call('c1'), call('c2'), call('c3')] },
      result('c1', { type: 'text', text: 'A cat.' }, picture),
      result('c2', { type: 'text', text: 'Nothing.' }),
      result('c3', paper, sound),
      { role: 'assistant', content: '', calls: [call('c4')] },
      result('c4', picture),
    ],
    tools: [],
  }
  const imagePart = { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } }
  const label = (id: string) => ({ type: 'text', text: `The files in the result of the call ${id} of the tool look:` })
  const toolCall = (id: string) => ({ id, type: 'function', function: { name: 'look', arguments: '{}' } })
  const inWords = [
    { role: 'user', content: 'What is there?' },
    { role: 'assistant', content: null, tool_calls: ['c1', 'c2', 'c3'].map(toolCall) },
    { role: 'tool', tool_call_id: 'c1', content: 'A cat.\n[image: image/png]' },
    { role: 'tool', tool_call_id: 'c2', content: 'Nothing.' },
    { role: 'tool', tool_call_id: 'c3', content: '[file: application/pdf]\n[file: audio/wav]' },
    { role: 'assistant', content: null, tool_calls: [toolCall('c4')] },
    { role: 'tool', tool_call_id: 'c4', content: '[image: image/png]' },
  ]
  const file = { type: 'file', file: { filename: 'file', file_data: 'data:application/pdf;base64,BBBB' } }
  const withFiles = [
    ...inWords.slice(0, 5),
    { role: 'user', content: [label('c1'), imagePart, label('c3'), file] },
    ...inWords.slice(5),
    { role: 'user', content: [label('c4'), imagePart] },
  ]
  const hello = { chunks: chunksOf({ text: 'A cat.' }) }

  test('are sent in a message of the user after the results, with the calls that they come from', async () => {
    const { server } = await exchange([hello], { request })
    expect(server.calls.map(({ body }) => body.messages)).toEqual([withFiles])
  })

  test.each([
    [400, 'messages[4].content must be a string'],
    [400, 'Invalid content type. image_url is only supported by certain models.'],
    [404, 'No endpoints found that support image input'],
    [500, 'image input is not supported - hint: you may need to provide the mmproj'],
  ])('are only named to a model that refuses them: %s %s', async (status, message) => {
    const server = await startModelServer((_, index) => (index === 0 ? { status, body: errorBody(message) } : hello))
    servers.push(server)
    const provider = openai({ baseUrl: server.baseUrl })
    for (const model of [provider('probe'), provider('probe')])
      for await (const event of model.stream(request, NEVER)) expect(event.type).not.toBe('error')
    expect(server.calls.map(({ body }) => body.messages)).toEqual([withFiles, inWords, inWords])
  })

  test('are sent again after a refusal that was of something else', async () => {
    const refusal = { status: 400, body: errorBody('The media of this account are blocked.') }
    const server = await startModelServer(() => refusal)
    servers.push(server)
    const model = openai({ baseUrl: server.baseUrl })('probe')
    for (const _ of [1, 2])
      for await (const event of model.stream(request, NEVER))
        expect(event).toMatchObject({ type: 'error', error: { code: 'model_refused_request' } })
    expect(server.calls.map(({ body }) => body.messages)).toEqual([withFiles, inWords, withFiles, inWords])
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

  test('is not sent until a server refuses to continue without it', async () => {
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

  test('is sent at once to a server that has required it before', async () => {
    const server = await startModelServer((_, index) => (index === 0 ? refusal : hello))
    servers.push(server)
    const provider = openai({ baseUrl: server.baseUrl })
    for (const model of [provider('probe'), provider('probe')]) {
      for await (const event of model.stream(request, NEVER)) expect(event.type).not.toBe('error')
    }
    const hasReasoning = server.calls.map(({ body }) => body.messages[1]?.reasoning_content !== undefined)
    expect(hasReasoning).toEqual([false, true, true])
  })

  test('is sent as empty if there was none', async () => {
    const answer: Message = { role: 'assistant', content: 'Hello.' }
    const messages = [...REQUEST.messages, answer, ...REQUEST.messages]
    const { server } = await exchange([refusal, hello], { request: { messages, tools: [] } })
    expect(server.calls.map(({ body }) => body.messages[1]?.reasoning_content)).toEqual([undefined, ' '])
  })

  test('is retried only once', async () => {
    const { server, error } = await exchange([refusal], { request })
    expect([server.calls.length, error?.code]).toEqual([2, 'model_refused_request'])
  })

  test('is not sent if the refusal has another reason', async () => {
    const other = { status: 400, body: { error: { message: 'Too long.' } } }
    const { server, error } = await exchange([other], { request })
    expect([server.calls.length, error]).toEqual([
      1,
      { code: 'model_refused_request', message: 'Too long.', status: 400, retryable: false },
    ])
  })
})

test('the opaque parts of an answer are in the next request to that provider', async () => {
  const extra_content = { google: { thought_signature: 'sig==' } }
  const call = { id: 'x', type: 'function', function: { name: 'clock', arguments: '{}' }, extra_content }
  const body = { choices: [{ message: { content: null, tool_calls: [call] }, finish_reason: 'tool_calls' }] }
  const server = await startModelServer(() => ({ body }))
  servers.push(server)
  const ask = async (provider: string, messages: ModelRequest['messages']) => {
    const events: ModelEvent[] = []
    const model = openai({ baseUrl: server.baseUrl, provider })('probe')
    for await (const event of model.stream({ messages, tools: [] }, NEVER)) events.push(event)
    return events.at(-1)
  }
  const end = await ask('google', REQUEST.messages)
  const opaque = end?.type === 'finish' ? end.opaque : undefined
  const calls = [{ callId: 'own', tool: 'clock', arguments: '{}' }]
  const messages = [...REQUEST.messages, { role: 'assistant', content: '', calls, ...(opaque && { opaque }) } as const]
  await ask('google', messages)
  await ask('groq', messages)
  const ownCall = { id: 'own', type: 'function', function: { name: 'clock', arguments: '{}' } }
  expect(server.calls.slice(1).map((each) => each.body.messages[1]?.tool_calls)).toEqual([
    [{ ...ownCall, extra_content }],
    [ownCall],
  ])
})

describe('a response format', () => {
  const responseFormat = { type: 'json_schema', name: 'time', schema: { type: 'object', required: ['noon'] } } as const
  const request: ModelRequest = { ...REQUEST, responseFormat }
  const hello = { chunks: chunksOf({ text: '{}' }) }

  test.each([
    ['json mode cannot be combined with tool/function calling'],
    ['This model does not support response format `json_schema`.'],
    ['This response_format type is unavailable now'],
    ["Function calling with a response mime type: 'application/json' is unsupported"],
  ])('is described in the prompt for a server that says: %s', async (message) => {
    const { server, error } = await exchange([{ status: 400, body: { error: { message } } }, hello], { request })
    const words = 'Answer with one JSON object and nothing else. It fits this JSON Schema: '
    expect(error).toBeUndefined()
    expect(server.calls.map(({ body }) => [body['response_format'], body.messages])).toEqual([
      [{ type: 'json_schema', json_schema: { name: 'time', schema: responseFormat.schema } }, REQUEST.messages],
      [undefined, [{ role: 'system', content: words + JSON.stringify(responseFormat.schema) }, ...REQUEST.messages]],
    ])
  })

  test.each([
    ['Invalid schema for response_format: additionalProperties is required to be false.', request],
    ['This response_format type is unavailable now', REQUEST],
    ['response_format is not supported', { ...REQUEST, responseFormat: { type: 'text' } }],
  ] satisfies [string, ModelRequest][])('is refused with “%s” if that does not help', async (message, request) => {
    const { server, error } = await exchange([{ status: 400, body: { error: { message } } }], { request })
    expect([server.calls.length, error?.message]).toEqual([1, message])
  })
})

describe('Mistral’s own servers', () => {
  /** What they refuse, in their words. */
  function faultOf({ stream_options, max_completion_tokens, seed, messages }: ModelCall['body']): object | undefined {
    const extra = stream_options ?? max_completion_tokens ?? seed
    if (extra !== undefined) return { detail: [{ type: 'extra_forbidden', msg: 'Extra inputs are not permitted' }] }
    const at = messages.findIndex(({ role }, index) => role === 'user' && messages[index - 1]?.['role'] === 'tool')
    if (at >= 0) return { message: "Unexpected role 'user' after role 'tool'", code: '3230' }
    const ids = JSON.stringify(messages).match(/"(tool_call_id|id)":"[^"]*"/g) ?? []
    return ids.every((id) => /:"[a-zA-Z0-9]{9}"$/.test(id))
      ? undefined
      : { message: 'Tool call id was x but must be a-z, A-Z, 0-9, with a length of 9.', code: '3280' }
  }

  test('get ids of calls, fields and turns that they accept', async () => {
    const server = await startModelServer(({ body }) => {
      const fault = faultOf(body)
      return fault ? { status: 422, body: { object: 'error', ...fault } } : { chunks: chunksOf({ text: 'Noon.' }) }
    })
    servers.push(server)
    const run = newId('run')
    const ids = [callId(run, 1, 0), callId(run, 1, 11), 'a', 'functions.clock:0', 'functions.clock:1']
    const tool = (id: string): Message => ({
      role: 'tool',
      callId: id,
      tool: 'clock',
      ok: true,
      content: [{ type: 'text', text: id }],
    })
    const messages: Message[] = [
      { role: 'user', content: 'What time is it?' },
      { role: 'assistant', content: '', calls: ids.map((id) => ({ callId: id, tool: 'clock', arguments: '{}' })) },
      ...ids.map(tool),
      // A run that was cancelled ends in results, or its model said nothing to them.
      { role: 'assistant', content: '' },
      { role: 'user', content: 'Well?' },
    ]
    const model = openai({ baseUrl: server.baseUrl.replace('/v1', '/mistral/v1') })('probe')
    const events: ModelEvent[] = []
    for await (const event of model.stream(
      { messages, tools: [], sampling: { max_completion_tokens: 9, seed: 7 } },
      NEVER,
    ))
      events.push(event)
    expect(events).toEqual([
      { type: 'text', text: 'Noon.' },
      { type: 'finish', finish: 'stop' },
    ])
    const { body } = server.calls[0]!
    const short = [
      ...ids.slice(0, 2).map((id) => id.replaceAll('_', '').slice(-9)),
      '00000000a',
      'onsclock0',
      'onsclock1',
    ]
    expect(body).toEqual({
      max_tokens: 9,
      random_seed: 7,
      model: 'probe',
      stream: true,
      messages: [
        { role: 'user', content: 'What time is it?' },
        {
          role: 'assistant',
          content: null,
          tool_calls: short.map((id) => ({ id, type: 'function', function: { name: 'clock', arguments: '{}' } })),
        },
        ...short.map((id, index) => ({ role: 'tool', tool_call_id: id, content: ids[index] })),
        { role: 'assistant', content: 'OK.' },
        { role: 'user', content: 'Well?' },
      ],
    })
  })
})

const CALL_ARGUMENTS = '{"zone":"UTC"}'
const completion = (message: object, finish_reason: string) => ({ choices: [{ message, finish_reason }] })

namelessCallSuite('Chat Completions', (baseUrl) => openai({ baseUrl })('probe'), {
  call: completion(
    { tool_calls: [{ id: 'call_a', type: 'function', function: { arguments: CALL_ARGUMENTS } }] },
    'tool_calls',
  ),
  text: completion({ content: 'Sorry.' }, 'stop'),
})

namelessCallSuite('the function_call of older servers', (baseUrl) => openai({ baseUrl })('probe'), {
  call: completion({ function_call: { arguments: CALL_ARGUMENTS } }, 'function_call'),
  text: completion({ content: 'Sorry.' }, 'stop'),
})

test('a call in the function_call of older servers is made', async () => {
  const { finished, requests } = await playServer(
    [
      completion({ content: null, function_call: { name: 'clock', arguments: CALL_ARGUMENTS } }, 'function_call'),
      completion({ content: 'Noon.' }, 'stop'),
    ],
    (baseUrl) => openai({ baseUrl })('probe'),
  )
  expect(finished).toMatchObject({ status: 'completed', answer: 'Noon.' })
  expect(JSON.stringify(requests[1])).toContain('noon in UTC')
})
