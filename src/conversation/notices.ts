import type { Ground } from './ground.ts'

/** A webhook, or what a run used, that is to be sent. */
export interface Notice extends Record<string, SqlStorageValue> {
  /** That of the event it tells of, so that it is the same each time it is sent. */
  readonly id: string
  readonly body: string
  /** Attempts that were made. */
  readonly attempt: number
}

/** What is to be sent. Times are epoch milliseconds. */
export class NoticeTable {
  readonly #ground: Ground
  readonly #table: 'notices' | 'spends'

  constructor(ground: Ground, table: 'notices' | 'spends' = 'notices') {
    this.#ground = ground
    this.#table = table
  }

  add(id: string, body: string, due: number): void {
    this.#ground.rows(`INSERT INTO ${this.#table} VALUES (?, ?, ?, 0)`, id, body, due)
  }

  /** Those to be sent by then. */
  due(by: number): Notice[] {
    return this.#ground.rows(`SELECT id, body, attempt FROM ${this.#table} WHERE due <= ? ORDER BY due`, by)
  }

  /** When the next is to be sent; Infinity for never. */
  nextDue(): number {
    return this.#ground.rows<{ due: number | null }>(`SELECT min(due) AS due FROM ${this.#table}`)[0]?.due ?? Infinity
  }

  delay(id: string, due: number): void {
    this.#ground.rows(`UPDATE ${this.#table} SET due = ?, attempt = attempt + 1 WHERE id = ?`, due, id)
  }

  drop(id: string): void {
    this.#ground.rows(`DELETE FROM ${this.#table} WHERE id = ?`, id)
  }
}
