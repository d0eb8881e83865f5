import type { StoredFault } from '../../contract/fault.ts'
import type { Database } from './database.ts'
import { isStoredFault } from './shapes.ts'

/** The most faults of a run that are stored: the first ones, which tell how it began to fail. */
const MOST_FAULTS = 50
/** The most characters of a detail. */
const DETAIL = 4000

/**
 * The faults of runs with their details for operators, beside the journals, which the callers read. Few conversations
 * have any: the first fault creates the table.
 */
export class FaultTable {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  add(run: string, { detail, ...fault }: StoredFault): void {
    const text = JSON.stringify({ ...fault, ...(detail !== undefined && { detail: detail.slice(0, DETAIL) }) })
    const create = 'CREATE TABLE IF NOT EXISTS faults (id INTEGER PRIMARY KEY, run TEXT NOT NULL, fault TEXT NOT NULL)'
    this.#database.rows(create)
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

  remove(run: string): void {
    if (this.#exists()) this.#database.rows('DELETE FROM faults WHERE run = ?', run)
  }

  #exists(): boolean {
    return this.#database.rows("SELECT 1 AS found FROM sqlite_master WHERE name = 'faults'").length > 0
  }
}
