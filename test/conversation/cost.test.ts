import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { NewsFilter } from '../../src/contract/conversation.ts'
import { ROWS_WRITTEN } from '../../src/contract/platform.ts'
import { makeDirectory } from '../fixtures/directories.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { manyTools } from '../bench/many-tools.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

// Bounds that do not depend on the machine; `npm run bench` measures time.
beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** The statements and transactions of a run, after another run in the same conversation. */
async function workOfRun(steps: number): Promise<{ statements: number; transactions: number }> {
  let answers = 0
  const conversation = new TestConversation(
    () => (answers++ % (steps + 1) < steps ? ask(['clock', { at: answers }]) : say('It is noon.')),
    [tool('clock', () => 'noon')],
  )
  await conversation.run(1)
  let [statements, transactions] = [0, 0]
  const prepare = conversation.database.prepare.bind(conversation.database)
  vi.spyOn(conversation.database, 'prepare').mockImplementation((query) => {
    statements += 1
    return prepare(query)
  })
  conversation.onTransaction = (moment) => (transactions += moment === 'before' ? 1 : 0)
  await conversation.start(2)
  await conversation.events(2)
  return { statements, transactions }
}

/** The rows that a run changes until it is pruned, without indexes, after another run in the same conversation. */
async function rowsOfRun(steps: number): Promise<number> {
  let answers = 0
  const conversation = new TestConversation(
    () => (answers++ % (steps + 1) < steps ? ask(['clock', { at: answers }]) : say('It is noon.')),
    [tool('clock', () => 'noon')],
  )
  conversation.reporters = [{ name: 'metrics', openBatch: () => ({ add: () => {}, send: async () => {} }) }]
  conversation.live()
  const perform = async (name: number) => {
    await conversation.start(name)
    await conversation.events(name)
    while (conversation.alarmAt < Infinity) await conversation.ring()
  }
  await perform(1)
  const changes = () => Number(conversation.rows('SELECT total_changes() AS changes')[0]?.['changes'])
  const before = changes()
  await perform(2)
  return changes() - before
}

/** The characters in all rows. */
function charactersIn(conversation: TestConversation): number {
  const tables = conversation.rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
  return tables.reduce(
    (sum, { name }) => sum + JSON.stringify(conversation.rows(`SELECT * FROM ${String(name)}`)).length,
    0,
  )
}

describe('a stored run', () => {
  test('takes at most 3 transactions and 19 statements, and 2 and 4 more for each step with a call', async () => {
    const [alone, withSteps] = [await workOfRun(0), await workOfRun(10)]
    expect(alone.transactions).toBeLessThanOrEqual(3)
    expect(alone.statements).toBeLessThanOrEqual(19)
    expect((withSteps.transactions - alone.transactions) / 10).toBeLessThanOrEqual(2)
    expect((withSteps.statements - alone.statements) / 10).toBeLessThanOrEqual(4)
  })

  test('writes as many rows as `edgecall cost` takes it to, until it is pruned', async () => {
    const [alone, withSteps] = [await rowsOfRun(0), await rowsOfRun(10)]
    // workerd counts two more: the new run in two indexes.
    expect(alone + 2).toBe(ROWS_WRITTEN.run)
    expect((withSteps - alone) / 10).toBe(ROWS_WRITTEN.stepWithCall)
  })

  test.each([0, 3, 300])(
    'sets its alarm when it begins and when it ends, although it takes %i seconds',
    async (seconds) => {
      const end = Promise.withResolvers<void>()
      const conversation = new TestConversation(async function* () {
        await end.promise
        yield* say('Done.')
      })
      conversation.reporters = [{ name: 'metrics', openBatch: () => ({ add: () => {}, send: async () => {} }) }]
      conversation.live()
      const began = Date.now()
      const alarms: number[] = []
      conversation.onSetAlarm = (time) => void alarms.push((time - began) / 1000)
      await conversation.start(1)
      await settle()
      while (conversation.alarmAt < began + seconds * 1000) await conversation.ring()
      vi.setSystemTime(began + seconds * 1000)
      end.resolve()
      await conversation.object.record(runId(1), 10_000)
      await settle()
      while (conversation.alarmAt < Infinity) await conversation.ring()
      expect(alarms).toEqual([0.5, seconds + 600])
    },
  )

  test('writes as many rows in the object of its tenant as `edgecall cost` takes it to', async () => {
    const database = new DatabaseSync(':memory:')
    const directory = makeDirectory(database)
    const [{ changes: before } = {}] = database.prepare('SELECT total_changes() AS changes').all()
    const usage = { inputTokens: 1, outputTokens: 1 }
    const shares = (['key', 'model', 'tool'] as const).map((by) => ({ by, name: 'n', calls: 2, usage }))
    const series = Array.from({ length: 25 }, (_, le) => ({
      ...{ name: 'edgecall_run_duration_seconds', labels: '', part: 'bucket' as const },
      ...{ le, value: 1 },
    }))
    for (let name = 0; name < 100; name += 1) {
      const entry = { id: runId(name), conversation: 'c', status: 'completed', question: 'Hello', model: 'm' } as const
      const run = { ...entry, created: 0, ended: 1, cost: 0, tools: [], errors: [] }
      const listing = { run, at: 1, approvals: [] }
      await directory.countRuns([{ run: runId(name), at: Date.now(), shares, series, listing }])
    }
    const [{ changes: after } = {}] = database.prepare('SELECT total_changes() AS changes').all()
    // workerd counts one more, an index of the list. What was counted is deleted after a month.
    expect(Math.round((Number(after) - Number(before)) / 100) + 2).toBe(ROWS_WRITTEN.listing + ROWS_WRITTEN.usage)
  })

  test('adds under 30,000 characters where 500 tools are on offer, after the first', async () => {
    const tools = manyTools(500).map((definition) => tool(definition.name, () => 'done', definition))
    const conversation = new TestConversation(() => say('Done.'), tools)
    await conversation.run(1)
    const after = charactersIn(conversation)
    expect(after).toBeGreaterThan(300_000)
    await conversation.run(2)
    expect(charactersIn(conversation) - after).toBeLessThan(30_000)
    // Another life of the object finds the list that is stored.
    conversation.live()
    await conversation.run(3)
    expect(charactersIn(conversation) - after).toBeLessThan(60_000)
  })
})

describe('a reader of a stored run', () => {
  const words = Array.from({ length: 50 }, (_, index) => ({ type: 'text', text: `word${index} ` }) as const)

  async function chunksOf(news?: NewsFilter): Promise<readonly string[]> {
    const pause = Promise.withResolvers<void>()
    let answers = 0
    const conversation = new TestConversation(async function* () {
      await pause.promise
      if (answers++ > 0) return yield* say('.')
      yield* words
      yield { type: 'call.delta', index: 0, tool: 'clock', arguments: '{' }
      yield* ask(['clock', {}])
    })
    await conversation.start(1)
    const reply = await conversation.object.events(runId(1), 0, news)
    if (!reply.ok) throw new Error(reply.code)
    const reader = reply.stream.pipeThrough(new TextDecoderStream()).getReader()
    const chunks: string[] = []
    let next = reader.read()
    // The first event is there before the model answers.
    if (news !== 'end') await next
    pause.resolve()
    for (let read = await next; !read.done; read = await next) {
      chunks.push(read.value)
      next = reader.read()
    }
    return chunks
  }

  test('gets what comes in one read from the model as one chunk', async () => {
    const chunks = await chunksOf()
    expect(chunks.join('').match(/event: text\.delta/g)).toHaveLength(51)
    expect(chunks.find((chunk) => chunk.includes('word0 '))).toContain('word49 ')
    expect(chunks.length).toBeLessThanOrEqual(5)
  })

  test('gets no news that it does not want', async () => {
    const [text, none] = [(await chunksOf('text')).join(''), (await chunksOf('none')).join('')]
    expect(text.match(/event: text\.delta/g)).toHaveLength(51)
    expect(text).not.toMatch(/event: call\.(?:delta|proposed)/)
    expect(none).not.toMatch(/event: (?:text\.delta|call\.(?:delta|proposed))/)
    expect(none).toContain('run.finished')
  })

  test('gets the facts as one chunk if it has a use for them only at the end', async () => {
    const chunks = await chunksOf('end')
    expect(chunks).toHaveLength(1)
    expect(chunks).toEqual([(await chunksOf('none')).join('')])
  })
})
