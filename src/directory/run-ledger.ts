import { LazySchema } from '../contract/lazy-schema.ts'
import type { RunReport, Series, UsageKind, UsageRow, UsageShare } from '../contract/metrics.ts'
import { addUsage, NO_USAGE } from '../contract/usage.ts'

const DAY_MS = 24 * 60 * 60 * 1000
/** How long the ids of counted runs are stored. A run that is reported later is not counted. */
const KNOWN_MS = 31 * DAY_MS
/** How many days of usage are stored. */
const MOST_DAYS = 400
/**
 * The most names of one kind on a day, and the most series. Usage of further names is counted as `other`; further
 * series are not counted.
 */
const MOST_NAMES = 1000
/** The most rows of usage by day that are returned. */
const MOST_ROWS = 10_000
const MOST_SERIES = 5000

/** How many reports are stored before they are added to the sums, all at once. */
const MOST_REPORTS = 50

/**
 * counted: the runs that were counted. `at` is the beginning of the day on which a run ended, in epoch milliseconds, which
 * a report that arrives again tells again; edges before 28 November 2026 write the exact time, and read no table without
 * that column. used: usage by day. series: metrics, since the first run. reports: the runs that are not in `used` and
 * `series` yet.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS counted (run TEXT NOT NULL, at INTEGER NOT NULL, PRIMARY KEY (at, run)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS used (day TEXT NOT NULL, by TEXT NOT NULL, name TEXT NOT NULL, runs INTEGER NOT NULL,
    calls INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cost REAL NOT NULL,
    cached INTEGER NOT NULL DEFAULT 0, written INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (day, by, name)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS series (name TEXT NOT NULL, labels TEXT NOT NULL, part TEXT NOT NULL, le REAL NOT NULL,
    value REAL NOT NULL, PRIMARY KEY (name, labels, part, le)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS reports (id INTEGER PRIMARY KEY, report TEXT NOT NULL);`

/**
 * What the runs of a tenant did and spent: its usage by day, and its metrics. A report changes about twenty sums, so
 * reports are stored as they arrive, and the sums are written for many of them at once.
 */
export class RunLedger {
  readonly #storage: DurableObjectStorage
  readonly #schema: LazySchema
  /** The number of stored reports; undefined before they were counted. */
  #reports: number | undefined

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#schema = new LazySchema(storage.sql, 'counted', () => migrate(storage.sql))
  }

  /** Counts a run. Returns false, and counts nothing, if it was counted before. */
  count(report: RunReport, now: number): boolean {
    const { run, at } = report
    if (at < now - KNOWN_MS) return false
    this.#schema.ensure()
    const { sql } = this.#storage
    const reports = (this.#reports ?? this.#countOf('SELECT count(*) AS count FROM reports')) + 1
    const isNew = this.#storage.transactionSync(() => {
      const rows = sql.exec(COUNT_RUN, run, startOfDay(at), at).toArray()
      if (rows.length > 0) sql.exec('INSERT INTO reports (report) VALUES (?)', JSON.stringify(report))
      return rows.length > 0
    })
    if (!isNew) return false
    this.#reports = reports
    if (reports >= MOST_REPORTS) this.#sumUp(now)
    return true
  }

  /**
   * Returns the usage from one day to another, both included, the greatest cost first; with `perDay` that of each day by
   * itself, the oldest first.
   */
  usage({ from, to, by, perDay }: UsageQuery, now: number): UsageRow[] {
    if (!this.#schema.isCreated) return []
    this.#sumUp(now)
    const day = perDay ? 'day, ' : ''
    const query = `SELECT ${day}name, sum(runs) AS runs, sum(calls) AS calls, sum(input) AS inputTokens,
      sum(cached) AS cachedInputTokens, sum(written) AS cacheWriteTokens, sum(output) AS outputTokens, sum(cost) AS cost
      FROM used WHERE by = ? AND day >= ? AND day <= ?
      GROUP BY ${day}name ORDER BY ${day}cost DESC, runs DESC, name LIMIT ${perDay ? MOST_ROWS : MOST_NAMES}`
    return this.#storage.sql.exec<UsageRow & Record<string, SqlStorageValue>>(query, by, from, to).toArray()
  }

  series(now: number): Series[] {
    if (!this.#schema.isCreated) return []
    this.#sumUp(now)
    const query = 'SELECT name, labels, part, le, value FROM series ORDER BY name, labels, part, le'
    return this.#storage.sql.exec<Series & Record<string, SqlStorageValue>>(query).toArray()
  }

  /** Adds the stored reports to the sums, and deletes them and what is too old. */
  #sumUp(now: number): void {
    if (this.#reports === 0) return
    const { sql } = this.#storage
    this.#storage.transactionSync(() => {
      const rows = sql.exec<{ report: string }>('SELECT report FROM reports ORDER BY id').toArray()
      const reports = rows.map(({ report }): RunReport => JSON.parse(report))
      this.#addUsage(reports)
      this.#addSeries(reports)
      sql.exec('DELETE FROM reports')
      sql.exec('DELETE FROM counted WHERE at < ?', startOfDay(now - KNOWN_MS))
      sql.exec('DELETE FROM used WHERE day < ?', dayOf(now - MOST_DAYS * DAY_MS))
    })
    this.#reports = 0
  }

  #addUsage(reports: readonly RunReport[]): void {
    const sums = new Map<string, Sum>()
    for (const { at, shares } of reports) {
      const day = dayOf(at)
      for (const { by, name, calls, usage } of shares) {
        const id = JSON.stringify([day, by, name])
        const sum = sums.get(id) ?? { day, by, name, runs: 0, calls: 0, usage: NO_USAGE }
        sums.set(id, { ...sum, runs: sum.runs + 1, calls: sum.calls + calls, usage: addUsage(sum.usage, usage) })
      }
    }
    for (const { day, by, name, runs, calls, usage } of sums.values()) {
      const { inputTokens, outputTokens, cost = 0, cachedInputTokens = 0, cacheWriteTokens = 0 } = usage
      const sums = [runs, calls, inputTokens, outputTokens, cost, cachedInputTokens, cacheWriteTokens]
      const row = [day, by, this.#nameOn(day, by, name), ...sums]
      this.#storage.sql.exec(ADD_USAGE, ...row)
    }
  }

  #addSeries(reports: readonly RunReport[]): void {
    const sums = new Map<string, Series>()
    for (const each of reports.flatMap(({ series }) => series)) {
      const id = JSON.stringify([each.name, each.labels, each.part, each.le])
      sums.set(id, { ...each, value: each.value + (sums.get(id)?.value ?? 0) })
    }
    let count = this.#countOf('SELECT count(*) AS count FROM series')
    for (const { name, labels, part, le, value } of sums.values()) {
      const isRaised = this.#storage.sql.exec(RAISE_SERIES, name, labels, part, le, value).toArray().length > 0
      if (isRaised || count >= MOST_SERIES) continue
      this.#storage.sql.exec('INSERT INTO series VALUES (?, ?, ?, ?, ?)', name, labels, part, le, value)
      count += 1
    }
  }

  #nameOn(day: string, by: UsageKind, name: string): string {
    const query = 'SELECT count(*) AS count FROM used WHERE day = ? AND by = ? AND name = ?'
    if (this.#countOf(query, day, by, name) > 0) return name
    const names = this.#countOf('SELECT count(*) AS count FROM used WHERE day = ? AND by = ?', day, by)
    return names < MOST_NAMES - 1 ? name : 'other'
  }

  #countOf(query: string, ...values: SqlStorageValue[]): number {
    return this.#storage.sql.exec<{ count: number }>(query, ...values).one().count
  }
}

/** Which usage is wanted. The days are in UTC, such as `2026-02-28`, and both are included. */
interface UsageQuery {
  readonly from: string
  readonly to: string
  readonly by: UsageKind
  /** Whether the usage of each day is wanted by itself. Default: that of all days together. */
  readonly perDay?: boolean | undefined
}

/**
 * Creates the tables, and adds what tables of an earlier version lack. All earlier versions can read them afterwards: the
 * first ones create an index of `counted` again, and those after them convert the table for themselves.
 */
function migrate(sql: SqlStorage): void {
  const has = (table: string, text: string) =>
    sql.exec('SELECT 1 FROM sqlite_master WHERE name = ? AND instr(sql, ?) > 0', table, text).toArray().length > 0
  const time = has('counted', 'day TEXT') ? 'unixepoch(day) * 1000' : `at - at % ${DAY_MS}`
  const isEarlier = has('counted', '(') && !has('counted', 'PRIMARY KEY (at, run)')
  sql.exec('DROP INDEX IF EXISTS counted_at')
  if (isEarlier) sql.exec('ALTER TABLE counted RENAME TO counted_before')
  sql.exec(SCHEMA)
  if (isEarlier) sql.exec(`INSERT INTO counted SELECT run, ${time} FROM counted_before; DROP TABLE counted_before`)
  for (const column of ['cached', 'written']) {
    if (has('used', ` ${column} INTEGER`)) continue
    sql.exec(`ALTER TABLE used ADD COLUMN ${column} INTEGER NOT NULL DEFAULT 0`)
  }
}

/** Returns no row if the run is counted, by this edge or with its exact time by an earlier one. */
const COUNT_RUN = `INSERT OR IGNORE INTO counted (run, at) SELECT ?1, ?2
  WHERE NOT EXISTS (SELECT 1 FROM counted WHERE run = ?1 AND at = ?3) RETURNING run`

interface Sum extends UsageShare {
  readonly day: string
  readonly runs: number
}

const ADD_USAGE = `INSERT INTO used (day, by, name, runs, calls, input, output, cost, cached, written)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET runs = runs + ?4,
  calls = calls + ?5, input = input + ?6, output = output + ?7, cost = cost + ?8, cached = cached + ?9,
  written = written + ?10`
const RAISE_SERIES =
  'UPDATE series SET value = value + ?5 WHERE name = ?1 AND labels = ?2 AND part = ?3 AND le = ?4 RETURNING name'

function startOfDay(time: number): number {
  return time - (time % DAY_MS)
}

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
