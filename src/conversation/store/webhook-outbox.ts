import type { Database } from './database.ts'

/** A webhook message that is to be sent. */
export interface Notice extends Record<string, SqlStorageValue> {
  /** The id of the event that the message reports, and so the same at every attempt. */
  readonly id: string
  readonly body: string
  /** The number of attempts made so far. */
  readonly attempt: number
}

/** The webhook messages that are to be sent. Times are in epoch milliseconds. */
export class WebhookOutbox {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  add(id: string, body: string, due: number): void {
    this.#database.rows('INSERT INTO notices VALUES (?, ?, ?, 0)', id, body, due)
  }

  /** Returns the messages that are due at a time, the earliest first. */
  due(by: number): Notice[] {
    return this.#database.rows('SELECT id, body, attempt FROM notices WHERE due <= ? ORDER BY due', by)
  }

  /** Returns when the next message is due; Infinity if there is none. */
  nextDue(): number {
    return this.#database.rows<{ due: number | null }>('SELECT min(due) AS due FROM notices')[0]?.due ?? Infinity
  }

  delay(id: string, due: number): void {
    this.#database.rows('UPDATE notices SET due = ?, attempt = attempt + 1 WHERE id = ?', due, id)
  }

  drop(id: string): void {
    this.#database.rows('DELETE FROM notices WHERE id = ?', id)
  }
}
