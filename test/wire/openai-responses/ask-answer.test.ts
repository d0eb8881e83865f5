import { describe, expect, test } from 'vitest'
import type { Opaque } from '../../../src/contract/message.ts'
import type { ModelEvent, ModelFinish } from '../../../src/contract/model.ts'
import type { Usage } from '../../../src/contract/usage.ts'
import { responsesAnswers } from '../../../src/wire/provider/openai-responses/answer.ts'
import { hostedCall } from '../../../src/wire/provider/openai-responses/request.ts'
import { use } from '../model-events.ts'
import { readWhole, testRecorded } from '../recorded.ts'

const text = (text: string): ModelEvent => ({ type: 'text', text })
const reasoning = (text: string): ModelEvent => ({ type: 'reasoning', text })
const first = (index: number, tool: string): ModelEvent => ({ type: 'call.delta', index, tool, arguments: '' })
const more = (index: number, args: string): ModelEvent => ({ type: 'call.delta', index, arguments: args })
const call = (index: number, tool: string, args: string): ModelEvent => ({ type: 'call', index, tool, arguments: args })
const finish = (finish: ModelFinish, usage?: Usage, opaque?: Opaque): ModelEvent => ({
  type: 'finish',
  finish,
  ...(usage && { usage }),
  ...(opaque && { opaque }),
})
const error = (code: string, message: string, retryable = true): ModelEvent => ({
  type: 'error',
  error: { code, message, retryable },
})

const OSLO = '{"place":"Oslo"}'
const UTC = '{"zone":"UTC"}'
const USAGE = { inputTokens: 21, outputTokens: 7, cachedInputTokens: 16, reasoningTokens: 3 }
const CUT = error('model_stream_cut', "The model's answer was cut off.")

/** A call to the weather of Oslo, as OpenAI streams it. */
const WEATHER = [first(0, 'weather'), more(0, '{"place":'), more(0, '"Oslo"}'), call(0, 'weather', OSLO)]
/** The same where its arguments come at once. */
const AT_ONCE: ModelEvent[] = [
  { type: 'call.delta', index: 0, tool: 'weather', arguments: OSLO },
  call(0, 'weather', OSLO),
]

const CLOCKS = '{"query":"clock"}'
const SEARCH_AT_ONCE: ModelEvent[] = [
  { type: 'call.delta', index: 0, tool: 'tool_search', arguments: CLOCKS },
  call(0, 'tool_search', CLOCKS),
]

const opaqueOf = (...data: readonly object[]): Opaque => ({ codec: 'openai-responses', data })
const ENCRYPTED = { id: 'rs_1', type: 'reasoning', encrypted_content: 'gAAAAB-one==' }

/** What each recorded stream says. */
const EXPECTED: Readonly<Record<string, readonly ModelEvent[]>> = {
  text: [text('It is '), text('half past four, naïve friend 🕟.'), finish('stop', USAGE)],
  'two-messages': [text('First.'), text(' Then.'), finish('stop')],
  // Hand-made after the types of the official SDK, as the next two.
  'kinds-of-tools': [
    first(0, 'apply'),
    more(0, '{"input":"+\\"hi\\" \\ud83d'),
    more(0, '\\udd5f\\n'),
    more(0, '+ä'),
    more(0, '"}'),
    call(0, 'apply', '{"input":"+\\"hi\\" 🕟\\n+ä"}'),
    first(1, 'shell'),
    more(1, '{"commands":["ls"],"max_output_length":4096}'),
    call(1, 'shell', '{"commands":["ls"],"max_output_length":4096}'),
    finish('tool_calls'),
  ],
  'web-search': [
    reasoning(''),
    use({
      tool: 'web_search',
      kind: 'web_search',
      id: 'ws_1',
      input: { action: 'search', query: 'weather in Oslo', queries: ['weather in Oslo'] },
      ok: true,
      sources: [{ url: 'https://yr.example/oslo' }],
    }),
    use({
      tool: 'web_search',
      kind: 'web_search',
      id: 'ws_2',
      input: { action: 'open_page', url: 'https://yr.example/oslo' },
      ok: true,
    }),
    text('It rains (yr).'),
    {
      type: 'finish',
      finish: 'stop',
      usage: { inputTokens: 30, outputTokens: 9, webSearches: 1 },
      opaque: opaqueOf(
        { reasoning: { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAAAABk' } },
        {
          hosted: {
            id: 'ws_1',
            type: 'web_search_call',
            status: 'completed',
            action: {
              type: 'search',
              query: 'weather in Oslo',
              queries: ['weather in Oslo'],
              sources: [{ type: 'url', url: 'https://yr.example/oslo' }],
            },
          },
        },
        {
          hosted: {
            id: 'ws_2',
            type: 'web_search_call',
            status: 'completed',
            action: { type: 'open_page', url: 'https://yr.example/oslo' },
          },
        },
        { text: 14 },
      ),
      citations: [{ url: 'https://yr.example/oslo', title: 'Oslo weather', start: 3, end: 12 }],
    },
  ],
  'hosted-tools': [
    use({ tool: 'code_interpreter', kind: 'code', id: 'ci_1', input: { code: 'print(6)' }, ok: true, output: '6\n' }),
    use({
      tool: 'file_search',
      kind: 'file_search',
      id: 'fs_1',
      input: { queries: ['six'] },
      ok: true,
      output: 'six.md',
    }),
    use({
      tool: 'mcp',
      kind: 'mcp',
      id: 'mcp_1',
      input: { server: 'dice', name: 'roll', arguments: { sides: 6 } },
      ok: true,
      output: '6',
    }),
    use({
      tool: 'mcp',
      kind: 'mcp',
      id: 'mcp_2',
      input: { server: 'dice', name: 'roll', arguments: { sides: 6 } },
      ok: false,
      output: 'No dice.',
    }),
    text('6'),
    expect.objectContaining({ type: 'finish', finish: 'stop', usage: { inputTokens: 30, outputTokens: 9 } }),
  ],
  refusal: [text('That I will '), text('not do.'), finish('stop')],
  'type-in-event-alone': [text('Hello.'), finish('stop')],
  'no-event-names': [text('Hello.'), finish('stop')],
  'unknown-events': [text('Hello.'), finish('stop')],

  call: [...WEATHER, finish('tool_calls', USAGE)],
  'text-then-call': [text('Let me look.'), ...WEATHER, finish('tool_calls')],
  'calls-in-order': [...WEATHER, first(1, 'clock'), more(1, UTC), call(1, 'clock', UTC), finish('tool_calls')],
  'calls-interleaved': [
    first(0, 'weather'),
    first(1, 'clock'),
    more(0, '{"place"'),
    more(1, '{"zone"'),
    more(1, ':"UTC"}'),
    more(0, ':"Oslo"}'),
    call(0, 'weather', OSLO),
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'arguments-escaped': [
    first(0, 'weather'),
    more(0, '{"place":"\\u00'),
    more(0, 'c5lesund \\'),
    more(0, '"\\ud83d'),
    more(0, '\\ude80\\" ny'),
    more(0, '🚀"}'),
    call(0, 'weather', '{"place":"\\u00c5lesund \\"\\ud83d\\ude80\\" ny🚀"}'),
    finish('tool_calls'),
  ],
  'no-arguments': [first(0, 'now'), call(0, 'now', ''), finish('tool_calls')],
  'ids-new-in-every-event': [...WEATHER, finish('tool_calls')],

  'search-call': [
    first(0, 'tool_search'),
    more(0, '{"query":"weather in a city","maxResults":3}'),
    call(0, 'tool_search', '{"query":"weather in a city","maxResults":3}'),
    finish('tool_calls', USAGE),
  ],
  'search-beside-a-call': [
    reasoning(''),
    first(0, 'tool_search'),
    first(1, 'weather'),
    more(1, '{"place":'),
    more(1, '"Oslo"}'),
    more(0, CLOCKS),
    call(0, 'tool_search', CLOCKS),
    call(1, 'weather', OSLO),
    finish('tool_calls', undefined, opaqueOf({ reasoning: { ...ENCRYPTED, summary: [] } }, { call: 0 }, { call: 1 })),
  ],
  'search-arguments-as-text': [...SEARCH_AT_ONCE, finish('tool_calls')],
  'search-only-completed': [...SEARCH_AT_ONCE, finish('tool_calls')],
  'search-by-the-server': [text('Hello.'), finish('stop')],

  'place-moved': [...WEATHER, finish('tool_calls')],
  'ids-change': [...WEATHER, finish('tool_calls')],
  'message-moved': [text('I look.'), ...WEATHER, finish('tool_calls')],
  'calls-reordered': [
    ...WEATHER,
    { type: 'call.delta', index: 1, tool: 'clock', arguments: UTC },
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'name-with-arguments': [
    more(0, OSLO),
    { type: 'call.delta', index: 0, tool: 'weather', arguments: '' },
    call(0, 'weather', OSLO),
    finish('tool_calls'),
  ],

  'place-missing': [text('I look.'), ...WEATHER, finish('tool_calls')],

  'reasoning-encrypted': [
    reasoning('They want '),
    reasoning('the time.'),
    reasoning('\n\n'),
    reasoning('A clock, then.'),
    text('I look.'),
    first(0, 'clock'),
    more(0, UTC),
    call(0, 'clock', UTC),
    finish(
      'tool_calls',
      USAGE,
      opaqueOf(
        {
          reasoning: {
            ...ENCRYPTED,
            summary: [
              { type: 'summary_text', text: 'They want the time.' },
              { type: 'summary_text', text: 'A clock, then.' },
            ],
          },
        },
        { text: 7, phase: 'commentary' },
        { call: 0 },
      ),
    ),
  ],
  'reasoning-unsaid': [
    reasoning(''),
    first(0, 'clock'),
    more(0, UTC),
    call(0, 'clock', UTC),
    finish('tool_calls', undefined, opaqueOf({ reasoning: { ...ENCRYPTED, summary: [] } }, { call: 0 })),
  ],
  'reasoning-text': [reasoning('Two and two. '), reasoning('Four.'), text('4'), finish('stop')],

  'items-without-deltas': [reasoning('Hm.'), text('I look.'), ...AT_ONCE, finish('tool_calls')],
  'only-completed': [reasoning('Hm.'), text('I look.'), ...AT_ONCE, finish('tool_calls', USAGE)],
  'completed-without-items': [first(0, 'weather'), more(0, OSLO), call(0, 'weather', OSLO), finish('tool_calls')],

  'incomplete-length': [text('I shall'), first(0, 'weather'), more(0, '{"place":"Os'), finish('length', USAGE)],
  'incomplete-filter': [text('Well, '), finish('content_filter')],

  failed: [text('Work'), error('model_unavailable', 'The engine is overloaded.')],
  'failed-without-a-response': [text('Work'), error('model_unavailable', 'The response is failed.')],
  'incomplete-without-a-status': [text('Work'), finish('length')],
  'failed-for-the-request': [error('model_refused_request', 'That image will not do.', false)],
  cancelled: [error('model_unavailable', 'The response is cancelled.')],
  'error-event': [error('model_rate_limited', 'Slow down.')],
  'error-nested': [
    { type: 'error', error: { code: 'model_context_exceeded', message: 'Too long.', retryable: false, overflow: {} } },
  ],
  'error-without-words': [error('model_unavailable', 'The model server failed and gave no reason.')],
  'not-json': [text('Good '), error('model_bad_response', 'The model server sent something that is not JSON.')],
  'name-never': [more(0, OSLO), call(0, '', OSLO), finish('tool_calls')],
  'arguments-never-whole': [first(0, 'weather'), more(0, '{"place":'), CUT],
  cut: [text('I was about to'), CUT],
  'cut-in-a-call': [first(0, 'weather'), more(0, '{"place":'), CUT],
  'cut-after-a-call': [...WEATHER, CUT],
  'done-before-the-end': [text('Half'), CUT],
  empty: [CUT],
}

testRecorded('openai-responses', responsesAnswers, EXPECTED)

const readComplete = (body: unknown) => readWhole(responsesAnswers, body)

describe('a complete response', () => {
  const output = [
    { ...ENCRYPTED, summary: [{ type: 'summary_text', text: 'Hm.' }] },
    {
      id: 'msg_1',
      type: 'message',
      content: [
        { type: 'output_text', text: 'I ' },
        { type: 'refusal', refusal: 'won’t.' },
      ],
    },
    { id: 'fc_1', type: 'function_call', call_id: 'call_a', name: 'weather', arguments: OSLO, status: 'completed' },
  ]
  const response = { object: 'response', status: 'completed', error: null, output }

  test('has the same events as a stream', () => {
    const usage = { input_tokens: 4, output_tokens: 2 }
    expect(readComplete({ ...response, usage })).toEqual([
      reasoning('Hm.'),
      text('I won’t.'),
      ...AT_ONCE,
      finish(
        'tool_calls',
        { inputTokens: 4, outputTokens: 2 },
        opaqueOf({ reasoning: output[0]! }, { text: 8 }, { call: 0 }),
      ),
    ])
  })

  test('that breaks off has no calls and no opaque parts', () => {
    const broken = { ...response, status: 'incomplete', incomplete_details: { reason: 'max_output_tokens' } }
    expect(readComplete(broken)).toEqual([reasoning('Hm.'), text('I won’t.'), finish('length')])
  })

  test('without a response is an error', () => {
    const none = error('model_bad_response', 'The model server sent an empty answer.')
    expect([readComplete({}), readComplete({ object: 'list' })]).toEqual([[none], [none]])
    expect(readComplete([])).toEqual([none])
    const refusal = { error: { message: 'No such model.', type: 'invalid_request_error', code: 'model_not_found' } }
    expect(readComplete(refusal)).toEqual([error('model_not_found', 'No such model.', false)])
  })
})

test('the arguments of a tool that the provider ran keep the digits of long numbers', () => {
  const item = { type: 'mcp_call', id: 'mcp_1', server_label: 'shop', name: 'find', output: 'found' }
  const input = { server: 'shop', name: 'find', arguments: { id: '9007199254740993' } }
  expect(hostedCall({ ...item, arguments: '{"id":9007199254740993}' })).toMatchObject([{ input }])
})
