import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { periodOf } from '../../src/contract/budget.ts'
import { SpendLedger } from '../../src/directory/budget-ledger.ts'
import { makeDirectory } from '../fixtures/directories.ts'
import { memoryStorage } from '../fixtures/sqlite.ts'

const at = (time: string) => Date.parse(time)

function book(database = new DatabaseSync(':memory:')) {
  const ledger = new SpendLedger(memoryStorage(database))
  return {
    database,
    count: (run: string, time: string, { key = 'k', tokens = 10, cost = 0.5, now = time } = {}) =>
      ledger.count({ run, key, at: at(time), tokens, cost }, at(now)),
    totals: (per: 'day' | 'month', time: string, key = 'k') => ledger.totals(`${key}/${periodOf(per, at(time)).from}`),
    ids: () =>
      database
        .prepare('SELECT id FROM spent ORDER BY id')
        .all()
        .map(({ id }) => id),
  }
}

test('the ledger sums the usage of a key’s runs by day and by month', () => {
  const { count, totals } = book()
  count('a', '2026-01-31T23:59:59.999Z')
  count('b', '2026-02-01T00:00:00Z')
  count('c', '2026-02-02T00:00:00Z', { tokens: 7, cost: 0 })
  count('d', '2026-02-02T12:00:00Z', { key: 'other' })
  expect(totals('day', '2026-02-01T05:00:00Z')).toEqual({ tokens: 10, cost: 0.5, runs: 1 })
  expect(totals('month', '2026-02-28T00:00:00Z')).toEqual({ tokens: 17, cost: 0.5, runs: 2 })
  expect(totals('month', '2026-01-01T00:00:00Z')).toEqual({ tokens: 10, cost: 0.5, runs: 1 })
  expect(totals('day', '2026-02-03T00:00:00Z')).toEqual({ tokens: 0, cost: 0, runs: 0 })
})

test('the ledger counts a run once, however often it is reported, and adds only later usage', () => {
  const { count, totals } = book()
  for (let time = 0; time < 3; time++) count('a', '2026-02-01T10:00:00Z')
  expect(totals('day', '2026-02-01T10:00:00Z')).toEqual({ tokens: 10, cost: 0.5, runs: 1 })
  count('a', '2026-02-02T10:00:00Z', { tokens: 25, cost: 2 })
  // What was told first may come last.
  count('a', '2026-02-01T10:00:00Z', { now: '2026-02-02T11:00:00Z' })
  expect(totals('day', '2026-02-02T10:00:00Z')).toEqual({ tokens: 15, cost: 1.5, runs: 0 })
  expect(totals('month', '2026-02-02T10:00:00Z')).toEqual({ tokens: 25, cost: 2, runs: 1 })
})

test('the ledger keeps a period and its runs to the end of the next period', () => {
  const { count, totals, ids } = book()
  count('a', '2026-01-01T00:00:00Z')
  count('b', '2026-02-28T23:59:59Z')
  expect(ids()).toEqual(['a', 'b', 'k/2026-01', 'k/2026-01-01', 'k/2026-02', 'k/2026-02-28'])
  count('c', '2026-04-30T00:00:00Z')
  expect(ids()).toEqual(['b', 'c', 'k/2026-02', 'k/2026-02-28', 'k/2026-04', 'k/2026-04-30'])
  // It may have been counted and forgotten.
  count('a', '2026-01-01T00:00:00Z', { now: '2026-04-30T00:00:00Z' })
  expect(totals('month', '2026-01-01T00:00:00Z').runs).toBe(0)
})

test('an older directory gets the ledger and keeps its list', async () => {
  const database = new DatabaseSync(':memory:')
  database.exec(
    "CREATE TABLE conversations (id TEXT PRIMARY KEY) WITHOUT ROWID; INSERT INTO conversations VALUES ('c')",
  )
  const directory = makeDirectory(database)
  const now = Date.now()
  await directory.count({ run: 'a', key: 'k', at: now, tokens: 3, cost: 0 })
  expect(await directory.list('', 10)).toEqual(['c'])
  expect(await makeDirectory(database).spendTotals('k', periodOf('day', now).from)).toEqual({
    tokens: 3,
    cost: 0,
    runs: 1,
  })
})

test('an older directory, which has the runs that were counted by time, counts none of them again', async () => {
  const database = new DatabaseSync(':memory:')
  const at = Date.now()
  database.exec(`
    CREATE TABLE counted (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX counted_at ON counted (at);
    INSERT INTO counted VALUES ('a', ${at});`)
  const directory = makeDirectory(database)
  const usage = { inputTokens: 1, outputTokens: 1 }
  const report = { at, shares: [{ by: 'key' as const, name: 'k', calls: 0, usage }], series: [] }
  await directory.countRuns([
    { run: 'a', ...report },
    { run: 'b', ...report },
  ])
  const [day = ''] = new Date(at).toISOString().split('T')
  expect(await directory.usage(day, day, 'key')).toMatchObject([{ name: 'k', runs: 1 }])
  expect(database.prepare('SELECT day, run FROM counted ORDER BY run').all()).toEqual([
    { day, run: 'a' },
    { day, run: 'b' },
  ])
})
