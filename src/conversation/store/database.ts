import { parseJson } from '../../contract/json.ts'
import { Chunks } from './chunks.ts'

/** A row that cannot be read. */
export interface BrokenRow {
  readonly table: string
  readonly key: string | number
  readonly reason: string
}

/** Receives the rows that were set aside, to report them to operators. */
export type OnBroken = (row: BrokenRow) => void

/** The access to SQLite that all tables of a conversation share. */
export class Database {
  readonly sql: SqlStorage
  readonly chunks: Chunks
  readonly #onBroken: OnBroken
  readonly #setAside = new Set<string>()

  constructor(sql: SqlStorage, onBroken: OnBroken) {
    this.sql = sql
    this.chunks = new Chunks(sql)
    this.#onBroken = onBroken
  }

  rows<Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]): Row[] {
    return this.sql.exec<Row>(query, ...values).toArray()
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
    this.#onBroken(row)
  }
}
