import { DAY_MS, type Period, periodOf, type Spend, type Spent } from '../contract/budget.ts'

/** What is told later than this is not counted any more, so that runs need not be known for longer. */
const MOST_LATE_MS = 7 * DAY_MS

/**
 * spent: what a key used in a day of UTC, counted from 1970. counted: what was told of a run last, so that it is counted
 * once however often it is told.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS spent (
    key TEXT NOT NULL,
    day INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost REAL NOT NULL,
    runs INTEGER NOT NULL,
    PRIMARY KEY (key, day)
  ) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS counted (
    run TEXT PRIMARY KEY,
    at INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    cost REAL NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS counted_at ON counted (at);`

/** What the keys of a tenant have used, by days: a month is a sum of them. Times are epoch milliseconds. */
export class SpendLedger {
  readonly #storage: DurableObjectStorage

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    storage.sql.exec(SCHEMA)
  }

  /** Counts what a run has used since it was last told of. What is told twice, or after what came later, adds nothing. */
  count(spend: Spend, now: number): void {
    if (spend.at < now - MOST_LATE_MS) return
    this.#storage.transactionSync(() => {
      const before = this.#lastOf(spend.run)
      const tokens = Math.max(0, spend.tokens - (before?.tokens ?? 0))
      const cost = Math.max(0, spend.cost - (before?.cost ?? 0))
      const day = Math.floor(spend.at / DAY_MS)
      if (!this.#hasDay(spend.key, day)) this.#prune(now)
      this.#rows(
        `INSERT INTO spent VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           tokens = tokens + excluded.tokens, cost = cost + excluded.cost, runs = runs + excluded.runs`,
        ...[spend.key, day, tokens, cost, before ? 0 : 1],
      )
      this.#rows(
        `INSERT INTO counted VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET
           at = max(at, excluded.at), tokens = max(tokens, excluded.tokens), cost = max(cost, excluded.cost)`,
        ...[spend.run, spend.at, spend.tokens, spend.cost],
      )
    })
  }

  /** What a key used in a period. */
  spent(key: string, { from, to }: Period): Spent {
    const query = `SELECT ifnull(sum(tokens), 0) AS tokens, ifnull(sum(cost), 0) AS cost, ifnull(sum(runs), 0) AS runs
      FROM spent WHERE key = ? AND day >= ? AND day < ?`
    const [sum] = this.#rows<{ tokens: number; cost: number; runs: number }>(query, key, from / DAY_MS, to / DAY_MS)
    return { tokens: sum?.tokens ?? 0, cost: sum?.cost ?? 0, runs: sum?.runs ?? 0 }
  }

  #lastOf(run: string): { readonly tokens: number; readonly cost: number } | undefined {
    return this.#rows<{ tokens: number; cost: number }>('SELECT tokens, cost FROM counted WHERE run = ?', run)[0]
  }

  #hasDay(key: string, day: number): boolean {
    return this.#rows('SELECT 1 FROM spent WHERE key = ? AND day = ?', key, day).length > 0
  }

  /** Removes, once a day of each key, what is before the last month, and runs that nobody may tell of any more. */
  #prune(now: number): void {
    const { from } = periodOf('month', periodOf('month', now).from - 1)
    this.#rows('DELETE FROM spent WHERE day < ?', from / DAY_MS)
    this.#rows('DELETE FROM counted WHERE at < ?', now - MOST_LATE_MS)
  }

  #rows<Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]): Row[] {
    return this.#storage.sql.exec<Row>(query, ...values).toArray()
  }
}
