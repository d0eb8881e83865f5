import type { RunSummary } from '../contract/conversation.ts'
import { isObject } from '../contract/json.ts'
import type { RunRecord, RunRequest, RunStatus } from '../contract/run.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import type { Ground } from './ground.ts'
import { MESSAGES_A_RUN } from './messages.ts'

/** What a run is known by without reading what was asked of it. `place` orders the runs of the conversation. */
export interface RunRow {
  readonly place: number
  readonly id: string
  readonly status: RunStatus
  /** How often the object was lost while the run ran. */
  readonly interrupted: number
  /** When it was first picked up after it had last got ahead, in epoch milliseconds, as `ended`. */
  readonly stalled: number | null
  readonly ended: number | null
  /** The number of the last event that is not kept any more; 0 for none, null where nothing was removed yet. */
  readonly pruned: number | null
}

/** A run as it was accepted. */
export interface StoredRun extends RunRow {
  readonly request: RunRequest
  readonly tools: readonly ToolDefinition[]
}

const COLUMNS = 'place, id, status, interrupted, stalled, ended, pruned'

/** The runs of a conversation. All but their requests are projections of their events. */
export class RunTable {
  readonly #ground: Ground

  constructor(ground: Ground) {
    this.#ground = ground
  }

  add(request: RunRequest, tools: readonly ToolDefinition[], now: number): void {
    this.#ground.rows(
      // After all that is there: messages of another conversation, too, have places.
      `INSERT INTO runs (place, id, status, request, toolset, created) VALUES (1 + max(
         ifnull((SELECT max(place) FROM runs), 0), ifnull((SELECT max(position) FROM messages), 0) / ${MESSAGES_A_RUN}
       ), ?, 'queued', ?, ?, ?)`,
      request.runId,
      this.#ground.chunks.keep(JSON.stringify(request)),
      this.#toolset(JSON.stringify(tools)),
      now,
    )
  }

  /** The same tools are kept once, however many runs are offered them; those too many for a row, once a run. */
  #toolset(definitions: string): number {
    const kept = this.#ground.chunks.keep(definitions)
    const query = 'SELECT id FROM toolsets WHERE definitions = ? LIMIT 1'
    const [known] = this.#ground.rows<{ id: number }>(query, kept)
    const add = 'INSERT INTO toolsets (definitions) VALUES (?) RETURNING id'
    return (known ?? this.#ground.sql.exec<{ id: number }>(add, kept).one()).id
  }

  row(id: string): RunRow | undefined {
    return this.#ground.rows<RunRow & Record<string, SqlStorageValue>>(
      `SELECT ${COLUMNS} FROM runs WHERE id = ?`,
      id,
    )[0]
  }

  /** The unfinished runs in their order, the one whose turn it is first. */
  unfinished(): string[] {
    return this.#ground
      .rows<{ id: string }>('SELECT id FROM runs WHERE record IS NULL ORDER BY place')
      .map((row) => row.id)
  }

  /** The whole run; undefined where there is none, or it cannot be read. */
  get(id: string): StoredRun | undefined {
    const row = this.row(id)
    const query = 'SELECT request, definitions FROM runs JOIN toolsets ON toolsets.id = toolset WHERE runs.id = ?'
    const [kept] = this.#ground.rows<{ request: string; definitions: string }>(query, id)
    if (!row || !kept || kept.request === '') return undefined
    const request = this.#ground.value(kept.request, { table: 'runs', key: id })
    const tools = this.#ground.value(kept.definitions, { table: 'toolsets', key: id })
    if (isRequest(request) && isTools(tools)) return { ...row, request, tools }
    // What was set aside is not read again.
    this.#ground.rows("UPDATE runs SET request = '' WHERE id = ?", id)
    return undefined
  }

  /** The newest run that did not fail, or is this one. */
  lastFor(id: string): string | undefined {
    const query = `SELECT id FROM runs WHERE status NOT IN ('failed', 'cancelled') OR id = ? ORDER BY place DESC LIMIT 1`
    return this.#ground.rows<{ id: string }>(query, id)[0]?.id
  }

  /** The newest runs before one of them, or of all, oldest first. */
  list(before: string | undefined, limit: number): RunSummary[] {
    const place = before === undefined ? undefined : this.row(before)?.place
    const query = 'SELECT id, status, created FROM runs WHERE place < ? ORDER BY place DESC LIMIT ?'
    const rows = this.#ground.rows<{ id: string; status: RunStatus; created: number }>(
      query,
      place ?? Number.MAX_SAFE_INTEGER,
      limit,
    )
    return rows.reverse()
  }

  /** All runs, oldest first. */
  *all(): Generator<RunSummary> {
    const query = 'SELECT place, id, status, created FROM runs WHERE place > ? ORDER BY place LIMIT 1'
    for (let at = 0; ;) {
      const [row] = this.#ground.rows<RunSummary & { place: number } & Record<string, SqlStorageValue>>(query, at)
      if (!row) return
      at = row.place
      yield row
    }
  }

  /** What is kept of a finished run besides its journal: the record without what its calls were sent and came to. */
  record(id: string): RunRecord | undefined {
    const [row] = this.#ground.rows<{ record: string | null }>('SELECT record FROM runs WHERE id = ?', id)
    const record = row?.record && this.#ground.value(row.record, { table: 'records', key: id })
    return isRecord(record) ? record : undefined
  }

  setStatus(id: string, status: RunStatus): void {
    this.#ground.rows('UPDATE runs SET status = ? WHERE id = ? AND record IS NULL', status, id)
  }

  /** Ends a run; false where it has ended already, and then it stays as it is. */
  end(record: RunRecord, now: number): boolean {
    const query = 'UPDATE runs SET status = ?, record = ?, ended = ? WHERE id = ? AND record IS NULL RETURNING id'
    const kept = this.#ground.chunks.keep(JSON.stringify(light(record)))
    return this.#ground.rows(query, record.status, kept, now, record.id).length > 0
  }

  setRequest(id: string, request: RunRequest): void {
    this.#ground.rows('UPDATE runs SET request = ? WHERE id = ?', this.#ground.chunks.keep(JSON.stringify(request)), id)
  }

  countInterruption(id: string, now: number): void {
    this.#ground.rows(
      'UPDATE runs SET interrupted = interrupted + 1, stalled = ifnull(stalled, ?) WHERE id = ?',
      now,
      id,
    )
  }

  gotAhead(id: string): void {
    this.#ground.rows('UPDATE runs SET stalled = NULL WHERE id = ?', id)
  }

  /** Numbers up to `upTo` may be given to events: no later life of the object gives them again. */
  reserve(id: string, upTo: number): void {
    this.#ground.rows('UPDATE runs SET reserved = max(reserved, ?) WHERE id = ?', upTo, id)
  }

  /** The number after which the run's next event is numbered. */
  lastNumber(id: string): number {
    const query = `SELECT max(ifnull((SELECT max(last) FROM events WHERE run = runs.id), 0), reserved) AS last
      FROM runs WHERE id = ?`
    return this.#ground.rows<{ last: number }>(query, id)[0]?.last ?? 0
  }

  /** The finished run whose events have not been pruned for longest. */
  unpruned(): { readonly id: string; readonly ended: number } | undefined {
    const query = 'SELECT id, ended FROM runs WHERE ended IS NOT NULL AND pruned IS NULL ORDER BY ended LIMIT 1'
    return this.#ground.rows<{ id: string; ended: number }>(query)[0]
  }

  setPruned(id: string, upTo: number): void {
    this.#ground.rows('UPDATE runs SET pruned = ? WHERE id = ?', upTo, id)
  }
}

function light({ calls, preambles: _preambles, ...record }: RunRecord): object {
  const few = calls.map(({ id, tool, status, ok, durationMs }) => ({
    id,
    tool,
    arguments: null,
    status,
    ok,
    durationMs,
  }))
  return { ...record, calls: few }
}

/** Rows are written by this object alone: what is an object at all is taken for what it was. */
function isRequest(value: unknown): value is RunRequest {
  return isObject(value) && typeof value.runId === 'string'
}

function isTools(value: unknown): value is ToolDefinition[] {
  return Array.isArray(value)
}

function isRecord(value: unknown): value is RunRecord {
  return isObject(value) && Array.isArray(value.calls)
}
