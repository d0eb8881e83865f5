import {
  type BudgetLease,
  type BudgetRemainder,
  type LeaseRequest,
  limitedAmounts,
  type Measure,
  MEASURES,
  periodOf,
  type Spend,
  type SpendTotals,
} from '../contract/budget.ts'
import { LazySchema } from '../contract/lazy-schema.ts'

/** Two of the longest months: usage is counted until its period ends, and stored for as long again. */
const MOST_AGE_MS = 62 * 24 * 60 * 60 * 1000

/** One row per run: its usage so far. One per key and period (`<key>/2026-02-28`, `<key>/2026-02`): the sum of runs. */
const SPENT_SCHEMA = `
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
    this.#schema = new LazySchema(storage.sql, 'spent', () => void storage.sql.exec(SPENT_SCHEMA))
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

/** An isolate, or a run under way, gets this part of what is neither used nor leased, and a run more if it needs more. */
const PART = 8
/** A run that is accepted gets a lease of its own as small as that of one of this many runs of an isolate's lease. */
const RUNS = 16
/** How long a lease holds. One whose holder is lost returns by itself. */
const LEASE_MS = 60_000

/** The shares that are leased, by key with period (as in the ledger) and the isolate or run that holds them. Times are in epoch milliseconds. */
const LEASE_SCHEMA = `
  CREATE TABLE IF NOT EXISTS leases (id TEXT NOT NULL, holder TEXT NOT NULL, tokens REAL NOT NULL, cost REAL NOT NULL,
    until INTEGER NOT NULL, PRIMARY KEY (id, holder)) WITHOUT ROWID;`

/**
 * The leases of budgets. An isolate may accept runs until they have used its share, and a run may use its own, without
 * asking the ledger again. All leases of a budget together are never more than what is left of it.
 */
export class BudgetLeases {
  readonly #sql: SqlStorage
  readonly #schema: LazySchema

  constructor({ sql }: DurableObjectStorage) {
    this.#sql = sql
    this.#schema = new LazySchema(sql, 'leases', () => void sql.exec(LEASE_SCHEMA))
  }

  /**
   * Returns a lease that replaces the earlier ones of the isolate and of the run. The isolate gets one unless that is too
   * small for two runs, or another of its requests has got one in the meantime; else the run gets one, unless nothing is
   * left.
   */
  draw(
    id: string,
    { holder = '', leaseUntil = 0, open = {}, run = '', least, budget }: LeaseRequest,
    { runs, ...used }: SpendTotals,
    now: number,
  ): BudgetLease | undefined {
    this.#schema.ensure()
    this.#sql.exec('DELETE FROM leases WHERE until <= ? OR (id = ? AND holder = ?)', now, id, run)
    const current = this.#sql
      .exec<{ until: number }>('SELECT until FROM leases WHERE id = ? AND holder = ?', id, holder)
      .toArray()[0]
    const isCurrent = holder !== '' && (current?.until ?? 0) === leaseUntil
    const query = 'SELECT total(tokens) AS tokens, total(cost) AS cost FROM leases WHERE id = ? AND holder <> ?'
    const leased = this.#sql.exec<{ tokens: number; cost: number }>(query, id, isCurrent ? holder : '').one()
    const rest = limitedAmounts(budget, (name, limit) =>
      Math.max(0, limit - used[name] - leased[name] - (isCurrent ? (open[name] ?? 0) : 0)),
    )
    const put = (owner: string, until: number, { tokens = 0, cost = 0 }: BudgetRemainder) =>
      this.#sql.exec('INSERT OR REPLACE INTO leases VALUES (?, ?, ?, ?, ?)', id, owner, tokens, cost, until)

    const averageUse = (name: Measure) => used[name] / Math.max(1, runs)
    const share = limitedAmounts(rest, (_, amount) => amount / PART)
    // It is unknown how much the first run of a period uses.
    if (isCurrent && runs > 0 && isAbove(share, (name) => 2 * averageUse(name))) {
      const until = Math.max(now + LEASE_MS, leaseUntil + 1)
      put(
        holder,
        until,
        limitedAmounts(share, (name, amount) => amount + (open[name] ?? 0)),
      )
      return { share, until }
    }
    if (isCurrent && current) put(holder, leaseUntil, open)
    const shareOfRun = limitedAmounts(rest, (name, amount) => {
      const part = least || runs === 0 ? PART : PART * RUNS
      return Math.min(amount, Math.max(amount / part, least?.[name] ?? averageUse(name)))
    })
    if (run === '' || !isAbove(shareOfRun, () => 0)) return undefined
    const until = now + LEASE_MS
    put(run, until, shareOfRun)
    return { share: shareOfRun, until, isOfRun: true }
  }

  /** Gives back what a run has of some budgets. */
  release(ids: readonly string[], run: string): void {
    if (!this.#schema.isCreated) return
    for (const id of ids) this.#sql.exec('DELETE FROM leases WHERE id = ? AND holder = ?', id, run)
  }
}

function isAbove(share: BudgetRemainder, leastOf: (name: Measure) => number): boolean {
  return MEASURES.every((name) => (share[name] ?? Infinity) > leastOf(name))
}
