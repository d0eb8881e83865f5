import { PARTS_FORMAT } from '../../contract/backup.ts'
import type { UnfinishedRestore } from '../../contract/backup-ports.ts'
import { isObject, type JsonObject } from '../../contract/json.ts'
import { chunkName, PART_CHARACTERS } from '../store/database.ts'
import { COPIED_TABLES, rowOf, RowWriter, TEXT_OF_JSON, writeLine, type WrittenRows } from './copy.ts'
import { linesOf, LongText, readLine } from './lines.ts'

/** What the first line of a part says. */
export interface PartHead {
  /** Its number, from 1. */
  readonly part: number
  /** The digest of the part before it; absent for the first. */
  readonly after?: string | undefined
}

/** Returns the first line of a part; undefined for a copy in one part, and for any other bytes. */
export function partHead(bytes: Uint8Array<ArrayBuffer>): PartHead | undefined {
  const [first] = linesOf(bytes)
  const line = first && readLine(first)
  if (!line || line['type'] !== 'conversation' || line['format'] !== PARTS_FORMAT) return undefined
  const { part, after } = line
  if (!Number.isSafeInteger(part) || Number(part) < 1) return undefined
  return { part: Number(part), after: typeof after === 'string' ? after : undefined }
}

/** The long texts that were stored, and that belong to the next row. */
type PendingTexts = Pick<UnfinishedRestore, 'texts' | 'isOpen'>

/**
 * Writes a part of a copy into the tables. `pending`: what the part before has left. Returns the rows, and what this part
 * leaves. Throws an Error that says what is wrong with it.
 */
export function writePart(
  sql: SqlStorage,
  bytes: Uint8Array<ArrayBuffer>,
  pending: PendingTexts,
): PendingTexts & { readonly rows: WrittenRows } {
  const writer = new RowWriter(sql)
  const texts = new TextWriter(sql, pending)
  let [number, count] = [0, 0]
  let end: unknown
  for (const each of linesOf(bytes)) {
    number += 1
    if (number === 1) continue
    const line = readLine(each)
    if (!line) throw new Error(`line ${number} is not JSON`)
    if (end !== undefined) throw new Error(`line ${number} comes after the end`)
    if (line['type'] === 'end') {
      end = line['rows']
      continue
    }
    if (line['type'] === 'text') texts.add(line, number)
    else writer.add(rowOf(texts.join(line, number), number))
    count += 1
  }
  if (end !== count) throw new Error('it is not complete')
  return { rows: writer.rows, ...texts.pending }
}

/** Stores the long texts of a copy, and gives their names to the rows that they belong to. */
class TextWriter {
  readonly #sql: SqlStorage
  #texts: (readonly [id: number, parts: number])[]
  #isOpen: boolean

  constructor(sql: SqlStorage, { texts, isOpen }: PendingTexts) {
    this.#sql = sql
    this.#texts = [...texts]
    this.#isOpen = isOpen
  }

  get pending(): PendingTexts {
    return { texts: this.#texts, isOpen: this.#isOpen }
  }

  add({ text, more }: JsonObject, number: number): void {
    if (typeof text !== 'string' && !(text instanceof LongText)) throw new Error(`line ${number} is not a text`)
    const [id, parts] = (this.#isOpen ? this.#texts.pop() : undefined) ?? [this.#nextId(), 0]
    const query = `INSERT INTO chunks SELECT ?, ?, text FROM (SELECT ${text instanceof LongText ? TEXT_OF_JSON : '?'} AS text)
      WHERE length(text) <= ${PART_CHARACTERS} RETURNING id`
    if (writeLine(this.#sql, number, query, [id, parts, text]).length === 0)
      throw new Error(`line ${number} is not a text`)
    this.#texts.push([id, parts + 1])
    this.#isOpen = more === true
  }

  #nextId(): number {
    return this.#sql.exec<{ id: number }>('SELECT ifnull(max(id), 0) + 1 AS id FROM chunks').one().id
  }

  /** Returns a row with the names of its texts. Throws an Error if it has others than those that came before it. */
  join(line: JsonObject, number: number): JsonObject {
    const { values } = line
    if (!Array.isArray(values)) return line
    const texts = this.#texts.values()
    const names = values.map((value: unknown) => {
      if (typeof value === 'string' && chunkName(value)) throw new Error(`line ${number} names a text`)
      if (!isObject(value) || value instanceof LongText) return value
      const [id, parts] = texts.next().value ?? []
      if (id === undefined || parts !== value['parts']) throw new Error(`line ${number} lacks a text`)
      return `@${id}/${parts}`
    })
    if (this.#isOpen || !texts.next().done) throw new Error(`line ${number} is not the row of the texts before it`)
    const isOfText = typeof line['table'] === 'string' && line['table'] !== 'chunks' && COPIED_TABLES.has(line['table'])
    if (!isOfText) throw new Error(`line ${number} is not a row of a table`)
    this.#texts = []
    return { ...line, values: names }
  }
}
