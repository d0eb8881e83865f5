import { isObject } from '../contract/json.ts'
import type { Content } from '../contract/message.ts'
import type { RunRecord } from '../contract/run.ts'
import type { ToolOutcome } from '../contract/tool.ts'
import type { Ground } from './ground.ts'

/** Data of calls outside the journal: complete results of which models see a part, and outcomes that came late. */
export class WholeTable {
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
  }

  /** Stores the complete result of a call. */
  keep(call: string, content: readonly Content[]): void {
    const kept = this.#ground.chunks.keep(JSON.stringify(content))
    this.#ground.rows('INSERT OR REPLACE INTO wholes VALUES (?, ?)', call, kept)
  }

  of(call: string): readonly Content[] | undefined {
    const [row] = this.#ground.rows<{ content: string }>('SELECT content FROM wholes WHERE call = ?', call)
    const content = row && this.#ground.value(row.content, { table: 'wholes', key: call })
    return Array.isArray(content) ? content : undefined
  }

  /** Stores an outcome that came too late to count. Of several for one call, the first is kept. */
  keepLate(run: string, call: string, outcome: ToolOutcome): void {
    const kept = this.#ground.chunks.keep(JSON.stringify(outcome))
    this.#ground.rows('INSERT OR IGNORE INTO wholes VALUES (?, ?)', `${lateOf(run)}${call}`, kept)
  }

  /** Returns the record with the late outcomes of its calls (`late`). */
  withLate(record: RunRecord): RunRecord {
    const prefix = lateOf(record.id)
    const rows = this.#ground.rows<{ call: string; content: string }>(
      'SELECT call, content FROM wholes WHERE call > ? AND call < ?',
      prefix,
      `${prefix}~`,
    )
    if (rows.length === 0) return record
    const late = new Map(
      rows.map(({ call, content }) => {
        return [call.slice(prefix.length), this.#ground.value(content, { table: 'wholes', key: call })]
      }),
    )
    const calls = record.calls.map((call) => {
      const outcome = late.get(call.id)
      return isObject(outcome) ? { ...call, late: { ok: outcome.ok === true } } : call
    })
    return { ...record, calls }
  }
}

/** Returns the prefix of the keys of a run's late outcomes. No call id begins with it. */
function lateOf(run: string): string {
  return `late/${run}/`
}
