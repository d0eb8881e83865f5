import { windowsIn } from '../../src/model/windows.ts'
import { afterEach, describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { anthropic, type AnthropicOptions } from '../../src/model/anthropic.ts'
import { type ModelReply, type ModelServer, type Speech, startModelServer } from '../fixtures/model-server.ts'
import { id } from '../fixtures/play.ts'
import { playServer } from '../fixtures/play-server.ts'
import { modelSuite, type Scene } from '../suites/model.ts'
import { namelessCallSuite } from '../suites/nameless-call.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }
const NEVER = new AbortController().signal
const KEY = 'sk-ant-secret-1234567890'

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

const REASONS = { stop: 'end_turn', tool_calls: 'tool_use', length: 'max_tokens', content_filter: 'refusal' }

/** An answer as Anthropic streams it: words one by one, arguments in two fragments. */
function eventsOf({ reasoning, text, calls = [], finish, usage }: Speech): string[] {
  const cached = usage?.cachedInputTokens ?? 0
  const counts = usage && {
    input_tokens: usage.inputTokens - cached,
    cache_read_input_tokens: cached,
    output_tokens: usage.outputTokens,
    output_tokens_details: { thinking_tokens: usage.reasoningTokens ?? 0 },
  }
  const blocks: [object, object[]][] = []
  if (reasoning) blocks.push([{ type: 'thinking', thinking: '' }, [{ type: 'thinking_delta', thinking: reasoning }]])
  const words = (text?.match(/\S+\s*/g) ?? []).map((word) => ({ type: 'text_delta', text: word }))
  if (text) blocks.push([{ type: 'text', text: '' }, words])
  for (const [index, { tool, arguments: args }] of calls.entries()) {
    const half = args.length >> 1
    const parts = [args.slice(0, half), args.slice(half)]
    blocks.push([
      { type: 'tool_use', id: `toolu_${index}`, name: tool, input: {} },
      parts.map((partial_json) => ({ type: 'input_json_delta', partial_json })),
    ])
  }
  const reason = REASONS[finish ?? (calls.length > 0 ? 'tool_calls' : 'stop')]
  return [
    { type: 'message_start', message: { type: 'message', role: 'assistant', content: [], usage: counts } },
    ...blocks.flatMap(([content_block, deltas], index) => [
      { type: 'content_block_start', index, content_block },
      ...deltas.map((delta) => ({ type: 'content_block_delta', index, delta })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason: reason }, usage: counts },
    { type: 'message_stop' },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
}

function replyTo(scene: Scene): ModelReply {
  if (scene === 'cut') return { chunks: eventsOf({ text: 'It is noon.' }).slice(0, 3), end: 'cut' }
  if (scene === 'endless') return { chunks: eventsOf({ text: 'It is noon.' }).slice(0, 3), end: 'hang' }
  if (scene === 'refused') return { status: 400, body: errorBody('No.', 'invalid_request_error') }
  return { chunks: eventsOf(scene), end: 'close' }
}

modelSuite('Anthropic’s format', async (scene) => {
  const server = await startModelServer(() => replyTo(scene))
  return {
    model: anthropic({ baseUrl: server.baseUrl })('probe'),
    lastRequest: () => server.calls.at(-1)?.body,
    close: () => server.close(),
  }
})

const errorBody = (message: string, type: string) => ({ type: 'error', error: { type, message }, request_id: 'req_1' })

async function exchange(
  reply: ModelReply,
  { request = REQUEST, ...options }: AnthropicOptions & { request?: ModelRequest } = {},
) {
  const server = await startModelServer(() => reply)
  servers.push(server)
  const model = anthropic({ baseUrl: server.baseUrl, apiKey: KEY, ...options })('claude-probe')
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, NEVER)) events.push(event)
  return { server, events, error: events.find((event) => event.type === 'error')?.error }
}

describe('a request', () => {
  test('goes to v1/messages with the key and the version', async () => {
    const { server, events } = await exchange({ chunks: eventsOf({ text: 'Hello.' }) }, { cache: 'off' })
    expect(events).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', finish: 'stop' },
    ])
    expect(server.calls).toEqual([
      {
        path: '/v1/messages',
        headers: expect.objectContaining({
          'x-api-key': KEY,
          'anthropic-version': '2023-06-01',
          'content-type': 'application/json',
          accept: 'text/event-stream',
        }),
        body: {
          model: 'claude-probe',
          max_tokens: 16_000,
          stream: true,
          messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
        },
      },
    ])
  })

  test.each([
    ['', 'https://api.anthropic.com/v1/messages'],
    ['http://gateway/anthropic', 'http://gateway/anthropic/v1/messages'],
    ['http://gateway/anthropic/v1/', 'http://gateway/anthropic/v1/messages'],
  ])('to the base %j goes to %s', async (baseUrl, url) => {
    const receivedRequests: unknown[] = []
    const send = (input: unknown) => {
      receivedRequests.push(input)
      return Promise.reject(new TypeError('no network here'))
    }
    const model = anthropic({ baseUrl, provider: 'claude', fetch: send })('sonnet')
    for await (const event of model.stream(REQUEST, NEVER)) expect(event.type).toBe('error')
    expect([receivedRequests, model.name]).toEqual([[url], 'claude/sonnet'])
  })

  test('that cannot be encoded is refused without being sent', async () => {
    const schema = {
      type: 'object',
      properties: { ages: { type: 'object', additionalProperties: { type: 'number' } } },
    }
    const request = { ...REQUEST, responseFormat: { type: 'json_schema', name: 'answer', schema } as const }
    const { server, events } = await exchange({ chunks: [] }, { request })
    const message = 'The schema "answer"/properties/ages allows any property; this model needs all of them named.'
    expect(events).toEqual([{ type: 'error', error: { code: 'model_refused_request', message, retryable: false } }])
    expect(server.calls).toEqual([])
  })
})

describe('the request for thinking', () => {
  const ask = async (reply: (index: number) => ModelReply, times: number) => {
    const server = await startModelServer((_, index) => reply(index))
    servers.push(server)
    const provider = anthropic({ baseUrl: server.baseUrl })
    const events: ModelEvent[] = []
    for (let time = 0; time < times; time += 1) {
      const request = { ...REQUEST, sampling: { reasoning_effort: 'high' } }
      for await (const event of provider('probe').stream(request, NEVER)) events.push(event)
    }
    return { events, hasThinking: server.calls.map(({ body }) => 'thinking' in body && 'output_config' in body) }
  }
  const hello = { chunks: eventsOf({ text: 'Hello.' }) }
  const refusing = (message: string) => (index: number) =>
    index === 0 ? { status: 400, body: errorBody(message, 'invalid_request_error') } : hello

  test('is dropped permanently if the model does not support it', async () => {
    const { events, hasThinking } = await ask(refusing('adaptive thinking is not supported on this model'), 2)
    expect([events.filter(({ type }) => type === 'error'), hasThinking]).toEqual([[], [true, false, false]])
  })

  test('is dropped once if the history does not allow it', async () => {
    const { hasThinking } = await ask(refusing('Thinking may not be enabled when tool_choice forces tool use.'), 2)
    expect(hasThinking).toEqual([true, false, true])
  })

  test('is kept if the refusal has another reason', async () => {
    const { events, hasThinking } = await ask(refusing('messages: bad'), 1)
    expect([events, hasThinking]).toEqual([
      [
        {
          type: 'error',
          error: { code: 'model_refused_request', message: 'messages: bad', status: 400, retryable: false },
        },
      ],
      [true],
    ])
  })
})

test('definitions are sent at once to a model that does not load them later', async () => {
  const refusal = errorBody('tools.1.defer_loading: Extra inputs are not permitted', 'invalid_request_error')
  const server = await startModelServer((_, index) =>
    index === 0 ? { status: 400, body: refusal } : { chunks: eventsOf({ text: 'Hello.' }) },
  )
  servers.push(server)
  const searchResult = { role: 'tool', callId: 's', tool: 'tool_search', ok: true, content: [], found: ['a'] } as const
  const request = { ...REQUEST, messages: [...REQUEST.messages, searchResult] }
  for (const deferLoading of [true, false]) {
    const model = anthropic({ baseUrl: server.baseUrl, deferLoading })('probe')
    for await (const event of model.stream(request, NEVER)) expect(event.type).not.toBe('error')
  }
  expect(server.calls.map(({ body }) => JSON.stringify(body).includes('tool_reference'))).toEqual([true, false, false])
})

describe('an answer', () => {
  test('may be complete, from a server that does not stream', async () => {
    const content = [{ type: 'text', text: 'Hello.' }]
    const body = { type: 'message', content, stop_reason: 'end_turn', usage: { input_tokens: 1, output_tokens: 2 } }
    expect((await exchange({ body })).events).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
    ])
  })

  test('ends at its last event, even if the server keeps the connection open', async () => {
    const { events, server } = await exchange({ chunks: eventsOf({ text: 'Hello.' }), end: 'hang' })
    expect(events.at(-1)).toEqual({ type: 'finish', finish: 'stop' })
    await server.left
  })
})

test.each([
  [401, 'authentication_error', { code: 'model_unauthorized', retryable: false }],
  [403, 'permission_error', { code: 'model_unauthorized', retryable: false }],
  [404, 'not_found_error', { code: 'model_not_found', message: 'Hm.', retryable: false }],
  [413, 'request_too_large', { code: 'model_context_exceeded', message: 'Hm.', retryable: false, overflow: {} }],
  [429, 'rate_limit_error', { code: 'model_rate_limited', message: 'Hm.', retryable: true }],
  [500, 'api_error', { code: 'model_unavailable', message: 'Hm.', retryable: true }],
  [529, 'overloaded_error', { code: 'model_unavailable', message: 'Hm.', retryable: true }],
])('a refusal with status %i and %s becomes an error', async (status, type, message) => {
  const { error } = await exchange({ status, body: errorBody('Hm.', type) })
  expect(error).toMatchObject({ ...message, status })
})

test('a run with Anthropic’s format returns thinking and sends results to their calls', async () => {
  const content = [
    { type: 'thinking', thinking: 'Two clocks.', signature: 'sig-a' },
    { type: 'text', text: 'Let me look.' },
    { type: 'thinking', thinking: '', signature: 'sig-b' },
    { type: 'tool_use', id: 'toolu_1', name: 'clock', input: { zone: 'UTC' } },
    { type: 'tool_use', id: 'toolu_2', name: 'clock', input: { zone: 'Mars' } },
  ]
  const { finished, requests } = await playServer(
    [
      { type: 'message', content, stop_reason: 'tool_use' },
      { type: 'message', content: [{ type: 'text', text: 'Noon.' }], stop_reason: 'end_turn' },
    ],
    (baseUrl) => anthropic({ baseUrl, cache: 'off' })('probe'),
  )
  const [first, second] = [id(1, 0), id(1, 1)]
  expect(finished).toMatchObject({ status: 'completed', answer: 'Noon.' })
  expect(requests[1]?.messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    {
      role: 'assistant',
      content: [...content.slice(0, 3), { ...content[3], id: first }, { ...content[4], id: second }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: first, content: [{ type: 'text', text: 'noon in UTC' }] },
        {
          type: 'tool_result',
          tool_use_id: second,
          is_error: true,
          content: [{ type: 'text', text: expect.any(String) }],
        },
      ],
    },
  ])
})

namelessCallSuite('Anthropic’s format', (baseUrl) => anthropic({ baseUrl })('probe'), {
  call: {
    type: 'message',
    content: [{ type: 'tool_use', id: 'a', input: { zone: 'UTC' } }],
    stop_reason: 'tool_use',
  },
  text: { type: 'message', content: [{ type: 'text', text: 'Sorry.' }], stop_reason: 'end_turn' },
})

test('the windows of models come from its list, those without a date too', async () => {
  const requests: unknown[] = []
  const send = async (url: unknown, { method = 'GET', headers }: RequestInit = {}) => {
    requests.push({ method, url, headers })
    const data = [
      { type: 'model', id: 'claude-new', max_input_tokens: 1_000_000, max_tokens: 128_000 },
      { type: 'model', id: 'claude-old-20260201', max_input_tokens: 500_000, max_tokens: 64_000 },
      { type: 'model', id: 'claude-old-20250201', max_input_tokens: 200_000, max_tokens: 8192 },
      { type: 'model', id: 'claude-unknown', max_input_tokens: null, max_tokens: null },
    ]
    return Response.json({ data, has_more: false })
  }
  const models = anthropic({ baseUrl: 'https://models.example/v1/', apiKey: KEY, fetch: send })
  expect(Object.fromEntries(windowsIn(await models.list?.(NEVER)))).toEqual({
    'claude-new': { contextTokens: 1_000_000, outputTokens: 128_000 },
    'claude-old': { contextTokens: 500_000, outputTokens: 64_000 },
    'claude-old-20260201': { contextTokens: 500_000, outputTokens: 64_000 },
    'claude-old-20250201': { contextTokens: 200_000, outputTokens: 8192 },
  })
  const headers = { accept: 'application/json', 'anthropic-version': '2023-06-01', 'x-api-key': KEY }
  expect(requests).toEqual([{ method: 'GET', url: 'https://models.example/v1/models?limit=1000', headers }])
})
