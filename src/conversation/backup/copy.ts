import { MOST_COPY_BYTES } from '../../contract/backup.ts'
import { isObject, type JsonObject, parseJson } from '../../contract/json.ts'
import { messageOf } from '../../contract/thrown.ts'
import { chunkName, Chunks } from '../store/database.ts'

/** The format of a copy. A newer edge reads those of older ones. */
const FORMAT = 1

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
const OWN_META: ReadonlySet<unknown> = new Set([
  ...['agentsKey', 'owner', 'version', 'owed', 'spendRetry', 'bytes', 'full', 'deleted'],
])

/**
 * Copies a conversation: a line that names it, one for each row, and one with the number of rows, which an incomplete
 * copy lacks. Returns undefined if the copy would be too large.
 */
export function copyTables({ sql }: DurableObjectStorage, id: string): Uint8Array | undefined {
  const encoder = new TextEncoder()
  const parts: Uint8Array[] = []
  let bytes = 0
  const push = (line: object) => {
    const part = encoder.encode(`${JSON.stringify(line)}\n`)
    parts.push(part)
    bytes += part.byteLength
  }
  push({ type: 'conversation', format: FORMAT, id })
  let rows = 0
  for (const [table, columns] of COPIED_TABLES) {
    for (const row of sql.exec(`SELECT ${columns.join(', ')} FROM ${table}`)) {
      if (table === 'meta' && OWN_META.has(row['key'])) continue
      push({ type: 'row', table, values: columns.map((column) => row[column]) })
      rows += 1
      if (bytes > MOST_COPY_BYTES) return undefined
    }
  }
  push({ type: 'end', rows })
  return joined(parts, bytes)
}

/** Returns what is wrong with a copy, or undefined. */
export function faultOfCopy(copy: Uint8Array): string | undefined {
  try {
    for (const _ of rowsOf(copy)) continue
    return undefined
  } catch (error) {
    return messageOf(error)
  }
}

/** Writes a copy into empty tables. Throws an Error that says what is wrong with it. */
export function writeTables({ sql }: DurableObjectStorage, copy: Uint8Array): void {
  for (const { number, table, columns, values } of rowsOf(copy)) {
    const marks = columns.map(() => '?').join(', ')
    try {
      sql.exec(`INSERT INTO ${table} (${columns.join(', ')}) VALUES (${marks})`, ...values)
    } catch (error) {
      throw new Error(`line ${number} cannot be stored: ${messageOf(error)}`, { cause: error })
    }
  }
}

interface CopiedRow {
  /** The number of its line. */
  readonly number: number
  readonly table: string
  readonly columns: readonly string[]
  readonly values: readonly (string | number | null)[]
}

/** Reads the rows of a copy. Throws an Error that says what is wrong with it, such as that it is incomplete. */
function* rowsOf(copy: Uint8Array): Generator<CopiedRow> {
  let [number, rows] = [0, 0]
  let end: unknown
  for (const text of linesOf(copy)) {
    number += 1
    const line = parseJson(text)
    if (!isObject(line)) throw new Error(`line ${number} is not JSON`)
    if (end !== undefined) throw new Error(`line ${number} comes after the end`)
    if (number === 1) checkHead(line)
    else if (line['type'] === 'end') end = line['rows']
    else {
      yield { number, ...rowOf(line, number) }
      rows += 1
    }
  }
  if (end !== rows) throw new Error('it is not complete')
}

function checkHead({ type, format }: JsonObject): void {
  if (type !== 'conversation') throw new Error('the first line is not that of a conversation')
  if (format !== FORMAT) throw new Error(`the format is ${String(format)}, and this edge reads ${FORMAT}`)
}

function rowOf({ type, table, values }: JsonObject, number: number): Omit<CopiedRow, 'number'> {
  const columns = type === 'row' && typeof table === 'string' ? COPIED_TABLES.get(table) : undefined
  if (typeof table !== 'string' || !columns || !Array.isArray(values) || values.length !== columns.length)
    throw new Error(`line ${number} is not a row of a table`)
  if (!values.every(isValue)) throw new Error(`line ${number} is not a row of a table`)
  if (table === 'meta' && OWN_META.has(values[0])) throw new Error(`line ${number} is about the original alone`)
  return { table, columns, values }
}

function isValue(value: unknown): value is string | number | null {
  return value === null || typeof value === 'string' || (typeof value === 'number' && Number.isFinite(value))
}

/** Decodes the lines of a text one by one, so that the text is never in memory at once. */
function* linesOf(bytes: Uint8Array): Generator<string> {
  const decoder = new TextDecoder()
  const NEWLINE = 10
  for (let at = 0; at < bytes.byteLength;) {
    const newline = bytes.indexOf(NEWLINE, at)
    const end = newline === -1 ? bytes.byteLength : newline
    if (end > at) yield decoder.decode(bytes.subarray(at, end))
    at = end + 1
  }
}

function joined(parts: readonly Uint8Array[], bytes: number): Uint8Array {
  const all = new Uint8Array(bytes)
  let at = 0
  for (const part of parts) {
    all.set(part, at)
    at += part.byteLength
  }
  return all
}

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
