import { parseJson } from '../contract/json.ts'
import { Chunks } from './chunks.ts'

/** A row that cannot be read. */
export interface BrokenRow {
  readonly table: string
  readonly key: string | number
  readonly reason: string
}

/** Takes what operators should know of a row that was set aside. */
export type OnBroken = (row: BrokenRow) => void

/** What the tables of a conversation stand on. */
export class Ground {
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

  /** The value of a column of JSON; undefined where it is broken, and then its content is set aside. */
  value(kept: string, row: Omit<BrokenRow, 'reason'>): unknown {
    const text = this.text(kept, row)
    const value = text === undefined ? undefined : parseJson(text)
    if (text !== undefined && value === undefined) this.setAside({ ...row, reason: 'no JSON' }, kept)
    return value
  }

  /** The text of a column; undefined where parts of it are missing, and then its content is set aside. */
  text(kept: string, row: Omit<BrokenRow, 'reason'>): string | undefined {
    try {
      return this.chunks.read(kept)
    } catch (error) {
      this.setAside({ ...row, reason: String(error) }, kept)
      return undefined
    }
  }

  /** Keeps what could not be read where it does no harm, and tells of it; once in a life, however often it is read. */
  setAside(row: BrokenRow, content: string): void {
    const place = `${row.table}/${row.key}`
    if (this.#setAside.has(place)) return
    this.#setAside.add(place)
    this.sql.exec('INSERT INTO quarantine (place, content, reason) VALUES (?, ?, ?)', place, content, row.reason)
    this.#onBroken(row)
  }
}
