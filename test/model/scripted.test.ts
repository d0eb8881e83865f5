import { describe, expect, test } from 'vitest'
import type { ChatModel, ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { callAnswer, say, type Script, scripted, together } from '../fixtures/scripted.ts'
import { modelSuite, type Scene } from '../suites/model.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }
const NEVER = new AbortController().signal

async function gather(model: ChatModel, request = REQUEST): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, NEVER)) events.push(event)
  return events
}

function scriptOf(scene: Scene): Script {
  if (scene === 'cut') {
    const error = { code: 'model_stream_cut', message: 'Cut.', retryable: true }
    return [
      { type: 'text', text: 'It' },
      { type: 'error', error },
    ]
  }
  if (scene === 'refused') {
    return [{ type: 'error', error: { code: 'model_refused_request', message: 'No.', status: 400, retryable: false } }]
  }
  if (scene === 'endless') {
    return async function* (): AsyncGenerator<ModelEvent> {
      yield { type: 'text', text: 'It ' }
      await new Promise(() => {})
    }
  }
  const { reasoning, text, calls = [], finish, usage } = scene
  const firstEvents = together(
    ...(text === undefined ? [] : [say(text, usage)]),
    ...calls.map((call) => callAnswer(call.tool, call.arguments, usage)),
  )
  const thought: ModelEvent[] = reasoning === undefined ? [] : [{ type: 'reasoning', text: reasoning }]
  return [...thought, ...firstEvents].map((event) => (event.type === 'finish' && finish ? { ...event, finish } : event))
}

modelSuite('a script', (scene) => {
  const script = scriptOf(scene)
  return Promise.resolve({ model: scripted([script, script]), close: () => Promise.resolve() })
})

describe('a scripted model', () => {
  test('emits its answers in order and records its requests', async () => {
    const model = scripted(
      [callAnswer('clock', { zone: 'UTC' }), say('Noon.', { inputTokens: 1, outputTokens: 2 })],
      'test/probe',
    )
    const next: ModelRequest = { messages: [], tools: [] }
    expect(await gather(model)).toEqual([
      { type: 'call.delta', index: 0, tool: 'clock', arguments: '{"zone":"UTC"}' },
      { type: 'call', index: 0, tool: 'clock', arguments: '{"zone":"UTC"}' },
      { type: 'finish', finish: 'tool_calls' },
    ])
    expect(await gather(model, next)).toEqual([
      { type: 'text', text: 'Noon.' },
      { type: 'finish', finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
    ])
    expect([model.name, model.requests]).toEqual(['test/probe', [REQUEST, next]])
  })

  test('may compute an answer from the request', async () => {
    const model = scripted([({ messages }) => say(`${messages.length} message`)])
    expect(await gather(model)).toEqual(say('1 message'))
  })

  test('fails the test that sends more requests than the script has answers', async () => {
    const model = scripted([say('Hello.')])
    await gather(model)
    expect(() => model.stream(REQUEST, NEVER)).toThrow('The script has 1 answers, and this is request 2')
  })
})

test('several answers are merged into one, with an index for each call', () => {
  expect(
    together(say('Let me look.'), callAnswer('clock'), together(callAnswer('weather', '{oops'), callAnswer('clock'))),
  ).toEqual([
    { type: 'text', text: 'Let me look.' },
    { type: 'call.delta', index: 0, tool: 'clock', arguments: '{}' },
    { type: 'call', index: 0, tool: 'clock', arguments: '{}' },
    { type: 'call.delta', index: 1, tool: 'weather', arguments: '{oops' },
    { type: 'call', index: 1, tool: 'weather', arguments: '{oops' },
    { type: 'call.delta', index: 2, tool: 'clock', arguments: '{}' },
    { type: 'call', index: 2, tool: 'clock', arguments: '{}' },
    { type: 'finish', finish: 'tool_calls' },
  ])
  expect(together()).toEqual([{ type: 'finish', finish: 'stop' }])
})
