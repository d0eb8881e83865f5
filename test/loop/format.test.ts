import { expect, test } from 'vitest'
import type { Hook, LoopSetup, StepAnswer } from '../../src/contract/hook.ts'
import { isObject } from '../../src/contract/json.ts'
import { ask, bodies, play, say, tool, types } from '../fixtures/play.ts'

const schema = { type: 'object', required: ['sum'] }
const responseFormat = { type: 'json_schema', name: 'Sum', schema } as const
const loop: LoopSetup = {
  validate: async (_, value) =>
    isObject(value) && typeof value.sum === 'number' ? [] : [{ path: 'sum', message: 'expected number' }],
}

test('an invalid structured answer is corrected by the model, without tools and without a trace in the history', async () => {
  let ran = 0
  const { events, state, requests } = await play({
    script: [ask(['add']), say('It is 3.'), say('{"sum":"3"}'), say('{"sum":3}')],
    tools: [tool('add', () => ++ran)],
    request: { responseFormat },
    loop,
  })
  expect(ran).toBe(1)
  expect(bodies(events).filter((event) => /rejected|restarted/.test(JSON.stringify(event)))).toMatchObject([
    { type: 'answer.rejected', step: 2, text: 'It is 3.', issues: '- the answer is not JSON' },
    { type: 'step.restarted', step: 2, attempt: 2 },
    { type: 'answer.rejected', step: 2, text: '{"sum":"3"}', issues: '- sum: expected number' },
    { type: 'step.restarted', step: 2, attempt: 3 },
  ])
  expect(requests.map(({ tools }) => tools.length)).toEqual([1, 1, 0, 0])
  expect(requests[3]?.messages.slice(-2)).toEqual([
    { role: 'assistant', content: '{"sum":"3"}' },
    {
      role: 'user',
      content:
        'This answer does not fit the requested JSON Schema:\n- sum: expected number\nAnswer again with the JSON alone.',
    },
  ])
  expect(state.finished?.answer).toBe('{"sum":3}')
  expect(state.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant'])
  // Each answer was paid for.
  expect(state.usage).toEqual({ inputTokens: 40, outputTokens: 20 })
})

test.each(['```json\n{"sum": 3}\n```', 'Here you are:\n```\n{"sum": 3}\n```', '{"sum": 3,}'])(
  'an answer in a code fence or with a comma too many is taken as the JSON that it holds: %j',
  async (text) => {
    const { state, requests } = await play({ script: [say(text)], request: { responseFormat }, loop })
    expect([state.finished?.answer, requests.length]).toEqual(['{"sum":3}', 1])
    expect(state.messages.at(-1)).toMatchObject({ role: 'assistant', content: '{"sum":3}' })
  },
)

test.each([
  ['as it is', '{"sum":3}', undefined, { start: 1, end: 8 }],
  ['out of a code fence', '```json\n{"sum":3}\n```', undefined, {}],
  ['as a hook has changed it', '{"sum":2}', (answer: StepAnswer) => ({ ...answer, text: '{"sum":3}' }), {}],
] as const)('citations have places only in the text that the model has written: %s', async (_, text, change, place) => {
  const source = { url: 'https://a.example', title: 'A' }
  const hook: Hook = { name: 'sum', step: async (request, next) => (change ?? ((same) => same))(await next(request)) }
  const { events } = await play({
    script: [
      [
        { type: 'text', text },
        { type: 'finish', finish: 'stop', citations: [{ ...source, start: 1, end: 8 }] },
      ],
    ],
    request: { responseFormat },
    loop: { ...loop, hooks: [hook] },
  })
  const answer = events.find(({ type }) => type === 'step.answered')
  expect(answer).toMatchObject({ text: '{"sum":3}' })
  expect(answer).toHaveProperty('citations', [{ ...source, ...place }])
})

test('after two failed corrections the run fails and reports the issues', async () => {
  const { state, events } = await play({
    script: [say('1'), say('2'), say('3')],
    request: { responseFormat },
    loop,
  })
  expect(state.finished).toMatchObject({
    status: 'failed',
    error: {
      code: 'invalid_answer',
      message: "The model's answer does not fit the requested format:\n- sum: expected number",
    },
  })
  expect(types(events).at(-1)).toBe('run.finished')
})

test('a valid structured answer is returned unchanged', async () => {
  const { state, requests } = await play({ script: [say('{"sum":3}')], request: { responseFormat }, loop })
  expect(requests).toHaveLength(1)
  expect(state.finished?.answer).toBe('{"sum":3}')
})
