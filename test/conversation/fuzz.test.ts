import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { isTerminal } from '../../src/contract/run.ts'
import { repair } from '../../src/conversation/history.ts'
import { Chance } from '../faults/chance.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { runId, TestConversation } from './object.ts'
import { settle } from '../fixtures/settle.ts'

const MINUTE = 60_000

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: MINUTE }))
afterEach(() => void vi.useRealTimers())

function newConversation(): TestConversation {
  const conversation = new TestConversation(
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
  conversation.webhook = { secret: 's', hosts: [] }
  return conversation
}

/** A conversation with a row in every table: two turns, a late outcome, a cut result, a run that waits, one behind it. */
async function fullConversation(): Promise<TestConversation> {
  const conversation = newConversation()
  const settings = {
    ttlSeconds: 90_000,
    webhook: 'https://hooks.example.com/',
    system: 'Be brief.',
    window: { messages: 50 },
  }
  await conversation.object.create({ tenant: 'acme', id: 'conv_1', settings })
  await conversation.run(0, 'work')
  await new Promise((resolve) => setTimeout(resolve, 10))
  await conversation.run(1)
  await conversation.start(2, { request: { input: [{ role: 'user', content: 'pay' }] } })
  await settle()
  await conversation.start(3, { onBusy: 'steer', request: { fingerprint: 'f' } })
  await conversation.start(4)
  conversation.store.setMeta('summary', { text: 'Notes.', upTo: 3 })
  conversation.store.setMeta('owed', [
    { tenant: 'acme', spend: { run: runId(0), key: 'k', at: 1, tokens: 1, cost: 0 } },
  ])
  await settle()
  return conversation
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
async function faultOf(conversation: TestConversation): Promise<string | undefined> {
  try {
    conversation.live()
    await settle()
    const requests = conversation.requests.length
    await conversation.object.messages({ limit: 100, fullResults: true })
    const runs = await conversation.object.runs({ limit: 100 })
    for (const { id } of runs.ok ? runs.runs : []) {
      await conversation.object.record(id, 0)
      const events = await conversation.object.events(id, 0)
      if (events.ok) await new Response(events.stream).text().catch(() => {})
      if (id === runId(2)) await conversation.object.cancel(runId(2))
    }
    const exported = await conversation.object.export()
    if (exported.ok) await new Response(exported.stream).text()
    await conversation.object.usage()
    conversation.alarmAt = Math.min(conversation.alarmAt, Date.now())
    await conversation.ring()
    await settle()
    const started = await conversation.start('next')
    if (!started.ok)
      return ['unknown_conversation', 'conversation_deleted'].includes(started.code)
        ? undefined
        : `start: ${started.code}`
    for (
      let ring = 0;
      ring < 8 && !isTerminal(conversation.store.runs.row(runId('next'))?.status ?? 'queued');
      ring++
    ) {
      await settle()
      if (conversation.store.runs.row(runId('next'))?.status === 'queued') {
        const others = conversation.store.runs.unfinished().filter((id) => id !== runId('next'))
        await Promise.all(others.map((id) => conversation.object.cancel(id)))
      }
      if (conversation.alarmAt < Infinity) await conversation.ring()
    }
    if (conversation.store.life() !== 'open') return undefined
    const { status } = conversation.store.runs.row(runId('next')) ?? {}
    if (status !== 'completed')
      return `the next turn is ${status}: ${JSON.stringify(conversation.store.runs.record(runId('next')))}`
    for (const { messages } of conversation.requests.slice(requests)) {
      const { dropped, filled } = repair(messages.map((message, position) => ({ position, message })))
      if (dropped + filled > 0) return `the model got ${JSON.stringify(messages)}`
      for (const message of messages) {
        if (typeof message.content !== 'string' && !Array.isArray(message.content))
          return `the model got ${JSON.stringify(message)}`
      }
    }
    if (!(conversation.alarmAt > 0)) return `the alarm is at ${conversation.alarmAt}`
    const failed = conversation.reports.find(
      ({ event }) => event === 'conversation.failed' || event === 'run.interrupted',
    )
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
    const conversation = await fullConversation()
    const tables = conversation
      .rows("SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'")
      .map(({ name }) => String(name))
    const snapshot = new Map(tables.map((table) => [table, conversation.rows(`SELECT * FROM ${table}`)]))
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
  })
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
  const conversation = newConversation()
  conversation.store.create()
  // The first fault creates the table.
  conversation.store.faults.add('run', { at: 0, code: 'first' })
  vi.setSystemTime(2 * MINUTE)
  conversation.database.exec('PRAGMA foreign_keys = off; DELETE FROM meta; DELETE FROM faults')
  for (const [table, rows] of snapshot) {
    for (const row of rows) {
      const columns = Object.keys(row)
      const values = columns.map((column) => row[column] as string)
      conversation.database
        .prepare(`INSERT INTO ${table} (${columns.join()}) VALUES (${columns.map(() => '?').join()})`)
        .run(...values)
    }
  }
  return conversation
}

/** Writes the value into one row. Returns false if the schema of the table refuses it. */
function put(conversation: TestConversation, table: string, { row, column, value }: Damage): boolean {
  const where = Object.keys(row).map((name) => `${name} IS ?`)
  try {
    conversation.database
      .prepare(`UPDATE ${table} SET ${column} = ? WHERE ${where.join(' AND ')}`)
      .run(value as string, ...(Object.values(row) as string[]))
    return true
  } catch {
    return false
  }
}
