import { describe, expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import { hashArguments, type Message } from '../../src/contract/message.ts'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { memory } from '../../src/loop/window/sliding.ts'
import { collect, executeToolCalls, type ManualOptions } from '../../src/loop/manual.ts'
import { scripted, type Script } from '../fixtures/scripted.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { undefinedMembers } from '../fixtures/undefined-members.ts'

const multiply = tool('multiply', ({ a, b }) => Number(a) * Number(b))
const NEVER = new AbortController().signal
const call = (name: string, at: number) => ({ callId: `c${at}`, tool: name, arguments: '{}' })

/** The loop that a caller writes: as in the seeds, ask, run, ask again. */
async function drive(messages: readonly Message[], scripts: readonly Script[], tools = [multiply]) {
  const model = scripted(scripts)
  const request = (history: readonly Message[]): ModelRequest => ({
    messages: history,
    tools: tools.map(({ definition }) => definition),
  })
  let history = messages
  for (;;) {
    const answer = await collect(model.stream(request(history), NEVER))
    if (answer.calls.length === 0) return { history, answer, requestCount: model.requests.length }
    const executed = await executeToolCalls({ messages: history, tools }, answer)
    history = executed.messages
    if (executed.returnDirect) return { history, answer, requestCount: model.requests.length }
  }
}

const QUESTION: Message = { role: 'user', content: 'What is 6 * 8?' }

describe('a loop of your own', () => {
  test('asks, runs the requested calls, and asks again', async () => {
    const { history, answer } = await drive([QUESTION], [ask(['multiply', { a: 6, b: 8 }]), say('48')])
    expect(history.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(history[2]).toMatchObject({ tool: 'multiply', ok: true, content: [{ type: 'text', text: '48' }] })
    expect(answer).toMatchObject({ text: '48', finish: 'stop' })
  })

  test('gets events, messages and results without members that are undefined', async () => {
    const events: RunEvent[] = []
    const calls = ask(['multiply', { a: 6, b: 8 }], ['nothing'], ['multiply', 'x'])
    const answer = await collect(scripted([calls]).stream({ messages: [QUESTION], tools: [] }, NEVER))
    const onEvent = (event: RunEvent) => void events.push(event)
    const executed = await executeToolCalls({ messages: [QUESTION], tools: [multiply], onEvent }, answer)
    expect(events.map(({ type }) => type)).toEqual([
      ...['call.settled', 'call.settled', 'call.started', 'call.settled', 'step.finished'],
    ])
    expect(undefinedMembers({ answer, events, executed })).toEqual([])
  })

  test('remembers earlier questions, calls and answers', async () => {
    const remembered = memory()
    remembered.add(QUESTION)
    const first = await drive(remembered.messages(), [ask(['multiply', { a: 6, b: 8 }]), say('48')])
    remembered.add(...first.history.slice(1), { role: 'assistant', content: first.answer.text })
    remembered.add({ role: 'user', content: 'What did I ask you earlier?' })
    const second = await drive(remembered.messages(), [
      ({ messages }) => say(messages.find(({ role }) => role === 'user')?.content === QUESTION.content ? '6 * 8' : '?'),
    ])
    expect(remembered.messages().map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant', 'user'])
    expect(second.answer.text).toBe('6 * 8')
  })

  test('may stream an answer while it is collected', async () => {
    const types: string[] = []
    async function* showing(stream: AsyncIterable<ModelEvent>): AsyncGenerator<ModelEvent> {
      for await (const event of stream) {
        if (event.type === 'text') types.push(event.text)
        yield event
      }
    }
    const words: ModelEvent[] = [
      { type: 'text', text: 'It is ' },
      { type: 'text', text: '48.' },
      { type: 'finish', finish: 'stop' },
    ]
    const model = scripted([ask(['multiply', { a: 6, b: 8 }]), words])
    const first = await collect(showing(model.stream({ messages: [QUESTION], tools: [] }, NEVER)))
    const { messages } = await executeToolCalls({ messages: [QUESTION], tools: [multiply] }, first)
    const last = await collect(showing(model.stream({ messages, tools: [] }, NEVER)))
    expect(types).toEqual(['It is ', '48.'])
    expect(last.text).toBe('It is 48.')
  })

  test('learns when the results are the answer', async () => {
    const direct = tool('multiply', () => 48, { returnDirect: 'always' })
    const { history, requestCount } = await drive([QUESTION], [ask(['multiply'])], [direct])
    expect(requestCount).toBe(1)
    expect(history.at(-1)).toEqual({ role: 'assistant', content: '48' })
  })

  test('gets one result for each call, in their order, whatever their outcome', async () => {
    const answer = await collect(
      scripted([ask(['nosuch'], ['multiply', '{'], ['multiply', { a: 2, b: 3 }])]).stream(
        { messages: [QUESTION], tools: [] },
        NEVER,
      ),
    )
    const { results, returnDirect } = await executeToolCalls({ messages: [QUESTION], tools: [multiply] }, answer)
    expect(results.map(({ callId }) => callId)).toEqual(answer.calls.map(({ callId }) => callId))
    expect(results.map(({ ok }) => ok)).toEqual([false, false, true])
    expect(returnDirect).toBe(false)
  })

  test('counts the calls of its turn towards the limits', async () => {
    const answer = await collect(
      scripted([ask(['multiply', { a: 1, b: 1 }])]).stream({ messages: [], tools: [] }, NEVER),
    )
    const done: Message[] = [
      QUESTION,
      { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: 'multiply', arguments: '{}' }] },
      { role: 'tool', callId: 'c1', tool: 'multiply', ok: true, content: [] },
    ]
    const options = { tools: [multiply], limits: { callsPerTool: 1 } }
    const result = await executeToolCalls({ ...options, messages: done }, answer)
    expect(result.results).toMatchObject([{ ok: false }])
    const fresh = await executeToolCalls({ ...options, messages: [...done, QUESTION] }, answer)
    expect(fresh.results).toMatchObject([{ ok: true }])
  })

  test('throws if the model fails', async () => {
    const failing = scripted([
      [{ type: 'error', error: { code: 'model_unavailable', message: 'down', retryable: true } }],
    ])
    await expect(collect(failing.stream({ messages: [], tools: [] }, NEVER))).rejects.toMatchObject({
      name: 'CollectError',
      error: { code: 'model_unavailable' },
    })
  })
})

test('a call that needs approval by the rule of the setup is refused, as is one whose tool requires it', async () => {
  const tools = [tool('multiply', () => 1), tool('asks', () => 1, { approval: 'always' })]
  const answer = {
    text: '',
    finish: 'tool_calls',
    calls: ['multiply', 'asks'].map((name, at) => call(name, at)),
  } as const
  const loop = { needsApproval: () => true }
  const { results } = await executeToolCalls({ messages: [QUESTION], tools, loop }, answer)
  expect(results.map(({ ok, content }) => [ok, content])).toEqual([refusal, refusal])
})

test('a rule of the setup that throws rejects with its error, and nothing runs', async () => {
  let runs = 0
  const tools = [tool('multiply', () => ++runs)]
  const answer = { text: '', finish: 'tool_calls', calls: [call('multiply', 0), call('multiply', 1)] } as const
  const error = new Error('The rule is broken')
  const needsApproval = ({ callId }: { callId: string }) => {
    if (callId === 'c1') throw error
    return false
  }
  await expect(executeToolCalls({ messages: [QUESTION], tools, loop: { needsApproval } }, answer)).rejects.toBe(error)
  expect(runs).toBe(0)
})

test('an answer with two calls of one id is refused, and neither runs', async () => {
  let runs = 0
  const stop = new AbortController()
  const tools = [tool('multiply', () => (++runs < 9 ? runs : stop.abort()))]
  const calls = [call('multiply', 0), { ...call('multiply', 0), arguments: '{"a":1}' }]
  const answer = { text: '', finish: 'tool_calls', calls } as const
  const executed = executeToolCalls({ messages: [QUESTION], tools, signal: stop.signal }, answer)
  await expect(executed).rejects.toThrow(new TypeError('Two calls of one answer have the id "c0"'))
  expect(runs).toBe(0)
})

describe('the decision of a person about a call that needs approval', () => {
  let performed: string[] = []
  const asks = tool('asks', (args) => performed.push(JSON.stringify(args)), { approval: 'always' })
  const ofPerson = { ...call('asks', 0), arguments: '{ "to": "ann" }' }
  const execute = async (decisions: NonNullable<ManualOptions['decisions']>, options: Partial<ManualOptions> = {}) => {
    performed = []
    const answer = { text: '', finish: 'tool_calls', calls: [ofPerson, { ...ofPerson, callId: 'c1' }] } as const
    const { results } = await executeToolCalls({ messages: [QUESTION], tools: [asks], decisions, ...options }, answer)
    return [
      performed,
      results.map(({ ok, content }) => (ok ? ok : content.map((part) => 'text' in part && part.text)[0])),
    ]
  }
  const NEEDS = 'Not run: this call needs approval by a person, which is possible in a conversation only.'

  test('counts for the call and the arguments that it names', async () => {
    const argumentsHash = await hashArguments('{"to":"ann"}')
    expect(await execute({ c0: { decision: 'approve', argumentsHash } })).toEqual([['{"to":"ann"}'], [true, NEEDS]])
    const other = await hashArguments('{"to":"bob"}')
    expect(await execute({ c0: { decision: 'approve', argumentsHash: other } })).toEqual([[], [NEEDS, NEEDS]])
    expect(await execute({ __proto__: { decision: 'approve', argumentsHash } })).toEqual([[], [NEEDS, NEEDS]])
    const reject = { decision: 'reject', argumentsHash, reason: 'Not Ann.' } as const
    const [, [told]] = (await execute({ c0: reject })) as [unknown, string[]]
    expect(told).toContain('Not Ann.')
  })

  test('lifts no limit', async () => {
    const argumentsHash = await hashArguments('{"to":"ann"}')
    const both = { c0: { decision: 'approve', argumentsHash }, c1: { decision: 'approve', argumentsHash } } as const
    expect((await execute(both, { limits: { calls: 1 } }))[0]).toEqual(['{"to":"ann"}'])
    expect((await execute(both, { limits: { tools: { asks: 1 } } }))[0]).toEqual(['{"to":"ann"}'])
  })
})

test('a call may have no time limit', async () => {
  const slow = tool('multiply', () => new Promise((resolve) => setTimeout(() => resolve(48), 10)))
  const answer = { text: '', finish: 'tool_calls', calls: [call('multiply', 0)] } as const
  const options = { messages: [QUESTION], tools: [slow], limits: { callMs: Infinity } }
  const { results } = await executeToolCalls(options, answer)
  expect(results).toMatchObject([{ ok: true, content: [{ type: 'text', text: '48' }] }])
})

test('a truncated result names no tool for reading on, because a loop of your own has none', async () => {
  const tools = [tool('multiply', () => '9'.repeat(2000))]
  const answer = { text: '', finish: 'tool_calls', calls: [call('multiply', 0)] } as const
  const { results } = await executeToolCalls({ messages: [QUESTION], tools, limits: { resultBytes: 1000 } }, answer)
  const text = `${'9'.repeat(1000)}\n[cut: 1000 of 2000 bytes shown]`
  expect(results).toMatchObject([{ ok: true, content: [{ type: 'text', text }] }])
})

const refusal = [
  false,
  [{ type: 'text', text: 'Not run: this call needs approval by a person, which is possible in a conversation only.' }],
]
