import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelFinish } from '../../../src/contract/model.ts'
import type { Usage } from '../../../src/contract/usage.ts'
import type { Opaque } from '../../../src/contract/message.ts'
import { chatCodec } from '../../../src/wire/provider/openai-chat/answer.ts'
import { call, first, more, reasoning, text } from '../model-events.ts'
import { readWhole, testRecorded } from '../recorded.ts'

const ANSWERS = chatCodec('openai-chat/test')

const finish = (finish: ModelFinish, usage?: Usage, opaque?: Opaque): ModelEvent => ({
  type: 'finish',
  finish,
  ...(usage && { usage }),
  ...(opaque && { opaque }),
})
const opaqueOf = (details: readonly object[], extras: object = {}): Opaque => ({
  codec: 'openai-chat/test',
  data: { details, extras },
})
const error = (
  code: string,
  message: string,
  rest: { retryable: boolean; status?: number; overflow?: object },
): ModelEvent => ({
  type: 'error',
  error: { code, message, ...rest },
})

const OSLO = '{"place":"Oslo"}'
const ROME = '{"place":"Rome"}'
const UTC = '{"zone":"UTC"}'
const CUT = error('model_stream_cut', "The model's answer was cut off.", { retryable: true })
const USAGE = { inputTokens: 21, outputTokens: 7, cachedInputTokens: 16, reasoningTokens: 3 }

/** A call to the weather of Oslo in three fragments, as OpenAI streams it. */
const IN_THREE = [first(0, 'weather'), more(0, '{"place":'), more(0, '"Oslo"}')]
const WEATHER = call(0, 'weather', OSLO)
const INTERLEAVED = [more(0, ':"Oslo"}'), more(1, ':"UTC"}'), WEATHER, call(1, 'clock', UTC), finish('tool_calls')]

/** What each recorded stream says. */
const EXPECTED: Readonly<Record<string, readonly ModelEvent[]>> = {
  text: [text('It is '), text('half past four, naïve friend 🕟.'), finish('stop', USAGE)],
  'no-usage': [text('Short.'), finish('stop')],
  'finish-without-done': [text('Enough.'), finish('stop')],
  'done-without-finish': [text('Enough.'), finish('stop')],
  'usage-on-every-chunk': [text('One '), text('two'), finish('stop', { inputTokens: 5, outputTokens: 2 })],
  'usage-on-the-choice': [text('Here.'), finish('stop', { inputTokens: 9, outputTokens: 4 })],
  'usage-of-the-vendor': [text('Here.'), finish('stop', { inputTokens: 9, outputTokens: 4 })],
  // xAI, and Google's own Chat Completions, count what was thought in the total alone.
  'usage-reasoning-apart': [
    text('Four.'),
    finish('stop', { inputTokens: 12, outputTokens: 319, cachedInputTokens: 4, reasoningTokens: 317 }),
  ],
  'usage-cached-at-its-top': [
    text('Here.'),
    finish('stop', { inputTokens: 19, outputTokens: 21, cachedInputTokens: 10 }),
  ],
  'finish-on-the-usage-chunk': [
    text('Late.'),
    finish('stop', { inputTokens: 3, outputTokens: 1, cachedInputTokens: 2 }),
  ],
  'empty-choices': [text('Past the filter.'), finish('stop')],
  'content-null': [text('Still here.'), finish('stop')],
  'content-parts': [reasoning('Parts it is. '), text('In '), text('parts.'), finish('stop')],
  refusal: [text('That I will '), text('not do.'), finish('stop')],
  'reasoning-content': [reasoning('Two and two. '), reasoning('Four.'), text('4'), finish('stop')],
  reasoning: [reasoning('Two and two.'), reasoning(' Four.'), text('4'), finish('stop')],
  'reasoning-details': [
    reasoning('Two and '),
    reasoning('two.'),
    text('4'),
    finish(
      'stop',
      undefined,
      opaqueOf([
        { type: 'reasoning.text', text: 'Two and two.', format: 'anthropic-claude-v1', index: 0, signature: 'sig==' },
        { type: 'reasoning.summary', summary: 'Four.', index: 1 },
        { type: 'reasoning.encrypted', data: 'gAAA', id: 'rs_1', index: 2 },
        { type: 'reasoning.encrypted', data: 'gBBB', id: 'rs_2', index: 2 },
      ]),
    ),
  ],
  'thinking-blocks': [
    reasoning('Two and '),
    reasoning('two.'),
    reasoning('Four.'),
    text('4'),
    finish(
      'stop',
      undefined,
      opaqueOf([
        { type: 'thinking', thinking: 'Two and two.', signature: 'sig1==' },
        { type: 'redacted_thinking', data: 'gAAA' },
        { type: 'thinking', thinking: 'Four.', signature: 'sig2==' },
      ]),
    ),
  ],
  comments: [text('Through the '), text('noise.'), finish('stop')],
  'last-line-without-break': [text('Done.'), finish('stop')],

  call: [...IN_THREE, WEATHER, finish('tool_calls', USAGE)],
  'calls-in-order': [
    ...IN_THREE,
    WEATHER,
    first(1, 'clock'),
    more(1, UTC),
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'text-then-call': [text('Let me look.'), ...IN_THREE, WEATHER, finish('tool_calls')],
  'stop-with-calls': [...IN_THREE, WEATHER, finish('tool_calls')],
  'tool-calls-without-calls': [text('No tool needed.'), finish('stop')],
  'calls-interleaved': [
    first(0, 'weather'),
    first(1, 'clock'),
    more(0, '{"place"'),
    more(1, '{"zone"'),
    ...INTERLEAVED,
  ],
  'index-always-0': [
    first(0, 'weather', OSLO),
    WEATHER,
    first(1, 'weather', ROME),
    call(1, 'weather', ROME),
    finish('tool_calls'),
  ],
  'index-shared-in-fragments': [first(0, 'weather', '{"place"'), first(1, 'clock', '{"zone"'), ...INTERLEAVED],
  'index-missing': [
    first(0, 'weather', '{"place":'),
    more(0, '"Oslo"}'),
    WEATHER,
    first(1, 'clock'),
    more(1, '{}'),
    call(1, 'clock', '{}'),
    finish('tool_calls'),
  ],
  'index-missing-in-one-delta': [
    first(0, 'weather', '{"place":'),
    first(1, 'clock', '{"zone":'),
    more(0, '"Oslo"}'),
    more(1, '"UTC"}'),
    WEATHER,
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'index-miscounted': [first(0, 'weather'), more(0, OSLO), WEATHER, finish('tool_calls')],
  'index-null': [first(0, 'weather', OSLO), WEATHER, finish('tool_calls')],
  'id-missing': [
    first(0, 'weather', OSLO),
    WEATHER,
    first(1, 'weather', ROME),
    call(1, 'weather', ROME),
    finish('tool_calls'),
  ],
  'id-and-index-missing': [
    first(0, 'weather', OSLO),
    WEATHER,
    first(1, 'weather', OSLO),
    call(1, 'weather', OSLO),
    finish('tool_calls'),
  ],
  'id-late': [first(0, 'weather', '{"place":'), more(0, '"Oslo"}'), WEATHER, finish('tool_calls')],
  'id-repeated': [first(0, 'weather', '{"place":'), more(0, '"Oslo"'), more(0, '}'), WEATHER, finish('tool_calls')],
  'id-empty': [first(0, 'weather', '{"place":'), more(0, '"Oslo"'), more(0, '}'), WEATHER, finish('tool_calls')],
  'id-new-in-every-fragment': [
    first(0, 'weather', '{"place":'),
    more(0, '"Oslo"'),
    more(0, ',"unit":"C"'),
    more(0, '}'),
    call(0, 'weather', '{"place":"Oslo","unit":"C"}'),
    finish('tool_calls'),
  ],
  'id-of-two-calls': [
    first(0, 'weather', OSLO),
    WEATHER,
    first(1, 'weather', ROME),
    call(1, 'weather', ROME),
    finish('tool_calls'),
  ],
  'name-late': [more(0, '{"place":'), first(0, 'weather', '"Oslo"}'), WEATHER, finish('tool_calls')],
  'call-repeated-whole': [first(0, 'weather', '{"place":'), more(0, '"Oslo"}'), WEATHER, finish('tool_calls')],
  'call-of-nothing': [...IN_THREE, WEATHER, finish('tool_calls')],
  'extra-content': [
    first(0, 'weather', OSLO),
    WEATHER,
    first(1, 'clock', UTC),
    call(1, 'clock', UTC),
    finish('tool_calls', undefined, opaqueOf([], { 0: { google: { thought_signature: 'sig==' } } })),
  ],
  'no-arguments': [
    first(0, 'now'),
    first(1, 'now'),
    first(2, 'later'),
    call(0, 'now', ''),
    call(1, 'now', ''),
    call(2, 'later', ''),
    finish('tool_calls'),
  ],
  'arguments-object': [first(0, 'weather', OSLO), WEATHER, finish('tool_calls')],
  'arguments-not-json': [first(0, 'weather', '{place: Oslo'), call(0, 'weather', '{place: Oslo'), finish('tool_calls')],
  'arguments-escaped': [
    first(0, 'weather'),
    more(0, '{"place":"\\u00'),
    more(0, 'c5lesund \\'),
    more(0, '"Å\\" \\\\'),
    more(0, 'n 🚀"}'),
    call(0, 'weather', '{"place":"\\u00c5lesund \\"Å\\" \\\\n 🚀"}'),
    finish('tool_calls'),
  ],
  'arguments-null-first': [...IN_THREE, WEATHER, finish('tool_calls')],
  'character-in-two-fragments': [
    text('Lift-off \ud83d'),
    text('\ude80!'),
    first(0, 'weather', '{"place":"\ud83d'),
    more(0, '\ude80"}'),
    call(0, 'weather', '{"place":"🚀"}'),
    finish('tool_calls'),
  ],
  'name-repeated': [first(0, 'weather', '{"place":'), more(0, '"Oslo"'), more(0, '}'), WEATHER, finish('tool_calls')],
  'calls-without-finish': [...IN_THREE, WEATHER, finish('tool_calls')],
  'calls-with-a-text-between': [
    first(0, 'weather'),
    text('And '),
    more(0, '{"place":'),
    text('so.'),
    more(0, '"Oslo"}'),
    WEATHER,
    finish('tool_calls'),
  ],
  nulls: [text('Still here.'), finish('stop')],
  'function-call-whole': [first(0, 'weather', OSLO), WEATHER, finish('tool_calls')],
  'function-call': [first(0, 'weather'), more(0, OSLO), WEATHER, finish('tool_calls')],
  'message-for-delta': [
    text('All at once.'),
    first(0, 'now'),
    more(0, '{}'),
    call(0, 'now', '{}'),
    finish('tool_calls'),
  ],
  'length-with-calls': [text('I shall'), first(0, 'weather', '{"place":"Os'), finish('length', USAGE)],
  'length-after-a-call': [first(0, 'weather', OSLO), WEATHER, first(1, 'clock', '{"zo'), finish('length')],
  'content-filter': [text('Well, '), finish('content_filter')],
  'unknown-finish': [text('Fin.'), finish('stop')],
  'finish-sensitive': [text('Fin.'), finish('content_filter')],

  cut: [text('I was about to'), CUT],
  'cut-in-a-call': [first(0, 'weather'), more(0, '{"place":'), CUT],
  'cut-after-a-call': [...IN_THREE, CUT],
  'error-after-a-call': [
    ...IN_THREE,
    error('model_unavailable', 'Provider disconnected', { status: 502, retryable: true }),
  ],
  'cut-in-a-frame': [text('Half'), CUT],
  'done-in-a-call': [first(0, 'weather', '{"place":'), CUT],
  empty: [CUT],
  'name-never': [more(0, OSLO), call(0, '', OSLO), finish('tool_calls')],
  'error-object': [
    text('Work'),
    error('model_unavailable', 'The engine is overloaded.', { retryable: true, status: 529 }),
  ],
  'error-with-status': [error('model_rate_limited', 'Slow down.', { status: 429, retryable: true })],
  'error-text': [error('model_unavailable', 'out of memory', { retryable: true })],
  'error-event': [error('model_context_exceeded', 'context_length_exceeded', { retryable: false, overflow: {} })],
  'error-finish': [text('Hm'), error('model_unavailable', 'The model server stopped: error.', { retryable: true })],
  'error-of-the-network': [
    text('Hm'),
    error('model_unavailable', 'The model server stopped: network_error.', { retryable: true }),
  ],
  'not-json': [
    text('Good '),
    error('model_bad_response', 'The model server sent something that is not JSON.', { retryable: true }),
  ],
}

const completion = (message: unknown, finish_reason = 'stop') => ({
  object: 'chat.completion',
  choices: [{ index: 0, message, finish_reason }],
  usage: { prompt_tokens: 4, completion_tokens: 2 },
})

const readComplete = (body: unknown) => readWhole(ANSWERS, body)

testRecorded('openai-chat', ANSWERS, EXPECTED)

describe('a complete answer', () => {
  test('has the same events as a stream', () => {
    const message = {
      role: 'assistant',
      content: 'Looking.',
      reasoning_content: 'A tool.',
      tool_calls: [
        { id: 'call_a', type: 'function', function: { name: 'weather', arguments: OSLO } },
        { id: 'call_b', type: 'function', function: { name: 'clock', arguments: UTC } },
      ],
    }
    expect(readComplete(completion(message, 'tool_calls'))).toEqual([
      reasoning('A tool.'),
      text('Looking.'),
      first(0, 'weather', OSLO),
      WEATHER,
      first(1, 'clock', UTC),
      call(1, 'clock', UTC),
      finish('tool_calls', { inputTokens: 4, outputTokens: 2 }),
    ])
  })

  test('without a choice is an error with its reason', () => {
    const refusal = { error: { message: 'No such model.', type: 'invalid_request_error', code: 'model_not_found' } }
    expect(readComplete(refusal)).toEqual([error('model_not_found', 'No such model.', { retryable: false })])
    const none = error('model_bad_response', 'The model server sent an empty answer.', { retryable: true })
    expect(readComplete({})).toEqual([none])
    expect(readComplete({ choices: [] })).toEqual([none])
    expect(readComplete(undefined)).toEqual([none])
  })

  test('may have the reason in the format of other frameworks', () => {
    const full = { code: 'rate_limit_exceeded', message: 'Slow down.' }
    const slow = error('model_rate_limited', 'Slow down.', { retryable: true })
    expect([{ error: full }, [{ error: full }], { detail: 'Slow down.', code: 429 }].map(readComplete)).toEqual([
      [slow],
      [slow],
      [error('model_rate_limited', 'Slow down.', { status: 429, retryable: true })],
    ])
  })

  test('that was cut for length or by a filter has no calls', () => {
    const message = { content: null, tool_calls: [{ id: 'call_a', function: { name: 'weather', arguments: '{"pl' } }] }
    expect(readComplete(completion(message, 'length'))).toEqual([
      first(0, 'weather', '{"pl'),
      finish('length', { inputTokens: 4, outputTokens: 2 }),
    ])
  })
})

test('an empty stream is not an answer', () => {
  const decoder = ANSWERS.decoder()
  expect([...decoder.push({ data: '[DONE]' }), ...decoder.push({ data: '[DONE]' }), ...decoder.end()]).toEqual([
    error('model_bad_response', 'The model server sent an empty answer.', { retryable: true }),
  ])
})

test('an error has the message of the server, in any format', () => {
  const bodies = [
    { error: { message: 'Bad key', type: 'auth', code: 'invalid_api_key' } },
    [{ error: { code: 404, message: 'models/x is not found', status: 'NOT_FOUND' } }],
    { error: 'model "x" not found, try pulling it first' },
    { object: 'error', message: 'too long', type: 'BadRequestError', code: 400 },
    { detail: [{ loc: ['body', 'tools'], msg: 'Extra inputs are not permitted' }] },
    { error: { code: 'overloaded' } },
    {},
    { error: '' },
    'text',
    null,
  ]
  expect(bodies.map(ANSWERS.explain)).toEqual([
    { message: 'Bad key', code: 'invalid_api_key' },
    { message: 'models/x is not found', status: 404 },
    { message: 'model "x" not found, try pulling it first' },
    { message: 'too long', code: 'BadRequestError', status: 400 },
    { message: '[{"loc":["body","tools"],"msg":"Extra inputs are not permitted"}]' },
    { message: 'The model server failed and gave no reason.', code: 'overloaded' },
    undefined,
    undefined,
    undefined,
    undefined,
  ])
})
