import type { StoredFault } from '../../contract/fault.ts'
import type { Database } from './database.ts'
import { isStoredFault } from './shapes.ts'

/** The most faults of a run that are stored: the first ones, which tell how it began to fail. */
const MOST_FAULTS = 50
/** The most characters of a detail. */
const DETAIL = 4000

/** The time of a fault in SQL; 0 if its text is broken. */
const AT = "CASE WHEN json_valid(fault) THEN json_extract(fault, '$.at') ELSE 0 END"

/**
 * The faults of runs with their details for operators, beside the journals, which the callers read. Few conversations
 * have any: the first fault creates the table.
 */
export class FaultTable {
  readonly #database: Database
  #isCreated: boolean | undefined

  constructor(database: Database) {
    this.#database = database
  }

  add(run: string, { detail, ...fault }: StoredFault): void {
    const text = JSON.stringify({ ...fault, ...(detail !== undefined && { detail: detail.slice(0, DETAIL) }) })
    const create = 'CREATE TABLE IF NOT EXISTS faults (id INTEGER PRIMARY KEY, run TEXT NOT NULL, fault TEXT NOT NULL)'
    this.#database.rows(create)
    this.#isCreated = true
    this.#database.rows(
      `INSERT INTO faults (run, fault) SELECT ?1, ?2
       WHERE (SELECT count(*) FROM faults WHERE run = ?1) < ${MOST_FAULTS}`,
      ...[run, text],
    )
  }

  /** Returns the faults of a run, in the order in which they happened. */
  of(run: string): StoredFault[] {
    if (!this.#exists()) return []
    const query = 'SELECT id, fault FROM faults WHERE run = ? ORDER BY id'
    return this.#database
      .rows<{ id: number; fault: string }>(query, run)
      .flatMap(({ id, fault }) => this.#database.value(fault, { table: 'faults', key: id }, isStoredFault) ?? [])
  }

  /** Returns when the first stored fault was reported, in epoch milliseconds; Infinity if none is stored. */
  oldest(): number {
    if (!this.#exists()) return Infinity
    const [row] = this.#database.rows<{ at: number }>(`SELECT ${AT} AS at FROM faults ORDER BY id LIMIT 1`)
    return row?.at ?? Infinity
  }

  /** Deletes the faults that were reported up to a time. */
  removeUpTo(time: number): void {
    if (this.#exists()) this.#database.rows(`DELETE FROM faults WHERE ${AT} <= ?`, time)
  }

  /** Forgets whether the table exists, after a transaction that may have created it was rolled back. */
  forget(): void {
    this.#isCreated = undefined
  }

  #exists(): boolean {
    this.#isCreated ??= this.#database.rows("SELECT 1 AS found FROM sqlite_master WHERE name = 'faults'").length > 0
    return this.#isCreated
  }
}
