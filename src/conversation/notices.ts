import type { Ground } from './ground.ts'

/** A webhook that is to be sent. */
export interface Notice extends Record<string, SqlStorageValue> {
  /** That of the event it tells of, so that it is the same each time it is sent. */
  readonly id: string
  readonly body: string
  /** Attempts that were made. */
  readonly attempt: number
}

/** The webhooks that are to be sent. Times are epoch milliseconds. */
export class NoticeTable {
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
  }

  add(id: string, body: string, due: number): void {
    this.#ground.rows('INSERT INTO notices VALUES (?, ?, ?, 0)', id, body, due)
  }

  /** Those to be sent by then. */
  due(by: number): Notice[] {
    return this.#ground.rows('SELECT id, body, attempt FROM notices WHERE due <= ? ORDER BY due', by)
  }

  /** When the next is to be sent; Infinity for never. */
  nextDue(): number {
    return this.#ground.rows<{ due: number | null }>('SELECT min(due) AS due FROM notices')[0]?.due ?? Infinity
  }

  delay(id: string, due: number): void {
    this.#ground.rows('UPDATE notices SET due = ?, attempt = attempt + 1 WHERE id = ?', due, id)
  }

  drop(id: string): void {
    this.#ground.rows('DELETE FROM notices WHERE id = ?', id)
  }
}
