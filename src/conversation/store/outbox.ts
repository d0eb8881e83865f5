import type { RunReporter } from '../../contract/report.ts'
import type { Database } from './database.ts'

/** A webhook message that is to be sent, or a run that is to be reported. Times are in epoch milliseconds. */
export interface Notice extends Record<string, SqlStorageValue> {
  /**
   * The id of the event that the message reports, and so the same at every attempt; or `<reporter>/<run>`; or
   * `<reporter>/<event>` with the id of the event until which the run is reported, since it has begun to wait with that.
   */
  readonly id: string
  /** Empty for a run that is to be reported, and for a conversation that is to be listed. */
  readonly body: string
  /** The number of attempts made so far. */
  readonly attempt: number
  readonly due: number
}

/** The place of a reporter in the id of the notice that the conversation itself is to be listed. */
export const LISTING = 'listing'

/** The same of the run that has called the agent of this run, and of an agent's run that is to be cancelled, by its call. */
export const PARENT = 'parent'
export const CHILD = 'child'

/** Each is a subrequest, of which an invocation may make few on the Free plan. The alarm rings again for the rest. */
const AT_A_TIME = 10

/** The webhook messages that are to be sent, and the runs that are to be reported. Times are in epoch milliseconds. */
export class Outbox {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  add(id: string, body: string, due: number): void {
    this.#database.rows('INSERT INTO notices VALUES (?, ?, ?, 0)', id, body, due)
  }

  /** Returns the messages that are due at a time, the earliest first, as many as are sent in one invocation. */
  dueMessages(by: number): Notice[] {
    return this.#due("body <> ''", by, AT_A_TIME)
  }

  /** Returns the runs that are to be reported by a time, as many as in one invocation; all of them for Infinity. */
  dueReports(by: number): Notice[] {
    return this.#due("body = ''", Math.min(by, Number.MAX_SAFE_INTEGER), by < Infinity ? AT_A_TIME : -1)
  }

  #due(which: string, by: number, most: number): Notice[] {
    const query = `SELECT id, body, attempt, due FROM notices WHERE due <= ? AND ${which} ORDER BY due LIMIT ?`
    return this.#database.rows(query, by, most)
  }

  /**
   * Adds a run, to be reported by each of these reporters with its status at that time. A run that is being reported is
   * reported again, by another notice.
   */
  addReports(run: string, reporters: readonly Pick<RunReporter, 'name'>[], due: number): void {
    const query = `INSERT INTO notices VALUES (?, '', ?, 0)
      ON CONFLICT DO UPDATE SET due = max(excluded.due, due + 1), attempt = 0`
    for (const { name } of reporters) this.#database.rows(query, `${name}/${run}`, due)
  }

  /** Adds the conversation itself, to be listed by its tenant's directory. */
  addListing(due: number): void {
    this.addReports('', [{ name: LISTING }], due)
  }

  /** Drops that notice, since the conversation is being deleted. */
  dropListing(): void {
    this.#database.rows('DELETE FROM notices WHERE id = ?', `${LISTING}/`)
  }

  /** Whether the run of an agent that a call has started is still to be cancelled. */
  isCancelling(call: string): boolean {
    return this.#database.rows('SELECT 1 FROM notices WHERE id = ?', `${CHILD}/${call}`).length > 0
  }

  /** Whether a run is still to be reported, or the conversation to be listed. */
  hasReports(): boolean {
    return this.#database.rows("SELECT 1 FROM notices WHERE body = '' LIMIT 1").length > 0
  }

  /** Returns when the next message is due; Infinity if there is none. */
  nextDue(): number {
    return this.#database.rows<{ due: number | null }>('SELECT min(due) AS due FROM notices')[0]?.due ?? Infinity
  }

  delay({ id, due }: Notice, next: number): void {
    this.#database.rows('UPDATE notices SET due = ?, attempt = attempt + 1 WHERE id = ? AND due = ?', next, id, due)
  }

  drop({ id, due }: Notice): void {
    this.#database.rows('DELETE FROM notices WHERE id = ? AND due = ?', id, due)
  }
}
