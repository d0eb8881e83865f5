import { chunkName, Chunks } from '../store/chunks.ts'

/** The texts of a copy's columns, of which long ones are in parts. No two columns may share parts. */
export class CopiedTexts {
  readonly #sql: SqlStorage
  readonly #chunks: Chunks
  /** The ids of the parts that columns have. */
  readonly #inUse = new Set<number>()

  /** Throws an Error if the parts have other numbers than those that an edge gives. */
  constructor(sql: SqlStorage) {
    const query = `SELECT 1 FROM chunks WHERE typeof(id) <> 'integer' OR typeof(part) <> 'integer' OR id NOT BETWEEN 1 AND ?`
    if (sql.exec(query, MOST_ID).toArray().length > 0) throw new Error('the parts of a text have no valid numbers')
    this.#sql = sql
    this.#chunks = new Chunks(sql)
  }

  /** Returns the text of a column. Throws an Error if parts of it are missing, or are those of another column. */
  read(column: string | number | null | undefined): string {
    const { id } = chunkName(String(column)) ?? {}
    if (id !== undefined && this.#inUse.has(id)) throw new Error('two texts have the same parts')
    if (id !== undefined) this.#inUse.add(id)
    return this.#chunks.read(String(column))
  }

  /** Returns what to put in a column in the place of what was read from it. */
  replace(column: string | number | null | undefined, text: string): string {
    const { id } = chunkName(String(column)) ?? {}
    if (id !== undefined) this.#inUse.delete(id)
    this.#chunks.drop(String(column))
    return this.keep(text)
  }

  /** Returns what to put in a column for a text. */
  keep(text: string): string {
    const column = this.#chunks.keep(text)
    const { id } = chunkName(column) ?? {}
    if (id !== undefined) this.#inUse.add(id)
    return column
  }

  /** Removes the parts that no column has. */
  dropOthers(): void {
    for (const { id } of this.#sql.exec<{ id: number }>('SELECT DISTINCT id FROM chunks').toArray())
      if (!this.#inUse.has(id)) this.#sql.exec('DELETE FROM chunks WHERE id = ?', id)
  }
}

/** A larger number of parts may not be exact. */
const MOST_ID = 2 ** 52
