import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isTerminal } from '../../src/contract/run.ts'
import { repair } from '../../src/conversation/history/repair.ts'
import { Chance } from '../faults/chance.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'

const MINUTE = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: MINUTE }))
afterEach(() => void vi.useRealTimers())

async function settle(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve))
}

function newConversation(): TestConversation {
  const there = new TestConversation(
    ({ messages, tools }) => {
      const last = messages.at(-1)
      if (last?.role === 'tool' || tools.length === 0) return say('Done.')
      return last?.content === 'pay'
        ? ask(['pays'])
        : last?.content === 'work'
          ? ask(['look'], ['slow'])
          : say('Hello.')
    },
    [
      tool('look', () => 'x'.repeat(80_000)),
      tool('slow', () => new Promise((resolve) => setTimeout(resolve, 5, 'late')), { timeoutMs: 1 }),
      tool('pays', () => 'paid', { approval: 'always' }),
    ],
  )
  there.webhook = { secret: 's', hosts: [] }
  return there
}

/** A conversation with a row in every table: two turns, a late outcome, a cut result, a run that waits, one behind it. */
async function fullConversation(): Promise<TestConversation> {
  const there = newConversation()
  const settings = {
    ttlSeconds: 90_000,
    webhook: 'https://hooks.example.com/',
    system: 'Be brief.',
    window: { messages: 50 },
  }
  await there.object.create({ tenant: 'acme', id: 'conv_1', settings })
  await there.run(0, 'work')
  await new Promise((resolve) => setTimeout(resolve, 10))
  await there.run(1)
  await there.start(2, { request: { input: [{ role: 'user', content: 'pay' }] } })
  await settle()
  await there.start(3, { onBusy: 'steer', request: { fingerprint: 'f' } })
  await there.start(4)
  there.store.setMeta('summary', { text: 'Notes.', upTo: 3 })
  there.store.setMeta('owed', [{ tenant: 'acme', spend: { run: runId(0), key: 'k', at: 1, tokens: 1, cost: 0 } }])
  await settle()
  return there
}

/** Values of no use in any column. */
const VALUES = [
  null,
  5,
  -1,
  1e300,
  '',
  'x',
  '@9/1',
  '{}',
  '[]',
  '5',
  '"x"',
  'null',
  '[null]',
  '{"role":"user"}',
  '{"type":5}',
]
/** Values of no use as members of stored JSON. */
const MEMBERS = [null, 5, -1, 'x', true, [], {}, [5], { a: 5 }]

/** The same value with each of its members, one at a time, replaced by each of the wrong ones. */
function* mutated(value: unknown, depth = 0): Generator {
  if (depth > 3 || typeof value !== 'object' || value === null) return
  for (const [key, member] of Object.entries(value)) {
    const others = [...MEMBERS.map((each) => each as unknown), ...mutated(member, depth + 1)]
    for (const other of others) {
      const copy: any = Array.isArray(value) ? [...value] : { ...value }
      copy[key] = other
      yield copy
    }
  }
}

/** Does with a conversation whatever people and the platform do, and says what was against the contract. */
async function faultOf(there: TestConversation): Promise<string | undefined> {
  try {
    there.live()
    await settle()
    const requests = there.requests.length
    await there.object.messages({ limit: 100, fullResults: true })
    const runs = await there.object.runs({ limit: 100 })
    for (const { id } of runs.ok ? runs.runs : []) {
      await there.object.record(id, 0)
      const events = await there.object.events(id, 0)
      if (events.ok) await new Response(events.stream).text().catch(() => {})
      if (id === runId(2)) await there.object.cancel(runId(2))
    }
    const exported = await there.object.export()
    if (exported.ok) await new Response(exported.stream).text()
    await there.object.usage()
    there.alarmAt = Math.min(there.alarmAt, Date.now())
    await there.ring()
    await settle()
    const started = await there.start('next')
    if (!started.ok)
      return ['unknown_conversation', 'conversation_deleted'].includes(started.code)
        ? undefined
        : `start: ${started.code}`
    for (let ring = 0; ring < 8 && !isTerminal(there.store.runs.row(runId('next'))?.status ?? 'queued'); ring++) {
      await settle()
      if (there.store.runs.row(runId('next'))?.status === 'queued') {
        const others = there.store.runs.unfinished().filter((id) => id !== runId('next'))
        await Promise.all(others.map((id) => there.object.cancel(id)))
      }
      if (there.alarmAt < Infinity) await there.ring()
    }
    if (there.store.life() !== 'open') return undefined
    const { status } = there.store.runs.row(runId('next')) ?? {}
    if (status !== 'completed')
      return `the next turn is ${status}: ${JSON.stringify(there.store.runs.record(runId('next')))}`
    for (const { messages } of there.requests.slice(requests)) {
      if (repair(messages).dropped + repair(messages).filled > 0) return `the model got ${JSON.stringify(messages)}`
      for (const message of messages) {
        if (typeof message.content !== 'string' && !Array.isArray(message.content))
          return `the model got ${JSON.stringify(message)}`
      }
    }
    if (!(there.alarmAt > 0)) return `the alarm is at ${there.alarmAt}`
    const failed = there.reports.find(({ event }) => event === 'conversation.failed' || event === 'run.interrupted')
    return failed && JSON.stringify(failed)
  } catch (error) {
    return error instanceof Error ? (error.stack ?? error.message) : String(error)
  }
}

type Row = Record<string, unknown>

interface Damage {
  readonly row: Row
  readonly column: string
  readonly value: unknown
}

describe('a conversation with a row of the wrong shape', () => {
  test('accepts the next turn and shows the model a valid history, whichever column it is', async () => {
    const there = await fullConversation()
    const tables = there
      .rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .map(({ name }) => String(name))
    const snapshot = new Map(tables.map((table) => [table, there.rows(`SELECT * FROM ${table}`)]))
    const chance = new Chance(SEED)
    const faults: string[] = []
    for (const [table, rows] of snapshot) {
      for (const column of Object.keys(rows[0] ?? {})) {
        const cases = rows.flatMap((row) => [...VALUES, ...mutatedTexts(row[column])].map((value) => ({ row, value })))
        for (let draw = 0; draw < DRAWS && cases.length > 0; draw++) {
          const [{ row, value }] = cases.splice(chance.between(0, cases.length - 1), 1) as [(typeof cases)[number]]
          const copy = restore(snapshot)
          if (!put(copy, table, { row, column, value })) continue
          const fault = await Promise.race([faultOf(copy), hanging()])
          if (fault !== undefined) faults.push(`${table}.${column} = ${JSON.stringify(value)}: ${fault}`)
        }
      }
    }
    expect(faults, `seed ${SEED}`).toEqual([])
  }, 120_000)
})

/** Set both to try other values, and more of them. */
const SEED = Number(process.env['FUZZ_SEED'] ?? 1)
const DRAWS = Number(process.env['FUZZ_DRAWS'] ?? 3)

const hanging = () => new Promise<string>((resolve) => setTimeout(resolve, 5000, 'it hangs'))

function mutatedTexts(text: unknown): string[] {
  if (typeof text !== 'string') return []
  try {
    return [...mutated(JSON.parse(text))].map((value) => JSON.stringify(value))
  } catch {
    return []
  }
}

/** Makes a conversation with these rows. */
function restore(snapshot: ReadonlyMap<string, Row[]>): TestConversation {
  const there = newConversation()
  there.store.create()
  vi.setSystemTime(2 * MINUTE)
  there.database.exec('PRAGMA foreign_keys = off; DELETE FROM meta')
  for (const [table, rows] of snapshot) {
    for (const row of rows) {
      const columns = Object.keys(row)
      const values = columns.map((column) => row[column] as string)
      there.database
        .prepare(`INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`)
        .run(...values)
    }
  }
  return there
}

/** Writes the value into one row. Returns false if the schema of the table refuses it. */
function put(there: TestConversation, table: string, { row, column, value }: Damage): boolean {
  const where = Object.keys(row).map((name) => `${name} IS ?`)
  try {
    there.database
      .prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where.join(' AND ')}`)
      .run(value as string, ...(Object.values(row) as string[]))
    return true
  } catch {
    return false
  }
}
