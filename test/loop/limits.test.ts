import { describe, expect, test } from 'vitest'
import type { ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { initialLimits, NEVER } from '../../src/contract/limits.ts'
import { recordOf } from '../../src/loop/record.ts'
import { ask, bodies, id, play, type Play, say, tool, types } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'

const add = tool('add')
const GAVE_SAME = 'Not run: "add" gave the same result each time it was called with these arguments.'

describe('a limit that is reached', () => {
  test('fails the run if it is set to, with a result for every call', async () => {
    const { state, events } = await play({
      script: [ask(['add'], ['sub'], ['sub'])],
      tools: [add, tool('sub')],
      request: { onLimit: 'fail', limits: { callsPerTool: 1 } },
    })
    expect(state.finished).toMatchObject({
      status: 'failed',
      finish: 'limit',
      which: 'callsPerTool',
      error: { code: 'limit_reached', message: 'The limit "callsPerTool" is reached.' },
    })
    expect(state.calls.every(({ result }) => result?.error?.code === 'cancelled')).toBe(true)
    expect(types(events).at(-1)).toBe('run.finished')
  })

  test('is reported to the model if it is set to: the call is refused, the others run, and tools stay offered', async () => {
    const { state, requests } = await play({
      script: [ask(['add'], ['sub']), ask(['add'], ['sub']), say('done')],
      tools: [add, tool('sub')],
      request: { onLimit: 'model', limits: { tools: { add: 1 } } },
    })
    expect(state.calls.map(({ result }) => result?.ok)).toEqual([true, true, false, true])
    expect(state.calls[2]?.result?.error?.message).toBe(
      'Not run: this run\'s limit "callsPerTool" is reached. No further call of "add" is run in it.',
    )
    expect(requests.map(({ tools }) => tools.length)).toEqual([2, 2, 2])
    expect(state.finished).toMatchObject({ finish: 'stop', answer: 'done' })
  })

  test('may be one of cost, with the price of cached input', async () => {
    const { state } = await play({
      script: [
        [
          ...ask(['add']).slice(0, -1),
          {
            type: 'finish',
            finish: 'tool_calls',
            usage: { inputTokens: 1_000_000, outputTokens: 100_000, cachedInputTokens: 500_000 },
          },
        ],
        say('enough'),
      ],
      tools: [add],
      price: { input: 2, output: 8, cachedInput: 0.5 },
      request: { limits: { cost: 2 } },
    })
    expect(state.finished).toMatchObject({ finish: 'limit', which: 'cost', answer: 'enough' })
    expect(state.usage.cost).toBeCloseTo(1 + 0.25 + 0.8 + (10 * 2 + 5 * 8) / 1e6)
  })
})

test('a repeated identical call is refused, and the model is told to use the earlier result', async () => {
  const { state } = await play({
    script: [ask(['add', { a: 1 }]), ask(['add', { a: 1 }], ['add', { a: 2 }]), ask(['add', { a: 1 }]), say('done')],
    tools: [add],
    request: { limits: { sameCalls: 2 } },
  })
  expect(state.calls.map(({ result }) => result?.error?.code)).toEqual([
    undefined,
    undefined,
    undefined,
    'repeated_call',
  ])
  expect(state.finished).toMatchObject({ finish: 'stop', answer: 'done' })
})

describe('a model that repeats one call for ever', () => {
  const FOR_EVER = Array.from({ length: 60 }, () => ask(['add', { a: 1 }]))

  /** It answers only where it is offered no tools. */
  async function repeat(options: Partial<Play> = {}) {
    let requests = 0
    const script = FOR_EVER.map(
      (events): Script =>
        async function* ({ tools }: ModelRequest) {
          requests += 1
          yield* tools.length > 0 ? events : say('It is 3.')
        },
    )
    const { state, events } = await play({ script, tools: [add], ...options })
    return { state, events, requests, codes: state.calls.map(({ result }) => result?.error?.code) }
  }

  test('gets a last answer without tools after three refusals in a row, and six requests in all', async () => {
    const { state, events, requests, codes } = await repeat()
    expect(requests).toBe(6)
    expect(codes).toEqual([undefined, undefined, 'repeated_call', 'repeated_call', 'repeated_call'])
    expect(state.calls.map(({ result }) => result?.error?.message)).toEqual([
      undefined,
      undefined,
      ...Array.from({ length: 2 }, () => `${GAVE_SAME} Use its results, or change the arguments.`),
      `${GAVE_SAME} This run's limit "sameCalls" is reached. Answer with what you have.`,
    ])
    expect(bodies(events)).toContainEqual({ type: 'limit.reached', which: 'sameCalls' })
    expect(recordOf(state)).toMatchObject({
      status: 'completed',
      finish: 'limit',
      which: 'sameCalls',
      answer: 'It is 3.',
    })
  })

  test('may repeat it as long as its results change, up to the limit on same calls', async () => {
    let count = 0
    const { requests, codes } = await repeat({ tools: [tool('add', () => ++count)] })
    expect([requests, count, codes.filter(Boolean).length]).toEqual([14, 10, 3])
  })

  test('may repeat it up to the limit if its tool says that it has effects', async () => {
    const next = tool('add', () => 'turned', { annotations: { readOnly: false } })
    expect((await repeat({ tools: [next] })).requests).toBe(14)
  })

  test('may do so as long as the run may last where the limit is lifted, and with COMPAT', async () => {
    for (const request of [{ limits: { sameCalls: NEVER } }, { limits: initialLimits('langchain4j') }]) {
      const { state } = await repeat({ request: { ...request, limits: { ...request.limits, steps: 20 } } })
      expect(state.finished).toMatchObject({ which: 'steps' })
    }
  })

  test('fails the run if limits do', async () => {
    const { state, requests } = await repeat({ request: { onLimit: 'fail' } })
    expect(state.finished).toMatchObject({ status: 'failed', which: 'sameCalls', error: { code: 'limit_reached' } })
    expect(requests).toBe(5)
  })

  test('is refused one by one if it makes other calls in between', async () => {
    const script = Array.from({ length: 6 }, (_, n) => [ask(['add', { a: 1 }]), ask(['add', { n }])]).flat()
    const { state } = await play({ script: [...script, say('done')], tools: [add] })
    expect(state.finished).toMatchObject({ finish: 'stop', answer: 'done' })
    expect(state.calls.every(({ result }) => result?.ok)).toBe(true)
  })
})

describe('a limit', () => {
  test('on steps refuses further calls and requests a last answer without tools', async () => {
    const { state, requests, events } = await play({
      script: [ask(['add']), ask(['add']), say('What I have.')],
      tools: [add],
      request: { limits: { steps: 1 } },
    })
    expect(state.finished).toMatchObject({
      status: 'completed',
      finish: 'limit',
      which: 'steps',
      answer: 'What I have.',
    })
    expect(requests.map((request) => request.tools.length)).toEqual([1, 1, 0])
    expect(bodies(events).filter(({ type }: { type?: string }) => type === 'limit.reached')).toEqual([
      { type: 'limit.reached', which: 'steps' },
    ])
    expect(requests[2]?.messages.at(-1)).toMatchObject({
      role: 'tool',
      callId: id(2, 0),
      ok: false,
      content: [{ text: 'Not run: this run\'s limit "steps" is reached. Answer with what you have.' }],
    })
  })

  test('on steps does not count the final answer of a run', async () => {
    const { state } = await play({
      script: [ask(['add']), say('3')],
      tools: [add],
      request: { limits: { steps: 1 } },
    })
    expect(state.finished).toMatchObject({ finish: 'stop', answer: '3' })
  })

  test('on calls lets those within it run and refuses the rest', async () => {
    const { state, events } = await play({
      script: [ask(['add'], ['add'], ['add']), say('ok')],
      tools: [add],
      request: { limits: { calls: 2 } },
    })
    expect(state.finished).toMatchObject({ finish: 'limit', which: 'calls' })
    expect(state.calls.map((call) => call.result?.ok)).toEqual([true, true, false])
    expect(types(events).filter((type) => type === 'call.started')).toHaveLength(2)
  })

  test('on calls of one tool counts each tool separately', async () => {
    const { state } = await play({
      script: [ask(['add'], ['sub']), ask(['sub'], ['add']), say('ok')],
      tools: [add, tool('sub')],
      request: { limits: { callsPerTool: 1 } },
    })
    expect(state.finished).toMatchObject({ finish: 'limit', which: 'callsPerTool' })
    expect(state.calls.map((call) => call.result?.ok)).toEqual([true, true, false, false])
  })

  test('on tokens counts input and output of all steps', async () => {
    const { state } = await play({
      script: [ask(['add']), ask(['add']), say('ok')],
      tools: [add],
      request: { limits: { tokens: 20 } },
    })
    expect(state.finished).toMatchObject({ finish: 'limit', which: 'tokens' })
    expect(state.calls.map((call) => call.result?.ok)).toEqual([true, false])
  })

  test('fails the run if the model calls a tool in its last answer, with a result for every call', async () => {
    const { state } = await play({
      script: [ask(['add']), ask(['add']), ask(['add'])],
      tools: [add],
      request: { limits: { steps: 1 } },
    })
    expect(state.finished).toMatchObject({
      status: 'failed',
      finish: 'limit',
      which: 'steps',
      error: { code: 'limit_reached' },
    })
    expect(state.calls.every((call) => call.result)).toBe(true)
  })

  test('on the time of a call aborts the tool and tells the model that the outcome is unknown', async () => {
    let abortReason: string | undefined
    const slow = tool('slow', async (_args, _context, control) => {
      abortReason = await control.whenAborted()
      return 'too late'
    })
    const { state } = await play({
      script: [ask(['slow']), say('ok')],
      tools: [slow],
      request: { limits: { callMs: 5 } },
    })
    expect(abortReason).toBe('timeout')
    expect(state.calls[0]?.result?.error).toEqual({
      code: 'timeout',
      message: 'The tool "slow" did not answer within 5 ms; whether it took effect is unknown.',
    })
  })

  test('of a tool on its own calls applies if it is shorter', async () => {
    const slow = tool('slow', (_args, _context, control) => control.whenAborted(), { timeoutMs: 5 })
    const { state } = await play({ script: [ask(['slow']), say('ok')], tools: [slow] })
    expect(state.calls[0]?.result?.error?.message).toContain('within 5 ms')
  })

  test('on the time of a run ends calls in flight and fails the run with a valid history', async () => {
    let now = 0
    const slow = tool('slow', async (_args, _context, control) => {
      now = 10
      return control.whenAborted()
    })
    const { state } = await play({
      script: [ask(['slow'])],
      tools: [slow],
      request: { limits: { runMs: 10 } },
      now: () => now,
    })
    expect(state.finished).toMatchObject({
      status: 'failed',
      finish: 'limit',
      which: 'runMs',
      error: { code: 'run_timeout' },
    })
    expect(state.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool'])
  })
})

describe('a run whose time is up', () => {
  test('ends even if the clock stands still, as it does in a Worker between events', async () => {
    async function* silent(_request: ModelRequest, signal: AbortSignal): AsyncGenerator<ModelEvent> {
      await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }))
      yield { type: 'text', text: 'too late' }
    }
    const { state } = await play({ script: [silent], request: { limits: { runMs: 5 } }, now: () => 0 })
    expect(state.finished).toMatchObject({ status: 'failed', finish: 'limit', which: 'runMs' })
  })
})

describe('a cancelled run', () => {
  test('starts nothing more, aborts its tools, and ends with a valid history', async () => {
    const abort = new AbortController()
    let abortReason: string | undefined
    const slow = tool('slow', async (_args, _context, control) => {
      abort.abort()
      abortReason = await control.whenAborted()
      return 'too late'
    })
    const { events, state } = await play({
      script: [ask(['slow'], ['slow'])],
      tools: [slow],
      signal: abort.signal,
      request: { limits: { concurrentCalls: 1 } },
    })
    expect(abortReason).toBe('cancelled')
    expect(types(events)).toEqual([
      'run.started',
      'step.started',
      'call.proposed',
      'call.proposed',
      'step.answered',
      'call.started',
      'call.settled',
      'run.cancelling',
      'call.settled',
      'step.finished',
      'run.finished',
    ])
    expect(state.finished).toMatchObject({ status: 'cancelled', finish: 'cancelled' })
    expect(state.messages.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'tool'])
  })

  test('while the model is streaming keeps the part of its answer that was shown, marked as interrupted', async () => {
    const abort = new AbortController()
    async function* speaking(): AsyncGenerator<ModelEvent> {
      yield { type: 'text', text: 'Once' }
      abort.abort()
      yield { type: 'text', text: ' upon' }
    }
    const { state } = await play({ script: [speaking], signal: abort.signal })
    expect(state.finished?.status).toBe('cancelled')
    expect(state.finished?.answer).toBe('Once')
    expect(state.messages).toEqual([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Once', wasInterrupted: true },
    ])
  })
})

describe('calls that others must answer', () => {
  const clientTools = [{ name: 'mine', description: 'The caller runs it', inputSchema: { type: 'object' } }]

  test('end a run without a conversation after the edge has run its own calls', async () => {
    const { events, state } = await play({
      script: [ask(['mine', { x: 1 }], ['add'])],
      tools: [add],
      request: { clientTools },
    })
    expect(types(events).slice(5)).toEqual([
      'call.started',
      'call.settled',
      'call.requested',
      'step.finished',
      'run.finished',
    ])
    expect(events.find((event) => event.type === 'call.requested')).toMatchObject({
      callId: id('01', 0),
      tool: 'mine',
      arguments: '{"x":1}',
    })
    expect(state.finished).toMatchObject({ status: 'completed', finish: 'tool_calls' })
  })

  test('let a run in a conversation wait', async () => {
    const { events, state } = await play({
      script: [ask(['mine'])],
      request: { clientTools, conversation: 'conv_1' },
    })
    expect(bodies(events).at(-1)).toEqual({ type: 'run.waiting', for: 'caller', at: 0 })
    expect(state.status).toBe('waiting')
  })

  test('wait for approval in a conversation', async () => {
    const { events } = await play({
      script: [ask(['pay', { sum: 5 }])],
      tools: [tool('pay', undefined, { approval: 'always' })],
      request: { conversation: 'conv_1' },
    })
    expect(bodies(events).slice(-2)).toEqual([
      { type: 'approval.requested', callId: id(1, 0), tool: 'pay', arguments: '{"sum":5}', hash: 'hash-pay' },
      { type: 'run.waiting', for: 'approval', at: 0 },
    ])
  })

  test('that need approval are refused if nobody can be asked', async () => {
    const { state } = await play({
      script: [ask(['pay']), say('I may not.')],
      tools: [tool('pay', undefined, { approval: 'always' })],
    })
    expect(state.calls[0]?.result?.error?.code).toBe('approval_needs_conversation')
  })

  test('include the edge’s calls if the caller executes all calls', async () => {
    const { events } = await play({ script: [ask(['add'])], tools: [add], request: { execution: 'caller' } })
    expect(types(events)).toContain('call.requested')
    expect(types(events)).not.toContain('call.started')
  })
})
