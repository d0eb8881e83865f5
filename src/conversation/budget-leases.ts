import {
  type BudgetLease,
  type BudgetRemainder,
  type LeaseRequest,
  MEASURES,
  type SpendTotals,
} from '../contract/budget.ts'
import { LazySchema } from '../contract/lazy-schema.ts'

/** A holder gets this part of what is neither used nor leased. */
const PART = 8
/** How long a lease holds. One whose holder is lost returns by itself. */
const LEASE_MS = 60_000

/** The shares that are leased, by key with period (as in the ledger) and holder. Times are in epoch milliseconds. */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS leases (id TEXT NOT NULL, holder TEXT NOT NULL, tokens REAL NOT NULL, cost REAL NOT NULL,
    until INTEGER NOT NULL, PRIMARY KEY (id, holder)) WITHOUT ROWID;`

/**
 * The leases of budgets. A holder may accept runs until they have used its share, without asking the ledger again. All
 * leases of a budget together are never more than what is left of it.
 */
export class BudgetLeases {
  readonly #sql: SqlStorage
  readonly #schema: LazySchema

  constructor({ sql }: DurableObjectStorage) {
    this.#sql = sql
    this.#schema = new LazySchema(sql, 'leases', () => void sql.exec(SCHEMA))
  }

  /** Returns a lease that replaces the holder's earlier one; none if its share is too small for two runs. */
  draw(
    id: string,
    { holder, budget }: LeaseRequest,
    { runs, ...used }: SpendTotals,
    now: number,
  ): BudgetLease | undefined {
    // It is unknown how much the first run of a period uses.
    if (runs === 0) return undefined
    this.#schema.ensure()
    this.#sql.exec('DELETE FROM leases WHERE until <= ? OR (id = ? AND holder = ?)', now, id, holder)
    const query = 'SELECT total(tokens) AS tokens, total(cost) AS cost FROM leases WHERE id = ?'
    const leased = this.#sql.exec<{ tokens: number; cost: number }>(query, id).one()
    const shareOf = (name: 'tokens' | 'cost') => {
      const limit = budget[name]
      return limit === undefined ? undefined : Math.max(0, limit - used[name] - leased[name]) / PART
    }
    const share: BudgetRemainder = { tokens: shareOf('tokens'), cost: shareOf('cost') }
    const isTooSmall = MEASURES.some((name) => share[name] !== undefined && share[name] <= (2 * used[name]) / runs)
    if (isTooSmall) return undefined
    const until = now + LEASE_MS
    this.#sql.exec('INSERT INTO leases VALUES (?, ?, ?, ?, ?)', id, holder, share.tokens ?? 0, share.cost ?? 0, until)
    return { share, until }
  }
}
