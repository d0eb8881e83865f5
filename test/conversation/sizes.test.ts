import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Chunks } from '../../src/conversation/store/database.ts'
import { ask, say, tool, types } from '../fixtures/play.ts'
import { memorySql } from '../fixtures/sqlite.ts'
import { runId, TestConversation } from './object.ts'

const MIB = 1024 * 1024

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: 60_000 }))
afterEach(() => void vi.useRealTimers())

/** A run whose one call brings a result of 6 MiB and more: letters of one, two, three and four bytes. */
function large(): { conversation: TestConversation; text: string } {
  const text = 'aé漢😀'.repeat((6 * MIB) / 10)
  const conversation = new TestConversation(
    ({ messages }) => (messages.length > 1 ? say('Large.') : ask(['large'])),
    [tool('large', () => ({ ok: true, content: [{ type: 'text', text }] }))],
  )
  return { conversation, text }
}

const request = {
  limits: { callMs: 1000, runMs: 9e5, resultBytes: 16 * MIB, steps: 9, calls: 9, callsPerTool: 9, concurrentCalls: 1 },
}

describe('content larger than a row', () => {
  test('is stored in parts and read back unchanged in events, messages and model requests', async () => {
    const { conversation, text } = large()
    await conversation.start(0, { request: request as object })
    await conversation.object.record(runId(0), 10_000)
    for (const table of ['chunks', 'events', 'messages', 'runs']) {
      const [row] = conversation.rows(`SELECT * FROM ${table}`)
      for (const column of Object.keys(row!)) {
        const [{ most }] = conversation.rows(`SELECT max(length(CAST(${column} AS BLOB))) AS most FROM ${table}`) as [
          any,
        ]
        expect(most ?? 0).toBeLessThanOrEqual(MIB / 2)
      }
    }
    conversation.live()
    const settled = (await conversation.events(0)).find((event) => event.type === 'call.settled')
    expect(settled?.content).toEqual([{ type: 'text', text }])
    await conversation.start(1, { request: { input: [{ role: 'user', content: 'And?' }] } })
    await conversation.object.record(runId(1), 10_000)
    const page = await conversation.object.messages({ limit: 100 })
    const result = page.ok ? page.messages.find(({ message }) => message.role === 'tool') : undefined
    expect(result?.message.content).toEqual([{ type: 'text', text }])
  })

  test('is read on from where it was truncated, also in a later run and after a restart', async () => {
    const text = 'abcdefghij'.repeat(300_000)
    const cut = { resultBytes: 1000 }
    const conversation = new TestConversation(
      ({ messages }) => (messages.length > 1 ? say('Cut.') : ask(['large'])),
      [tool('large', () => ({ ok: true, content: [{ type: 'text', text }] }))],
    )
    await conversation.start(0, { request: { limits: { ...request.limits, ...cut } } as object })
    await conversation.object.record(runId(0), 10_000)
    expect(conversation.rows('SELECT max(length(message)) AS most FROM messages')[0]!.most).toBeLessThan(5000)
    conversation.live()
    const id = `call_${runId(0).slice(4)}_1_0`
    conversation.answer = ({ messages }) =>
      messages.at(-1)?.role === 'user' ? ask(['read_result', { id, offset: 2_999_995 }]) : say('Read.')
    await conversation.run(1, 'And the end?')
    const settled = conversation.journal(1).find((event) => event.type === 'call.settled')
    expect(settled).toMatchObject({
      ok: true,
      content: [{ text: expect.stringMatching(/^fghij\n\[2999995 to 3000000/) }],
    })
  })

  test('is stored completely even if its JSON is far longer', async () => {
    const text = '"'.repeat(3.5 * MIB)
    const conversation = new TestConversation(
      ({ messages }) => (messages.length > 1 ? say('Cut.') : ask(['large'])),
      [tool('large', () => ({ ok: true, content: [{ type: 'text', text }] }))],
    )
    await conversation.run(0)
    expect(conversation.journal(0).find((event) => event.type === 'call.settled')).toMatchObject({ cut: text.length })
    const [fullText] = conversation.store.fullResults.of(`call_${runId(0).slice(4)}_1_0`) ?? []
    expect(fullText?.type === 'text' && fullText.text === text).toBe(true)
  })

  test('is never split within a character', () => {
    const { conversation } = large()
    const chunks = new Chunks(memorySql(conversation.database))
    conversation.store.create()
    for (const text of ['😀'.repeat(200_000), `a${'😀'.repeat(200_000)}`]) {
      const column = chunks.keep(text)
      expect(column.length).toBeLessThan(20)
      expect(chunks.read(column) === text).toBe(true)
      chunks.drop(column)
    }
    expect(conversation.rows('SELECT * FROM chunks')).toEqual([])
  })

  test('leaves nothing behind when it is pruned', async () => {
    const { conversation } = large()
    await conversation.start(0, { request: request as object })
    await conversation.object.record(runId(0), 10_000)
    const facts = conversation.journal(0).filter(({ type }) => !/delta|proposed/.test(type))
    vi.setSystemTime(660_000)
    await conversation.ring()
    expect(conversation.journal(0)).toEqual(facts)
    const names = conversation.rows(
      "SELECT lines AS name FROM events WHERE lines LIKE '@%' UNION ALL SELECT message FROM messages WHERE message LIKE '@%'",
    )
    expect(conversation.rows('SELECT DISTINCT id FROM chunks')).toHaveLength(names.length)
  })

  test('may be the request itself or its tools', async () => {
    const content = 'x'.repeat(2 * MIB)
    const tools = Array.from({ length: 100 }, (_, at) =>
      tool(`tool${at}`, undefined, { description: 'y'.repeat(20_000) }),
    )
    const conversation = new TestConversation(
      ({ messages, tools }) => say(`${messages[0]?.content.length} ${tools.length}`),
      tools,
    )
    await conversation.run(0, content)
    expect(conversation.store.runs.record(runId(0))?.answer).toBe(`${content.length} 100`)
    conversation.live()
    expect(conversation.store.runs.get(runId(0))?.request.input).toEqual([{ role: 'user', content }])
  })
})

describe('a row that cannot be read', () => {
  /** A conversation of two turns, the first with a call. */
  async function talked(): Promise<TestConversation> {
    const conversation = new TestConversation(
      ({ messages }) => (messages.length === 1 ? ask(['look'], ['look']) : say('Done.')),
      [tool('look')],
    )
    await conversation.run(0)
    await conversation.run(1)
    return conversation
  }

  const setAside = (conversation: TestConversation) =>
    conversation.reports.filter(({ event }) => event === 'row.set_aside')

  test.each([
    ['the result of a call', 'position = 1000002', { dropped: 0, filled: 1 }],
    ['an assistant’s calls', 'position = 1000001', { dropped: 2, filled: 0 }],
  ])('in messages, %s, is set aside, and the next run sees a valid history', async (_what, where, repaired) => {
    const conversation = await talked()
    conversation.database.exec(`UPDATE messages SET message = '{"role":' WHERE ${where}`)
    conversation.live()
    await conversation.run(2)
    expect(conversation.store.runs.record(runId(2))).toMatchObject({ status: 'completed' })
    expect(conversation.journal(2)[0]).toMatchObject({ type: 'history.repaired', ...repaired })
    const messages = conversation.requests.at(-1)!.messages
    const calls = messages.flatMap((message) => (message.role === 'assistant' ? (message.calls ?? []) : []))
    const results = messages.filter((message) => message.role === 'tool')
    expect(results.map((result) => result.callId)).toEqual(calls.map((call) => call.callId))
    expect(setAside(conversation)).toMatchObject([{ table: 'messages' }])
    await conversation.run(3)
    expect(setAside(conversation)).toHaveLength(1)
    expect(conversation.rows('SELECT content FROM quarantine')).toEqual([{ content: '{"role":' }])
  })

  test('in chunks sets aside the content that it belonged to', async () => {
    const { conversation } = large()
    await conversation.start(0, { request: request as object })
    await conversation.object.record(runId(0), 10_000)
    conversation.database.exec('DELETE FROM chunks WHERE part = 3')
    conversation.live()
    const page = await conversation.object.messages({ limit: 100 })
    expect(page.ok && page.messages.map(({ message }) => message.role)).toEqual(['user', 'assistant', 'assistant'])
    expect(types(await conversation.events(0))).not.toContain('call.settled')
    expect(await conversation.object.record(runId(0), 0)).toMatchObject({
      record: { status: 'completed', answer: 'Large.' },
    })
    expect(setAside(conversation).map(({ table }) => table)).toEqual(['messages', 'events'])
  })

  test('in a finished run’s events leaves the run its record', async () => {
    const conversation = await talked()
    conversation.database.exec(
      `UPDATE events SET lines = replace(lines, '{"type":"run.finished"', 'x') WHERE run = '${runId(0)}'`,
    )
    conversation.live()
    expect(await conversation.object.record(runId(0), 0)).toMatchObject({
      record: { status: 'completed', answer: 'Done.' },
    })
    expect(setAside(conversation)).toMatchObject([{ table: 'events' }])
    await conversation.object.record(runId(0), 0)
    expect(setAside(conversation)).toHaveLength(1)
  })

  test('in a run in progress fails the run once, without repeated calls, and the next run starts', async () => {
    let count = 0
    const start = Promise.withResolvers<void>()
    const pays = () => {
      count += 1
      start.resolve()
      return new Promise(() => {})
    }
    const conversation = new TestConversation(() => ask(['pays']), [tool('pays', pays)])
    await conversation.start(0)
    await start.promise
    conversation.database.exec(
      `UPDATE events SET lines = replace(lines, '{"type":"call.started"', 'x') WHERE run = '${runId(0)}'`,
    )
    conversation.live()
    expect(await conversation.object.record(runId(0), 10_000)).toMatchObject({
      record: { status: 'failed', error: { code: 'run_lost' } },
    })
    expect(count).toBe(1)
    conversation.answer = () => say('Next.')
    await conversation.run(1)
    expect(conversation.store.runs.record(runId(1))?.answer).toBe('Next.')
  })

  test('that has valid JSON of another shape, in a waiting run, fails the run, and the conversation opens', async () => {
    const conversation = new TestConversation(() => ask(['pays']), [tool('pays', () => 'paid', { approval: 'always' })])
    await conversation.run(0)
    conversation.database.exec(`UPDATE events SET lines = replace(lines, '"calls":[', '"called":[')`)
    conversation.answer = () => say('Next.')
    conversation.live()
    await conversation.run(1)
    expect(conversation.store.runs.record(runId(0))).toMatchObject({ status: 'failed', error: { code: 'run_lost' } })
    expect(conversation.store.runs.record(runId(1))?.answer).toBe('Next.')
  })

  test.each(['runs SET request', 'toolsets SET definitions'])(
    'in %s fails the run, and the conversation opens',
    async (what) => {
      const conversation = await talked()
      conversation.answer = () => say('Next.')
      conversation.database.exec("UPDATE runs SET record = NULL, status = 'queued', ended = NULL WHERE id LIKE '%1'")
      conversation.database.exec(`UPDATE ${what} = '{"half'`)
      conversation.live()
      await new Promise(setImmediate)
      expect(types(await conversation.events(1)).at(-1)).toBe('run.finished')
      expect(await conversation.object.record(runId(1), 0)).toMatchObject({
        record: { status: 'failed', error: { code: 'run_lost' } },
      })
      expect(await conversation.object.runs({ limit: 10 })).toMatchObject({
        runs: [{ status: 'completed' }, { status: 'failed' }],
      })
      if (what.startsWith('runs')) {
        await conversation.run(2)
        expect(conversation.store.runs.record(runId(2))?.answer).toBe('Next.')
      }
      await conversation.ring()
    },
  )

  test('in the meta table does not keep the conversation from opening', async () => {
    const conversation = await talked()
    conversation.database.exec("UPDATE meta SET value = '{' WHERE key = 'usage'")
    conversation.database.exec("UPDATE meta SET value = 'two' WHERE key = 'version'")
    conversation.database.exec("INSERT INTO meta VALUES ('expires', 'soon')")
    conversation.live()
    await conversation.run(2)
    expect(await conversation.object.usage()).toMatchObject({ ok: true, runs: 1 })
    await conversation.ring()
    expect(conversation.store.life()).toBe('open')
  })
})

test('a row that cannot be read is set aside and reported once, however often it is read', async () => {
  const conversation = new TestConversation(() => say('Done.'))
  await conversation.run(0)
  conversation.database.exec(`UPDATE runs SET record = '{"id":'; UPDATE events SET lines = ''`)
  conversation.live()
  for (let time = 0; time < 3; time++) expect(await conversation.object.record(runId(0), 0)).toMatchObject({ ok: true })
  expect(conversation.rows('SELECT content FROM quarantine')).toEqual([{ content: '{"id":' }])
  expect(conversation.reports.filter(({ event }) => event === 'row.set_aside')).toHaveLength(1)
})
