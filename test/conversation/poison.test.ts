import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RunFact } from '../../src/contract/event.ts'
import { durableState, memoryStorage } from '../fixtures/sqlite.ts'
import { ask, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

const MINUTE = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: MINUTE }))
afterEach(() => void vi.useRealTimers())

async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve))
}

/** A run whose model never answers, and another one behind it. */
async function stuckConversation(): Promise<TestConversation> {
  const there = new TestConversation(async function* () {
    yield await new Promise<never>(() => {})
  })
  await there.start(0)
  await there.start(1)
  await settle()
  return there
}

/** The object is lost and made again, some milliseconds later. */
async function loseObject(there: TestConversation, afterMs = 1000): Promise<void> {
  vi.setSystemTime(Date.now() + afterMs)
  there.live()
  await settle()
}

const statuses = (there: TestConversation) => [0, 1].map((run) => there.store.runs.row(runId(run))?.status)

describe('a run that no instance survives resuming', () => {
  test('is parked after three of them, and the next run starts', async () => {
    const there = await stuckConversation()
    for (const resumes of [1, 2, 3]) {
      await loseObject(there)
      expect(there.store.runs.row(runId(0))).toMatchObject({ status: 'running', resumes })
    }
    there.answer = () => say('Next.')
    await loseObject(there)
    expect(statuses(there)).toEqual(['parked', 'completed'])
    expect(there.reports).toContainEqual({
      event: 'run.parked',
      runId: runId(0),
      detail: 'The object was lost 3 times while it resumed this run.',
    })
    const requests = there.requests.length
    await loseObject(there)
    await there.ring()
    expect([statuses(there)[0], there.requests.length]).toEqual(['parked', requests])
  })

  test('is counted before its journal is read', async () => {
    const there = await stuckConversation()
    const order: string[] = []
    const prepare = there.database.prepare.bind(there.database)
    vi.spyOn(there.database, 'prepare').mockImplementation((query) => {
      if (query.includes('resumes = resumes + 1')) order.push('count')
      if (query.includes('FROM events')) order.push('read')
      return prepare(query)
    })
    const storage = { ...memoryStorage(there.database), sync: async () => void order.push('sync') }
    const Conversation = Object.getPrototypeOf(there.object).constructor
    Object.assign(there, {
      object: new Conversation(
        { ...durableState(storage), storage: { ...storage, setAlarm: async () => {}, getAlarm: async () => null } },
        {},
      ),
    })
    await settle()
    expect(order.slice(0, 3)).toEqual(['count', 'sync', 'read'])
  })

  test('is not parked once it has made progress or an instance has lived for ten seconds', async () => {
    const there = await stuckConversation()
    for (let loss = 0; loss < 4; loss++) {
      await loseObject(there)
      await there.ring()
      await settle()
      expect(there.store.runs.row(runId(0))).toMatchObject({ status: 'running', resumes: 0 })
    }
  })

  test('is not parked while it waits for a person or for its fence', async () => {
    const there = new TestConversation(() => ask(['pays']), [tool('pays', () => '', { approval: 'always' })])
    await there.start(0)
    await settle()
    for (let loss = 0; loss < 6; loss++) await loseObject(there)
    expect(there.store.runs.row(runId(0))).toMatchObject({ status: 'waiting', resumes: 0 })
    const slow = tool('slow', () => new Promise(() => {}), { annotations: { idempotent: true } })
    const fenced = new TestConversation(() => ask(['slow']), [slow])
    await fenced.start(0)
    await settle()
    for (let loss = 0; loss < 6; loss++) await loseObject(fenced)
    expect(fenced.store.runs.row(runId(0))).toMatchObject({ status: 'running', resumes: 0 })
  })
})

describe('a parked run', () => {
  async function parked(): Promise<TestConversation> {
    const there = await stuckConversation()
    for (let loss = 0; loss < 3; loss++) await loseObject(there)
    there.answer = ({ messages }) => say(`Answer ${messages.length}.`)
    await loseObject(there)
    return there
  }

  test('is shown with the reason, and its stream ends', async () => {
    const there = await parked()
    expect(await there.object.record(runId(0), 10_000)).toMatchObject({
      record: { status: 'parked', error: { code: 'run_parked' } },
    })
    expect(types(await there.events(0)).at(-1)).toBe('run.parked')
  })

  test('is resumed by a retry, and the time in which it was parked is not its own', async () => {
    const there = await parked()
    vi.setSystemTime(Date.now() + 60 * MINUTE)
    expect(await there.object.retry(runId(1))).toMatchObject({ code: 'run_not_parked' })
    expect(await there.object.retry(runId(0))).toMatchObject({ ok: true })
    await settle()
    expect(await there.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'completed' } })
    const events = types(await there.events(0))
    expect(events.slice(events.indexOf('run.parked'))).toEqual([
      'run.parked',
      'run.retried',
      'step.restarted',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
  })

  test('is cancelled without being read', async () => {
    const there = await parked()
    expect(await there.object.cancel(runId(0))).toEqual({ ok: true, status: 'cancelled' })
    expect(there.store.runs.record(runId(0))).toMatchObject({ status: 'cancelled' })
    expect(types(await there.events(0)).at(-1)).toBe('run.finished')
  })

  test('does not keep new runs from starting, whatever they do if the conversation is busy', async () => {
    const there = await parked()
    await there.start(2, { onBusy: 'reject' })
    expect(await there.object.record(runId(2), 10_000)).toMatchObject({ record: { status: 'completed' } })
    await there.start(3, { onBusy: 'interrupt' })
    expect(await there.object.record(runId(3), 10_000)).toMatchObject({ record: { status: 'completed' } })
    expect(statuses(there)[0]).toBe('parked')
    await there.object.remove()
    expect(await there.object.record(runId(0), 0)).toMatchObject({ code: 'conversation_deleted' })
  })
})

describe('a run whose journal has a fact that only a newer version knows', () => {
  /** A run that waits for an approval, and a run behind it. */
  async function rolledBack(type: string): Promise<TestConversation> {
    const there = new TestConversation(
      ({ messages }) => (messages.length === 1 ? ask(['pays']) : say('Done.')),
      [tool('pays', () => 'paid', { approval: 'always' })],
    )
    await there.start(0)
    await settle()
    await there.start(1)
    there.store.appendFact(runId(0), { type, at: Date.now() } as unknown as RunFact)
    there.live()
    await settle()
    return there
  }

  test('is parked with the reason, and the next run starts', async () => {
    const there = await rolledBack('call.delegated')
    expect(statuses(there)).toEqual(['parked', 'completed'])
    const reason = 'Its journal has an event that this version of the edge does not know: call.delegated.'
    expect(there.reports).toContainEqual({ event: 'run.parked', runId: runId(0), detail: reason })
    expect((await there.events(0)).at(-1)).toMatchObject({ type: 'run.parked', reason })
    expect(await there.object.answer(runId(0), {})).toMatchObject({ code: 'run_parked' })
  })

  test('is parked again by a retry, and can be cancelled', async () => {
    const there = await rolledBack('call.delegated')
    expect(await there.object.retry(runId(0))).toMatchObject({ record: { status: 'parked' } })
    await there.object.cancel(runId(0))
    expect(there.store.runs.record(runId(0))).toMatchObject({ status: 'cancelled' })
  })

  test('continues if the unknown event is only news', async () => {
    const there = await rolledBack('call.delegation.progress')
    expect(statuses(there)).toEqual(['waiting', 'queued'])
  })
})
