import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { StoredMessage } from '../../src/contract/conversation.ts'
import type { ToolOutcome } from '../../src/contract/tool.ts'
import { ask, requestOf, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 60_000 }))
afterEach(() => void vi.useRealTimers())

const HOUR = 3_600_000

describe('a conversation that expires after an idle hour', () => {
  async function keep(conversation: TestConversation): Promise<TestConversation> {
    await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings: { ttlSeconds: 3600 } })
    return conversation
  }

  test('is kept longer by every run, then is deleted and removed from the directory', async () => {
    const conversation = await keep(new TestConversation(() => say('Done.')))
    expect(conversation.alarmAt).toBe(60_000 + HOUR)
    vi.setSystemTime(HOUR)
    await conversation.run(0)
    while (Date.now() < 2 * HOUR - 1000) await conversation.ring()
    expect([Date.now(), conversation.store.life(), conversation.unlisted]).toEqual([2 * HOUR, 'none', ['acme/conv_1']])
    expect(await conversation.object.runs({ limit: 1 })).toMatchObject({ code: 'unknown_conversation' })
  })

  test('does not expire while a run is in progress, but does while one waits', async () => {
    const done = Promise.withResolvers<string>()
    const conversation = await keep(
      new TestConversation(
        ({ messages }) => {
          const { role, content } = messages.at(-1)!
          return role === 'tool' ? say('Done.') : ask([content === 'pay' ? 'pays' : 'slow'])
        },
        [tool('slow', () => done.promise), tool('pays', () => '', { approval: 'always' })],
      ),
    )
    const limits = { ...requestOf().limits, callMs: 3 * HOUR, runMs: 3 * HOUR }
    await conversation.start(0, { request: { limits } as object })
    while (Date.now() < 2 * HOUR) await conversation.ring()
    expect(conversation.store.life()).toBe('open')
    done.resolve('done')
    await conversation.object.record(runId(0), 10_000)
    expect(conversation.store.time('idle')).toBe(Date.now() + HOUR)
    await conversation.start(1, { request: { input: [{ role: 'user', content: 'pay' }] } })
    expect(await conversation.object.record(runId(1), 10_000)).toMatchObject({ record: { status: 'waiting' } })
    const since = Date.now()
    while (conversation.alarmAt < Infinity) await conversation.ring()
    expect([conversation.store.life(), Date.now()]).toEqual(['none', since + HOUR])
    // What waited is forgotten with the rest: one of the same name begins anew.
    conversation.answer = () => say('Anew.')
    await conversation.run(2)
    expect(conversation.store.runs.record(runId(2))?.answer).toBe('Anew.')
  })

  test('is removed from the directory first, and retries the expiry if that fails', async () => {
    const conversation = await keep(new TestConversation(() => say('Done.')))
    conversation.onUnlist = vi.fn<() => void>().mockRejectedValueOnce(new Error('no directory'))
    await conversation.ring()
    expect([conversation.store.life(), conversation.unlisted]).toEqual(['open', []])
    expect(conversation.reports).toMatchObject([{ event: 'conversation.failed' }])
    await conversation.ring()
    expect([conversation.store.life(), conversation.unlisted]).toEqual(['none', ['acme/conv_1']])
  })

  test('stays, also in the directory, if it is used while it is being removed from it', async () => {
    const conversation = await keep(new TestConversation(() => say('Done.')))
    conversation.onUnlist = () => conversation.run(0)
    await conversation.ring()
    expect([conversation.store.life(), conversation.unlisted]).toEqual(['open', []])
    expect(conversation.store.runs.record(runId(0))?.answer).toBe('Done.')
    conversation.onUnlist = () => {}
    while (conversation.alarmAt < Infinity) await conversation.ring()
    expect([conversation.store.life(), conversation.unlisted, Date.now()]).toEqual([
      'none',
      ['acme/conv_1'],
      60_000 + 2 * HOUR,
    ])
  })

  test('counts requests for a decision, decisions and steering messages as activity', async () => {
    const done = Promise.withResolvers<string>()
    const conversation = await keep(
      new TestConversation(
        ({ messages }) => (messages.length > 1 ? ask(['pays'], ['pays']) : ask(['slow'])),
        [tool('slow', () => done.promise), tool('pays', () => '', { approval: 'always' })],
      ),
    )
    const limits = { ...requestOf().limits, callMs: 3 * HOUR, runMs: 3 * HOUR }
    await conversation.start(0, { request: { limits } as object })
    while (Date.now() < 2 * HOUR) await conversation.ring()
    done.resolve('done')
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({ record: { status: 'waiting' } })
    const idle = () => conversation.store.time('idle') - Date.now()
    expect(idle()).toBe(HOUR)
    vi.setSystemTime(Date.now() + HOUR / 2)
    await conversation.object.answer(runId(0), { [`call_${runId(0).slice(4)}_2_0`]: { decision: 'approve' } })
    expect(idle()).toBe(HOUR)
    vi.setSystemTime(Date.now() + HOUR / 2)
    await conversation.start(1, { onBusy: 'steer' })
    expect(idle()).toBe(HOUR)
    const since = Date.now()
    while (conversation.alarmAt < Infinity) await conversation.ring()
    expect([conversation.store.life(), Date.now() - since]).toEqual(['none', HOUR])
  })

  test('takes nothing of a poll that is answered after it has expired, even if another one of its name exists by then', async () => {
    const outcome = Promise.withResolvers<ToolOutcome>()
    const later = { within: 10 * HOUR, poll: HOUR - 1000 }
    const polled = tool('late', () => ({ ok: false, error: { code: 'later', message: 'Later.' }, later }), {
      later: true,
    })
    let polls = 0
    const poll = () => ((polls += 1), outcome.promise)
    const conversation = await keep(new TestConversation(() => ask(['late']), [{ ...polled, poll }]))
    await conversation.run(0)
    while (conversation.store.life() === 'open') await conversation.ring()
    expect(polls).toBe(1)
    await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings: {} })
    const questions: unknown[] = []
    conversation.answer = ({ messages }) => (questions.push(messages.length), say('New.'))
    outcome.resolve({ ok: true, content: [{ type: 'text', text: 'of the old one' }] })
    await new Promise((resolve) => setTimeout(resolve))
    await conversation.run(1)
    expect([questions, conversation.rows('SELECT DISTINCT run FROM events')]).toEqual([[1], [{ run: runId(1) }]])
    expect(conversation.reports).toEqual([])
  })

  test('ends streams and waiting requests when it expires', async () => {
    vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'], now: 60_000 })
    const conversation = await keep(
      new TestConversation(() => ask(['pays']), [tool('pays', () => '', { approval: 'always' })]),
    )
    await conversation.run(0)
    await conversation.start(1)
    const followed = conversation.events(1)
    const waited = conversation.object.record(runId(1), 60_000)
    while (conversation.alarmAt < Infinity) await conversation.ring()
    expect(await followed).toEqual([])
    expect(await waited).toMatchObject({ code: 'unknown_run' })
  })
})

test('a conversation of a newer schema version keeps its version under a rolled-back edge', async () => {
  const conversation = new TestConversation(() => say('Done.'))
  await conversation.run(0)
  const version = "FROM meta WHERE key = 'version'"
  conversation.database.exec(`UPDATE meta SET value = value + 1 WHERE key = 'version'`)
  const before = conversation.rows(`SELECT value ${version}`)
  conversation.live()
  await conversation.run(1)
  expect(conversation.rows(`SELECT value ${version}`)).toEqual(before)
})

describe('a conversation of an older version', () => {
  test('opens with its runs, messages and usage, and takes new runs', async () => {
    const conversation = new TestConversation(() => say('New.'))
    const usage = { inputTokens: 7, outputTokens: 3, cachedInputTokens: 2 }
    const record = { id: runId(0), status: 'completed', answer: 'Old.', steps: 1, usage, calls: [] }
    const messages = [
      { role: 'system', content: 'rule' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: '', calls: [{ callId: 'c', tool: 't', arguments: '{}' }] },
      { role: 'tool', callId: 'c', tool: 't', ok: true, content: [] },
      { role: 'assistant', content: 'Old.' },
    ]
    conversation.database.exec(`
      CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
      INSERT INTO meta VALUES ('version', '1');
      CREATE TABLE runs (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL,
        request TEXT NOT NULL, toolset INTEGER NOT NULL REFERENCES toolsets (id), record TEXT,
        reserved INTEGER NOT NULL DEFAULT 0, interrupted INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL);
      CREATE INDEX runs_open ON runs (place) WHERE record IS NULL;
      CREATE TABLE toolsets (id INTEGER PRIMARY KEY, definitions TEXT NOT NULL);
      CREATE TABLE events (run TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, lines TEXT NOT NULL,
        PRIMARY KEY (run, first)) WITHOUT ROWID;
      CREATE TABLE messages (position INTEGER PRIMARY KEY, run TEXT NOT NULL, message TEXT NOT NULL);
      INSERT INTO toolsets VALUES (1, '[]');`)
    conversation.database
      .prepare("INSERT INTO runs VALUES (1, ?, 'completed', ?, 1, ?, 0, 0, 5)")
      .run(runId(0), JSON.stringify(requestOf({ runId: runId(0), conversation: 'conv_1' })), JSON.stringify(record))
    const add = conversation.database.prepare('INSERT INTO messages VALUES (?, ?, ?)')
    for (const [at, message] of messages.entries()) add.run(1_000_000 + at, runId(0), JSON.stringify(message))
    add.run(1_000_009, runId(0), '{"broken')
    conversation.live()
    expect(await conversation.object.usage()).toMatchObject({ usage, runs: 1 })
    expect(conversation.rows('SELECT kind FROM messages ORDER BY position').map(({ kind }) => kind)).toEqual([
      'system',
      'user',
      'work',
      'work',
      'answer',
      'work',
    ])
    await conversation.run(1)
    expect(conversation.requests[0]!.messages.slice(0, -1)).toEqual(messages)
    expect(await conversation.object.usage()).toMatchObject({ usage: { inputTokens: 17, outputTokens: 8 }, runs: 2 })

    // It is as one that was made today.
    const fresh = new TestConversation(() => say('New.'))
    await fresh.run(0)
    const columns = `SELECT m.name, c.name AS part, c.type, c."notnull", c.dflt_value, c.pk FROM sqlite_master AS m
      JOIN pragma_table_info(m.name) AS c WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite_%' ORDER BY m.name, c.cid`
    const indexes = "SELECT name, tbl_name, sql FROM sqlite_master WHERE type = 'index' ORDER BY name"
    expect(conversation.rows(columns)).toEqual(fresh.rows(columns))
    expect(conversation.rows(indexes)).toEqual(fresh.rows(indexes))
    expect(conversation.rows("SELECT value FROM meta WHERE key = 'version'")).toEqual([{ value: '4' }])
  })
})

test('a replaced turn cannot be regenerated, and the run that replaced it can', async () => {
  const conversation = new TestConversation(({ messages }) => say(`Answer to ${messages.length}.`))
  await conversation.run(0)
  const repeat = (index: number) => ({ runId: runId(index), caller: { tenant: 'acme', scopes: ['chat'] } })
  const [first, second] = await Promise.all([
    conversation.object.regenerate(runId(0), repeat(1)),
    conversation.object.regenerate(runId(0), repeat(2)),
  ])
  expect([first, second]).toMatchObject([{ ok: true }, { ok: false, code: 'run_replaced' }])
  await conversation.object.record(runId(1), 10_000)
  expect(await conversation.object.regenerate(runId(0), repeat(3))).toMatchObject({ ok: false, code: 'run_replaced' })
  expect(await conversation.object.regenerate(runId(1), repeat(4))).toMatchObject({ ok: true })
  await conversation.object.record(runId(4), 10_000)
  const { messages = [] } = { ...(await conversation.object.messages({ limit: 9 })) } as {
    messages?: readonly StoredMessage[]
  }
  expect(messages.map(({ run, replaced = false }) => [run, replaced])).toEqual([
    ...[0, 0, 1, 1].map((index) => [runId(index), true]),
    ...[4, 4].map((index) => [runId(index), false]),
  ])
})

test('a regenerated turn has the current definitions of the tools that still exist', async () => {
  const tools = [tool('look', () => 'old'), tool('gone')]
  const conversation = new TestConversation(
    ({ messages }) => (messages.length > 1 ? say('Done.') : ask(['look'])),
    tools,
  )
  await conversation.run(0)
  tools.splice(
    0,
    2,
    tool('look', () => 'new', { hash: 'another' }),
  )
  const repeat = { runId: runId(1), caller: { tenant: 'acme', scopes: ['chat'] } }
  expect(await conversation.object.regenerate(runId(0), repeat)).toMatchObject({ ok: true, runId: runId(1) })
  const content = [{ type: 'text', text: 'new' }]
  expect(await conversation.object.record(runId(1), 10_000)).toMatchObject({
    record: { calls: [{ ok: true, content }] },
  })
  expect(conversation.requests.at(-1)?.tools.map(({ name, hash }) => [name, hash])).toEqual([['look', 'another']])
})
