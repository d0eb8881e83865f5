import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ask, id, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }))
afterEach(() => void vi.useRealTimers())

/** Lets all that is ready happen. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** An object that was lost while its one idempotent call ran, in its next life. */
async function waitingForFence(): Promise<TestConversation> {
  const sent: number[] = []
  const slow = tool('slow', (_args, { attempt }) => (sent.push(attempt) === 1 ? new Promise(() => {}) : 'done'), {
    annotations: { idempotent: true },
  })
  const there = new TestConversation(({ messages }) => (messages.length > 2 ? say('Done.') : ask(['slow'])), [slow])
  await there.start(0)
  await settle()
  expect(types(there.journal(0)).at(-1)).toBe('call.started')
  there.live()
  await settle()
  return there
}

describe('a run that waits for its fence', () => {
  test('keeps its readers and waiting requests when other requests come', async () => {
    const there = await waitingForFence()
    const read = there.events(0)
    const record = there.object.record(runId(0), 60_000)
    await there.start(1)
    await settle()
    expect(types(there.journal(0)).at(-1)).toBe('call.started')
    while (!there.store.runs.record(runId(0))) {
      await there.ring()
      await settle()
    }
    expect(Date.now()).toBe(31_000)
    expect(types(await read)).toEqual(types(there.journal(0)))
    expect(types(await read).at(-1)).toBe('run.finished')
    expect(await record).toMatchObject({ record: { status: 'completed', answer: 'Done.' } })
  })
})

describe('a run whose journal cannot be written', () => {
  test('ends its streams, keeps requests for its record waiting, and resumes at the next alarm', async () => {
    const there = new TestConversation(() => say('Done.'))
    let broken = false
    there.onTransaction = (moment) => {
      if (broken && moment === 'before') throw new Error('no disk')
    }
    there.answer = () => {
      broken = true
      return say('Lost.')
    }
    await there.start(0)
    const read = there.events(0)
    const record = there.object.record(runId(0), 60_000)
    expect(types(await read)).not.toContain('run.finished')
    expect(there.reports).toMatchObject([{ event: 'run.interrupted' }])
    broken = false
    there.answer = () => say('Done.')
    await there.ring()
    expect(await record).toMatchObject({ record: { status: 'completed', answer: 'Done.' } })
  })
})

describe('a reader', () => {
  test('that came while its run was queued, and reads slowly, misses no event', async () => {
    const first = Promise.withResolvers<void>()
    const rest = Promise.withResolvers<void>()
    const there = new TestConversation(async function* ({ messages }) {
      if (messages.length === 1) await first.promise
      else {
        // More than waits for a reader, of which the end is not written before the next fact.
        for (let index = 0; index < 1000; index++) yield { type: 'text', text: `${index} ${'x'.repeat(500)}` }
        await rest.promise
      }
      yield* say('Done.')
    })
    await there.start(0)
    await there.start(1)
    const reply = await there.object.events(runId(1), 0)
    const reader = reply.ok ? reply.stream.getReader() : undefined
    first.resolve()
    await settle()
    const decoder = new TextDecoder()
    let text = ''
    const numbers = () => [...text.matchAll(/^id: .*\.(\d+)$/gm)].map(([, number]) => Number(number))
    const readOn = async (until: number) => {
      while (numbers().length < until) text += decoder.decode((await reader!.read()).value, { stream: true })
    }
    await readOn(1002)
    expect(there.journal(1).length).toBeLessThan(1000)
    rest.resolve()
    await readOn(1006)
    expect(numbers()).toEqual(Array.from({ length: 1006 }, (_, at) => at + 1))
    expect((await reader!.read()).done).toBe(true)
  })
})

describe('durability', () => {
  test('keeps an ended run as it ended', async () => {
    const there = new TestConversation(() => say('Done.'))
    await there.run(0)
    const { store } = there
    const record = store.runs.record(runId(0))!
    store.runs.setStatus(runId(0), 'running')
    store.end({ ...record, status: 'failed', answer: 'Other' }, 5)
    expect([store.runs.row(runId(0))?.status, store.runs.record(runId(0))]).toEqual(['completed', record])
    expect(store.usage().runs).toBe(1)
  })

  test('writes the start of a call before the tool is called', async () => {
    let called = 0
    const there = new TestConversation(() => ask(['tool']), [tool('tool', () => called++)])
    await there.start(0)
    there.onTransaction = (moment) => {
      if (moment === 'before' && types(there.journal(0)).at(-1) === 'step.started') throw new Error('no disk')
    }
    await settle()
    expect(types(there.journal(0)).at(-1)).toBe('step.started')
    expect(there.reports).toMatchObject([{ event: 'run.interrupted' }])
    expect(called).toBe(0)
  })

  test('sets the watchdog alarm when a run starts and when it is answered', async () => {
    const pays = tool('pays', () => new Promise(() => {}), { approval: 'always' })
    const there = new TestConversation(() => ask(['pays']), [pays])
    await there.start(0)
    expect(there.alarmAt).toBe(10_000)
    await settle()
    expect(types(there.journal(0)).at(-1)).toBe('run.waiting')
    // With nothing to do but wait, it rings when the wait is over.
    await there.ring()
    expect(there.alarmAt).toBe(24 * 60 * 60 * 1000)
    await there.object.answer(runId(0), { [`call_${runId(0).slice(4)}_1_0`]: { decision: 'approve' } })
    expect(there.alarmAt).toBe(20_000)
    expect(id(1, 0)).toBe(`call_${runId(0).slice(4)}_1_0`)
  })

  test('cancels a run once, however often that is requested, and sets the watchdog alarm until it has ended', async () => {
    const there = new TestConversation(() => ask(['pays']), [tool('pays', () => '', { approval: 'always' })])
    await there.run(0)
    await there.ring()
    expect(there.alarmAt).toBeGreaterThan(Date.now() + 10_000)
    const cancels = [there.object.cancel(runId(0)), there.object.cancel(runId(0))]
    expect(there.alarmAt).toBe(Date.now() + 10_000)
    const cancelled = { ok: true, status: 'cancelled' }
    expect(await Promise.all(cancels)).toEqual([cancelled, cancelled])
    const last = types(there.journal(0)).slice(-5)
    expect(last).toEqual(['run.waiting', 'run.cancelling', 'call.settled', 'step.finished', 'run.finished'])
  })

  test('sets the alarm again if its work fails', async () => {
    const there = new TestConversation(() => ask(['tool']), [tool('tool', () => new Promise(() => {}))])
    await there.start(0)
    await settle()
    there.database.exec('ALTER TABLE runs RENAME TO elsewhere')
    await there.ring()
    expect(there.reports).toMatchObject([{ event: 'conversation.failed' }])
    expect(there.alarmAt).toBe(20_000)
    there.live()
    expect(there.reports).toHaveLength(2)
  })
})
