import { LazySchema } from '../contract/lazy-schema.ts'
import { periodOf, type Spend, type SpendTotals } from '../contract/budget.ts'

/** Two of the longest months: usage is counted until its period ends, and stored for as long again. */
const MOST_AGE_MS = 62 * 24 * 60 * 60 * 1000

/** One row per run: its usage so far. One per key and period (`<key>/2026-02-28`, `<key>/2026-02`): the sum of runs. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS spent (id TEXT PRIMARY KEY, tokens INTEGER, cost REAL, runs INTEGER, at INTEGER);
  CREATE INDEX IF NOT EXISTS spent_at ON spent (at);`

const ADD = `INSERT INTO spent VALUES (?, ?, ?, ?, ?)
  ON CONFLICT DO UPDATE SET tokens = tokens + ?2, cost = cost + ?3, runs = runs + ?4`

/** The usage of a tenant's API keys. Times are in epoch milliseconds. */
export class SpendLedger {
  readonly #storage: DurableObjectStorage
  readonly #schema: LazySchema

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#schema = new LazySchema(storage.sql, 'spent', () => void storage.sql.exec(SCHEMA))
  }

  /**
   * Counts what a run has used since its last report. A report that comes twice, or after a later one, adds nothing;
   * neither does one so old that the row of its run may have been deleted.
   */
  count({ run, key, at, tokens, cost }: Spend, now: number): void {
    const { sql } = this.#storage
    const oldest = now - MOST_AGE_MS
    if (at < oldest) return
    this.#schema.ensure()
    this.#storage.transactionSync(() => {
      sql.exec('DELETE FROM spent WHERE at < ?', oldest)
      const previous = this.totals(run)
      const more = [Math.max(0, tokens - previous.tokens), Math.max(0, cost - previous.cost), 1 - previous.runs]
      for (const id of [run, ...periodIds({ key, at })]) sql.exec(ADD, id, ...more, at)
    })
  }

  /** Adds the usage of a key in a period to that of another name of the key. */
  move(from: string, to: string, now: number): void {
    const { tokens, cost, runs } = this.totals(from)
    if (runs === 0) return
    const { sql } = this.#storage
    this.#storage.transactionSync(() => {
      sql.exec(ADD, to, tokens, cost, runs, now)
      sql.exec('DELETE FROM spent WHERE id = ?', from)
    })
  }

  /** Returns the usage of a run, or of a key in a period. */
  totals(id: string): SpendTotals {
    if (!this.#schema.isCreated) return { tokens: 0, cost: 0, runs: 0 }
    const query = 'SELECT total(tokens) AS tokens, total(cost) AS cost, total(runs) AS runs FROM spent WHERE id = ?'
    return this.#storage.sql.exec<SpendTotals & Record<string, number>>(query, id).one()
  }
}

/** Returns the ids of the day and the month of a key in which usage counts. */
export function periodIds({ key, at }: Pick<Spend, 'key' | 'at'>): readonly string[] {
  return (['day', 'month'] as const).map((per) => `${key}/${periodOf(per, at).from}`)
}
