import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelFinish } from '../../../../src/contract/model.ts'
import type { Usage } from '../../../../src/contract/usage.ts'
import { anthropicAnswers } from '../../../../src/wire/provider/anthropic/codec.ts'
import { call, first, more, reasoning, text, use } from '../../model-events.ts'
import { readWhole, testRecorded } from '../../recorded.ts'

const USAGE = { inputTokens: 12, outputTokens: 7 }
const finish = (
  finish: ModelFinish,
  usage: Usage | undefined = USAGE,
  data?: unknown,
): Extract<ModelEvent, { type: 'finish' }> => ({
  type: 'finish',
  finish,
  ...(usage && { usage }),
  ...(data !== undefined && { opaque: { codec: 'anthropic', data } }),
})
const FULL: ModelEvent = { type: 'finish', finish: 'length', usage: USAGE, isWindowFull: true }
const error = (code: string, message: string, retryable = true, status?: number): ModelEvent => ({
  type: 'error',
  error: { code, message, retryable, ...(status !== undefined && { status }) },
})

const OSLO = '{"place":"Oslo"}'
const UTC = '{"zone":"UTC"}'
const CUT = error('model_stream_cut', "The model's answer was cut off.")
const NOTHING = error('model_bad_response', 'The model server sent an empty answer.')

/** What each recorded stream says. */
const EXPECTED: Readonly<Record<string, readonly ModelEvent[]>> = {
  text: [
    text('It is '),
    text('half past four, naïve friend 🕟.'),
    finish('stop', { inputTokens: 24, outputTokens: 7, cachedInputTokens: 8, cacheWriteTokens: 4, reasoningTokens: 3 }),
  ],
  'stop-sequence': [text('One, two'), finish('stop')],
  comments: [text('Through the '), text('noise.'), finish('stop')],
  'no-event-names': [text('Plain.'), finish('stop')],
  'unknown-events': [text('Hel'), text('lo.'), finish('stop')],
  'block-never-began': [text('Just so.'), finish('stop')],
  'after-the-stop': [text('Enough.'), finish('stop')],
  'stop-without-reason': [text('Enough.'), finish('stop', { inputTokens: 12, outputTokens: 1 })],
  'reason-without-stop': [text('Enough.'), finish('stop')],
  'last-line-without-break': [text('Done.'), finish('stop')],
  'usage-at-the-end': [text('Here.'), finish('stop', { inputTokens: 11, outputTokens: 4, cachedInputTokens: 2 })],
  'usage-zeros-at-the-end': [text('Here.'), finish('stop', { inputTokens: 11, outputTokens: 4, cachedInputTokens: 2 })],
  'no-usage': [text('Short.'), { type: 'finish', finish: 'stop' }],

  thinking: [
    reasoning('Two and two. '),
    reasoning('Four.'),
    text('4'),
    finish('stop', USAGE, [{ type: 'thinking', thinking: 'Two and two. Four.', signature: 'EqQBCgIYAhIM' }, 1]),
  ],
  'thinking-then-call': [
    reasoning('A clock is needed.'),
    text('Let me look.'),
    reasoning('Which zone?'),
    first(0, 'clock'),
    more(0, UTC),
    call(0, 'clock', UTC),
    finish('tool_calls', USAGE, [
      { type: 'thinking', thinking: 'A clock is needed.', signature: 'sig-a' },
      12,
      { type: 'thinking', thinking: 'Which zone?', signature: 'sig-b' },
      null,
    ]),
  ],
  'thinking-omitted': [
    reasoning(''),
    first(0, 'now'),
    more(0, '{}'),
    call(0, 'now', '{}'),
    finish('tool_calls', USAGE, [{ type: 'thinking', thinking: '', signature: 'sig-a' }, null]),
  ],
  'thinking-redacted': [
    reasoning(''),
    text('Done.'),
    finish('stop', USAGE, [{ type: 'redacted_thinking', data: 'EmwKAhgB' }, 5]),
  ],
  'thinking-cut-by-length': [reasoning('I think that'), finish('length')],

  call: [first(0, 'weather'), more(0, '{"place":'), more(0, '"Oslo"}'), call(0, 'weather', OSLO), finish('tool_calls')],
  'text-then-calls': [
    text('Let me look.'),
    first(0, 'weather'),
    more(0, OSLO),
    first(1, 'clock'),
    more(1, '{"zone":'),
    more(1, '"UTC"}'),
    call(0, 'weather', OSLO),
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'calls-interleaved': [
    first(0, 'weather'),
    first(1, 'clock'),
    more(0, '{"place"'),
    more(1, '{"zone"'),
    more(0, ':"Oslo"}'),
    more(1, ':"UTC"}'),
    call(0, 'weather', OSLO),
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'no-arguments': [
    first(0, 'now'),
    first(1, 'now'),
    more(0, '{}'),
    call(0, 'now', '{}'),
    more(1, '{}'),
    call(1, 'now', '{}'),
    finish('tool_calls'),
  ],
  'input-whole': [
    first(0, 'weather'),
    first(1, 'clock'),
    more(0, OSLO),
    call(0, 'weather', OSLO),
    more(1, UTC),
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'arguments-not-json': [
    first(0, 'weather'),
    more(0, '{place: Oslo'),
    call(0, 'weather', '{place: Oslo'),
    finish('tool_calls'),
  ],
  'no-indexes': [text('Hi. '), first(0, 'clock'), more(0, UTC), call(0, 'clock', UTC), finish('tool_calls')],
  'length-in-a-call': [text('I shall'), first(0, 'weather'), more(0, '{"place":"Os'), finish('length')],
  'length-of-the-window': [text('So much'), FULL],
  refusal: [text('Well, '), finish('content_filter')],
  'refusal-before-a-word': [finish('content_filter')],

  cut: [text('I was about to'), CUT],
  'cut-in-a-call': [first(0, 'weather'), more(0, '{"place":'), CUT],
  'cut-after-a-call': [first(0, 'weather'), more(0, OSLO), CUT],
  'cut-in-a-frame': [text('Half'), CUT],
  'stop-in-a-call': [first(0, 'weather'), more(0, '{"place":'), CUT],
  empty: [CUT],
  'nothing-but-stop': [NOTHING],
  // Hand-made after the types of the official SDK, as the next three.
  pause: [
    {
      ...finish('stop', USAGE, [
        { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } },
      ]),
      isPaused: true,
    },
  ],
  'web-search': [
    text('Let me look. '),
    use({
      tool: 'web_search',
      kind: 'web_search',
      id: 'srvtoolu_1',
      input: { query: 'weather in Oslo' },
      ok: true,
      sources: [{ url: 'https://yr.example/oslo', title: 'Oslo weather' }],
    }),
    text('In Oslo '),
    text('it '),
    text('rains'),
    text('.'),
    {
      ...finish('stop', { inputTokens: 312, outputTokens: 58, webSearches: 1 }, [
        13,
        {
          type: 'server_tool_use',
          id: 'srvtoolu_1',
          name: 'web_search',
          input: { query: 'weather in Oslo' },
          caller: { type: 'direct' },
        },
        {
          type: 'web_search_tool_result',
          tool_use_id: 'srvtoolu_1',
          content: [
            {
              type: 'web_search_result',
              title: 'Oslo weather',
              url: 'https://yr.example/oslo',
              encrypted_content: 'EqgfCioIARgB',
              page_age: '2 days ago',
            },
          ],
          caller: { type: 'direct' },
        },
        8,
        {
          type: 'text',
          length: 8,
          citations: [
            {
              type: 'web_search_result_location',
              cited_text: 'Rain all day.',
              url: 'https://yr.example/oslo',
              title: 'Oslo weather',
              encrypted_index: 'Eo8BCioIAhgB',
            },
          ],
        },
        1,
      ]),
      citations: [
        { url: 'https://yr.example/oslo', title: 'Oslo weather', start: 21, end: 29, quote: 'Rain all day.' },
      ],
    },
  ],
  'web-search-failed': [
    use({
      tool: 'web_search',
      kind: 'web_search',
      id: 'srvtoolu_1',
      input: { query: 'x' },
      ok: false,
      output: 'max_uses_exceeded',
    }),
    text('No.'),
    finish('stop', USAGE, [
      {
        type: 'server_tool_use',
        id: 'srvtoolu_1',
        name: 'web_search',
        input: { query: 'x' },
        caller: { type: 'direct' },
      },
      {
        type: 'web_search_tool_result',
        tool_use_id: 'srvtoolu_1',
        content: { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
        caller: { type: 'direct' },
      },
      3,
    ]),
  ],
  'code-and-fetch': [
    use({
      tool: 'web_fetch',
      kind: 'web_fetch',
      id: 'srvtoolu_1',
      input: { url: 'https://a.example/data' },
      ok: true,
      sources: [{ url: 'https://a.example/data', title: 'Data' }],
    }),
    use({
      tool: 'code_execution',
      kind: 'code',
      id: 'srvtoolu_2',
      input: { command: 'echo $((1+2+3))' },
      ok: true,
      output: '6\n',
    }),
    text('6'),
    expect.objectContaining({ type: 'finish', finish: 'stop', usage: USAGE }),
  ],
  'call-without-a-name': [first(0, ''), more(0, '{}'), call(0, '', '{}'), finish('tool_calls')],
  'error-overloaded': [text('Work'), error('model_unavailable', 'Overloaded', true, 529)],
  'error-rate-limit': [error('model_rate_limited', 'Slow down.')],
  'error-in-the-request': [error('model_refused_request', 'messages: bad', false)],
  'not-json': [text('Good '), error('model_bad_response', 'The model server sent something that is not JSON.')],
}

const readComplete = (body: unknown) => readWhole(anthropicAnswers, body)

testRecorded('anthropic', anthropicAnswers, EXPECTED)

describe('a complete Anthropic answer', () => {
  const message = (content: unknown, stop_reason: string | null = 'end_turn') => ({
    id: 'msg_01',
    type: 'message',
    role: 'assistant',
    content,
    stop_reason,
    usage: { input_tokens: 4, output_tokens: 2 },
  })
  const usage = { inputTokens: 4, outputTokens: 2 }

  test('has the same events as a stream', () => {
    const thinking = { type: 'thinking', thinking: 'A tool.', signature: 'sig' }
    const content = [
      thinking,
      { type: 'text', text: 'Looking.' },
      { type: 'tool_use', id: 'toolu_1', name: 'weather', input: { place: 'Oslo' } },
      { type: 'tool_use', id: 'toolu_2', name: 'now', input: {} },
    ]
    expect(readComplete(message(content, 'tool_use'))).toEqual([
      reasoning('A tool.'),
      text('Looking.'),
      first(0, 'weather'),
      first(1, 'now'),
      more(0, OSLO),
      call(0, 'weather', OSLO),
      more(1, '{}'),
      call(1, 'now', '{}'),
      finish('tool_calls', usage, [thinking, 8, null, null]),
    ])
  })

  test('that stopped at a sequence of the request says at which', () => {
    const answer = { ...message([{ type: 'text', text: 'One' }], 'stop_sequence'), stop_sequence: '###' }
    expect(readComplete(answer)).toEqual([text('One'), { ...finish('stop', usage), stopSequence: '###' }])
  })

  test('that was cut for length has no calls', () => {
    const content = [{ type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }]
    expect(readComplete(message(content, 'max_tokens'))).toEqual([first(0, 'weather'), finish('length', usage)])
  })

  test('without a message is an error with its reason', () => {
    const refusal = { type: 'error', error: { type: 'not_found_error', message: 'model: claude-9' } }
    expect(readComplete(refusal)).toEqual([error('model_not_found', 'model: claude-9', false)])
    expect([{}, [], null, { type: 'ping' }].map(readComplete)).toEqual([[NOTHING], [NOTHING], [NOTHING], [NOTHING]])
    expect(readComplete(message(null))).toEqual([finish('stop', usage)])
  })
})

test('an error of Anthropic has the message of the server', () => {
  const body = { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' }, request_id: 'req_1' }
  expect(anthropicAnswers.explain(body)).toEqual({ message: 'Overloaded', code: 'overloaded_error' })
})
