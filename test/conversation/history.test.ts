import { DatabaseSync } from 'node:sqlite'
import { describe, expect, test } from 'vitest'
import type { WindowOptions } from '../../src/contract/conversation.ts'
import type { Message } from '../../src/contract/message.ts'
import { historyBefore, repair } from '../../src/conversation/history.ts'
import { Store } from '../../src/conversation/store/store.ts'
import { requestOf } from '../fixtures/play.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'

const WINDOW: WindowOptions = { messages: 200, tokens: 100_000, show: 'all', summary: false }

/** The messages of a turn with that many calls, each a step. */
function turn(name: string, calls = 0): Message[] {
  const steps = Array.from({ length: calls }, (_, at): Message[] => [
    { role: 'assistant', content: '', calls: [{ callId: `${name}${at}`, tool: 'look', arguments: '{}' }] },
    result(`${name}${at}`),
  ])
  return [{ role: 'user', content: `ask ${name}` }, ...steps.flat(), { role: 'assistant', content: `answer ${name}` }]
}

function result(callId: string): Message {
  return { role: 'tool', callId, tool: 'look', ok: true, content: [{ type: 'text', text: 'seen' }] }
}

/** Repairs messages at the positions from 0. */
function repaired(messages: readonly Message[]) {
  const history = repair(messages.map((message, position) => ({ position, message })))
  return { ...history, messages: history.messages.map(({ message }) => message) }
}

describe('a history', () => {
  const [user, calls, inputs, answer] = turn('a', 1) as [Message, Message, Message, Message]

  test('that is valid is unchanged', () => {
    const messages = [...turn('a', 2), ...turn('b')]
    expect(repaired(messages)).toEqual({ messages, dropped: 0, filled: 0 })
  })

  test('loses results without a call, duplicate results and misplaced ones', () => {
    const messages = [result('x'), user, calls, result('x'), inputs, inputs, answer, inputs]
    expect(repaired(messages)).toEqual({ messages: [user, calls, inputs, answer], dropped: 4, filled: 0 })
  })

  test('gets missing results filled in, and results in the order of their calls', () => {
    const two = {
      ...calls,
      calls: ['a0', 'a1', 'a2'].map((callId) => ({ callId, tool: 'look', arguments: '' })),
    } as Message
    const { messages, dropped, filled } = repaired([user, two, result('a2'), inputs, answer])
    expect([dropped, filled]).toEqual([0, 1])
    expect(messages.map((message) => ('callId' in message ? message.callId : message.role))).toEqual([
      'user',
      'assistant',
      'a0',
      'a1',
      'a2',
      'assistant',
    ])
    expect(messages[3]).toMatchObject({ ok: false, content: [{ text: expect.stringContaining('interrupted') }] })
  })
})

describe('a conversation of 10,000 messages', () => {
  const database = new DatabaseSync(':memory:')
  let rows = 0
  const queries = new Set<string>()
  const storage = memoryStorage(database)
  const { sql } = storage
  const counted = {
    ...storage,
    sql: {
      exec: (query: string, ...values: unknown[]) => {
        const cursor = sql.exec(query, ...values)
        const all = cursor.toArray()
        if (query.includes('message')) rows += all.length
        if (query.startsWith('SELECT')) queries.add(query)
        return { toArray: () => all, one: () => all[0] }
      },
    },
  } as unknown as DurableObjectStorage
  const store = new Store(counted)
  store.create()
  const turns = 1000
  database.exec('BEGIN')
  for (let place = 1; place <= turns; place++) {
    const system: Message[] = place === 1 ? [{ role: 'system', content: 'rule' }] : []
    store.runs.add(requestOf({ runId: `run_${place}` }), '[]', 0)
    store.messages.append(place, `run_${place}`, 0, [...system, ...turn(String(place), 4)])
  }
  database.exec('COMMIT')

  /** The rows that are read for a run's history. */
  function read(options: Partial<WindowOptions> = {}): { rows: number; visible: number } {
    rows = 0
    store.messages.forget()
    const { messages } = historyBefore(store.messages, turns + 1, {
      options: { ...WINDOW, ...options },
      isSliding: true,
    })
    return { rows, visible: messages.length }
  }

  test('is read again only for what was added since, or as a whole if messages before were hidden', () => {
    const rowsAt = (place: number) => {
      rows = 0
      const { messages, from } = historyBefore(store.messages, place, { options: WINDOW, isSliding: true })
      return { rows, visible: messages.length, last: messages.at(-1)?.message, from }
    }
    expect(read()).toEqual({ rows: 301, visible: 201 })
    database.exec('SAVEPOINT before')
    store.messages.append(turns + 1, 'run_next', 0, turn('next'))
    const window = { visible: 193, last: turn('next').at(-1), from: 982_000_000 }
    expect(rowsAt(turns + 2)).toEqual({ rows: 3, ...window })
    expect(rowsAt(turns + 2)).toEqual({ rows: 1, ...window })
    store.messages.forget()
    expect(rowsAt(turns + 2)).toEqual({ rows: 301, ...window })
    store.messages.retire(turns + 1, turns + 2)
    expect(rowsAt(turns + 2)).toEqual({
      ...{ rows: 301, visible: 201, last: turn(String(turns), 4).at(-1), from: 981_000_000 },
    })
    database.exec('ROLLBACK TO before')
    store.messages.forget()
  })

  test('is read only as far as the window reaches', () => {
    expect(read()).toEqual({ rows: 301, visible: 201 })
    expect(read({ messages: 20 })).toEqual({ rows: 101, visible: 21 })
    expect(read({ messages: 15 })).toEqual({ rows: 101, visible: 11 })
    expect(read({ tokens: 500 })).toEqual({ rows: 101, visible: 61 })
    expect(read({ show: 'answers' })).toEqual({ rows: 301, visible: 201 })
    expect(read({ show: 'none' })).toEqual({ rows: 0, visible: 0 })
  })

  test('is looked up only by indexed keys', async () => {
    queries.clear()
    const run = `run_${turns}`
    for (let row = 0; row < 3; row++) store.events.append(run, row * 10 + 1, row * 10 + 10, ['{}'])
    read()
    store.messages.page(5_000_000, 10)
    store.messages.countOf(5)
    store.runs.get(run)
    store.runs.unfinished()
    store.runs.unpruned()
    store.runs.lastNumber(run)
    store.runs.list(run, 10)
    expect([...store.events.after(run, 15)]).toHaveLength(2)
    const plans = [...queries].flatMap((query) =>
      database
        .prepare(`EXPLAIN QUERY PLAN ${query}`)
        .all()
        .map(({ detail }) => String(detail)),
    )
    expect(queries.size).toBeGreaterThan(9)
    // What is walked through is an index of the runs that have not ended, or not long ago.
    const walks = plans.filter((plan) => plan.startsWith('SCAN') && !plan.includes('CONSTANT'))
    expect(new Set(walks)).toEqual(new Set(['SCAN runs USING INDEX runs_unpruned']))
    expect(plans.filter((plan) => plan.includes('events') && !plan.includes('(run=?)'))).toEqual([
      'SEARCH events USING PRIMARY KEY (run=? AND first>?)',
      expect.stringContaining('run=? AND first<?'),
    ])
  })

  test('returns its messages by pages', () => {
    rows = 0
    const page = store.messages.page(Number.MAX_SAFE_INTEGER, 100)
    expect([page.length, rows]).toEqual([100, 100])
    expect(page.map(({ position }) => position)).toEqual(page.map(({ position }) => position).sort((a, b) => a - b))
  })
})
