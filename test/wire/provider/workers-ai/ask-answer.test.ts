import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelFinish } from '../../../../src/contract/model.ts'
import type { Usage } from '../../../../src/contract/usage.ts'
import { workersAiAnswers } from '../../../../src/wire/provider/workers-ai/codec.ts'
import { call, first, more, reasoning, text } from '../../model-events.ts'
import { readWhole, testRecorded } from '../../recorded.ts'

const finish = (finish: ModelFinish, usage?: Usage): ModelEvent => ({ type: 'finish', finish, ...(usage && { usage }) })
const error = (code: string, message: string, status?: number): ModelEvent => ({
  type: 'error',
  error: { code, message, ...(status && { status }), retryable: true },
})

const OSLO = '{"place":"Oslo"}'
const ROME = '{"place":"Rome"}'
const UTC = '{"zone":"UTC"}'
const USAGE = { inputTokens: 21, outputTokens: 7 }
const CUT = error('model_stream_cut', "The model's answer was cut off.")
const WEATHER = [first(0, 'weather', OSLO), call(0, 'weather', OSLO)]
const IN_PIECES = [first(0, 'weather'), more(0, '{"place":'), more(0, '"Oslo"}'), call(0, 'weather', OSLO)]

/** What each recorded stream says: those of the platform's own form, and those of Chat Completions. */
const EXPECTED: Readonly<Record<string, readonly ModelEvent[]>> = {
  'native-text': [text('It is '), text('half past four, naïve friend 🕟.'), finish('stop', USAGE)],
  'native-number': [text('It is '), text('4'), text(' or '), text('0'), text('.'), finish('stop')],
  'native-null': [text('Hello.'), finish('stop', USAGE)],
  'native-call': [...WEATHER, finish('tool_calls', USAGE)],
  'native-call-with-text-arguments': [...WEATHER, finish('tool_calls')],
  'native-calls': [
    first(0, 'weather', OSLO),
    call(0, 'weather', OSLO),
    first(1, 'clock', UTC),
    call(1, 'clock', UTC),
    finish('tool_calls'),
  ],
  'native-calls-apart': [...WEATHER, first(1, 'weather', ROME), call(1, 'weather', ROME), finish('tool_calls')],
  'native-no-calls': [text('Hello.'), finish('stop')],
  'native-fragments': [...IN_PIECES, finish('tool_calls')],
  'native-finish': [text('I shall'), finish('length', USAGE)],
  'native-cut': [text('I was about to'), CUT],
  'native-error': [text('Work'), error('model_unavailable', 'Capacity temporarily exceeded, please try again.')],
  'native-error-object': [text('Work'), error('model_rate_limited', 'Capacity temporarily exceeded.', 429)],
  'chat-text': [text('Hello.'), finish('stop', USAGE)],
  'chat-reasoning': [reasoning('Two and two.'), reasoning(' Four.'), text('4'), finish('stop', USAGE)],
  'chat-call': [...IN_PIECES, finish('tool_calls', USAGE)],
  'chat-cut': [text('I was about to'), CUT],
  'chat-with-response': [text('Hello.'), finish('stop')],
}

const readComplete = (body: unknown) => readWhole(workersAiAnswers, body)

testRecorded('workers-ai', workersAiAnswers, EXPECTED)

describe('a complete Workers AI answer', () => {
  test.each([
    [
      { response: 'Noon.', usage: { prompt_tokens: 4, completion_tokens: 2 } },
      [text('Noon.'), finish('stop', { inputTokens: 4, outputTokens: 2 })],
    ],
    [{ response: { zone: 'UTC' } }, [text(UTC), finish('stop')]],
    [
      { response: null, tool_calls: [{ name: 'weather', arguments: { place: 'Oslo' } }] },
      [...WEATHER, finish('tool_calls')],
    ],
    [
      { tool_calls: [{ name: 'now', arguments: {} }] },
      [first(0, 'now'), more(0, '{}'), call(0, 'now', '{}'), finish('tool_calls')],
    ],
    [
      {
        choices: [
          {
            message: { content: null, tool_calls: [{ id: 'c', function: { name: 'weather', arguments: OSLO } }] },
            finish_reason: 'tool_calls',
          },
        ],
      },
      [...WEATHER, finish('tool_calls')],
    ],
    [{}, [error('model_bad_response', 'The model server sent an empty answer.')]],
  ])('has the same events as a stream: %j', (body, text) => {
    expect(readComplete(body)).toEqual(text)
  })
})

test('an error of Workers AI has the message of the platform, in any format', () => {
  const bodies = [
    { internalCode: 5007, name: 'No such model', message: 'AiError', description: 'No such model @cf/x or task' },
    { errors: [{ code: 3036, message: 'You have used up your daily free allocation.' }], success: false },
    { error: { message: 'Bad tools', type: 'invalid_request_error', code: 400 } },
    { errors: [] },
    'text',
  ]
  expect(bodies.map(workersAiAnswers.explain)).toEqual([
    { message: 'No such model @cf/x or task' },
    { message: 'You have used up your daily free allocation.', code: 'insufficient_quota' },
    { message: 'Bad tools', code: 'invalid_request_error', status: 400 },
    undefined,
    undefined,
  ])
})
