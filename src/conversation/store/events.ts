import { isNewsType, type RunEvent } from '../../contract/event.ts'
import { parseJson } from '../../contract/json.ts'
import type { StoredFault } from '../../contract/thrown.ts'
import type { Database } from './database.ts'
import { isStoredFault, isUsage } from './shapes.ts'
import { decodeLine, typeOfLine } from '../../wire/events.ts'
import { isAboutUsage, sumUsage } from '../../loop/usage.ts'

/** Events numbered from `first` to `last`, each as one line of JSON. A row that was pruned has gaps. */
export interface EventRow {
  readonly first: number
  readonly last: number
  readonly lines: readonly string[]
  /** Whether the row still holds everything that was written to it. */
  readonly isComplete: boolean
}

/** The rows that are read at a time. A row has at most 170,000 characters of its text; the parts of a longer one are elsewhere. */
const PAGE = 16

/** The journals of all runs. */
export class EventTable {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  append(run: string, first: number, last: number, lines: readonly string[]): void {
    const column = this.#database.chunks.keep(lines.join('\n'))
    this.#database.rows('INSERT INTO events VALUES (?, ?, ?, ?)', run, first, last, column)
  }

  /** Reads the rows that hold events after a number, in order. */
  *after(run: string, number: number): Generator<EventRow> {
    // Begins at the row that may hold the number, so that SQLite scans no rows before it.
    const query = `SELECT first, last, lines FROM events WHERE run = ? AND last > ? AND first >=
      ifnull((SELECT max(first) FROM events WHERE run = ? AND first <= ?), 0) ORDER BY first LIMIT ${PAGE}`
    for (let [at, isLast] = [number, false]; !isLast;) {
      // Some rows a query: a cursor would not survive an await between rows, and all rows may not fit in memory.
      const rows = this.#database.rows<{ first: number; last: number; lines: string }>(query, run, at, run, at)
      isLast = rows.length < PAGE
      for (const row of rows) {
        at = row.last
        const text = this.#database.text(row.lines, { table: 'events', key: `${run}.${row.first}` })
        if (text === undefined) this.#replace(run, row.first, '')
        const lines = text?.split('\n').filter((line) => line !== '') ?? []
        // A row with lost content is empty or begins with an empty line.
        yield { ...row, lines, isComplete: text !== undefined && text !== '' && !text.startsWith('\n') }
      }
    }
  }

  /**
   * Returns what a journal tells of the usage of its run, and the part of it that the runs of agents account for. Reads row
   * by row and keeps nothing, so that it can be told of a run whose state does not fit into memory.
   */
  usage(run: string): ReturnType<typeof sumUsage> {
    return sumUsage(this.#usageEvents(run))
  }

  *#usageEvents(run: string): Generator<RunEvent> {
    for (const { lines } of this.after(run, 0)) {
      for (const line of lines) {
        const event = isAboutUsage(typeOfLine(line)) ? decodeLine(line) : undefined
        if (event && (!('usage' in event) || isUsage(event.usage))) yield event
      }
    }
  }

  /** Sets aside lines of a row that are not JSON, so that they are not read again. Returns false if there were any. */
  mend(run: string, { first, lines }: EventRow): boolean {
    const [good, broken]: [string[], string[]] = [[], []]
    for (const line of lines) (parseJson(line) === undefined ? broken : good).push(line)
    if (broken.length === 0) return true
    const key = `${run}.${first}`
    this.#database.setAside({ table: 'events', key, reason: 'no JSON' }, this.#database.chunks.keep(broken.join('\n')))
    this.#replace(run, first, this.#database.chunks.keep(['', ...good].join('\n')))
    return false
  }

  #replace(run: string, first: number, column: string): void {
    this.#database.rows('UPDATE events SET lines = ? WHERE run = ? AND first = ?', column, run, first)
  }

  /**
   * Removes a run's news. Only rows that hold news are written: to write rows costs more than to keep them for months.
   * Returns the number of the last event removed, or 0.
   */
  prune(run: string): number {
    let lastRemoved = 0
    for (const { first, lines, isComplete } of this.after(run, 0)) {
      const news = lines.filter((line) => isNewsType(typeOfLine(line)))
      if (news.length === 0) continue
      lastRemoved = numberOf(news.at(-1))
      const facts = lines.filter((line) => !isNewsType(typeOfLine(line)))
      this.#dropChunks('run = ? AND first = ?', run, first)
      if (facts.length === 0) this.#database.rows('DELETE FROM events WHERE run = ? AND first = ?', run, first)
      else this.#replace(run, first, this.#database.chunks.keep([...(isComplete ? [] : ['']), ...facts].join('\n')))
    }
    return lastRemoved
  }

  /** Removes an event from its row, and the row with the last of its events. */
  removeOne(run: string, number: number): void {
    const query =
      'SELECT first, lines FROM events WHERE run = ? AND first <= ? AND last >= ? ORDER BY first DESC LIMIT 1'
    const [row] = this.#database.rows<{ first: number; lines: string }>(query, run, number, number)
    const text = row && this.#database.text(row.lines, { table: 'events', key: `${run}.${row.first}` })
    if (!row || text === undefined) return
    const lines = text.split('\n').filter((line) => numberOf(line) !== number)
    this.#database.chunks.drop(row.lines)
    if (lines.length > 0) this.#replace(run, row.first, this.#database.chunks.keep(lines.join('\n')))
    else this.#database.rows('DELETE FROM events WHERE run = ? AND first = ?', run, row.first)
  }

  /** Removes a run's journal. */
  remove(run: string): void {
    this.#dropChunks('run = ?', run)
    this.#database.rows('DELETE FROM events WHERE run = ?', run)
  }

  #dropChunks(which: string, ...values: SqlStorageValue[]): void {
    const query = `SELECT lines FROM events WHERE ${which} AND lines LIKE '@%'`
    for (const { lines } of this.#database.rows<{ lines: string }>(query, ...values)) this.#database.chunks.drop(lines)
  }
}

/** Returns the number of a line's event: `seq`, the last member of the JSON; 0 if there is none. */
export function numberOf(line = ''): number {
  return Number(/"seq":(\d+)\}$/.exec(line)?.[1] ?? 0)
}

/** The most faults of a run that are stored: the first ones, which tell how it began to fail. */
const MOST_FAULTS = 50
/** The most characters of a detail. */
const DETAIL = 4000

/** The time of a fault in SQL; 0 if its text is broken. */
const AT = "CASE WHEN json_valid(fault) THEN json_extract(fault, '$.at') ELSE 0 END"

/**
 * The faults of runs with their details for operators, beside the journals, which the callers read. Few conversations
 * have any: the first fault creates the table.
 */
export class FaultTable {
  readonly #database: Database
  #isCreated: boolean | undefined

  constructor(database: Database) {
    this.#database = database
  }

  add(run: string, { detail, ...fault }: StoredFault): void {
    const text = JSON.stringify({ ...fault, ...(detail !== undefined && { detail: detail.slice(0, DETAIL) }) })
    const create = 'CREATE TABLE IF NOT EXISTS faults (id INTEGER PRIMARY KEY, run TEXT NOT NULL, fault TEXT NOT NULL)'
    this.#database.rows(create)
    this.#isCreated = true
    this.#database.rows(
      `INSERT INTO faults (run, fault) SELECT ?1, ?2
       WHERE (SELECT count(*) FROM faults WHERE run = ?1) < ${MOST_FAULTS}`,
      ...[run, text],
    )
  }

  /** Returns the faults of a run, in the order in which they happened. */
  of(run: string): StoredFault[] {
    if (!this.#exists()) return []
    const query = 'SELECT id, fault FROM faults WHERE run = ? ORDER BY id'
    return this.#database
      .rows<{ id: number; fault: string }>(query, run)
      .flatMap(({ id, fault }) => this.#database.value(fault, { table: 'faults', key: id }, isStoredFault) ?? [])
  }

  /** Returns when the first stored fault was reported, in epoch milliseconds; Infinity if none is stored. */
  oldest(): number {
    if (!this.#exists()) return Infinity
    const [row] = this.#database.rows<{ at: number }>(`SELECT ${AT} AS at FROM faults ORDER BY id LIMIT 1`)
    return row?.at ?? Infinity
  }

  /** Deletes the faults that were reported up to a time. */
  removeUpTo(time: number): void {
    if (this.#exists()) this.#database.rows(`DELETE FROM faults WHERE ${AT} <= ?`, time)
  }

  /** Forgets whether the table exists, after a transaction that may have created it was rolled back. */
  forget(): void {
    this.#isCreated = undefined
  }

  #exists(): boolean {
    this.#isCreated ??= this.#database.rows("SELECT 1 AS found FROM sqlite_master WHERE name = 'faults'").length > 0
    return this.#isCreated
  }
}
