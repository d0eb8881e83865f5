import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { ask, id, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 0 }))
afterEach(() => void vi.useRealTimers())

/** An object that was lost while its one idempotent call ran, in its next life. */
async function waitingForFence(): Promise<TestConversation> {
  const attempts: number[] = []
  const slow = tool('slow', (_args, { attempt }) => (attempts.push(attempt) === 1 ? new Promise(() => {}) : 'done'), {
    annotations: { idempotent: true },
  })
  const conversation = new TestConversation(
    ({ messages }) => (messages.length > 2 ? say('Done.') : ask(['slow'])),
    [slow],
  )
  await conversation.start(0)
  await settle()
  expect(types(conversation.journal(0)).at(-1)).toBe('call.started')
  conversation.live()
  await settle()
  return conversation
}

describe('a run that waits for its fence', () => {
  test('keeps its readers and waiting requests when other requests come', async () => {
    const conversation = await waitingForFence()
    const read = conversation.events(0)
    const record = conversation.object.record(runId(0), 60_000)
    await conversation.start(1)
    await settle()
    expect(types(conversation.journal(0)).at(-1)).toBe('call.started')
    while (!conversation.store.runs.record(runId(0))) {
      await conversation.ring()
      await settle()
    }
    expect(Date.now()).toBe(31_000)
    expect(types(await read)).toEqual(types(conversation.journal(0)))
    expect(types(await read).at(-1)).toBe('run.finished')
    expect(await record).toMatchObject({ record: { status: 'completed', answer: 'Done.' } })
  })
})

describe('a run whose journal cannot be written', () => {
  test('ends its streams, keeps requests for its record waiting, and resumes at the next alarm', async () => {
    const conversation = new TestConversation(() => say('Done.'))
    let broken = false
    conversation.onTransaction = (moment) => {
      if (broken && moment === 'before') throw new Error('no disk')
    }
    conversation.answer = () => {
      broken = true
      return say('Lost.')
    }
    await conversation.start(0)
    const read = conversation.events(0)
    const record = conversation.object.record(runId(0), 60_000)
    expect(types(await read)).not.toContain('run.finished')
    expect(conversation.reports).toMatchObject([{ event: 'run.interrupted' }])
    broken = false
    conversation.answer = () => say('Done.')
    await conversation.ring()
    expect(await record).toMatchObject({ record: { status: 'completed', answer: 'Done.' } })
  })
})

describe('a reader', () => {
  test('that came while its run was queued, and reads slowly, misses no event', async () => {
    const first = Promise.withResolvers<void>()
    const rest = Promise.withResolvers<void>()
    const conversation = new TestConversation(async function* ({ messages }) {
      if (messages.length === 1) await first.promise
      else {
        // More than waits for a reader, of which the end is not written before the next fact.
        for (let index = 0; index < 1000; index++) yield { type: 'text', text: `${index} ${'x'.repeat(500)}` }
        await rest.promise
      }
      yield* say('Done.')
    })
    await conversation.start(0)
    await conversation.start(1)
    const reply = await conversation.object.events(runId(1), 0)
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
    expect(conversation.journal(1).length).toBeLessThan(1000)
    rest.resolve()
    await readOn(1006)
    expect(numbers()).toEqual(Array.from({ length: 1006 }, (_, at) => at + 1))
    expect((await reader!.read()).done).toBe(true)
  })
})

describe('durability', () => {
  test('keeps an ended run as it ended', async () => {
    const conversation = new TestConversation(() => say('Done.'))
    await conversation.run(0)
    const { store } = conversation
    const record = store.runs.record(runId(0))!
    store.runs.setStatus(runId(0), 'running')
    store.end({ ...record, status: 'failed', answer: 'Other' }, 5)
    expect([store.runs.row(runId(0))?.status, store.runs.record(runId(0))]).toEqual(['completed', record])
    expect(store.usage().runs).toBe(1)
  })

  test('writes the start of a call before the tool is called', async () => {
    let count = 0
    const conversation = new TestConversation(() => ask(['tool']), [tool('tool', () => count++)])
    await conversation.start(0)
    conversation.onTransaction = (moment) => {
      if (moment === 'before' && types(conversation.journal(0)).at(-1) === 'step.started') throw new Error('no disk')
    }
    await settle()
    expect(types(conversation.journal(0)).at(-1)).toBe('step.started')
    expect(conversation.reports).toMatchObject([{ event: 'run.interrupted' }])
    expect(count).toBe(0)
  })

  test('sets the watchdog alarm when a run starts and when it is answered', async () => {
    const pays = tool('pays', () => new Promise(() => {}), { approval: 'always' })
    const conversation = new TestConversation(() => ask(['pays']), [pays])
    await conversation.start(0)
    expect(conversation.alarmAt).toBe(500)
    await settle()
    expect(types(conversation.journal(0)).at(-1)).toBe('run.waiting')
    // With nothing to do but wait, it rings when the wait is over.
    await conversation.ring()
    expect(conversation.alarmAt).toBe(24 * 60 * 60 * 1000)
    await conversation.object.answer(runId(0), { [`call_${runId(0).slice(4)}_1_0`]: { decision: 'approve' } })
    expect(conversation.alarmAt).toBe(1000)
    expect(id(1, 0)).toBe(`call_${runId(0).slice(4)}_1_0`)
  })

  test('cancels a run once, however often that is requested, and sets the watchdog alarm until it has ended', async () => {
    const conversation = new TestConversation(() => ask(['pays']), [tool('pays', () => '', { approval: 'always' })])
    await conversation.run(0)
    await conversation.ring()
    expect(conversation.alarmAt).toBeGreaterThan(Date.now() + 10_000)
    const cancels = [conversation.object.cancel(runId(0)), conversation.object.cancel(runId(0))]
    expect(conversation.alarmAt).toBe(Date.now() + 500)
    const cancelled = { ok: true, status: 'cancelled' }
    expect(await Promise.all(cancels)).toEqual([cancelled, cancelled])
    const last = types(conversation.journal(0)).slice(-5)
    expect(last).toEqual(['run.waiting', 'run.cancelling', 'call.settled', 'step.finished', 'run.finished'])
  })

  test('sets the alarm again if its work fails', async () => {
    const conversation = new TestConversation(() => ask(['tool']), [tool('tool', () => new Promise(() => {}))])
    await conversation.start(0)
    await settle()
    conversation.database.exec('ALTER TABLE runs RENAME TO elsewhere')
    await conversation.ring()
    expect(conversation.reports).toMatchObject([{ event: 'conversation.failed' }])
    expect(conversation.alarmAt).toBe(10_500)
    conversation.live()
    expect(conversation.reports).toHaveLength(2)
  })
})
