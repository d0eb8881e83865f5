import { DatabaseSync } from 'node:sqlite'
import { expect, test } from 'vitest'
import { periodOf } from '../../src/contract/budget.ts'
import type { RunReport } from '../../src/contract/metrics.ts'
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

/** The tables of counted runs that earlier versions have made. */
const EARLIER = {
  time: `CREATE TABLE counted (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS counted_at ON counted (at);
    INSERT INTO counted SELECT 'a', at FROM report`,
  day: `CREATE TABLE counted (day TEXT NOT NULL, run TEXT NOT NULL, PRIMARY KEY (day, run)) WITHOUT ROWID;
    INSERT INTO counted SELECT date(at / 1000, 'unixepoch'), 'a' FROM report`,
}

test.each(['time', 'day'] as const)('a directory that has counted runs by %s counts none of them again', async (by) => {
  const database = new DatabaseSync(':memory:')
  const at = Date.now()
  database.exec(`CREATE TABLE report (at INTEGER); INSERT INTO report VALUES (${at}); ${EARLIER[by]}`)
  const directory = makeDirectory(database)
  const report = reportAt(at)
  expect(await directory.countRuns([report('a'), report('b')])).toEqual([false, true])
  expect(await makeDirectory(database).countRuns([report('a'), report('b')])).toEqual([false, false])
  const [day = ''] = new Date(at).toISOString().split('T')
  expect(await directory.usage(day, day, 'key')).toMatchObject([{ name: 'k', runs: 1 }])
  const midnight = Date.parse(day)
  expect(database.prepare('SELECT run, at FROM counted ORDER BY run').all()).toEqual([
    { run: 'a', at: midnight },
    { run: 'b', at: midnight },
  ])
})

test('the first version of the table can be rolled back to, and what it counts meanwhile is not counted again', async () => {
  const database = new DatabaseSync(':memory:')
  const at = Date.now()
  const report = reportAt(at)
  expect(await makeDirectory(database).countRuns([report('a')])).toEqual([true])
  // What that version executes as it starts, as it counts a run and as it sums runs up.
  database.exec(`
    CREATE TABLE IF NOT EXISTS counted (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
    CREATE INDEX IF NOT EXISTS counted_at ON counted (at);
    INSERT OR IGNORE INTO counted VALUES ('b', ${at});
    DELETE FROM counted WHERE at < ${at - 31 * 86_400_000}`)
  const directory = makeDirectory(database)
  expect(await directory.countRuns([report('a'), report('b'), report('c')])).toEqual([false, false, true])
  expect(database.prepare("SELECT name FROM sqlite_master WHERE name = 'counted_at'").all()).toEqual([])
})

function reportAt(at: number): (run: string) => RunReport {
  const usage = { inputTokens: 1, outputTokens: 1 }
  return (run) => ({ run, at, shares: [{ by: 'key', name: 'k', calls: 0, usage }], series: [] })
}
