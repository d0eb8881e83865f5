import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Chunks } from '../../src/conversation/store/chunks.ts'
import { ask, say, tool, types } from '../fixtures/play.ts'
import { memorySql } from '../fixtures/sqlite.ts'
import { runId, TestConversation } from './object.ts'

const MIB = 1024 * 1024

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 60_000 }))
afterEach(() => void vi.useRealTimers())

/** A run whose one call brings a result of 6 MiB and more: letters of one, two, three and four bytes. */
function large(): { there: TestConversation; text: string } {
  const text = 'aé漢😀'.repeat((6 * MIB) / 10)
  const there = new TestConversation(
    ({ messages }) => (messages.length > 1 ? say('Large.') : ask(['large'])),
    [tool('large', () => ({ ok: true, content: [{ type: 'text', text }] }))],
  )
  return { there, text }
}

const request = {
  limits: { callMs: 1000, runMs: 9e5, resultBytes: 16 * MIB, steps: 9, calls: 9, callsPerTool: 9, concurrentCalls: 1 },
}

describe('content larger than a row', () => {
  test('is stored in parts and read back unchanged in events, messages and model requests', async () => {
    const { there, text } = large()
    await there.start(0, { request: request as object })
    await there.object.record(runId(0), 10_000)
    for (const table of ['chunks', 'events', 'messages', 'runs']) {
      const [row] = there.rows(`SELECT * FROM ${table}`)
      for (const column of Object.keys(row!)) {
        const [{ most }] = there.rows(`SELECT max(length(CAST(${column} AS BLOB))) AS most FROM ${table}`) as [any]
        expect(most ?? 0).toBeLessThanOrEqual(MIB / 2)
      }
    }
    there.live()
    const settled = (await there.events(0)).find((event) => event.type === 'call.settled')
    expect(settled?.content).toEqual([{ type: 'text', text }])
    await there.start(1, { request: { input: [{ role: 'user', content: 'And?' }] } })
    await there.object.record(runId(1), 10_000)
    const page = await there.object.messages({ limit: 100 })
    const result = page.ok ? page.messages.find(({ message }) => message.role === 'tool') : undefined
    expect(result?.message.content).toEqual([{ type: 'text', text }])
  })

  test('is read on from where it was truncated, also in a later run and after a restart', async () => {
    const text = 'abcdefghij'.repeat(300_000)
    const cut = { resultBytes: 1000 }
    const there = new TestConversation(
      ({ messages }) => (messages.length > 1 ? say('Cut.') : ask(['large'])),
      [tool('large', () => ({ ok: true, content: [{ type: 'text', text }] }))],
    )
    await there.start(0, { request: { limits: { ...request.limits, ...cut } } as object })
    await there.object.record(runId(0), 10_000)
    expect(there.rows('SELECT max(length(message)) AS most FROM messages')[0]!.most).toBeLessThan(5000)
    there.live()
    const id = `call_${runId(0).slice(4)}_1_0`
    there.answer = ({ messages }) =>
      messages.at(-1)?.role === 'user' ? ask(['read_result', { id, offset: 2_999_995 }]) : say('Read.')
    await there.run(1, 'And the end?')
    const settled = there.journal(1).find((event) => event.type === 'call.settled')
    expect(settled).toMatchObject({
      ok: true,
      content: [{ text: expect.stringMatching(/^fghij\n\[2999995 to 3000000/) }],
    })
  })

  test('is stored completely even if its JSON is far longer', async () => {
    const text = '"'.repeat(3.5 * MIB)
    const there = new TestConversation(
      ({ messages }) => (messages.length > 1 ? say('Cut.') : ask(['large'])),
      [tool('large', () => ({ ok: true, content: [{ type: 'text', text }] }))],
    )
    await there.run(0)
    expect(there.journal(0).find((event) => event.type === 'call.settled')).toMatchObject({ cut: text.length })
    const [whole] = there.store.fullResults.of(`call_${runId(0).slice(4)}_1_0`) ?? []
    expect(whole?.type === 'text' && whole.text === text).toBe(true)
  })

  test('is never split within a character', () => {
    const { there } = large()
    const chunks = new Chunks(memorySql(there.database))
    there.store.create()
    for (const text of ['😀'.repeat(200_000), `a${'😀'.repeat(200_000)}`]) {
      const kept = chunks.keep(text)
      expect(kept.length).toBeLessThan(20)
      expect(chunks.read(kept) === text).toBe(true)
      chunks.drop(kept)
    }
    expect(there.rows('SELECT * FROM chunks')).toEqual([])
  })

  test('leaves nothing behind when it is pruned', async () => {
    const { there } = large()
    await there.start(0, { request: request as object })
    await there.object.record(runId(0), 10_000)
    const facts = there.journal(0).filter(({ type }) => !/delta|proposed/.test(type))
    vi.setSystemTime(660_000)
    await there.ring()
    expect(there.journal(0)).toEqual(facts)
    const named = there.rows(
      "SELECT lines AS name FROM events WHERE lines LIKE '@%' UNION ALL SELECT message FROM messages WHERE message LIKE '@%'",
    )
    expect(there.rows('SELECT DISTINCT id FROM chunks')).toHaveLength(named.length)
  })

  test('may be the request itself or its tools', async () => {
    const content = 'x'.repeat(2 * MIB)
    const tools = Array.from({ length: 100 }, (_, at) =>
      tool(`tool${at}`, undefined, { description: 'y'.repeat(20_000) }),
    )
    const there = new TestConversation(
      ({ messages, tools }) => say(`${messages[0]?.content.length} ${tools.length}`),
      tools,
    )
    await there.run(0, content)
    expect(there.store.runs.record(runId(0))?.answer).toBe(`${content.length} 100`)
    there.live()
    expect(there.store.runs.get(runId(0))?.request.input).toEqual([{ role: 'user', content }])
  })
})

describe('a row that cannot be read', () => {
  /** A conversation of two turns, the first with a call. */
  async function talked(): Promise<TestConversation> {
    const there = new TestConversation(
      ({ messages }) => (messages.length === 1 ? ask(['look'], ['look']) : say('Done.')),
      [tool('look')],
    )
    await there.run(0)
    await there.run(1)
    return there
  }

  const setAside = (there: TestConversation) => there.reports.filter(({ event }) => event === 'row.set_aside')

  test.each([
    ['the result of a call', 'position = 1000002', { dropped: 0, filled: 1 }],
    ['an assistant’s calls', 'position = 1000001', { dropped: 2, filled: 0 }],
  ])('in messages, %s, is set aside, and the next run sees a valid history', async (_what, where, repaired) => {
    const there = await talked()
    there.database.exec(`UPDATE messages SET message = '{"role":' WHERE ${where}`)
    there.live()
    await there.run(2)
    expect(there.store.runs.record(runId(2))).toMatchObject({ status: 'completed' })
    expect(there.journal(2)[0]).toMatchObject({ type: 'history.repaired', ...repaired })
    const seen = there.requests.at(-1)!.messages
    const calls = seen.flatMap((message) => (message.role === 'assistant' ? (message.calls ?? []) : []))
    const results = seen.filter((message) => message.role === 'tool')
    expect(results.map((result) => result.callId)).toEqual(calls.map((call) => call.callId))
    expect(setAside(there)).toMatchObject([{ table: 'messages' }])
    await there.run(3)
    expect(setAside(there)).toHaveLength(1)
    expect(there.rows('SELECT content FROM quarantine')).toEqual([{ content: '{"role":' }])
  })

  test('in chunks sets aside the content that it belonged to', async () => {
    const { there } = large()
    await there.start(0, { request: request as object })
    await there.object.record(runId(0), 10_000)
    there.database.exec('DELETE FROM chunks WHERE part = 3')
    there.live()
    const page = await there.object.messages({ limit: 100 })
    expect(page.ok && page.messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'assistant'])
    expect(types(await there.events(0))).not.toContain('call.settled')
    expect(await there.object.record(runId(0), 0)).toMatchObject({ record: { status: 'completed', answer: 'Large.' } })
    expect(setAside(there).map(({ table }) => table)).toEqual(['messages', 'events'])
  })

  test('in a finished run’s events leaves the run its record', async () => {
    const there = await talked()
    there.database.exec(
      `UPDATE events SET lines = replace(lines, '{"type":"run.finished"', 'x') WHERE run = '${runId(0)}'`,
    )
    there.live()
    expect(await there.object.record(runId(0), 0)).toMatchObject({ record: { status: 'completed', answer: 'Done.' } })
    expect(setAside(there)).toMatchObject([{ table: 'events' }])
    await there.object.record(runId(0), 0)
    expect(setAside(there)).toHaveLength(1)
  })

  test('in a run in progress fails the run once, without repeated calls, and the next run starts', async () => {
    let called = 0
    const begun = Promise.withResolvers<void>()
    const pays = () => {
      called += 1
      begun.resolve()
      return new Promise(() => {})
    }
    const there = new TestConversation(() => ask(['pays']), [tool('pays', pays)])
    await there.start(0)
    await begun.promise
    there.database.exec(
      `UPDATE events SET lines = replace(lines, '{"type":"call.started"', 'x') WHERE run = '${runId(0)}'`,
    )
    there.live()
    expect(await there.object.record(runId(0), 10_000)).toMatchObject({
      record: { status: 'failed', error: { code: 'run_lost' } },
    })
    expect(called).toBe(1)
    there.answer = () => say('Next.')
    await there.run(1)
    expect(there.store.runs.record(runId(1))?.answer).toBe('Next.')
  })

  test('that has valid JSON of another shape, in a waiting run, fails the run, and the conversation opens', async () => {
    const there = new TestConversation(() => ask(['pays']), [tool('pays', () => 'paid', { approval: 'always' })])
    await there.run(0)
    there.database.exec(`UPDATE events SET lines = replace(lines, '"calls":[', '"called":[')`)
    there.answer = () => say('Next.')
    there.live()
    await there.run(1)
    expect(there.store.runs.record(runId(0))).toMatchObject({ status: 'failed', error: { code: 'run_lost' } })
    expect(there.store.runs.record(runId(1))?.answer).toBe('Next.')
  })

  test.each(['runs SET request', 'toolsets SET definitions'])(
    'in %s fails the run, and the conversation opens',
    async (what) => {
      const there = await talked()
      there.answer = () => say('Next.')
      there.database.exec("UPDATE runs SET record = NULL, status = 'queued', ended = NULL WHERE id LIKE '%1'")
      there.database.exec(`UPDATE ${what} = '{"half'`)
      there.live()
      await new Promise(setImmediate)
      expect(types(await there.events(1)).at(-1)).toBe('run.finished')
      expect(await there.object.record(runId(1), 0)).toMatchObject({
        record: { status: 'failed', error: { code: 'run_lost' } },
      })
      expect(await there.object.runs({ limit: 10 })).toMatchObject({
        runs: [{ status: 'completed' }, { status: 'failed' }],
      })
      if (what.startsWith('runs')) {
        await there.run(2)
        expect(there.store.runs.record(runId(2))?.answer).toBe('Next.')
      }
      await there.ring()
    },
  )

  test('in the meta table does not keep the conversation from opening', async () => {
    const there = await talked()
    there.database.exec("UPDATE meta SET value = '{' WHERE key = 'usage'")
    there.database.exec("UPDATE meta SET value = 'two' WHERE key = 'version'")
    there.database.exec("INSERT INTO meta VALUES ('expires', 'soon')")
    there.live()
    await there.run(2)
    expect(await there.object.usage()).toMatchObject({ ok: true, runs: 1 })
    await there.ring()
    expect(there.store.life()).toBe('open')
  })
})

test('a row that cannot be read is set aside and reported once, however often it is read', async () => {
  const there = new TestConversation(() => say('Done.'))
  await there.run(0)
  there.database.exec(`UPDATE runs SET record = '{"id":'; UPDATE events SET lines = ''`)
  there.live()
  for (let time = 0; time < 3; time++) expect(await there.object.record(runId(0), 0)).toMatchObject({ ok: true })
  expect(there.rows('SELECT content FROM quarantine')).toEqual([{ content: '{"id":' }])
  expect(there.reports.filter(({ event }) => event === 'row.set_aside')).toHaveLength(1)
})
