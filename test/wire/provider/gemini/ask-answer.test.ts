import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelFinish } from '../../../../src/contract/model.ts'
import type { Usage } from '../../../../src/contract/usage.ts'
import { geminiAnswers } from '../../../../src/wire/provider/gemini/answer.ts'
import { call, first, reasoning, text, use } from '../../model-events.ts'
import { readWhole, testRecorded } from '../../recorded.ts'

const finish = (finish: ModelFinish, usage?: Usage, data?: unknown): Extract<ModelEvent, { type: 'finish' }> => ({
  type: 'finish',
  finish,
  ...(usage && { usage }),
  ...(data !== undefined && { opaque: { codec: 'gemini', data } }),
})
const error = (code: string, message: string, status?: number): ModelEvent => ({
  type: 'error',
  error: { code, message, ...(status && { status }), retryable: true },
})

const OSLO = '{"place":"Oslo"}'
const PARTS = '{"place":"Oslo","days":[{"hour":9},{"hour":12}],"in full":true,"unit":null}'
const UTC = '{"zone":"UTC"}'
const CUT = error('model_stream_cut', "The model's answer was cut off.")
const NOTHING = error('model_bad_response', 'The model server sent an empty answer.')
const USAGE = { inputTokens: 21, outputTokens: 7, cachedInputTokens: 16, reasoningTokens: 3 }
const thoughtSignature = 'CiQB1'

/** What each recorded stream says. */
const EXPECTED: Readonly<Record<string, readonly ModelEvent[]>> = {
  text: [text('It is '), text('half past four, naïve friend 🕟.'), finish('stop', USAGE)],
  // Hand-made after the types of the official SDK, as the next.
  'google-search': [
    text('In Oslo – '),
    text('it rains.'),
    use({
      tool: 'google_search',
      kind: 'web_search',
      input: { queries: ['weather in Oslo'] },
      ok: true,
      sources: [{ url: 'https://vertexaisearch.example/redirect/1', title: 'yr.example' }],
    }),
    {
      ...finish('stop', { inputTokens: 26, outputTokens: 4, webSearches: 1 }),
      citations: [{ url: 'https://vertexaisearch.example/redirect/1', title: 'yr.example', start: 10, end: 19 }],
    },
  ],
  'file-search': [
    text('Thirty days (handbook).'),
    use({
      tool: 'file_search',
      kind: 'file_search',
      input: {},
      ok: true,
      sources: [{ url: 'https://files.example/handbook.pdf', title: 'handbook.pdf' }],
    }),
    {
      ...finish('stop'),
      citations: [{ url: 'https://files.example/handbook.pdf', title: 'handbook.pdf', start: 0, end: 11 }],
    },
  ],
  'own-tools': [
    use({ tool: 'code_execution', kind: 'code', input: { code: 'print(6)' }, ok: true, output: '6\n' }),
    text('6'),
    use({
      tool: 'url_context',
      kind: 'web_fetch',
      input: { urls: ['https://a.example/data'] },
      ok: true,
      sources: [{ url: 'https://a.example/data' }],
    }),
    finish('stop', undefined, [
      { part: { executableCode: { language: 'PYTHON', code: 'print(6)' } } },
      { part: { codeExecutionResult: { outcome: 'OUTCOME_OK', output: '6\n' } } },
      {
        part: {
          toolCall: { id: 't1', toolType: 'URL_CONTEXT', args: { urls: ['https://a.example/data'] } },
          thoughtSignature: 'CiQB1',
        },
      },
      { part: { toolResponse: { id: 't1', toolType: 'URL_CONTEXT', response: { ok: true } } } },
      { text: 1 },
    ]),
  ],
  'no-usage': [text('Short.'), finish('stop')],
  'usage-alone-at-the-end': [text('Here.'), finish('stop', USAGE)],
  'stop-on-every-chunk': [text('One '), text('two'), finish('stop')],
  'done-mark': [text('Enough.'), finish('stop')],
  comments: [text('Through the '), text('noise.'), finish('stop')],
  unspecified: [text('Hi'), text('.'), finish('stop')],
  'unknown-parts': [
    text('Seen.'),
    finish('stop', undefined, [{ part: { executableCode: { language: 'PYTHON', code: '1' } } }, { text: 5 }]),
  ],
  'unknown-finish': [text('Fin.'), finish('stop')],
  'last-empty-line-missing': [text('Done.'), finish('stop')],

  'text-signed': [
    text('It is '),
    text('noon.'),
    finish('stop', undefined, [{ text: 11 }, { text: 0, thoughtSignature: 'CikB0' }]),
  ],
  'text-signed-whole': [
    text('Noon. '),
    text('Really.'),
    text(' Yes.'),
    finish('stop', undefined, [{ text: 6 }, { text: 7, thoughtSignature: 'CikB0' }, { text: 5 }]),
  ],
  'partial-arguments': [
    first(0, 'weather'),
    { type: 'call.delta', index: 1, tool: 'clock', arguments: UTC },
    { type: 'call.delta', index: 0, arguments: PARTS },
    call(0, 'weather', PARTS),
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'partial-arguments-in-one': [
    first(0, 'weather'),
    { type: 'call.delta', index: 0, arguments: OSLO },
    call(0, 'weather', OSLO),
    finish('tool_calls'),
  ],
  thoughts: [reasoning('Two and two. '), reasoning('Four.'), text('4'), finish('stop')],
  'thought-signed': [
    reasoning('Hm.'),
    text('4'),
    finish('stop', undefined, [{ part: { text: 'Hm.', thought: true, thoughtSignature: 'T1' } }, { text: 1 }]),
  ],

  call: [
    first(0, 'weather', OSLO),
    call(0, 'weather', OSLO),
    finish('tool_calls', USAGE, [{ call: true, id: 'fc-1', thoughtSignature }]),
  ],
  'call-unsigned': [first(0, 'weather', OSLO), call(0, 'weather', OSLO), finish('tool_calls')],
  calls: [
    text('Let me look.'),
    first(0, 'weather', OSLO),
    first(1, 'clock', UTC),
    call(0, 'weather', OSLO),
    call(1, 'clock', UTC),
    finish('tool_calls', undefined, [
      { text: 12 },
      { call: true, id: 'fc-1', thoughtSignature },
      { call: true, id: 'fc-2' },
    ]),
  ],
  'calls-in-two-chunks': [
    first(0, 'weather', OSLO),
    first(1, 'clock', UTC),
    call(0, 'weather', OSLO),
    call(1, 'clock', UTC),
    finish('tool_calls', undefined, [{ call: true, thoughtSignature }, { call: true }]),
  ],
  'no-arguments': [
    first(0, 'now', '{}'),
    first(1, 'now', '{}'),
    call(0, 'now', '{}'),
    call(1, 'now', '{}'),
    finish('tool_calls'),
  ],
  'length-with-calls': [text('I shall'), first(0, 'weather', OSLO), finish('length')],
  safety: [text('Well, '), finish('content_filter')],
  recitation: [finish('content_filter')],
  'prompt-blocked': [finish('content_filter', { inputTokens: 4, outputTokens: 0 })],

  cut: [text('I was about to'), CUT],
  'cut-after-a-call': [first(0, 'weather', OSLO), CUT],
  'cut-in-a-frame': [text('Half'), CUT],
  empty: [CUT],
  nothing: [NOTHING],
  'malformed-call': [error('model_bad_response', 'The model stopped: MALFORMED_FUNCTION_CALL.')],
  'unexpected-call': [text('Let me'), error('model_bad_response', 'The model stopped: UNEXPECTED_TOOL_CALL.')],
  other: [error('model_bad_response', 'The model stopped: OTHER.')],
  'call-without-a-name': [first(0, '', '{}'), call(0, '', '{}'), finish('tool_calls')],
  error: [text('Work'), error('model_unavailable', 'The model is overloaded.', 503)],
  'error-quota': [error('model_rate_limited', 'Quota exceeded.', 429)],
  'not-json': [text('Good '), error('model_bad_response', 'The model server sent something that is not JSON.')],
}

const readComplete = (body: unknown) => readWhole(geminiAnswers, body)

testRecorded('gemini', geminiAnswers, EXPECTED)

describe('a complete Gemini answer', () => {
  const chunk = (parts: readonly unknown[], finishReason?: string) => ({
    candidates: [{ content: { role: 'model', parts }, ...(finishReason && { finishReason }) }],
    usageMetadata: { promptTokenCount: 4, candidatesTokenCount: 2 },
  })
  const usage = { inputTokens: 4, outputTokens: 2 }
  const request = { functionCall: { name: 'weather', args: { place: 'Oslo' } } }

  test('has the same events as a stream', () => {
    expect(readComplete(chunk([{ text: 'Looking.' }, request], 'STOP'))).toEqual([
      text('Looking.'),
      first(0, 'weather', OSLO),
      call(0, 'weather', OSLO),
      finish('tool_calls', usage),
    ])
  })

  test('may be the list of its chunks', () => {
    expect(readComplete([chunk([{ text: 'Looking.' }]), chunk([request], 'STOP')])).toEqual([
      text('Looking.'),
      first(0, 'weather', OSLO),
      call(0, 'weather', OSLO),
      finish('tool_calls', usage),
    ])
  })

  test('without a candidate is an error with its reason', () => {
    const refusal = { error: { code: 503, message: 'Overloaded.', status: 'UNAVAILABLE' } }
    const unavailable = error('model_unavailable', 'Overloaded.', 503)
    expect([refusal, [refusal]].map(readComplete)).toEqual([[unavailable], [unavailable]])
    expect([{}, [], null, { candidates: [] }].map(readComplete)).toEqual([[NOTHING], [NOTHING], [NOTHING], [NOTHING]])
  })
})

test('an error of Gemini has the message of the server', () => {
  const body = [{ error: { code: 404, message: 'models/x is not found', status: 'NOT_FOUND' } }]
  expect(geminiAnswers.explain(body)).toEqual({ message: 'models/x is not found', status: 404 })
})
