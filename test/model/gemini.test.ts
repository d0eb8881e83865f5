import { windowsIn } from '../../src/model/windows.ts'
import { afterEach, describe, expect, test } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { gemini } from '../../src/model/gemini.ts'
import type { ServerOptions } from '../../src/model/http-models.ts'
import {
  type ModelReply,
  type ModelServer,
  type Speech,
  startModelServer,
  withoutQuotes,
} from '../fixtures/model-server.ts'
import { playServer } from '../fixtures/play-server.ts'
import { modelSuite, type Scene } from '../suites/model.ts'
import { namelessCallSuite } from '../suites/nameless-call.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }
const NEVER = new AbortController().signal
const KEY = 'AIza-secret-1234567890'

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

const REASONS = { stop: 'STOP', tool_calls: 'STOP', length: 'MAX_TOKENS', content_filter: 'SAFETY' }

/** An answer as Gemini streams it: words one by one, calls whole. */
function chunksOf({ reasoning, text, calls = [], finish = 'stop', usage }: Speech): unknown[] {
  const parts: object[] = []
  if (reasoning) parts.push({ text: reasoning, thought: true })
  for (const word of text?.match(/\S+\s*/g) ?? []) parts.push({ text: word })
  for (const { tool, arguments: args } of calls) parts.push({ functionCall: { name: tool, args } })
  const reasoningTokens = usage?.reasoningTokens ?? 0
  const usageMetadata = usage && {
    promptTokenCount: usage.inputTokens,
    cachedContentTokenCount: usage.cachedInputTokens,
    candidatesTokenCount: usage.outputTokens - reasoningTokens,
    thoughtsTokenCount: reasoningTokens,
  }
  return [
    ...parts
      .map((part) => ({ candidates: [{ content: { role: 'model', parts: [part] }, index: 0 }] }))
      .map((chunk) => `data: ${withoutQuotes(JSON.stringify(chunk), calls)}\n\n`),
    { candidates: [{ finishReason: REASONS[finish], index: 0 }], usageMetadata },
  ]
}

function replyTo(scene: Scene): ModelReply {
  if (scene === 'cut') return { chunks: chunksOf({ text: 'It is noon.' }).slice(0, 2), end: 'cut' }
  if (scene === 'endless') return { chunks: chunksOf({ text: 'It is noon.' }).slice(0, 2), end: 'hang' }
  if (scene === 'refused') return { status: 400, body: errorBody(400, 'No.', 'INVALID_ARGUMENT') }
  return { chunks: chunksOf(scene), end: 'close' }
}

modelSuite('Gemini’s format', async (scene) => {
  const server = await startModelServer(() => replyTo(scene))
  return {
    model: gemini({ baseUrl: server.baseUrl })('probe'),
    lastRequest: () => server.calls.at(-1)?.body,
    close: () => server.close(),
  }
})

const errorBody = (code: number, message: string, status: string) => ({ error: { code, message, status } })

async function exchange(
  reply: ModelReply,
  { request = REQUEST, ...options }: ServerOptions & { request?: ModelRequest } = {},
) {
  const server = await startModelServer(() => reply)
  servers.push(server)
  const model = gemini({ baseUrl: server.baseUrl, apiKey: KEY, ...options })('gemini-probe')
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, NEVER)) events.push(event)
  return { server, events, error: events.find((event) => event.type === 'error')?.error }
}

describe('a request', () => {
  test('goes to the model’s stream of events with the key', async () => {
    const { server, events } = await exchange({ chunks: chunksOf({ text: 'Hello.' }), end: 'close' })
    expect(events).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', finish: 'stop' },
    ])
    expect(server.calls).toEqual([
      {
        path: '/v1/models/gemini-probe:streamGenerateContent?alt=sse',
        headers: expect.objectContaining({ 'x-goog-api-key': KEY, 'content-type': 'application/json' }),
        body: { generationConfig: {}, contents: [{ role: 'user', parts: [{ text: 'Hi' }] }] },
      },
    ])
  })

  test.each([
    ['', 'pro', 'https://generativelanguage.googleapis.com/v1beta/models/pro:streamGenerateContent?alt=sse'],
    ['http://gateway//', '../x?y', 'http://gateway/models/..%2Fx%3Fy:streamGenerateContent?alt=sse'],
  ])('to the base %j for %j goes to %s', async (baseUrl, name, url) => {
    const receivedRequests: unknown[] = []
    const send = (input: unknown) => {
      receivedRequests.push(input)
      return Promise.reject(new TypeError('no network here'))
    }
    const model = gemini({ baseUrl, provider: 'google', fetch: send })(name)
    for await (const event of model.stream(REQUEST, NEVER)) expect(event.type).toBe('error')
    expect([receivedRequests, model.name]).toEqual([[url], `google/${name}`])
  })

  test.each([
    [{}, '45.5s', 45_500],
    [{ 'retry-after': '7' }, '45s', 7000],
    [{}, 'soon', undefined],
  ])('that exceeds a quota reads the retry delay from the body: %j, %j', async (headers, retryDelay, retryAfterMs) => {
    const details = [{ '@type': 'type.googleapis.com/google.rpc.Help' }, { retryDelay }]
    const body = { error: { ...errorBody(429, 'Slow down.', 'RESOURCE_EXHAUSTED').error, details } }
    const { error } = await exchange({ status: 429, headers, body })
    expect([error?.code, error?.retryAfterMs]).toEqual(['model_rate_limited', retryAfterMs])
  })

  test('that cannot be encoded is refused without being sent', async () => {
    const schema = { type: 'object', properties: { at: { $ref: 'https://example.org/place.json' } } }
    const responseFormat = { type: 'json_schema', name: 'answer', schema } as const
    const { server, events } = await exchange({ chunks: [] }, { request: { ...REQUEST, responseFormat } })
    const message =
      'The schema "answer"/properties/at refers to "https://example.org/place.json", which is not a part of it.'
    expect(events).toEqual([{ type: 'error', error: { code: 'model_refused_request', message, retryable: false } }])
    expect(server.calls).toEqual([])
  })
})

test('a model that refuses files in results gets their names', async () => {
  const refusal = 'Unable to submit request because `function_response.parts` is not supported for this model.'
  const server = await startModelServer((_, index) =>
    index === 0
      ? { status: 400, body: errorBody(400, refusal, 'INVALID_ARGUMENT') }
      : { chunks: chunksOf({ text: 'A cat.' }), end: 'close' },
  )
  servers.push(server)
  const messages: Message[] = [
    { role: 'user', content: 'What is it?' },
    { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: 'look', arguments: '{}' }] },
    {
      role: 'tool',
      callId: 'c1',
      tool: 'look',
      ok: true,
      content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }],
    },
  ]
  const model = gemini({ baseUrl: server.baseUrl })('probe')
  for (const _ of [1, 2]) {
    for await (const event of model.stream({ messages, tools: [] }, NEVER)) expect(event.type).not.toBe('error')
  }
  const responseParts = [{ functionResponse: { name: 'look', response: { output: '[image: image/png]' } } }]
  const parts = [{ inlineData: { mimeType: 'image/png', data: 'AAAA' } }]
  expect(server.calls.map(({ body }) => (body['contents'] as { parts: unknown }[])[2]?.parts)).toEqual([
    [{ functionResponse: { name: 'look', response: { output: '' }, parts } }],
    responseParts,
    responseParts,
  ])
})

test.each([false, true])(
  'an answer may be complete, from a server that does not stream: as a list, %s',
  async (isList) => {
    const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 2 }
    const chunk = { candidates: [{ content: { parts: [{ text: 'Hello.' }] }, finishReason: 'STOP' }], usageMetadata }
    expect((await exchange({ body: isList ? [chunk] : chunk })).events).toEqual([
      { type: 'text', text: 'Hello.' },
      { type: 'finish', finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
    ])
  },
)

test.each([
  [400, 'INVALID_ARGUMENT', { code: 'model_refused_request', message: 'Hm.', retryable: false }],
  [403, 'PERMISSION_DENIED', { code: 'model_unauthorized', retryable: false }],
  [404, 'NOT_FOUND', { code: 'model_not_found', message: 'Hm.', retryable: false }],
  [429, 'RESOURCE_EXHAUSTED', { code: 'model_rate_limited', message: 'Hm.', retryable: true }],
  [500, 'INTERNAL', { code: 'model_unavailable', message: 'Hm.', retryable: true }],
  [503, 'UNAVAILABLE', { code: 'model_unavailable', message: 'Hm.', retryable: true }],
])('a refusal with status %i and %s becomes an error', async (status, word, message) => {
  const { error } = await exchange({ status, body: errorBody(status, 'Hm.', word) })
  expect(error).toMatchObject({ ...message, status })
})

test('a run with Gemini’s format returns signatures and sends results to their calls', async () => {
  const parts = [
    { text: 'Let me look.' },
    { functionCall: { id: 'fc-1', name: 'clock', args: { zone: 'UTC' } }, thoughtSignature: 'sig-a' },
    { functionCall: { id: 'fc-2', name: 'clock', args: { zone: 'Mars' } } },
  ]
  const { finished, requests } = await playServer(
    [
      { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] },
      { candidates: [{ content: { role: 'model', parts: [{ text: 'Noon.' }] }, finishReason: 'STOP' }] },
    ],
    (baseUrl) => gemini({ baseUrl })('probe'),
  )
  expect(finished).toMatchObject({ status: 'completed', answer: 'Noon.' })
  expect(requests[1]?.contents).toEqual([
    { role: 'user', parts: [{ text: 'Hello' }] },
    { role: 'model', parts },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'fc-1', name: 'clock', response: { output: 'noon in UTC' } } },
        { functionResponse: { id: 'fc-2', name: 'clock', response: { error: expect.any(String) } } },
      ],
    },
  ])
})

namelessCallSuite('Gemini’s format', (baseUrl) => gemini({ baseUrl })('probe'), {
  call: { candidates: [{ content: { parts: [{ functionCall: { args: { zone: 'UTC' } } }] }, finishReason: 'STOP' }] },
  text: { candidates: [{ content: { parts: [{ text: 'Sorry.' }] }, finishReason: 'STOP' }] },
})

test('the windows of models come from its list', async () => {
  const requests: unknown[] = []
  const send = async (url: unknown, { method = 'GET', headers }: RequestInit = {}) => {
    requests.push({ method, url, headers })
    const models = [
      { name: 'models/gemini-one', inputTokenLimit: 1_048_576, outputTokenLimit: 65_536 },
      { name: 'models/gemini-two', inputTokenLimit: 131_072 },
      { name: 'models/embedding', outputTokenLimit: 1 },
    ]
    return Response.json({ models, nextPageToken: '' })
  }
  const models = gemini({ baseUrl: 'https://models.example/v1beta/', apiKey: KEY, fetch: send })
  expect(Object.fromEntries(windowsIn(await models.list?.(NEVER)))).toEqual({
    'gemini-one': { contextTokens: 1_048_576, outputTokens: 65_536 },
    'gemini-two': { contextTokens: 131_072 },
  })
  const headers = { accept: 'application/json', 'x-goog-api-key': KEY }
  expect(requests).toEqual([{ method: 'GET', url: 'https://models.example/v1beta/models?pageSize=1000', headers }])
})
