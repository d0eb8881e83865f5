import { parseJson } from '../../contract/json.ts'
import { isNewsType } from '../../contract/event.ts'
import { typeOfLine } from '../../wire/events.ts'
import type { Database } from './database.ts'

/** Events numbered from `first` to `last`, each as one line of JSON. A row that was pruned has gaps. */
export interface EventRow {
  readonly first: number
  readonly last: number
  readonly lines: readonly string[]
  /** Whether the row still holds everything that was written to it. */
  readonly isComplete: boolean
}

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
      ifnull((SELECT max(first) FROM events WHERE run = ? AND first <= ?), 0) ORDER BY first LIMIT 1`
    for (let at = number; ;) {
      // One row per query: a cursor would not survive an await between rows, and all rows may not fit in memory.
      const [row] = this.#database.rows<{ first: number; last: number; lines: string }>(query, run, at, run, at)
      if (!row) return
      at = row.last
      const text = this.#database.text(row.lines, { table: 'events', key: `${run}.${row.first}` })
      if (text === undefined) this.#replace(run, row.first, '')
      const lines = text?.split('\n').filter((line) => line !== '') ?? []
      // A row with lost content is empty or begins with an empty line.
      yield { ...row, lines, isComplete: text !== undefined && text !== '' && !text.startsWith('\n') }
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

  /** Removes the row of an event, if the event is alone in it. */
  removeOne(run: string, number: number): void {
    const which = 'run = ? AND first = ? AND last = ?'
    this.#dropChunks(which, run, number, number)
    this.#database.rows(`DELETE FROM events WHERE ${which}`, run, number, number)
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
