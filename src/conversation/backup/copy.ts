import { PARTS_FORMAT, WHOLE_FORMAT } from '../../contract/backup.ts'
import { releaseBytes } from '../../contract/byte-buffer.ts'
import type { JsonObject } from '../../contract/json.ts'
import { messageOf } from '../../contract/thrown.ts'
import { chunkName, Chunks } from '../store/database.ts'
import { type CopiedValue, linesOf, LineWriter, LongText, readLine } from './lines.ts'

/**
 * The tables of a copy with their columns, in the order in which they are written. Notices are left out, since the
 * original sends them.
 */
export const COPIED_TABLES: ReadonlyMap<string, readonly string[]> = new Map([
  ['meta', ['key', 'value']],
  ['toolsets', ['id', 'definitions']],
  [
    'runs',
    [
      ...['place', 'id', 'status', 'request', 'toolset', 'record', 'reserved', 'interrupted', 'created', 'stalled'],
      ...['ended', 'pruned', 'idle', 'resumes'],
    ],
  ],
  ['events', ['run', 'first', 'last', 'lines']],
  ['messages', ['position', 'run', 'message', 'kind']],
  ['chunks', ['id', 'part', 'text']],
  ['wholes', ['call', 'content']],
  ['quarantine', ['id', 'place', 'content', 'reason']],
  ['joined', ['id', 'run', 'fingerprint']],
])

/** Values that only apply to the original: its owner, its version, its agents, and what it still has to report. */
export const OWN_META: ReadonlySet<unknown> = new Set([
  ...['agentsKey', 'owner', 'version', 'owed', 'spendRetry', 'bytes', 'full', 'deleted', 'restore'],
])

/**
 * Copies a conversation in one part: a line that names it, one for each row, and one with the number of rows, which an
 * incomplete copy lacks. Returns undefined if the copy would have more than `most` bytes.
 */
export function copyTables(
  { sql }: DurableObjectStorage,
  id: string,
  most: number,
): Uint8Array<ArrayBuffer> | undefined {
  const lines = new LineWriter()
  lines.push({ type: 'conversation', format: WHOLE_FORMAT, id })
  let rows = 0
  for (const [table, columns] of COPIED_TABLES) {
    for (const row of sql.exec(`SELECT ${columns.join(', ')} FROM ${table}`)) {
      if (table === 'meta' && OWN_META.has(row['key'])) continue
      lines.pushRow(
        table,
        columns.map((column) => row[column]),
      )
      rows += 1
      if (lines.bytes > most) {
        releaseBytes(lines.end())
        return undefined
      }
    }
  }
  lines.push({ type: 'end', rows })
  return lines.end()
}

/** Returns what is wrong with a copy, or undefined. */
export function faultOfCopy(copy: Uint8Array<ArrayBuffer>): string | undefined {
  try {
    for (const _ of rowsOf(copy)) continue
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** The keys of the rows that were written, by table. */
export type WrittenRows = ReadonlyMap<string, readonly TableRow[]>

/** Some columns of a row. */
export type TableRow = Readonly<Record<string, string | number | null>>

/** Writes a copy into empty tables. Throws an Error that says what is wrong with it. */
export function writeTables({ sql }: Pick<DurableObjectStorage, 'sql'>, copy: Uint8Array<ArrayBuffer>): WrittenRows {
  const writer = new RowWriter(sql)
  for (const row of rowsOf(copy)) writer.add(row)
  return writer.rows
}

/** Writes the rows of a copy, and notes their keys. */
export class RowWriter {
  readonly #sql: SqlStorage
  readonly #rows = new Map<string, TableRow[]>()

  constructor(sql: SqlStorage) {
    this.#sql = sql
  }

  get rows(): WrittenRows {
    return this.#rows
  }

  /** Throws an Error that names the line if the row cannot be stored, such as one that is there already. */
  add({ number, table, values }: CopiedRow): void {
    const columns = COPIED_TABLES.get(table) ?? []
    const marks = values.map((value) => (value instanceof LongText ? TEXT_OF_JSON : '?')).join(', ')
    const keys = KEYS.get(table) ?? []
    const query = `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks}) RETURNING ${keys.join(', ')}`
    const rows = this.#rows.get(table) ?? []
    rows.push(...writeLine(this.#sql, number, query, values))
    this.#rows.set(table, rows)
  }
}

/**
 * Performs the statement that stores a line, and returns its rows. For a long text the statement has `TEXT_OF_JSON`. Throws
 * an Error that names the line.
 */
export function writeLine(
  sql: SqlStorage,
  number: number,
  query: string,
  values: readonly CopiedValue[],
): readonly TableRow[] {
  try {
    return sql
      .exec<TableRow>(query, ...values.map((value) => (value instanceof LongText ? value.json : value)))
      .toArray()
  } catch (error) {
    throw new Error(`line ${number} cannot be stored: ${messageOf(error)}`, { cause: error })
  }
}

/** The text of a long text that is a parameter. */
export const TEXT_OF_JSON = "json_extract(CAST(? AS TEXT), '$')"

/** The columns by which the rows of a table are found. */
export const KEYS: ReadonlyMap<string, readonly string[]> = new Map([
  ['meta', ['key']],
  ['toolsets', ['id']],
  ['runs', ['place']],
  ['events', ['run', 'first']],
  ['messages', ['position']],
  ['chunks', ['id', 'part']],
  ['wholes', ['call']],
  ['quarantine', ['id']],
  ['joined', ['id']],
])

export interface CopiedRow {
  /** The number of its line. */
  readonly number: number
  readonly table: string
  /** Those of its columns. */
  readonly values: readonly CopiedValue[]
}

/** Reads the rows of a copy. Throws an Error that says what is wrong with it, such as that it is incomplete. */
function* rowsOf(copy: Uint8Array<ArrayBuffer>): Generator<CopiedRow> {
  let [number, rows] = [0, 0]
  let end: unknown
  for (const bytes of linesOf(copy)) {
    number += 1
    const line = readLine(bytes)
    if (!line) throw new Error(`line ${number} is not JSON`)
    if (end !== undefined) throw new Error(`line ${number} comes after the end`)
    if (number === 1) checkHead(line)
    else if (line['type'] === 'end') end = line['rows']
    else {
      yield rowOf(line, number)
      rows += 1
    }
  }
  if (end !== rows) throw new Error('it is not complete')
}

function checkHead({ type, format }: JsonObject): void {
  if (type !== 'conversation') throw new Error('the first line is not that of a conversation')
  if (format === WHOLE_FORMAT) return
  throw new Error(`the format is ${String(format)}, and this edge reads ${WHOLE_FORMAT} and ${PARTS_FORMAT}`)
}

/** Reads a line with a row. Throws an Error that names the line if it is none. */
export function rowOf({ type, table, values }: JsonObject, number: number): CopiedRow {
  const columns = type === 'row' && typeof table === 'string' ? COPIED_TABLES.get(table) : undefined
  if (typeof table !== 'string' || !columns || !Array.isArray(values) || values.length !== columns.length)
    throw new Error(`line ${number} is not a row of a table`)
  if (!values.every(isValue)) throw new Error(`line ${number} is not a row of a table`)
  if (table === 'meta' && OWN_META.has(values[0])) throw new Error(`line ${number} is about the original alone`)
  return { number, table, values }
}

function isValue(value: unknown): value is CopiedValue {
  const isText = typeof value === 'string' || value instanceof LongText
  return value === null || isText || (typeof value === 'number' && Number.isFinite(value))
}

/** The texts of a copy's columns, of which long ones are in parts. No two columns may share parts. */
export class CopiedTexts {
  readonly #sql: SqlStorage
  readonly #chunks: Chunks
  /** The ids of the parts that columns have. */
  readonly #inUse = new Set<number>()

  constructor(sql: SqlStorage) {
    this.#sql = sql
    this.#chunks = new Chunks(sql)
  }

  /** Throws an Error if the parts have other numbers than those that an edge gives. */
  checkNumbers(): void {
    const query = `SELECT 1 FROM chunks WHERE typeof(id) <> 'integer' OR typeof(part) <> 'integer' OR id NOT BETWEEN 1 AND ?`
    if (this.#sql.exec(query, MOST_ID).toArray().length > 0)
      throw new Error('the parts of a text have no valid numbers')
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
    this.drop(column)
    return this.keep(text)
  }

  /** Removes the parts of a column, if it has any. */
  drop(column: string | number | null | undefined): void {
    const { id } = chunkName(String(column)) ?? {}
    if (id !== undefined) this.#inUse.delete(id)
    this.#chunks.drop(String(column))
  }

  /** Removes the parts of a column that was not read, unless a column that was read has them. */
  discard(column: string | number | null | undefined): void {
    const { id } = chunkName(String(column)) ?? {}
    if (id !== undefined && !this.#inUse.has(id)) this.#chunks.drop(String(column))
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
