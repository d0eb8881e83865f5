import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Hook } from '../../src/contract/hook.ts'
import type { ModelEvent } from '../../src/contract/model.ts'
import { ask, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const MINUTE = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: MINUTE }))
afterEach(() => void vi.useRealTimers())

async function until(conversation: TestConversation, time: number): Promise<void> {
  while (conversation.alarmAt <= time) {
    await conversation.ring()
    await settle()
  }
  vi.setSystemTime(time)
}

const limits = {
  steps: 9,
  calls: 9,
  callsPerTool: 9,
  callMs: 20 * MINUTE,
  runMs: 600 * MINUTE,
  resultBytes: 1e5,
  concurrentCalls: 1,
}

/** A model that says a word each time it is let. */
function saying(): { word: () => void; answer: (request: unknown, signal: AbortSignal) => AsyncGenerator<ModelEvent> } {
  let next = Promise.withResolvers<void>()
  async function* answer(_request: unknown, signal: AbortSignal): AsyncGenerator<ModelEvent> {
    signal.addEventListener('abort', () => next.resolve())
    while (!signal.aborted) {
      await next.promise
      next = Promise.withResolvers()
      yield { type: 'text', text: 'word ' }
    }
  }
  return { word: () => next.resolve(), answer }
}

const ended = { status: 'failed', finish: 'error', error: { code: 'no_progress' } }

describe('five minutes without progress', () => {
  test('end a run whose model is silent, once, and the next run starts', async () => {
    const { answer } = saying()
    const conversation = new TestConversation(answer)
    await conversation.start(0, { request: { limits } as object })
    const waiting = conversation.object.record(runId(0), 1e9)
    await settle()
    await until(conversation, 6 * MINUTE - 1)
    expect(types(conversation.journal(0)).at(-1)).toBe('step.started')
    conversation.answer = () => say('Next.')
    await conversation.start(1)
    await until(conversation, 6 * MINUTE + 10_000)
    expect(await waiting).toMatchObject({ record: ended })
    expect(types(await conversation.events(0)).filter((type) => type === 'run.finished')).toHaveLength(1)
    expect(conversation.store.runs.record(runId(1))?.answer).toBe('Next.')
  })

  test('are not counted while the model streams or a call is within its deadline', async () => {
    const { answer, word } = saying()
    const conversation = new TestConversation(answer, [tool('slow', () => new Promise(() => {}))])
    await conversation.start(0, { request: { limits } as object })
    await settle()
    for (const minute of [5, 9, 13]) {
      await until(conversation, minute * MINUTE)
      word()
      await settle()
    }
    expect(conversation.store.runs.row(runId(0))?.status).toBe('running')
    await conversation.object.cancel(runId(0))

    conversation.answer = () => ask(['slow'])
    await conversation.start(1, { request: { limits } as object })
    await settle()
    await until(conversation, 33 * MINUTE)
    expect(conversation.store.runs.row(runId(1))?.status).toBe('running')
    await until(conversation, 39 * MINUTE)
    expect(conversation.store.runs.record(runId(1))).toMatchObject(ended)
  })

  test('are not counted while a run waits for people', async () => {
    const conversation = new TestConversation(() => ask(['pays']), [tool('pays', () => 'paid', { approval: 'always' })])
    await conversation.start(0)
    await settle()
    await until(conversation, 60 * MINUTE)
    expect(conversation.store.runs.row(runId(0))?.status).toBe('waiting')
  })

  test('are counted only while an instance is alive, across all interruptions', async () => {
    const { answer } = saying()
    const conversation = new TestConversation(answer)
    await conversation.start(0, { request: { limits } as object })
    await settle()
    const interruptedAt = async (minute: number) => {
      vi.setSystemTime(minute * MINUTE)
      conversation.live()
      await settle()
    }
    // Outages of an hour: no object is alive.
    await interruptedAt(61)
    await interruptedAt(121)
    expect(conversation.store.runs.row(runId(0))).toMatchObject({
      status: 'running',
      interrupted: 2,
      stalled: 61 * MINUTE,
    })
    // The object looks after its run half a second after it is made, and every ten seconds from then on.
    const last = MINUTE / 120
    await until(conversation, 124 * MINUTE + last)
    expect(conversation.store.runs.row(runId(0))).toMatchObject({ status: 'running', idle: 3 * MINUTE + last })
    await interruptedAt(184)
    await until(conversation, 186 * MINUTE + last)
    expect(conversation.store.runs.row(runId(0))).toMatchObject({ status: 'running', idle: 5 * MINUTE + 2 * last })
    await interruptedAt(246)
    expect(conversation.store.runs.record(runId(0))).toMatchObject(ended)
  })

  test('start again with every answer', async () => {
    const { answer } = saying()
    const conversation = new TestConversation(answer, [tool('look')])
    await conversation.start(0, { request: { limits } as object })
    await settle()
    vi.setSystemTime(2 * MINUTE)
    conversation.answer = (request, signal) => (request.messages.length === 1 ? ask(['look']) : answer(request, signal))
    conversation.live()
    await settle()
    expect(conversation.store.runs.row(runId(0))).toMatchObject({ interrupted: 0, stalled: null })
    vi.setSystemTime(8 * MINUTE)
    conversation.live()
    await settle()
    expect(conversation.store.runs.row(runId(0))).toMatchObject({ status: 'running', stalled: 8 * MINUTE })
  })
})

test('a run that is given up ends once, even if its journal fails at that moment', async () => {
  const conversation = new TestConversation(async function* () {
    yield await new Promise<never>(() => {})
  })
  await conversation.start(0)
  await conversation.start(1)
  await settle()
  let failures = 1
  conversation.onTransaction = (moment) => {
    if (moment === 'before' && failures-- > 0) throw new Error('no disk')
  }
  conversation.answer = () => say('Done.')
  vi.setSystemTime(6 * MINUTE)
  for (let ring = 0; ring < 5 && conversation.alarmAt < Infinity; ring++) {
    await conversation.ring()
    await settle()
  }
  expect(types(conversation.journal(0)).filter((type) => type === 'run.finished')).toHaveLength(1)
  expect(conversation.store.runs.record(runId(1))?.answer).toBe('Done.')
})

test('a waiting run that is cancelled ends after five seconds even if a hook around it ignores the abort', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: MINUTE })
  const conversation = new TestConversation(() => ask(['pays']), [tool('pays', () => '', { approval: 'always' })])
  await conversation.start(0)
  await settle()
  const hangs: Hook = { name: 'hangs', run: () => new Promise(() => {}) }
  conversation.loop = { hooks: [hangs] }
  conversation.live()
  const cancelled = conversation.object.cancel(runId(0))
  await settle()
  await vi.advanceTimersByTimeAsync(5000)
  await settle()
  expect(conversation.store.runs.row(runId(0))?.status).toBe('cancelled')
  expect(await cancelled).toEqual({ ok: true, status: 'cancelled' })
  expect(types(conversation.journal(0)).filter((type) => type === 'run.finished')).toHaveLength(1)
})
