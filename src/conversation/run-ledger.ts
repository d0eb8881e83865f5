import type { RunReport, Series, UsageKind, UsageRow } from '../contract/metrics.ts'

/** How long it is known which runs were counted. A run that is reported later than that is not counted. */
const KNOWN_MS = 31 * 24 * 60 * 60 * 1000
/** How many days of usage are held. */
const MOST_DAYS = 400
/** The most names of one kind on a day, and the most series: what is beyond is counted as `other`, or not at all. */
const MOST_NAMES = 1000
const MOST_SERIES = 5000

/** counted: the runs that were counted. used: usage by day. series: metrics, since the first run. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS counted (run TEXT PRIMARY KEY, at INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS counted_at ON counted (at);
  CREATE TABLE IF NOT EXISTS used (day TEXT NOT NULL, by TEXT NOT NULL, name TEXT NOT NULL, runs INTEGER NOT NULL,
    calls INTEGER NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL, cost REAL NOT NULL,
    PRIMARY KEY (day, by, name)) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS series (name TEXT NOT NULL, labels TEXT NOT NULL, part TEXT NOT NULL, le REAL NOT NULL,
    value REAL NOT NULL, PRIMARY KEY (name, labels, part, le)) WITHOUT ROWID;`

/** What the runs of a tenant did and spent: its usage by day, and its metrics. */
export class RunLedger {
  readonly #storage: DurableObjectStorage
  #hasSchema = false

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
  }

  /** Counts a run. Returns false, and counts nothing, if it was counted before. */
  count({ run, at, shares, series }: RunReport, now: number): boolean {
    this.#create()
    const { sql } = this.#storage
    const oldest = now - KNOWN_MS
    if (at < oldest) return false
    return this.#storage.transactionSync(() => {
      const isNew = sql.exec('INSERT OR IGNORE INTO counted VALUES (?, ?) RETURNING run', run, at).toArray().length > 0
      if (!isNew) return false
      sql.exec('DELETE FROM counted WHERE at < ?', oldest)
      const day = dayOf(at)
      sql.exec('DELETE FROM used WHERE day < ?', dayOf(now - MOST_DAYS * 24 * 60 * 60 * 1000))
      for (const { by, name, calls, usage } of shares) {
        const { inputTokens, outputTokens, cost = 0 } = usage
        sql.exec(ADD_USAGE, day, by, this.#nameOn(day, by, name), calls, inputTokens, outputTokens, cost)
      }
      const isFull = this.#countOf('SELECT count(*) AS count FROM series') >= MOST_SERIES
      for (const { name, labels, part, le, value } of series) {
        sql.exec(isFull ? RAISE_SERIES : ADD_SERIES, name, labels, part, le, value)
      }
      return true
    })
  }

  /** Returns the usage from one day to another, both included, the greatest cost first. */
  usage(from: string, to: string, by: UsageKind): UsageRow[] {
    this.#create()
    const query = `SELECT name, sum(runs) AS runs, sum(calls) AS calls, sum(input) AS inputTokens,
      sum(output) AS outputTokens, sum(cost) AS cost FROM used WHERE by = ? AND day >= ? AND day <= ?
      GROUP BY name ORDER BY cost DESC, runs DESC, name LIMIT ${MOST_NAMES}`
    return this.#storage.sql.exec<UsageRow & Record<string, SqlStorageValue>>(query, by, from, to).toArray()
  }

  series(): Series[] {
    this.#create()
    const query = 'SELECT name, labels, part, le, value FROM series ORDER BY name, labels, part, le'
    return this.#storage.sql.exec<Series & Record<string, SqlStorageValue>>(query).toArray()
  }

  #create(): void {
    if (!this.#hasSchema) this.#storage.sql.exec(SCHEMA)
    this.#hasSchema = true
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

const ADD_USAGE = `INSERT INTO used VALUES (?, ?, ?, 1, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET runs = runs + 1,
  calls = calls + ?4, input = input + ?5, output = output + ?6, cost = cost + ?7`
const ADD_SERIES = 'INSERT INTO series VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET value = value + ?5'
const RAISE_SERIES = 'UPDATE series SET value = value + ?5 WHERE name = ?1 AND labels = ?2 AND part = ?3 AND le = ?4'

function dayOf(time: number): string {
  return new Date(time).toISOString().slice(0, 10)
}
