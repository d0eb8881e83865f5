import { type CopyMark, type CopyPlace, PARTS_FORMAT } from '../../contract/backup.ts'
import { runOfCall } from '../../contract/id.ts'
import { chunkName } from '../store/database.ts'
import { MESSAGES_A_RUN, positionOf } from '../store/messages.ts'
import { COPIED_TABLES, KEYS, OWN_META, type TableRow } from './copy.ts'
import { LineWriter, LongText, SHORT_BYTES } from './lines.ts'
import { positionOfNotes } from '../../contract/context.ts'

/** The size of a part in bytes, which its last line may exceed. A part is held in memory until it was read. */
export const PART_BYTES = 4 * 1024 * 1024

/** The rows that are read at a time, without their long texts. */
const PAGE = 16

/** The tables in the order in which they are copied: runs before what belongs to them. */
const ORDER = ['meta', 'toolsets', 'runs', 'joined', 'events', 'messages', 'wholes', 'quarantine'] as const
type Table = (typeof ORDER)[number]

/** The parts of a conversation’s store that a copy reads. */
interface MarkedStore {
  meta(name: 'owner' | 'replacements'): unknown
  readonly runs: {
    unfinished(): readonly string[]
    parkedFrom(place: number): readonly string[]
    nextPlace(): number
  }
}

/** Returns the mark of a copy that begins now, of a conversation that was created at a time. */
export function markOf(sql: SqlStorage, { runs }: MarkedStore, created: number): CopyMark {
  const place = runs.nextPlace() - 1
  const open = [...runs.unfinished(), ...runs.parkedFrom(0)].flatMap((id) => openRun(sql, id))
  return { created, place, run: lastRun(sql, place), open }
}

function openRun(sql: SqlStorage, id: string): CopyMark['open'] {
  const query = `SELECT place, reserved, (SELECT ifnull(max(last), 0) FROM events WHERE run = id) AS last,
      (SELECT count(*) FROM messages WHERE position >= place * ${MESSAGES_A_RUN}
        AND position < (place + 1) * ${MESSAGES_A_RUN}) AS messages
    FROM runs WHERE id = ?`
  const rows = sql.exec<{ place: number; reserved: number; last: number; messages: number }>(query, id).toArray()
  return rows.map(({ place, last, reserved, messages }) => [place, last, reserved, messages])
}

function lastRun(sql: SqlStorage, place: number): string {
  const query = 'SELECT id FROM runs WHERE place <= ? ORDER BY place DESC LIMIT 1'
  return sql.exec<{ id: string }>(query, place).toArray()[0]?.id ?? ''
}

/**
 * Whether what a mark shows can still be read: the conversation is the same one, it was not taken back to before the mark,
 * and no turn from before the mark was replaced after it, which changes messages that are stored.
 */
export function holds(sql: SqlStorage, store: Pick<MarkedStore, 'meta'>, mark: CopyMark, created: number): boolean {
  const replacements = store.meta('replacements')
  const last: unknown = Array.isArray(replacements) ? replacements.at(-1) : undefined
  const isReplaced = Array.isArray(last) && Number(last[1]) > mark.place
  return mark.created === created && !isReplaced && lastRun(sql, mark.place) === mark.run
}

/** A part of a copy. `next`: where the part after it begins; absent for the last. */
export interface CopiedPart {
  readonly copy: Uint8Array<ArrayBuffer>
  readonly next?: Omit<CopyPlace, 'digest'>
}

/**
 * Copies the part of a conversation that begins at a place: a line that names it, lines for the rows and for their long
 * texts, which come before their row, and a line with the number of these. Returns undefined if the row at which the part
 * before ended has changed since.
 */
export function copyPart(
  { sql }: Pick<DurableObjectStorage, 'sql'>,
  id: string,
  from: CopyPlace,
): CopiedPart | undefined {
  const { mark, part, digest } = from
  const first = ORDER.findIndex((table) => table === from.table)
  if (first === -1) return undefined
  const lines = new LineWriter()
  lines.push({ type: 'conversation', format: PARTS_FORMAT, id, part, ...(part > 1 && { after: digest }) })
  let count = 0
  let { after, texts } = from
  const end = (next?: Pick<CopyPlace, 'table' | 'after' | 'texts' | 'shape'>): CopiedPart => {
    lines.push({ type: 'end', rows: count })
    return { copy: lines.end(), ...(next && { next: { mark, part: part + 1, ...next } }) }
  }
  for (const table of ORDER.slice(first)) {
    for (const row of rowsAfter(sql, table, { mark, after })) {
      const columns = (COPIED_TABLES.get(table) ?? []).map((name) => new Column(sql, table, name, row))
      if (texts > 0 && shapeOf(columns) !== from.shape) return undefined
      const pending = columns.flatMap((column) =>
        Array.from({ length: column.parts }, (_, at) => () => column.push(lines, at)),
      )
      for (; texts < pending.length && lines.bytes < PART_BYTES; texts++, count++) pending[texts]?.()
      if (lines.bytes >= PART_BYTES) return end({ table, after, texts, ...(texts > 0 && { shape: shapeOf(columns) }) })
      lines.pushRow(
        table,
        columns.map((column) => column.value()),
      )
      count += 1
      after = (KEYS.get(table) ?? []).map((key) => row[key] ?? '')
      texts = 0
    }
    if (texts > 0) return undefined
    after = []
  }
  return end()
}

/** A column of a row. Its text may be in parts, which have lines of their own in a copy. */
class Column {
  readonly parts: number
  readonly #sql: SqlStorage
  readonly #table: Table
  readonly #name: string
  readonly #row: TableRow
  /** That of its parts; 0 if it has none. */
  readonly #id: number

  constructor(sql: SqlStorage, table: Table, name: string, row: TableRow) {
    const { id = 0, parts = 0 } = chunkName(String(row[name])) ?? {}
    this.#sql = sql
    this.#table = table
    this.#name = name
    this.#row = row
    this.#id = id
    this.parts = parts > 0 && countParts(sql, id) === parts ? parts : 0
  }

  get shape(): string {
    const query = 'SELECT sum(length(text)) AS length FROM chunks WHERE id = ?'
    return `${this.#id}/${this.#sql.exec<{ length: number | null }>(query, this.#id).one().length}`
  }

  /** Adds the line of a part. */
  push(lines: LineWriter, part: number): void {
    lines.pushText(this.#read('text', 'chunks', { id: this.#id, part }), part + 1 < this.parts)
  }

  /** Returns what the row has. A text of which parts are missing is lost, and copied as an empty one. */
  value(): unknown {
    if (this.parts > 0) return { parts: this.parts }
    if (this.#id > 0) return ''
    const value: unknown = this.#row[this.#name] ?? null
    return typeof value === 'object' && value !== null ? this.#read(this.#name, this.#table, this.#row) : value
  }

  #read(column: string, table: string, row: TableRow): LongText {
    const keys = KEYS.get(table) ?? []
    const where = keys.map((key) => `${key} = ?`).join(' AND ')
    const query = `SELECT CAST(json_quote(${column}) AS BLOB) AS json FROM ${table} WHERE ${where}`
    const { json } = this.#sql.exec<{ json: ArrayBuffer }>(query, ...keys.map((key) => row[key])).one()
    return new LongText(new Uint8Array(json))
  }
}

/** Returns the columns to read of a table: for a long text an empty blob, for any other blob an empty text. */
function columnsOf(table: Table): string {
  const short = (column: string) => `CASE WHEN typeof(${column}) = 'blob' THEN ''
    WHEN octet_length(${column}) > ${SHORT_BYTES} THEN zeroblob(0) ELSE ${column} END AS ${column}`
  const keys = KEYS.get(table) ?? []
  return (COPIED_TABLES.get(table) ?? []).map((name) => (keys.includes(name) ? name : short(name))).join(', ')
}

/** Returns a text by which it is noticed that one of the long texts of a row was rewritten. */
function shapeOf(columns: readonly Column[]): string {
  return columns.map((column) => column.shape).join()
}

function countParts(sql: SqlStorage, id: number): number {
  return sql.exec<{ count: number }>('SELECT count(*) AS count FROM chunks WHERE id = ?', id).one().count
}

/** The end of the rows to read, and the key after which to begin; empty for all. */
interface Range {
  readonly mark: CopyMark
  readonly after: readonly (string | number)[]
}

/** Reads the rows of a table that a mark shows, as they were then. */
function* rowsAfter(sql: SqlStorage, table: Table, range: Range): Generator<TableRow> {
  const { mark } = range
  const open = new Map(mark.open.map(([place, ...run]) => [place, run]))
  if (table === 'events') return yield* eventsAfter(sql, range, open)
  for (const row of pagesOf(sql, table, range)) {
    if (table === 'meta' && OWN_META.has(row['key'])) continue
    if (!isShown(sql, table, row, { place: mark.place, open })) continue
    const [, reserved] = (table === 'runs' && open.get(Number(row['place']))) || []
    // A run that has ended since had no record then.
    yield reserved === undefined
      ? row
      : { ...row, status: 'running', record: null, ended: null, pruned: null, reserved }
  }
}

/** What the mark says of each run that had not ended, by its place. */
type OpenRuns = ReadonlyMap<number, readonly [last: number, reserved: number, messages: number]>

/** What there was at the mark. */
interface Snapshot {
  /** The last place. */
  readonly place: number
  readonly open: OpenRuns
}

/** Whether a row was there at the mark, of a table other than that of events. */
function isShown(sql: SqlStorage, table: Table, row: TableRow, { place, open }: Snapshot): boolean {
  if (table === 'runs') return Number(row['place']) <= place
  if (table === 'joined') return (placeOf(sql, row['run']) ?? Infinity) <= place
  if (table === 'wholes') {
    const call = String(row['call'])
    const notes = positionOfNotes(call)
    return (notes === undefined ? (placeOf(sql, runOf(call)) ?? 0) : Math.floor(notes / MESSAGES_A_RUN)) <= place
  }
  if (table !== 'messages') return true
  const position = Number(row['position'])
  const ofRun = Math.floor(position / MESSAGES_A_RUN)
  const [, , messages = Infinity] = open.get(ofRun) ?? []
  return ofRun <= place && position < positionOf(ofRun) + messages
}

/** Returns the run of a complete result, or of an outcome that came late or was reported. */
function runOf(call: string): string | undefined {
  return call.includes('/') ? call.split('/')[1] : runOfCall(call)
}

function placeOf(sql: SqlStorage, run: string | number | null | undefined): number | undefined {
  return sql.exec<{ place: number }>('SELECT place FROM runs WHERE id = ?', run ?? null).toArray()[0]?.place
}

/** Reads the rows of a table in the order of its key. */
function* pagesOf(sql: SqlStorage, table: Table, { after }: Range): Generator<TableRow> {
  const [key = ''] = KEYS.get(table) ?? []
  const query = `SELECT ${columnsOf(table)} FROM ${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ${PAGE}`
  const isText = table === 'meta' || table === 'joined' || table === 'wholes'
  for (let [at, isLast] = [after[0] ?? (isText ? '' : -1), false]; !isLast;) {
    const rows = sql.exec<TableRow>(query, at).toArray()
    isLast = rows.length < PAGE
    for (const row of rows) {
      at = row[key] ?? at
      yield row
    }
  }
}

/** Reads the events of the runs in the order of these. */
function* eventsAfter(sql: SqlStorage, { mark, after }: Range, open: OpenRuns): Generator<TableRow> {
  const [run, number] = after
  let first = Number(number ?? -1)
  const query = `SELECT ${columnsOf('events')} FROM events WHERE run = ? AND first > ? ORDER BY first LIMIT ${PAGE}`
  for (const { id, place } of runsFrom(sql, run === undefined ? 0 : (placeOf(sql, run) ?? 0), mark.place)) {
    const [last = Infinity] = open.get(place) ?? []
    for (let isLast = false; !isLast;) {
      const rows = sql.exec<TableRow>(query, id, first).toArray()
      isLast = rows.length < PAGE
      for (const row of rows) {
        first = Number(row['first'])
        if (Number(row['last']) <= last) yield row
      }
    }
    first = -1
  }
}

/** Reads the ids and places of the runs from one place to another. */
function* runsFrom(
  sql: SqlStorage,
  from: number,
  to: number,
): Generator<{ readonly id: string; readonly place: number }> {
  const query = 'SELECT id, place FROM runs WHERE place >= ? AND place <= ? ORDER BY place LIMIT 1'
  for (let at = from; ;) {
    const [row] = sql.exec<{ id: string; place: number }>(query, at, to).toArray()
    if (!row) return
    yield row
    at = row.place + 1
  }
}
