import { describe, expect, test } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import { isObject } from '../../src/contract/json.ts'
import { contentText } from '../../src/contract/message.ts'
import { failure, type ToolContext } from '../../src/contract/tool.ts'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, sayInTwo, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const CHAT = '/v1/chat/completions'
const hello = (content = 'Hello') => ({ messages: [{ role: 'user', content }] })

/** What an application adds in its setup, seen by its callers. */
describe('a hook', () => {
  test('may refuse a request with a reason for the caller, before any model is called', async () => {
    const hook: Hook = { name: 'guard', accept: () => 'We do not talk about that.' }
    const edge = testEdge({ script: [say('never')], setup: { loop: { hooks: [hook] } } })
    const chat = await edge.ask(CHAT, { json: hello() })
    expect([chat.status, await chat.json()]).toEqual([
      403,
      {
        error: {
          message: 'We do not talk about that.',
          type: 'invalid_request_error',
          param: null,
          code: 'refused',
        },
      },
    ])
    const run = await edge.ask('/runs', { json: { input: 'Hello' } })
    expect([run.status, await run.json()]).toEqual([
      403,
      { status: 403, code: 'refused', detail: 'We do not talk about that.' },
    ])
    expect(edge.requests).toEqual([])
    expect(edge.reports).toMatchObject([{ event: 'run.refused', hook: 'guard' }, {}])
  })

  test('may change a request before it is accepted', async () => {
    const hook: Hook = { name: 'polite', accept: (request) => ({ ...request, system: 'Be polite.' }) }
    const edge = testEdge({ script: [say('Good day.')], setup: { loop: { hooks: [hook] } } })
    await edge.ask(CHAT, { json: hello() })
    expect(edge.requests[0]?.messages[0]).toEqual({ role: 'system', content: 'Be polite.' })
  })

  test('may add tools to a request depending on its message', async () => {
    const hook: Hook = {
      name: 'booking',
      offer: ({ input }) =>
        input.some(({ content }) => contentText(content).includes('booking')) ? ['bookRoom', 'noSuchTool'] : [],
    }
    const edge = testEdge({
      script: [say('a'), say('b'), say('c')],
      tools: [tool('clock')],
      others: [tool('bookRoom')],
      setup: { loop: { hooks: [hook] } },
    })
    await edge.ask(CHAT, { json: hello() })
    await edge.ask(CHAT, { json: hello('I want a booking') })
    // Tools that a request names and those of hooks are combined.
    await edge.ask(CHAT, { json: { ...hello('I want a booking'), edgecall: { tools: ['clock'] } } })
    expect(edge.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      ['clock'],
      ['clock', 'bookRoom'],
      ['clock', 'bookRoom'],
    ])
  })
})

test('tools receive trusted values of the edge under names that no caller can send', async () => {
  const contexts: ToolContext[] = []
  const edge = testEdge({
    vars: { TOOL_CONTEXT: '{"region":"eu","plan":"free"}' },
    script: [ask(['look']), say('ok')],
    tools: [tool('look', (_, context) => contexts.push(context))],
    setup: { trusted: ({ tenant }) => ({ plan: `paid by ${tenant}` }) },
  })
  await edge.ask('/runs', { json: { input: 'Hi', context: { plan: 'gold', trusted: { plan: 'gold' } } } })
  expect(contexts).toMatchObject([
    { values: { region: 'eu', plan: 'gold', trusted: { plan: 'gold' } }, trusted: { plan: 'paid by local' } },
  ])
})

test('a tool with `history` receives the messages that the model saw', async () => {
  const values: unknown[] = []
  const edge = testEdge({
    script: [ask(['look'], ['blind']), say('ok')],
    tools: [
      tool('look', (_, { history }) => values.push(history), { history: true }),
      tool('blind', (_, { history }) => values.push(history)),
    ],
  })
  await edge.ask('/runs', { json: { input: 'Hi' } })
  expect(values[0]).toMatchObject([{ role: 'user', content: 'Hi' }, { role: 'assistant' }])
  expect(values[1]).toBeUndefined()
})

test('the setup may choose tools by model for requests that name none', async () => {
  const edge = testEdge({
    vars: { MODELS: 'test/*' },
    script: [say('a'), say('b'), say('c')],
    tools: [tool('clock'), tool('alarm')],
    setup: { toolsOf: (model) => (model === 'test/small' ? ['clock'] : undefined) },
  })
  await edge.ask(CHAT, { json: { ...hello(), model: 'test/small' } })
  await edge.ask(CHAT, { json: { ...hello(), model: 'test/large' } })
  await edge.ask(CHAT, { json: { ...hello(), model: 'test/small', edgecall: { tools: ['alarm'] } } })
  expect(edge.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
    ['clock'],
    ['clock', 'alarm'],
    ['alarm'],
  ])
})

describe('a structured answer', () => {
  const response_format = { type: 'json_schema', json_schema: { name: 'sum', schema: { type: 'object' } } }
  const loop = {
    validate: async (_: unknown, value: unknown) =>
      isObject(value) && 'sum' in value ? [] : [{ path: 'sum', message: 'is required' }],
  }

  test('that is corrected is streamed only once it is valid', async () => {
    const edge = testEdge({ script: [say('{"total":3}'), say('{"sum":3}')], setup: { loop } })
    const response = await edge.ask(CHAT, { json: { ...hello(), stream: true, response_format } })
    const text = await response.text()
    expect(text).toContain('{\\"sum\\":3}')
    expect(text).not.toContain('total')
  })

  test('that never becomes valid is an error with the issues', async () => {
    const edge = testEdge({ script: [say('1'), say('2'), say('3')], setup: { loop } })
    const response = await edge.ask(CHAT, { json: { ...hello(), response_format } })
    expect([response.status, await response.json()]).toMatchObject([
      502,
      { error: { code: 'invalid_answer', message: expect.stringContaining('- sum: is required') } },
    ])
  })
})

describe('a request', () => {
  const broken = tool('broken', () => failure('gone', 'It is gone.'))

  test('may choose that a failed call fails its run', async () => {
    const edge = testEdge({ script: [ask(['broken']), say('sorry'), ask(['broken'])], tools: [broken] })
    const result = await edge.ask('/runs', { json: { input: 'Hi' } })
    expect(await result.json()).toMatchObject({ status: 'completed', answer: 'sorry' })
    const failed = await edge.ask('/runs', { json: { input: 'Hi', toolErrors: 'fail' } })
    expect([failed.status, await failed.json()]).toMatchObject([502, { code: 'gone', detail: 'It is gone.' }])
  })

  test('may choose what a limit does, and lower limits, within those of the edge', async () => {
    const script = [ask(['a'], ['a'], ['b'], ['b']), say('done')]
    const edge = testEdge({
      vars: { MAX_CALLS_PER_TOOL: '{"*":3,"a":1}' },
      script: [...script, ...script, ask(['a'], ['a'])],
      tools: [tool('a'), tool('b')],
    })
    const okOf = async (json: object) => {
      const record = (await (await edge.ask('/runs', { json: { input: 'Hi', ...json } })).json()) as {
        calls: { ok: boolean }[]
      }
      return record.calls.map(({ ok }) => ok)
    }
    expect(await okOf({ onLimit: 'model' })).toEqual([true, false, true, true])
    // Asking for more than the edge allows is no use, asking for less is.
    expect(await okOf({ onLimit: 'model', limits: { tools: { a: 9, b: 1 } } })).toEqual([true, false, true, false])
    const failed = await edge.ask('/runs', { json: { input: 'Hi', onLimit: 'fail' } })
    const run = { status: 'failed', finish: 'limit', which: 'callsPerTool', error: { code: 'limit_reached' } }
    expect(await failed.json()).toMatchObject({ status: 422, code: 'limit_reached', run })
  })

  test('cannot choose an invalid option', async () => {
    const edge = testEdge()
    for (const [name, value] of Object.entries({ onLimit: 'stop', toolErrors: 'throw', compensate: 1, compat: 'x' })) {
      const response = await edge.ask('/runs', { json: { input: 'Hi', [name]: value } })
      expect([response.status, await response.json()]).toMatchObject([400, { code: 'invalid_request', param: name }])
    }
  })
})

test('usage has the cost of a run if its model has a price', async () => {
  const edge = testEdge({ vars: { MODEL_PRICES: '{"test/scripted":{"input":1,"output":2}}' }, script: [say('Hi')] })
  const record = (await (await edge.ask('/runs', { json: { input: 'Hi' } })).json()) as { usage: object }
  expect(record.usage).toEqual({ inputTokens: 10, outputTokens: 5, cost: 20 / 1e6 })
})

test('a stored run continues after the wait has elapsed, and the 504 has its record so far', async () => {
  const gate = Promise.withResolvers<void>()
  const edge = keptEdge({ script: [sayInTwo('Hi', gate.promise, ' there')] })
  await edge.post('/conversations', { id: 'c' })
  const response = await edge.post('/conversations/c/runs', { input: 'Hi' }, { prefer: 'wait=0' })
  const { runId, run, ...problem } = await response.json<any>()
  expect([response.status, problem]).toEqual([
    504,
    { status: 504, code: 'wait_elapsed', detail: 'The run is still in progress; fetch it by its id.' },
  ])
  expect(run).toMatchObject({ id: runId, status: expect.stringMatching(/queued|running/) })
  gate.resolve()
  expect(await (await edge.fetch(`/conversations/c/runs/${runId}/events`)).text()).toContain('Hi there')
})

test('a run that is not stored is stopped when the wait elapses, and the 504 says so', async () => {
  const edge = testEdge({
    script: [
      async function* (_, signal) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
        yield* say('too late')
      },
    ],
  })
  const response = await edge.ask('/runs', { json: { input: 'Hi' }, headers: { prefer: 'wait=0' } })
  expect([response.status, await response.json()]).toMatchObject([
    504,
    {
      code: 'wait_elapsed',
      runId: response.headers.get('x-run-id') ?? expect.any(String),
      run: { status: 'cancelled' },
    },
  ])
})
