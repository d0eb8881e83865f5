import { isObject } from '../contract/json.ts'
import type { Content } from '../contract/message.ts'
import type { RunRecord } from '../contract/run.ts'
import type { ToolOutcome } from '../contract/tool.ts'
import type { Ground } from './ground.ts'

/** Results that are too large to be shown whole, and outcomes that came late: what is of a call, and beside the journal. */
export class WholeTable {
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
  }

  /** Keeps the whole of a call's result. */
  keep(call: string, content: readonly Content[]): void {
    const kept = this.#ground.chunks.keep(JSON.stringify(content))
    this.#ground.rows('INSERT OR REPLACE INTO wholes VALUES (?, ?)', call, kept)
  }

  of(call: string): readonly Content[] | undefined {
    const [row] = this.#ground.rows<{ content: string }>('SELECT content FROM wholes WHERE call = ?', call)
    const content = row && this.#ground.value(row.content, { table: 'wholes', key: call })
    return Array.isArray(content) ? content : undefined
  }

  /** Keeps an outcome that nobody waited for any more; the first counts. */
  keepLate(run: string, call: string, outcome: ToolOutcome): void {
    const kept = this.#ground.chunks.keep(JSON.stringify(outcome))
    this.#ground.rows('INSERT OR IGNORE INTO wholes VALUES (?, ?)', `${lateOf(run)}${call}`, kept)
  }

  /** A record with what came late for its calls. */
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

/** What stands before the ids of a run's calls whose outcomes came late; no call has such an id. */
function lateOf(run: string): string {
  return `late/${run}/`
}
