import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { ConversationSettings } from '../../src/contract/conversation.ts'
import type { RunFact } from '../../src/contract/event.ts'
import { NO_USAGE } from '../../src/contract/usage.ts'
import { durableState, memoryStorage } from '../fixtures/sqlite.ts'
import { ask, say, tool, types } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const MINUTE = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: MINUTE }))
afterEach(() => void vi.useRealTimers())

/** A run whose model never answers, and another one behind it. */
async function stuckConversation(settings: ConversationSettings = {}): Promise<TestConversation> {
  const conversation = new TestConversation(async function* () {
    yield await new Promise<never>(() => {})
  })
  conversation.webhook = { secret: 'secret', hosts: ['hooks.example.com'] }
  await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings })
  await conversation.start(0)
  await conversation.start(1)
  await settle()
  return conversation
}

/** The object is lost and made again, some milliseconds later. */
async function loseObject(conversation: TestConversation, afterMs = 1000): Promise<void> {
  vi.setSystemTime(Date.now() + afterMs)
  conversation.live()
  await settle()
}

/** What the journal tells of each time that the first run was parked. */
const parkings = (conversation: TestConversation) => conversation.journal(0).filter(({ type }) => type === 'run.parked')

const statuses = (conversation: TestConversation) =>
  [0, 1].map((run) => conversation.store.runs.row(runId(run))?.status)

describe('a run that no instance survives resuming', () => {
  test('is parked after three of them, and the next run starts', async () => {
    const conversation = await stuckConversation()
    for (const resumes of [1, 2, 3]) {
      await loseObject(conversation)
      expect(conversation.store.runs.row(runId(0))).toMatchObject({ status: 'running', resumes })
    }
    conversation.answer = () => say('Next.')
    await loseObject(conversation)
    expect(statuses(conversation)).toEqual(['parked', 'completed'])
    expect(conversation.reports).toContainEqual({
      event: 'run.parked',
      runId: runId(0),
      detail: 'The object was lost 3 times while it resumed this run.',
      retryAt: Date.now() + MINUTE,
    })
    const requests = conversation.requests.length
    await loseObject(conversation)
    expect([statuses(conversation)[0], conversation.requests.length]).toEqual(['parked', requests])
  })

  test('is counted before its journal is read', async () => {
    const conversation = await stuckConversation()
    const order: string[] = []
    const prepare = conversation.database.prepare.bind(conversation.database)
    vi.spyOn(conversation.database, 'prepare').mockImplementation((query) => {
      if (query.includes('resumes = resumes + 1')) order.push('count')
      if (query.includes('FROM events')) order.push('read')
      return prepare(query)
    })
    const storage = { ...memoryStorage(conversation.database), sync: async () => void order.push('sync') }
    const Conversation = Object.getPrototypeOf(conversation.object).constructor
    Object.assign(conversation, {
      object: new Conversation(
        { ...durableState(storage), storage: { ...storage, setAlarm: async () => {}, getAlarm: async () => null } },
        {},
      ),
    })
    await settle()
    expect(order.slice(0, 3)).toEqual(['count', 'sync', 'read'])
  })

  test('is not parked once it has made progress or an instance has lived for ten seconds', async () => {
    const conversation = await stuckConversation()
    for (let loss = 0; loss < 4; loss++) {
      await loseObject(conversation)
      await conversation.ring()
      await settle()
      expect(conversation.store.runs.row(runId(0))).toMatchObject({ status: 'running', resumes: 0 })
    }
  })

  test('is not parked while it waits for a person or for its fence', async () => {
    const conversation = new TestConversation(() => ask(['pays']), [tool('pays', () => '', { approval: 'always' })])
    await conversation.start(0)
    await settle()
    for (let loss = 0; loss < 6; loss++) await loseObject(conversation)
    expect(conversation.store.runs.row(runId(0))).toMatchObject({ status: 'waiting', resumes: 0 })
    const slow = tool('slow', () => new Promise(() => {}), { annotations: { idempotent: true } })
    const fenced = new TestConversation(() => ask(['slow']), [slow])
    await fenced.start(0)
    await settle()
    for (let loss = 0; loss < 6; loss++) await loseObject(fenced)
    expect(fenced.store.runs.row(runId(0))).toMatchObject({ status: 'running', resumes: 0 })
  })
})

describe('a parked run', () => {
  async function parked(settings?: ConversationSettings): Promise<TestConversation> {
    const conversation = await stuckConversation(settings)
    for (let loss = 0; loss < 3; loss++) await loseObject(conversation)
    conversation.answer = ({ messages }) => say(`Answer ${messages.length}.`)
    await loseObject(conversation)
    return conversation
  }

  test('is shown with the reason, and its stream ends', async () => {
    const conversation = await parked()
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({
      record: { status: 'parked', error: { code: 'run_parked' } },
    })
    expect(types(await conversation.events(0)).at(-1)).toBe('run.parked')
  })

  test('is told to the webhook when it is cancelled', async () => {
    const conversation = await parked({ webhook: 'https://hooks.example.com/' })
    const notices = () => conversation.rows(`SELECT id, body FROM notices WHERE id LIKE '${runId(0)}.%'`)
    const message = `This run is parked, since it could not be resumed. It is tried again at ${new Date(Date.now() + MINUTE).toISOString()}. Retry or cancel it.`
    const parking = { status: 'parked', steps: 0, usage: NO_USAGE, error: { code: 'run_parked', message }, calls: [] }
    expect(notices().map(({ body }) => JSON.parse(String(body)))).toEqual([
      {
        type: 'run.parked',
        timestamp: new Date().toISOString(),
        data: { run: runId(0), conversation: 'conv_1', ...parking },
      },
    ])
    expect(await conversation.object.cancel(runId(0))).toEqual({ ok: true, status: 'cancelled' })
    const { seq } = conversation.journal(0).at(-1) ?? {}
    const end = { status: 'cancelled', finish: 'cancelled', steps: 0, calls: [], usage: NO_USAGE }
    const data = { run: runId(0), conversation: 'conv_1', ...end }
    const timestamp = new Date().toISOString()
    expect(
      notices()
        .slice(1)
        .map(({ id, body }) => [id, JSON.parse(String(body))]),
    ).toEqual([[`${runId(0)}.${seq}`, { type: 'run.finished', timestamp, data }]])
    expect(conversation.alarmAt).toBe(Date.now() + 1)
  })

  test('is tried again by the edge of today if an earlier one has stored nothing of it but its status', async () => {
    const conversation = await parked()
    conversation.database.exec("DELETE FROM meta WHERE key = 'parked'")
    await loseObject(conversation)
    expect(statuses(conversation)).toEqual(['completed', 'completed'])
    expect(types(conversation.journal(0)).slice(-6)).toEqual([
      'run.retried',
      'step.restarted',
      'text.delta',
      'step.answered',
      'step.finished',
      'run.finished',
    ])
  })

  test('waits as any other once it is parked again, after an earlier edge has parked it', async () => {
    const conversation = await stuckConversation()
    for (let loss = 0; loss < 4; loss++) await loseObject(conversation)
    conversation.database.exec("DELETE FROM meta WHERE key = 'parked'")
    for (let loss = 0; loss < 2; loss++) await loseObject(conversation)
    expect(parkings(conversation)).toMatchObject([{ at: 64_000 }, { at: 66_000, retryAt: 66_000 + MINUTE }])
    expect(statuses(conversation)[0]).toBe('parked')
    await loseObject(conversation)
    expect(parkings(conversation)).toHaveLength(2)
  })

  test('is resumed by a retry, and the time in which it was parked is not its own', async () => {
    const conversation = await parked()
    vi.setSystemTime(Date.now() + 60 * MINUTE)
    expect(await conversation.object.retry(runId(1))).toMatchObject({ code: 'run_not_parked' })
    expect(await conversation.object.retry(runId(0))).toMatchObject({ ok: true })
    await settle()
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'completed' } })
    const events = types(await conversation.events(0))
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

  test('is tried again by itself, later and later, by two instances each time', async () => {
    const conversation = await parked()
    const requests = conversation.requests.length
    conversation.answer = async function* () {
      yield await new Promise<never>(() => {})
    }
    for (const [attempt, minutes] of [1, 5, 15, 60, 180, 720, 1440].entries()) {
      const due = Date.now() + minutes * MINUTE
      expect(parkings(conversation).at(-1)).toMatchObject({ type: 'run.parked', retryAt: due })
      while (conversation.alarmAt < due) await conversation.ring()
      expect(statuses(conversation)[0]).toBe('parked')
      await conversation.ring()
      await settle()
      expect([statuses(conversation)[0], conversation.requests.length]).toEqual(['running', requests + 2 * attempt + 1])
      await loseObject(conversation)
      await loseObject(conversation)
      expect(statuses(conversation)[0]).toBe('parked')
    }
    expect(parkings(conversation).at(-1)).not.toHaveProperty('retryAt')
    expect(await conversation.object.record(runId(0), 0)).toMatchObject({
      record: { error: { message: 'This run is parked, since it could not be resumed. Retry or cancel it.' } },
    })
    conversation.answer = () => say('Done.')
    await conversation.object.retry(runId(0))
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'completed' } })
  })

  test('is tried again at once by another version of the edge', async () => {
    const conversation = await parked()
    conversation.deployment = 'next'
    await loseObject(conversation)
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'completed' } })
  })

  describe('that has used tokens', () => {
    const USAGE = { inputTokens: 10, outputTokens: 5 }
    const KEY = '0123456789ab'

    /** A run that is parked in its second step, and the spending that its tenant is told of. */
    async function parkedWithUsage(settings: ConversationSettings = {}) {
      const spends: unknown[] = []
      const conversation = new TestConversation(
        async function* ({ messages }) {
          if (messages.length < 2) return yield* ask(['clock'])
          yield await new Promise<never>(() => {})
        },
        [tool('clock', () => 'noon')],
      )
      conversation.count = (_, { tokens }) => void spends.push(tokens)
      await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings })
      const caller = { tenant: 'acme', scopes: new Set<never>(), key: KEY }
      await conversation.start(0, { request: { budget: { tokens: 1000, until: Infinity }, caller } as object })
      await settle()
      for (let loss = 0; loss < 4; loss++) await loseObject(conversation)
      expect(conversation.store.runs.row(runId(0))?.status).toBe('parked')
      return { conversation, spends }
    }

    test('has them in its end, its record, its conversation and the budget of its key once it is cancelled', async () => {
      const { conversation, spends } = await parkedWithUsage()
      await conversation.object.cancel(runId(0))
      expect(conversation.journal(0).at(-1)).toMatchObject({ type: 'run.finished', status: 'cancelled', usage: USAGE })
      expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'cancelled', usage: USAGE })
      expect(await conversation.object.record(runId(0), 0)).toMatchObject({ record: { usage: USAGE } })
      expect(await conversation.object.usage()).toEqual({ ok: true, usage: USAGE, runs: 1 })
      await conversation.ring()
      expect(spends).toEqual([15])
    })

    test('is counted before its conversation is deleted', async () => {
      const { conversation, spends } = await parkedWithUsage()
      await conversation.object.remove()
      expect(spends).toEqual([15])
    })

    test('is counted before its conversation expires', async () => {
      const { conversation, spends } = await parkedWithUsage({ ttlSeconds: 120 })
      while (conversation.alarmAt < Infinity) await conversation.ring()
      expect([spends, conversation.rows("SELECT name FROM sqlite_master WHERE name = 'runs'")]).toEqual([[15], []])
    })

    test('keeps them when its request cannot be read', async () => {
      const { conversation } = await parkedWithUsage()
      conversation.database.exec("UPDATE runs SET request = 'x', status = 'running', resumes = 0")
      conversation.live()
      expect(await conversation.object.record(runId(0), 0)).toMatchObject({
        record: { status: 'failed', error: { code: 'run_lost' }, usage: USAGE },
      })
    })
  })

  test('is cancelled without being folded', async () => {
    const conversation = await parked()
    expect(await conversation.object.cancel(runId(0))).toEqual({ ok: true, status: 'cancelled' })
    expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'cancelled' })
    expect(types(await conversation.events(0)).at(-1)).toBe('run.finished')
  })

  test('is cancelled when it or a turn before it is run again with those after it', async () => {
    const conversation = await parked()
    expect(await conversation.start(2, { onward: true, replaces: runId(0) })).toMatchObject({ ok: true })
    await settle()
    expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'cancelled' })
    expect(await conversation.object.retry(runId(0))).toMatchObject({ code: 'run_not_parked' })
    expect(conversation.requests.at(-1)?.messages).toHaveLength(1)
  })

  test('does not keep new runs from starting, whatever they do if the conversation is busy', async () => {
    const conversation = await parked()
    await conversation.start(2, { onBusy: 'reject' })
    expect(await conversation.object.record(runId(2), 10_000)).toMatchObject({ record: { status: 'completed' } })
    await conversation.start(3, { onBusy: 'interrupt' })
    expect(await conversation.object.record(runId(3), 10_000)).toMatchObject({ record: { status: 'completed' } })
    expect(statuses(conversation)[0]).toBe('parked')
    await conversation.object.remove()
    expect(await conversation.object.record(runId(0), 0)).toMatchObject({ code: 'conversation_deleted' })
  })
})

describe('a run whose journal has a fact that only a newer version knows', () => {
  /** A run that waits for an approval, and a run behind it. */
  async function rolledBack(type: string): Promise<TestConversation> {
    const conversation = new TestConversation(
      ({ messages }) => (messages.length === 1 ? ask(['pays']) : say('Done.')),
      [tool('pays', () => 'paid', { approval: 'always' })],
    )
    await conversation.start(0)
    await settle()
    await conversation.start(1)
    conversation.store.appendFact(runId(0), { type, at: Date.now() } as unknown as RunFact)
    conversation.live()
    await settle()
    return conversation
  }

  test('is parked with the reason, and the next run starts', async () => {
    const conversation = await rolledBack('call.delegated')
    expect(statuses(conversation)).toEqual(['parked', 'completed'])
    const reason = 'Its journal has an event that this edge does not know: call.delegated.'
    expect(conversation.reports).toContainEqual({
      event: 'run.parked',
      runId: runId(0),
      detail: reason,
      retryAt: Date.now() + MINUTE,
    })
    expect((await conversation.events(0)).at(-1)).toMatchObject({ type: 'run.parked', reason })
    expect(await conversation.object.answer(runId(0), {})).toMatchObject({ code: 'run_parked' })
  })

  test('is parked again by a retry, and can be cancelled', async () => {
    const conversation = await rolledBack('call.delegated')
    expect(await conversation.object.retry(runId(0))).toMatchObject({ record: { status: 'parked' } })
    await conversation.object.cancel(runId(0))
    expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'cancelled' })
  })

  test('continues if the unknown event is only news', async () => {
    const conversation = await rolledBack('call.delegation.progress')
    expect(statuses(conversation)).toEqual(['waiting', 'queued'])
  })
})
