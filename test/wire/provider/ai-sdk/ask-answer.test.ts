import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../../../src/contract/model.ts'
import { partsDecoder, thrownError } from '../../../../src/wire/provider/ai-sdk/answer.ts'

const STOP = { type: 'finish', finishReason: { unified: 'stop', raw: 'end_turn' }, usage: {} }
const CALLS = { type: 'finish', finishReason: { unified: 'tool-calls', raw: 'tool_use' }, usage: {} }
const UTC = '{"zone":"UTC"}'

function read(...parts: readonly unknown[]): ModelEvent[] {
  const decoder = partsDecoder()
  return [...parts.flatMap((part) => decoder.push(part)), ...decoder.end()]
}

const errorOf = (...parts: readonly unknown[]) => {
  const end = read(...parts).at(-1)
  return end?.type === 'error' ? end.error : end
}

describe('the parts of an AI SDK answer', () => {
  test('become text and reasoning, and nothing else', () => {
    expect(
      read(
        { type: 'stream-start', warnings: [] },
        { type: 'response-metadata', id: 'r' },
        { type: 'reasoning-start', id: '0' },
        { type: 'reasoning-delta', id: '0', delta: 'Hm. ' },
        { type: 'reasoning-end', id: '0' },
        { type: 'text-start', id: '0' },
        { type: 'text-delta', id: '0', delta: 'It is ' },
        { type: 'text-delta', id: '0', delta: '' },
        { type: 'source', sourceType: 'url', id: 's', url: 'https://example.com' },
        { type: 'text-delta', id: '0', delta: 'noon.' },
        { type: 'text-end', id: '0' },
        { type: 'raw', rawValue: {} },
        STOP,
        { type: 'text-delta', id: '0', delta: 'never read' },
      ),
    ).toEqual([
      { type: 'reasoning', text: 'Hm. ' },
      { type: 'text', text: 'It is ' },
      { type: 'text', text: 'noon.' },
      { type: 'finish', finish: 'stop' },
    ])
  })

  test('may stream calls in pieces, two at a time, or completely', () => {
    expect(
      read(
        { type: 'tool-input-start', id: 'a', toolName: 'clock' },
        { type: 'tool-input-start', id: 'b', toolName: 'clock' },
        { type: 'tool-input-delta', id: 'a', delta: '{"zone"' },
        { type: 'tool-input-delta', id: 'b', delta: '{}' },
        { type: 'tool-input-end', id: 'b' },
        { type: 'tool-call', toolCallId: 'b', toolName: 'clock', input: '{}' },
        { type: 'tool-input-delta', id: 'a', delta: ':"UTC"}' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'clock', input: UTC },
        { type: 'tool-call', toolCallId: 'c', toolName: 'now', input: '' },
        { type: 'tool-call', toolCallId: 'd', toolName: 'clock', input: { zone: 'UTC' } },
        CALLS,
      ),
    ).toEqual([
      { type: 'call.delta', index: 0, tool: 'clock', arguments: '' },
      { type: 'call.delta', index: 1, tool: 'clock', arguments: '' },
      { type: 'call.delta', index: 0, arguments: '{"zone"' },
      { type: 'call.delta', index: 1, arguments: '{}' },
      { type: 'call.delta', index: 0, arguments: ':"UTC"}' },
      { type: 'call', index: 0, tool: 'clock', arguments: UTC },
      { type: 'call', index: 1, tool: 'clock', arguments: '{}' },
      { type: 'call.delta', index: 2, tool: 'now', arguments: '' },
      { type: 'call', index: 2, tool: 'now', arguments: '' },
      { type: 'call.delta', index: 3, tool: 'clock', arguments: '' },
      { type: 'call.delta', index: 3, arguments: UTC },
      { type: 'call', index: 3, tool: 'clock', arguments: UTC },
      { type: 'finish', finish: 'tool_calls' },
    ])
  })

  test('for provider-executed calls are ignored', () => {
    expect(
      read(
        { type: 'tool-input-start', id: 'a', toolName: 'web_search', providerExecuted: true },
        { type: 'tool-input-delta', id: 'a', delta: '{}' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'web_search', input: '{}', providerExecuted: true },
        { type: 'tool-result', toolCallId: 'a', toolName: 'web_search', result: {} },
        STOP,
      ),
    ).toEqual([{ type: 'finish', finish: 'stop' }])
  })

  test('keep the provider’s metadata in the order in which they began', () => {
    const end = read(
      { type: 'reasoning-start', id: '0' },
      { type: 'reasoning-delta', id: '0', delta: 'A clock.' },
      { type: 'reasoning-delta', id: '0', delta: '', providerMetadata: { anthropic: { signature: 's1' } } },
      { type: 'reasoning-end', id: '0' },
      { type: 'reasoning-start', id: '0', providerMetadata: { anthropic: { redactedData: 'r' } } },
      { type: 'reasoning-end', id: '0' },
      { type: 'text-start', id: '1' },
      { type: 'text-delta', id: '1', delta: 'I look.' },
      { type: 'text-end', id: '1', providerMetadata: { openai: { itemId: 'msg_1' } } },
      { type: 'tool-input-start', id: 'toolu_1', toolName: 'clock' },
      { type: 'tool-call', toolCallId: 'toolu_1', toolName: 'clock', input: UTC },
      {
        type: 'tool-call',
        toolCallId: 'toolu_2',
        toolName: 'clock',
        input: '{}',
        providerMetadata: { google: { thoughtSignature: 't' } },
      },
      CALLS,
    ).at(-1)
    expect(end).toEqual({
      type: 'finish',
      finish: 'tool_calls',
      opaque: {
        codec: 'ai-sdk',
        data: [
          { reasoning: 8, data: { anthropic: { signature: 's1' } } },
          { reasoning: 0, data: { anthropic: { redactedData: 'r' } } },
          { text: 7, data: { openai: { itemId: 'msg_1' } } },
          { call: 0, id: 'toolu_1' },
          { call: 1, id: 'toolu_2', data: { google: { thoughtSignature: 't' } } },
        ],
      },
    })
  })
})

describe('the end of an AI SDK answer', () => {
  test.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content-filter', 'content_filter'],
    ['other', 'stop'],
    ['tool-calls', 'stop'],
  ])('is mapped for %s, in every version', (reason, finish) => {
    const usage = { inputTokens: 12, outputTokens: 3, totalTokens: 15, reasoningTokens: 1, cachedInputTokens: 8 }
    const parted = {
      inputTokens: { total: 12, noCache: 4, cacheRead: 8, cacheWrite: undefined },
      outputTokens: { total: 3, text: 2, reasoning: 1 },
    }
    const expectedUsage = { inputTokens: 12, outputTokens: 3, cachedInputTokens: 8, reasoningTokens: 1 }
    const events = [{ type: 'finish', finish, usage: expectedUsage }]
    expect(read({ type: 'finish', finishReason: reason, usage })).toEqual(events)
    expect(read({ type: 'finish', finishReason: { unified: reason, raw: reason }, usage: parted })).toEqual(events)
  })

  test('with calls is `tool_calls`, whatever the reason', () => {
    const call = { type: 'tool-call', toolCallId: 'a', toolName: 'now', input: '{}' }
    expect(read(call, STOP).at(-1)).toEqual({ type: 'finish', finish: 'tool_calls' })
  })

  test('that is missing, or leaves a call open, is an error', () => {
    const part = { type: 'tool-input-start', id: 'a', toolName: 'now' }
    expect(errorOf({ type: 'text-delta', id: '0', delta: 'Half' })).toMatchObject({ code: 'model_stream_cut' })
    expect(errorOf(part, CALLS)).toMatchObject({ code: 'model_bad_response', retryable: true })
    const never = { type: 'finish', finishReason: { unified: 'other', raw: undefined } }
    expect(errorOf(never)).toMatchObject({ code: 'model_stream_cut', retryable: true })
    expect(errorOf({ type: 'finish', finishReason: 'unknown' })).toMatchObject({ code: 'model_stream_cut' })
    expect(errorOf({ type: 'finish' })).toMatchObject({ code: 'model_stream_cut' })
    const cut = { type: 'finish', finishReason: 'length' }
    expect(read(part, cut).at(-1)).toEqual({ type: 'finish', finish: 'length' })
  })

  test('that is an error has its message', () => {
    expect(errorOf({ type: 'finish', finishReason: 'error' })).toMatchObject({ code: 'model_unavailable' })
    expect(errorOf({ type: 'error', error: 'overloaded' })).toMatchObject({ message: 'overloaded', retryable: true })
    expect(errorOf({ type: 'error', error: new Error('Broken pipe') })).toMatchObject({ message: 'Broken pipe' })
    expect(errorOf({ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })).toMatchObject({
      code: 'model_unavailable',
      message: 'Overloaded',
    })
    expect(errorOf({ type: 'error', error: undefined })).toMatchObject({ code: 'model_unavailable' })
  })
})

describe('an error that an AI SDK provider throws', () => {
  const thrown = (name: string, fields: object = {}) => Object.assign(new Error('It failed.'), { name, ...fields })

  test('becomes an error with its status, message and retryability', () => {
    const call = {
      statusCode: 429,
      isRetryable: true,
      responseHeaders: { 'retry-after': '7' },
      data: { error: { message: 'Slow down.', type: 'rate_limit' } },
    }
    expect(thrownError(thrown('AI_APICallError', call))).toEqual({
      code: 'model_rate_limited',
      message: 'Slow down.',
      status: 429,
      retryable: true,
      retryAfterMs: 7000,
    })
    const waits = ['1e400', '-5', '', '9'.repeat(400)].map((after) => {
      const responseHeaders = { 'retry-after': after }
      return thrownError(thrown('AI_APICallError', { ...call, responseHeaders }))?.retryAfterMs
    })
    expect(waits).toEqual([undefined, undefined, undefined, 2 ** 31 - 1])
    expect(thrownError(thrown('AI_APICallError', { statusCode: 400, isRetryable: false }))).toEqual({
      code: 'model_refused_request',
      message: 'It failed.',
      status: 400,
      retryable: false,
    })
    const responseBody = '{"error":{"message":"Not so."}}'
    expect(thrownError(thrown('AI_APICallError', { statusCode: 400, responseBody }))).toMatchObject({
      message: 'Not so.',
    })
    expect(thrownError(thrown('AI_APICallError', { isRetryable: true }))).toMatchObject({ code: 'model_unavailable' })
  })

  test('after the start of an answer is a stream that was cut', () => {
    const error = thrown('AI_APICallError', { statusCode: 200, isRetryable: false })
    expect(thrownError(error)).toMatchObject({ code: 'model_stream_cut', retryable: true })
  })

  test.each([
    ['AI_LoadAPIKeyError', 'model_unauthorized', false],
    ['AI_UnsupportedFunctionalityError', 'model_refused_request', false],
    ['AI_TypeValidationError', 'model_bad_response', true],
    ['AI_EmptyResponseBodyError', 'model_bad_response', true],
  ])('such as %s is %s, retryable: %s', (name, code, retryable) => {
    expect(thrownError(thrown(name))).toMatchObject({ code, retryable })
  })

  test('without an SDK error is a broken connection', () => {
    expect([thrownError(new TypeError('fetch failed')), thrownError('text'), thrownError(undefined)]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})
