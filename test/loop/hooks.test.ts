import { describe, expect, test } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import { failure } from '../../src/contract/tool.ts'
import { ask, bodies, id, play, say, tool, types } from '../fixtures/play.ts'

const add = tool('add', ({ a, b }) => Number(a) + Number(b))

describe('hooks', () => {
  test('wrap run, step and call in their order, the first outermost', async () => {
    const trace: string[] = []
    const tracing = (name: string): Hook => ({
      name,
      run: async (next) => {
        trace.push(`${name} run`)
        await next()
        trace.push(`${name} run over`)
      },
      step: async (request, next, { step }) => {
        trace.push(`${name} step ${step}`)
        const answer = await next(request)
        trace.push(`${name} step ${step} over`)
        return answer
      },
      call: async (request, next) => {
        trace.push(`${name} ${request.name}`)
        const outcome = await next(request)
        trace.push(`${name} ${request.name} over`)
        return outcome
      },
    })
    await play({
      script: [ask(['add', { a: 1, b: 2 }]), say('3')],
      tools: [add],
      loop: { hooks: [tracing('a'), tracing('b')] },
    })
    expect(trace).toEqual([
      ...['a run', 'b run'],
      ...['a step 1', 'b step 1', 'b step 1 over', 'a step 1 over'],
      ...['a add', 'b add', 'b add over', 'a add over'],
      ...['a step 2', 'b step 2', 'b step 2 over', 'a step 2 over'],
      ...['b run over', 'a run over'],
    ])
  })

  test('may set what requests leave out, and only that', async () => {
    const hook: Hook = {
      name: 'defaults',
      step: (request, next) =>
        next({ sampling: { temperature: 0 }, providerOptions: { openai: { seed: 1 } }, ...request }),
      call: (request, next) => next({ ...request, context: { trusted: { plan: 'free' }, ...request.context } }),
    }
    const plan = tool('plan', (_args, { trusted }) => String(trusted?.['plan']))
    const script = [ask(['plan']), say('ok')]
    const { requests, state } = await play({ script, tools: [plan], loop: { hooks: [hook] } })
    const defaults = { sampling: { temperature: 0 }, providerOptions: { openai: { seed: 1 } } }
    expect(requests).toMatchObject([defaults, defaults])
    expect(state.messages.at(-2)).toMatchObject({ content: [{ type: 'text', text: 'free' }] })
  })

  test('may change the requests to models and tools, and replace their answers', async () => {
    const hook: Hook = {
      name: 'changes',
      step: async (request, next) => {
        const answer = await next({ ...request, sampling: { temperature: 0 } })
        return { ...answer, text: answer.text.toUpperCase() }
      },
      call: async (request, next) => {
        const outcome = await next({ ...request, arguments: { a: 20, b: 22 } })
        return outcome.ok ? { ...outcome, content: [...outcome.content, { type: 'text', text: 'checked' }] } : outcome
      },
    }
    const { requests, state } = await play({
      script: [ask(['add', { a: 1, b: 2 }]), say('it is 42')],
      tools: [add],
      loop: { hooks: [hook] },
    })
    expect(requests.map(({ sampling }) => sampling)).toEqual([{ temperature: 0 }, { temperature: 0 }])
    expect(state.messages.at(-2)).toMatchObject({
      content: [
        { type: 'text', text: '42' },
        { type: 'text', text: 'checked' },
      ],
    })
    expect(state.finished?.answer).toBe('IT IS 42')
  })

  test('may refuse a call: the model reads the reason, and the tool is not called', async () => {
    let count = 0
    const guard: Hook = {
      name: 'guard',
      call: async (request, next) =>
        Number(request.arguments.amount) > 100 ? failure('over_budget', 'At most 100; ask for less.') : next(request),
    }
    const { state } = await play({
      script: [ask(['pay', { amount: 500 }], ['pay', { amount: 5 }]), say('done')],
      tools: [tool('pay', () => ++count)],
      loop: { hooks: [guard] },
    })
    expect(count).toBe(1)
    expect(state.calls.map(({ result }) => [result?.ok, result?.error])).toEqual([
      [false, { code: 'over_budget', message: 'At most 100; ask for less.' }],
      [true, undefined],
    ])
  })

  test('may ask the model again, as a content guard does: readers are told to discard the earlier text', async () => {
    const guard: Hook = {
      name: 'no secrets',
      step: async (request, next) => {
        const answer = await next(request)
        if (!answer.text.includes('secret')) return answer
        return next({ ...request, messages: [...request.messages, { role: 'user', content: 'Leave that out.' }] })
      },
    }
    const { events, state, requests } = await play({
      script: [say('the secret is 7'), say('I cannot say')],
      loop: { hooks: [guard] },
    })
    expect(types(events)).toEqual([
      'run.started',
      'step.started',
      'text.delta',
      'step.restarted',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
    expect(state.finished?.answer).toBe('I cannot say')
    // Both answers were paid for.
    expect(state.usage).toEqual({ inputTokens: 20, outputTokens: 10 })
    expect(requests[1]?.messages.at(-1)).toEqual({ role: 'user', content: 'Leave that out.' })
    expect(state.messages).toHaveLength(2)
  })

  test('that give two calls one id fail the run before any of them runs', async () => {
    let runs = 0
    const stop = new AbortController()
    const twice: Hook = {
      name: 'twice',
      step: async (request, next) => {
        const answer = await next(request)
        return { ...answer, calls: [...answer.calls, ...answer.calls] }
      },
    }
    const { state, faults } = await play({
      script: [ask(['count']), say('never')],
      tools: [tool('count', () => (++runs < 9 ? runs : stop.abort()))],
      signal: stop.signal,
      loop: { hooks: [twice] },
    })
    expect(state.finished).toMatchObject({ status: 'failed', error: { code: 'hook_failed' } })
    expect(faults).toEqual([{ code: 'hook_failed', detail: `Two calls of one answer have the id "${id(1, 0)}"` }])
    expect(runs).toBe(0)
  })

  test('that throw fail the run, and only operators see the reason', async () => {
    const parts: readonly Hook[] = [
      { name: 'run', run: () => Promise.reject(new Error('boom')) },
      { name: 'step', step: () => Promise.reject(new Error('boom')) },
      { name: 'call', call: () => Promise.reject(new Error('boom')) },
      { name: 'activate', activate: () => Promise.reject(new Error('boom')) },
    ]
    for (const hook of parts) {
      const { state, events, faults } = await play({
        script: [ask(['add']), say('3')],
        tools: [add],
        loop: { hooks: [hook] },
      })
      expect(state.finished, hook.name).toMatchObject({
        status: 'failed',
        error: { code: 'hook_failed', message: 'A hook of the edge failed.' },
      })
      expect(faults).toMatchObject([{ code: 'hook_failed', detail: 'boom' }])
      expect(types(events).filter((type) => type === 'run.finished')).toHaveLength(1)
    }
  })

  test('may handle the failure of a model', async () => {
    const hook: Hook = {
      name: 'apology',
      step: (request, next) => next(request).catch(() => ({ text: 'Later, please.', calls: [], finish: 'stop' })),
    }
    const { state } = await play({
      script: [[{ type: 'error', error: { code: 'model_unavailable', message: 'down', retryable: true } }]],
      loop: { hooks: [hook] },
    })
    expect(state.finished).toMatchObject({ status: 'completed', answer: 'Later, please.' })
  })
})

describe('tools of a step', () => {
  const booking = tool('book')

  test('are those that the hooks choose for it: fewer, others or none', async () => {
    const hook: Hook = {
      name: 'steps',
      activate: (names, { step }) => [names, ['book'], []][step] ?? names,
    }
    const { events, requests } = await play({
      script: [ask(['add', { a: 1, b: 1 }]), ask(['book']), say('booked')],
      tools: [add],
      others: [booking],
      loop: { hooks: [hook] },
    })
    expect(requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([['add'], ['book'], []])
    const facts = bodies(events).filter((event) => /tools.added|step.started/.test(JSON.stringify(event)))
    expect(facts).toEqual([
      { type: 'step.started', step: 1 },
      { type: 'tools.added', tools: [booking.definition] },
      { type: 'step.started', step: 2, tools: ['book'] },
      { type: 'step.started', step: 3, tools: [] },
    ])
  })

  test('that are not offered in it are not called, whatever the model requests', async () => {
    const { state } = await play({
      script: [ask(['add', { a: 1, b: 1 }]), say('no')],
      tools: [add, booking],
      loop: { hooks: [{ name: 'only booking', activate: () => ['book'] }] },
    })
    expect(state.calls[0]?.result?.error?.code).toBe('unknown_tool')
  })

  test('do not include those that the request removes', async () => {
    const { requests } = await play({
      script: [say('hi')],
      tools: [add],
      others: [booking],
      request: { selection: { remove: ['book'] } },
      loop: { hooks: [{ name: 'back', activate: (names) => [...names, 'book'] }] },
    })
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['add'])
  })

  test('do not include unknown names', async () => {
    const { requests } = await play({
      script: [say('hi')],
      tools: [add],
      loop: { hooks: [{ name: 'ghost', activate: (names) => [...names, 'ghost'] }] },
    })
    expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['add'])
  })
})

describe('the application decides', () => {
  test('how a call is performed', async () => {
    const { state } = await play({
      script: [ask(['add', { a: 1, b: 1 }]), say('x')],
      tools: [add],
      loop: {
        execute: async (name, request) => ({
          ok: true,
          content: [{ type: 'text', text: `${name.definition.name} by ${request.context.caller.tenant}` }],
        }),
      },
    })
    expect(state.calls[0]?.result?.content).toEqual([{ type: 'text', text: 'add by acme' }])
  })

  test('what the model reads of a fault, and which fault fails the run', async () => {
    const { state, events } = await play({
      script: [ask(['nosuch'], ['add', '{"a":']), ask(['broken']), say('never')],
      tools: [add, tool('broken', () => failure('gone', 'It is gone.'))],
      loop: {
        onFault: ({ code, tool: name, message }) =>
          code === 'gone' ? { fatal: true } : { message: `${name}: ${code} (${message.slice(0, 5)})` },
      },
    })
    expect(state.calls.map(({ result }) => result?.error)).toEqual([
      { code: 'unknown_tool', message: 'nosuch: unknown_tool (There)' },
      { code: 'invalid_arguments', message: 'add: invalid_arguments (The a)' },
      { code: 'gone', message: 'It is gone.', fatal: true },
    ])
    expect(state.finished).toMatchObject({ status: 'failed', error: { code: 'gone', message: 'It is gone.' } })
    expect(types(events).at(-1)).toBe('run.finished')
  })

  test('whether the edge runs the calls of an answer', async () => {
    const script = [ask(['add', { a: 1, b: 1 }]), say('2')]
    const handed = await play({ script, tools: [add], loop: { runsCalls: () => false } })
    expect(handed.state.finished).toMatchObject({ status: 'completed', finish: 'tool_calls' })
    expect(handed.state.calls.map(({ status }) => status)).toEqual(['awaiting_caller'])
    const run = await play({
      script,
      tools: [add],
      request: { execution: 'caller' },
      loop: { runsCalls: ({ calls }) => calls.every(({ callId }) => callId === id('01', 0)) },
    })
    expect(run.state.finished).toMatchObject({ finish: 'stop', answer: '2' })
  })

  test('which calls need approval, by their arguments', async () => {
    const { state, events } = await play({
      script: [ask(['pay', { amount: 5 }], ['pay', { amount: 500 }])],
      tools: [tool('pay')],
      request: { conversation: 'conv_1' },
      loop: { needsApproval: (call) => Number(/\d+/.exec(call.arguments)?.[0]) > 100 },
    })
    expect(state.status).toBe('waiting')
    expect(state.calls.map(({ status }) => status)).toEqual(['settled', 'awaiting_approval'])
    expect(types(events).filter((type) => type === 'approval.requested')).toHaveLength(1)
  })
})

test('a tool choice of a tool that a hook removed is ignored', async () => {
  const { requests } = await play({
    script: [say('done')],
    tools: [tool('look'), tool('other')],
    request: { toolChoice: { tool: 'look' } },
    loop: { hooks: [{ name: 'fewer', activate: () => ['other'] }] },
  })
  expect(requests[0]?.tools.map(({ name }) => name)).toEqual(['other'])
  expect(requests[0]?.toolChoice).toBeUndefined()
})
