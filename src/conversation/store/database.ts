import { parseJson } from '../../contract/json.ts'
import { FIRST_BYTES } from '../../contract/quotas.ts'
import { Chunks } from './chunks.ts'

/** A row that cannot be read. */
export interface BrokenRow {
  readonly table: string
  readonly key: string | number
  readonly reason: string
}

/** Receives the rows that were set aside, to report them to operators. */
export type OnBroken = (row: BrokenRow) => void

export interface DatabaseEvents {
  readonly onBroken: OnBroken
  /** Called each time that about 128 KiB of text were written, by whomever. */
  readonly onGrowth: () => void
}

/** The access to SQLite that all tables of a conversation share. */
export class Database {
  readonly sql: SqlStorage
  readonly chunks: Chunks
  readonly #events: DatabaseEvents
  readonly #setAside = new Set<string>()
  /** The characters that were written since `onGrowth` was last called. */
  #written = 0

  constructor(sql: SqlStorage, events: DatabaseEvents) {
    this.sql = sql
    this.chunks = new Chunks(sql, (characters) => this.#count(characters))
    this.#events = events
  }

  rows<Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]): Row[] {
    for (const value of values) if (typeof value === 'string') this.#count(value.length)
    return this.sql.exec<Row>(query, ...values).toArray()
  }

  #count(characters: number): void {
    this.#written += characters
    if (this.#written < FIRST_BYTES) return
    this.#written = 0
    this.#events.onGrowth()
  }

  /** Returns the value of a JSON column; undefined if it is of another shape, and then its content is set aside. */
  value<Value>(
    column: string,
    row: Omit<BrokenRow, 'reason'>,
    isShape: (value: unknown) => value is Value,
  ): Value | undefined {
    const text = this.text(column, row)
    if (text === undefined) return undefined
    const value = parseJson(text)
    if (value !== undefined && isShape(value)) return value
    this.setAside({ ...row, reason: value === undefined ? 'no JSON' : 'wrong shape' }, column)
    return undefined
  }

  /** Returns the text of a column; undefined if parts of it are missing, and then its content is set aside. */
  text(column: string, row: Omit<BrokenRow, 'reason'>): string | undefined {
    try {
      return this.chunks.read(column)
    } catch (error) {
      this.setAside({ ...row, reason: String(error) }, column)
      return undefined
    }
  }

  /** Copies unreadable content to the quarantine and reports it, once for each row and instance. */
  setAside(row: BrokenRow, content: string): void {
    const place = `${row.table}/${row.key}`
    if (this.#setAside.has(place)) return
    this.#setAside.add(place)
    this.sql.exec('INSERT INTO quarantine (place, content, reason) VALUES (?, ?, ?)', place, content, row.reason)
    this.#events.onBroken(row)
  }
}
