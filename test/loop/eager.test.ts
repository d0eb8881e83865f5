import { expect, test } from 'vitest'
import type { RunEvent } from '../../src/contract/event.ts'
import type { Hook } from '../../src/contract/hook.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { fold } from '../../src/loop/fold.ts'
import { ask, bodies, id, play, RUN_ID, say, tool, types } from '../fixtures/play.ts'

const reads = { annotations: { readOnly: true } }
const call = { callId: id(1, 0), tool: 'look' }

/** The first call is complete; then something must happen before the model goes on. */
function slowly(then: Promise<unknown>, ...rest: ModelEvent[]) {
  return async function* (): AsyncGenerator<ModelEvent> {
    yield { type: 'call', index: 0, tool: 'look', arguments: '{}' }
    await then
    yield* rest
  }
}

test('a read-only call starts while the model is streaming, and is recorded before it is sent', async () => {
  const arrival = Promise.withResolvers<void>()
  const { events, state } = await play({
    script: [
      slowly(arrival.promise, { type: 'text', text: 'One moment.' }, { type: 'finish', finish: 'tool_calls' }),
      say('done'),
    ],
    tools: [tool('look', () => arrival.resolve(), reads)],
    request: { eager: true },
  })
  expect(types(events).slice(2, 8)).toEqual([
    'call.proposed',
    'call.started',
    'text.delta',
    'call.settled',
    'step.answered',
    'step.finished',
  ])
  expect(bodies(events)[3]).toEqual({
    type: 'call.started',
    ...call,
    attempt: 1,
    at: 0,
    deadline: 30_000,
    arguments: '{}',
    place: 'test',
    version: '1',
  })
  expect(state.calls).toHaveLength(1)
  expect(state.finished?.answer).toBe('done')
})

test('a call with an effect or an approval waits for the complete answer', async () => {
  for (const definition of [{}, { ...reads, approval: 'always' as const }, { ...reads, exclusive: true }]) {
    const { events } = await play({
      script: [ask(['look']), say('done')],
      tools: [tool('look', undefined, definition)],
      request: { eager: true, conversation: 'conv_1' },
    })
    const names = types(events)
    const started = names.indexOf('call.started')
    if (started >= 0) expect(started).toBeGreaterThan(names.indexOf('step.answered'))
  }
})

test('a repeated step uses the outcome of a matching early call instead of calling again', async () => {
  let ran = 0
  const { state } = await play({
    script: [ask(['other'], ['look']), say('done')],
    tools: [tool('look', () => ++ran, reads), tool('other', undefined, {})],
    request: { eager: true },
    before: (state) => {
      fold(state, { type: 'run.started', model: 'test/scripted', tools: [], at: 0 })
      fold(state, { type: 'step.started', step: 1 })
      fold(state, { type: 'call.started', ...call, attempt: 1, at: 0, deadline: 9, arguments: '{}' })
      const content = [{ type: 'text', text: 'seen before' }] as const
      fold(state, { type: 'call.settled', ...call, ok: true, content, durationMs: 1 })
    },
  })
  expect(ran).toBe(0)
  expect(state.calls.map(({ callId, result }) => [callId, result?.callId, result?.content])).toEqual([
    [id(1, 0), id(1, 0), [{ type: 'text', text: 'done' }]],
    [id(1, 1), id(1, 1), [{ type: 'text', text: 'seen before' }]],
  ])
})

test('an early call whose outcome was lost in a crash is sent again with its key', async () => {
  const keys: string[] = []
  const { state } = await play({
    script: [ask(['other'], ['look']), say('done')],
    tools: [
      tool('look', (_, { idempotencyKey, attempt }) => keys.push(`${idempotencyKey} ${attempt}`), reads),
      tool('other'),
    ],
    request: { eager: true },
    before: (state) => {
      fold(state, { type: 'run.started', model: 'test/scripted', tools: [], at: 0 })
      fold(state, { type: 'step.started', step: 1 })
      fold(state, { type: 'call.started', ...call, attempt: 1, at: 0, deadline: 9, arguments: '{}' })
    },
  })
  expect(keys).toEqual([`${id(1, 0)} 2`])
  expect(state.finished?.answer).toBe('done')
})

test('a model that fails in mid-answer leaves an outcome for each early call', async () => {
  const { events } = await play({
    script: [
      slowly(Promise.resolve(), {
        type: 'error',
        error: { code: 'model_unavailable', message: 'down', retryable: false },
      }),
    ],
    tools: [tool('look', () => Promise.resolve('seen'), reads)],
    request: { eager: true, runId: RUN_ID },
  })
  expect(types(events).slice(-3)).toEqual(['call.started', 'call.settled', 'run.finished'])
})

test('early calls count towards the limits', async () => {
  let ran = 0
  const { state } = await play({
    script: [ask(['look', { a: 1 }], ['look', { a: 2 }], ['look', { a: 3 }]), say('done')],
    tools: [tool('look', () => ++ran, reads)],
    request: { eager: true, limits: { calls: 2 } },
  })
  expect(ran).toBe(2)
  expect(state.calls[2]?.result?.error?.code).toBe('limit')
})

test('calls of a step that is repeated in one life get their own outcomes and keys, wherever they are now', async () => {
  const looked = Promise.withResolvers<string>()
  const keys: string[] = []
  const repeatHook: Hook = {
    name: 'again',
    step: async (request, next, { step }) => {
      if (step > 1) return next(request)
      await next(request)
      setTimeout(() => looked.resolve('seen'))
      return next(request)
    },
  }
  const { state } = await play({
    script: [ask(['look', { at: 'a' }]), ask(['look', { at: 'b' }], ['look', { at: 'a' }]), say('done')],
    tools: [
      tool(
        'look',
        async ({ at }, { idempotencyKey }) => {
          keys.push(`${String(at)} ${idempotencyKey}`)
          return at === 'a' ? looked.promise : 'b was seen'
        },
        reads,
      ),
    ],
    request: { eager: true },
    loop: { hooks: [repeatHook] },
  })
  expect(state.calls.map(({ arguments: text, result }) => [text, result?.callId, result?.content])).toEqual([
    ['{"at":"b"}', id(1, 0), [{ type: 'text', text: 'b was seen' }]],
    ['{"at":"a"}', id(1, 1), [{ type: 'text', text: 'seen' }]],
  ])
  expect(keys).toEqual([`a ${id(1, 0)}`, `b ${id(1, 0)}_2`])
})

test('a call at the position of a different lost call gets its own key', async () => {
  const keys: string[] = []
  await play({
    script: [ask(['look', { at: 'b' }]), say('done')],
    tools: [tool('look', ({ at }, { idempotencyKey }) => keys.push(`${String(at)} ${idempotencyKey}`), reads)],
    before: (state) => {
      fold(state, { type: 'run.started', model: 'test/scripted', tools: [], at: 0 })
      fold(state, { type: 'step.started', step: 1 })
      fold(state, { type: 'call.started', ...call, attempt: 1, at: 0, deadline: 9, arguments: '{"at":"a"}' })
    },
  })
  expect(keys).toEqual([`b ${id(1, 0)}_2`])
})

test('the answer is stored before the run waits for an early call', async () => {
  const observations: RunEvent[] = []
  let journalTypes: string[] = []
  const slow = () =>
    new Promise((resolve) => {
      setTimeout(() => {
        journalTypes = types(observations)
        resolve('seen')
      })
    })
  const { events } = await play({
    script: [ask(['look']), say('done')],
    tools: [tool('look', slow, reads)],
    request: { eager: true },
    onEvent: (event) => observations.push(event),
  })
  expect(journalTypes).toContain('step.answered')
  expect(types(events).indexOf('step.answered')).toBeLessThan(types(events).indexOf('call.settled'))
})

test('the outcome of an early call that the answer does not contain is recorded as late, and nothing waits for it', async () => {
  const looked = Promise.withResolvers<string>()
  const outcomes: unknown[] = []
  const repeatHook: Hook = {
    name: 'again',
    step: async (request, next) => {
      await next(request)
      return next(request)
    },
  }
  const { events } = await play({
    script: [ask(['look']), say('No need.')],
    tools: [tool('look', () => looked.promise, reads)],
    request: { eager: true },
    loop: { hooks: [repeatHook] },
    onLate: (callId, { ok }) => outcomes.push([callId, ok]),
  })
  expect(types(events).at(-1)).toBe('run.finished')
  looked.resolve('seen')
  await looked.promise
  await new Promise((resolve) => setImmediate(resolve))
  expect(outcomes).toEqual([[id(1, 0), true]])
})
