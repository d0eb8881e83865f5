/** The most characters of a text in one row: at most 512 KiB in UTF-8, whichever characters they are. */
const PART = 170_000

/** Stores texts of any length. A text too long for one row is split into parts, and its column holds their name. */
export class Chunks {
  readonly #sql: SqlStorage
  readonly #onWrite: (characters: number) => void

  /** `onWrite`: told how many characters are stored in parts. */
  constructor(sql: SqlStorage, onWrite: (characters: number) => void = () => {}) {
    this.#sql = sql
    this.#onWrite = onWrite
  }

  /** Returns what to put in the column of a JSON text: the text, or the name of its stored parts, which is not JSON. */
  keep(text: string): string {
    if (text.length <= PART) return text
    this.#onWrite(text.length)
    const { id } = this.#sql.exec<{ id: number }>('SELECT ifnull(max(id), 0) + 1 AS id FROM chunks').one()
    let parts = 0
    for (let at = 0; at < text.length; parts++) {
      const end = at + PART
      // Half of a surrogate pair would be lost in the conversion to UTF-8.
      const next = isPairCut(text, end) ? end - 1 : end
      this.#sql.exec('INSERT INTO chunks VALUES (?, ?, ?)', id, parts, text.slice(at, next))
      at = next
    }
    return `@${id}/${parts}`
  }

  /** Returns the text of a column. Throws if a part of it is missing. */
  read(column: string): string {
    const name = chunkName(column)
    if (!name) return column
    const rows = this.#sql
      .exec<{ text: string }>('SELECT text FROM chunks WHERE id = ? ORDER BY part', name.id)
      .toArray()
    if (rows.length !== name.parts) throw new Error(`${rows.length} of ${name.parts} parts are there`)
    return rows.map((row) => row.text).join('')
  }

  /** Removes the parts of a column, if it has any. */
  drop(column: string): void {
    const name = chunkName(column)
    if (name) this.#sql.exec('DELETE FROM chunks WHERE id = ?', name.id)
  }
}

function isPairCut(text: string, at: number): boolean {
  const code = text.charCodeAt(at - 1)
  return at < text.length && code >= 0xd800 && code < 0xdc00
}

/** Returns the id and the number of a column's parts; undefined for a column that holds its text. */
export function chunkName(column: string): { readonly id: number; readonly parts: number } | undefined {
  const [, id, parts] = /^@(\d+)\/(\d+)$/.exec(column) ?? []
  return id === undefined ? undefined : { id: Number(id), parts: Number(parts) }
}
