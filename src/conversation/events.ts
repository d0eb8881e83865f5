import { parseJson } from '../contract/json.ts'
import { typeOfLine } from '../wire/events.ts'
import type { Ground } from './ground.ts'

/** A JSON event a line, between the numbers `first` and `last`. A row that was pruned has gaps. */
export interface EventRow {
  readonly first: number
  readonly last: number
  readonly lines: readonly string[]
  /** Nothing that was written here is lost. */
  readonly whole: boolean
}

/** Characters of the rows that a pruned run's events are packed into. */
const PACKED = 128 * 1024

/** The journals of all runs. */
export class EventTable {
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
  }

  append(run: string, first: number, last: number, lines: readonly string[]): void {
    const kept = this.#ground.chunks.keep(lines.join('\n'))
    this.#ground.rows('INSERT INTO events VALUES (?, ?, ?, ?)', run, first, last, kept)
  }

  /** The rows that hold events after a number, in order. */
  *after(run: string, number: number): Generator<EventRow> {
    // From the row that holds the number, so that nothing before it is looked at.
    const query = `SELECT first, last, lines FROM events WHERE run = ? AND last > ? AND first >=
      ifnull((SELECT max(first) FROM events WHERE run = ? AND first <= ?), 0) ORDER BY first LIMIT 1`
    for (let at = number; ;) {
      // A row at a time: the cursor would not outlast what is awaited between them, nor all rows fit in memory.
      const [row] = this.#ground.rows<{ first: number; last: number; lines: string }>(query, run, at, run, at)
      if (!row) return
      at = row.last
      const text = this.#ground.text(row.lines, { table: 'events', key: `${run}.${row.first}` })
      if (text === undefined) this.#replace(run, row.first, '')
      const lines = text?.split('\n').filter((line) => line !== '') ?? []
      // An empty line stands for what could not be read.
      yield { ...row, lines, whole: text !== undefined && text !== '' && !text.startsWith('\n') }
    }
  }

  /** Takes the lines that are no JSON out of a row, so that nobody stumbles over them again. False if there were any. */
  mend(run: string, { first, lines }: EventRow): boolean {
    const [good, broken]: [string[], string[]] = [[], []]
    for (const line of lines) (parseJson(line) === undefined ? broken : good).push(line)
    if (broken.length === 0) return true
    const key = `${run}.${first}`
    this.#ground.setAside({ table: 'events', key, reason: 'no JSON' }, this.#ground.chunks.keep(broken.join('\n')))
    this.#replace(run, first, this.#ground.chunks.keep(['', ...good].join('\n')))
    return false
  }

  #replace(run: string, first: number, kept: string): void {
    this.#ground.rows('UPDATE events SET lines = ? WHERE run = ? AND first = ?', kept, run, first)
  }

  /** Removes a run's news, packs its facts, and says the number of the last event that is gone. */
  prune(run: string): number {
    let gone = 0
    let packed: string[] = []
    let size = 0
    const rows: string[][] = []
    for (const { lines } of this.after(run, 0)) {
      for (const line of lines) {
        if (isNews(line)) {
          gone = numberOf(line)
          continue
        }
        packed.push(line)
        size += line.length
      }
      if (size < PACKED) continue
      rows.push(packed)
      packed = []
      size = 0
    }
    if (packed.length > 0) rows.push(packed)
    this.remove(run)
    for (const lines of rows) this.append(run, numberOf(lines[0]), numberOf(lines.at(-1)), lines)
    return gone
  }

  /** Removes a run's journal. */
  remove(run: string): void {
    const kept = this.#ground.rows<{ lines: string }>("SELECT lines FROM events WHERE run = ? AND lines LIKE '@%'", run)
    for (const { lines } of kept) this.#ground.chunks.drop(lines)
    this.#ground.rows('DELETE FROM events WHERE run = ?', run)
  }
}

/** The number of a line's event: its last member. */
export function numberOf(line = ''): number {
  return Number(/"seq":(\d+)\}$/.exec(line)?.[1] ?? 0)
}

/** News is for those who read along. */
function isNews(line: string): boolean {
  return /\.(?:delta|proposed|progress)$/.test(typeOfLine(line))
}
