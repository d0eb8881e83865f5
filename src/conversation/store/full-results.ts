import { canonicalJson, isObject } from '../../contract/json.ts'
import type { Content } from '../../contract/message.ts'
import type { RunRecord } from '../../contract/run.ts'
import type { ToolOutcome } from '../../contract/tool.ts'
import type { Database } from './database.ts'
import { isContent } from './shapes.ts'

/** Data of calls outside the journal: complete results of which models see a part, and outcomes that came late. */
export class FullResultTable {
  readonly #database: Database

  constructor(database: Database) {
    this.#database = database
  }

  /** Stores the complete result of a call. */
  keep(call: string, content: readonly Content[]): void {
    const column = this.#database.chunks.keep(JSON.stringify(content))
    this.#database.rows('INSERT OR REPLACE INTO wholes VALUES (?, ?)', call, column)
  }

  of(call: string): readonly Content[] | undefined {
    const [row] = this.#database.rows<{ content: string }>('SELECT content FROM wholes WHERE call = ?', call)
    return row && this.#database.value(row.content, { table: 'wholes', key: call }, isContent)
  }

  /**
   * Stores whether a call succeeded whose outcome came too late to count: the first one of each call. Nobody reads its
   * content. Returns whether it is the first.
   */
  addLate(run: string, call: string, ok: boolean): boolean {
    const query = 'INSERT OR IGNORE INTO wholes VALUES (?, ?) RETURNING call'
    return this.#database.rows(query, `${latePrefix(run)}${call}`, JSON.stringify({ ok })).length > 0
  }

  /** Stores the outcome that was reported for a call of a run. */
  keepReport(run: string, call: string, outcome: ToolOutcome): void {
    const column = this.#database.chunks.keep(canonicalJson(outcome))
    this.#database.rows('INSERT OR IGNORE INTO wholes VALUES (?, ?)', `${reportPrefix(run)}${call}`, column)
  }

  /** Returns the outcome that was reported for a call of a run; undefined if there is none. */
  report(run: string, call: string): ToolOutcome | undefined {
    const key = `${reportPrefix(run)}${call}`
    const [row] = this.#database.rows<{ content: string }>('SELECT content FROM wholes WHERE call = ?', key)
    return row && this.#database.value(row.content, { table: 'wholes', key }, isOutcome)
  }

  /** Returns the record with the late outcomes of its calls (`late`). */
  withLateOutcomes(record: RunRecord): RunRecord {
    const prefix = latePrefix(record.id)
    const rows = this.#database.rows<{ call: string; content: string }>(
      'SELECT call, content FROM wholes WHERE call > ? AND call < ?',
      prefix,
      `${prefix}~`,
    )
    if (rows.length === 0) return record
    const outcomes = new Map(
      rows.map(({ call, content }) => {
        return [call.slice(prefix.length), this.#database.value(content, { table: 'wholes', key: call }, isObject)]
      }),
    )
    const calls = record.calls.map((call) => {
      const outcome = outcomes.get(call.id)
      return isObject(outcome) ? { ...call, late: { ok: outcome.ok === true } } : call
    })
    return { ...record, calls }
  }
}

function isOutcome(value: unknown): value is ToolOutcome {
  return isObject(value) && (value.ok === true || isObject(value.error))
}

function reportPrefix(run: string): string {
  return `report/${run}/`
}

/** Returns the prefix of the keys of a run's late outcomes. No call id begins with it. */
export function latePrefix(run: string): string {
  return `late/${run}/`
}
