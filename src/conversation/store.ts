import type { RunSummary, StoredMessage } from '../contract/conversation.ts'
import type { Message } from '../contract/message.ts'
import { addUsage, NO_USAGE, type Usage } from '../contract/usage.ts'
import type { RunRecord, RunRequest, RunStatus } from '../contract/run.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { isMade, migrate } from './migrations.ts'

/** A run as it was accepted. `place` orders the runs of the conversation. */
export interface StoredRun {
  readonly place: number
  readonly id: string
  readonly status: RunStatus
  readonly request: RunRequest
  readonly tools: readonly ToolDefinition[]
  /** How often the object was lost while the run ran. */
  readonly interrupted: number
}

/** Lines `first` to `last` of a run's journal, a JSON event each. */
export interface EventRow {
  readonly first: number
  readonly last: number
  readonly lines: readonly string[]
}

/** Messages of a run that a position has room for. */
const MESSAGES_A_RUN = 1_000_000

/** The tables of one conversation. Rows of runs and messages are projections of the events, written with them. */
export class Store {
  readonly #storage: DurableObjectStorage
  readonly #sql: SqlStorage

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#sql = storage.sql
    if (isMade(storage)) migrate(storage)
  }

  /** `none`: never made, or made by nobody who may. `deleted`: a tombstone, for ever. */
  life(): 'none' | 'open' | 'deleted' {
    if (!isMade(this.#storage)) return 'none'
    const rows = this.#sql.exec("SELECT 1 FROM meta WHERE key = 'deleted'").toArray()
    return rows.length > 0 ? 'deleted' : 'open'
  }

  make(): void {
    migrate(this.#storage)
  }

  /** Epoch milliseconds after which nothing is kept, where that was asked for. */
  expires(): number | undefined {
    const [row] = this.#sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'expires'").toArray()
    return row && Number(row.value)
  }

  setExpires(time: number): void {
    this.#sql.exec("INSERT OR REPLACE INTO meta VALUES ('expires', ?)", String(time))
  }

  /** Removes all, as if it had never been. */
  async forget(): Promise<void> {
    await this.#storage.deleteAlarm()
    await this.#storage.deleteAll()
  }

  /** Removes all, and leaves a tombstone. */
  async bury(): Promise<void> {
    await this.forget()
    migrate(this.#storage)
    this.#sql.exec("INSERT INTO meta VALUES ('deleted', '1')")
  }

  transaction(work: () => void): void {
    this.#storage.transactionSync(work)
  }

  accept(request: RunRequest, tools: readonly ToolDefinition[], now: number): void {
    this.#sql.exec(
      "INSERT INTO runs (id, status, request, toolset, created) VALUES (?, 'queued', ?, ?, ?)",
      request.runId,
      JSON.stringify(request),
      this.#toolset(JSON.stringify(tools)),
      now,
    )
  }

  /** The same tools are kept once, however many runs are offered them. */
  #toolset(definitions: string): number {
    const find = 'SELECT id FROM toolsets WHERE definitions = ? LIMIT 1'
    const [kept] = this.#sql.exec<{ id: number }>(find, definitions).toArray()
    return (
      kept?.id ??
      this.#sql.exec<{ id: number }>('INSERT INTO toolsets (definitions) VALUES (?) RETURNING id', definitions).one().id
    )
  }

  /** The unfinished run whose turn it is. */
  next(): StoredRun | undefined {
    return this.#run('record IS NULL ORDER BY place LIMIT 1')
  }

  run(id: string): StoredRun | undefined {
    return this.#run('runs.id = ?', id)
  }

  #run(where: string, ...values: string[]): StoredRun | undefined {
    const query = `SELECT place, runs.id AS id, status, request, definitions, interrupted
      FROM runs JOIN toolsets ON toolsets.id = runs.toolset WHERE ${where}`
    const [row] = this.#sql
      .exec<{
        place: number
        id: string
        status: RunStatus
        request: string
        definitions: string
        interrupted: number
      }>(query, ...values)
      .toArray()
    if (!row) return undefined
    const { request, definitions, ...rest } = row
    return { ...rest, request: JSON.parse(request), tools: JSON.parse(definitions) }
  }

  unfinished(): number {
    return this.#sql.exec<{ n: number }>('SELECT count(*) AS n FROM runs WHERE record IS NULL').one().n
  }

  /** The record of a finished run. */
  record(id: string): RunRecord | undefined {
    const [row] = this.#sql.exec<{ record: string | null }>('SELECT record FROM runs WHERE id = ?', id).toArray()
    return row?.record ? JSON.parse(row.record) : undefined
  }

  runs(): RunSummary[] {
    return this.#sql
      .exec<{ id: string; status: RunStatus; created: number }>('SELECT id, status, created FROM runs ORDER BY place')
      .toArray()
  }

  usage(): { usage: Usage; runs: number } {
    const rows = this.#sql.exec<{ record: string }>('SELECT record FROM runs WHERE record IS NOT NULL').toArray()
    const records = rows.map((row): RunRecord => JSON.parse(row.record))
    return { usage: records.reduce((sum, record) => addUsage(sum, record.usage), NO_USAGE), runs: records.length }
  }

  setStatus(id: string, status: RunStatus, record?: RunRecord): void {
    this.#sql.exec(
      'UPDATE runs SET status = ?, record = ? WHERE id = ? AND record IS NULL',
      status,
      record ? JSON.stringify(record) : null,
      id,
    )
  }

  countInterruption(id: string): void {
    this.#sql.exec('UPDATE runs SET interrupted = interrupted + 1 WHERE id = ?', id)
  }

  /** Numbers up to `upTo` may be given to events: no later life of the object gives them again. */
  reserve(id: string, upTo: number): void {
    this.#sql.exec('UPDATE runs SET reserved = ? WHERE id = ?', upTo, id)
  }

  /** The number after which the run's next event is numbered. */
  lastNumber(id: string): number {
    const [kept] = this.#sql
      .exec<{ last: number }>(
        'SELECT max(ifnull((SELECT max(last) FROM events WHERE run = runs.id), 0), reserved) AS last FROM runs WHERE id = ?',
        id,
      )
      .toArray()
    return kept?.last ?? 0
  }

  appendEvents(run: string, first: number, lines: readonly string[]): void {
    const last = first + lines.length - 1
    this.#sql.exec('INSERT INTO events VALUES (?, ?, ?, ?)', run, first, last, lines.join('\n'))
  }

  *events(run: string, after: number): Generator<EventRow> {
    const query = 'SELECT first, last, lines FROM events WHERE run = ? AND last > ? ORDER BY first LIMIT 1'
    for (let at = after; ;) {
      // A row at a time: the cursor would not outlast what is awaited between them, nor all rows fit in memory.
      const [row] = this.#sql.exec<{ first: number; last: number; lines: string }>(query, run, at).toArray()
      if (!row) return
      at = row.last
      yield { ...row, lines: row.lines.split('\n') }
    }
  }

  appendMessages(place: number, run: string, from: number, messages: readonly Message[]): void {
    for (const [index, message] of messages.entries()) {
      const position = place * MESSAGES_A_RUN + from + index
      this.#sql.exec('INSERT INTO messages VALUES (?, ?, ?)', position, run, JSON.stringify(message))
    }
  }

  /** The newest messages before a position, oldest first. */
  messages(before: number, limit: number): StoredMessage[] {
    const query = 'SELECT position, run, message FROM messages WHERE position < ? ORDER BY position DESC LIMIT ?'
    return this.#sql
      .exec<{ position: number; run: string; message: string }>(query, before, limit)
      .toArray()
      .reverse()
      .map(({ position, run, message }) => ({ position, run, message: JSON.parse(message) }))
  }

  /** Where the messages of a run begin. */
  positionOf(place: number): number {
    return place * MESSAGES_A_RUN
  }
}
