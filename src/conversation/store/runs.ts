import type { RunSummary } from '../../contract/conversation.ts'
import { isTerminal, type RunRecord, type RunRequest, type RunStatus } from '../../contract/run.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { Database } from './database.ts'
import { MESSAGES_A_RUN } from './messages.ts'
import { isRecord, isRequest, isTools } from './shapes.ts'

/** The place after all in use, including those of messages that are of no run. */
const NEXT_PLACE = `1 + max(ifnull((SELECT max(place) FROM runs), 0),
  ifnull((SELECT max(position) FROM messages), 0) / ${MESSAGES_A_RUN})`

/** The columns of a run apart from its request and tools. `place` orders the runs of the conversation. */
export interface RunRow {
  readonly place: number
  readonly id: string
  readonly status: RunStatus
  /** How often the run was interrupted since its last progress, by the loss of the object or by an error. */
  readonly interrupted: number
  /** The time of the first interruption since the last progress, in epoch milliseconds, like `ended`. */
  readonly stalled: number | null
  /** For how long instances have driven the run since its last progress and its first interruption, in milliseconds. */
  readonly idle: number
  /** How many instances in a row began to resume the run and did not report that they survived it. */
  readonly resumes: number
  readonly ended: number | null
  /** The number of the last event that pruning removed; 0 if it removed none, null if the run was not pruned yet. */
  readonly pruned: number | null
}

/** A run with its request, as it was accepted or as a later request changed it, and the tools on offer. */
export interface StoredRun extends RunRow {
  readonly request: RunRequest
  readonly tools: readonly ToolDefinition[]
}

/** How many event numbers are reserved at a time, so that not every news event needs a write. */
export const RESERVED = 1024

/** A damaged number may be larger than JavaScript's numbers are exact. */
const MOST_INTEGER = 2 ** 52

const COLUMNS =
  'place, id, status, interrupted, stalled, idle, resumes, ended, pruned, record IS NOT NULL AS has_record'

/** A list of tools and its row. */
interface Toolset {
  readonly id: number
  /** The list as it is stored. */
  readonly definitions: string
  readonly tools: readonly ToolDefinition[]
}

/** The runs of a conversation. All but their requests and tools are projections of their events. */
export class RunTable {
  readonly #database: Database
  /** The list of tools of the latest run: most runs of a conversation have the same one. */
  #latestToolset: Toolset | undefined
  /** The runs that have not ended, in order; undefined if they must be read. */
  #open: readonly Pick<RunRow, 'id' | 'place' | 'status'>[] | undefined
  /** A place before which all runs have ended, so that they are not searched again. */
  #endedBefore = 0
  /** The row that was read last; undefined after a write. */
  #latestRow: { readonly id: string; readonly row: RunRow | undefined } | undefined
  /** The request that was stored last: it is read again when its run is reported, and may be large. */
  #latestRequest: RunRequest | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Returns the place of the next run, or of messages that are of none. */
  nextPlace(): number {
    return this.#database.sql.exec<{ place: number }>(`SELECT ${NEXT_PLACE} AS place`).one().place
  }

  /**
   * Stores a new run with its first numbers of events reserved, and returns it: it is `running` at once if it is its turn,
   * which spares the change of its status. `definitions`: its tools, as the JSON of their definitions.
   */
  add(request: RunRequest, definitions: string, now: number): StoredRun {
    const status = this.unfinished().length === 0 ? 'running' : 'queued'
    const toolset = this.#toolset(definitions)
    this.#forgetRows()
    const { place } = this.#database.sql
      .exec<{ place: number }>(
        `INSERT INTO runs (place, id, status, request, toolset, created, reserved)
         VALUES (${NEXT_PLACE}, ?, ?, ?, ?, ?, ${RESERVED}) RETURNING place`,
        request.runId,
        status,
        this.#database.chunks.keep(JSON.stringify(request)),
        toolset.id,
        now,
      )
      .one()
    this.#endedBefore = Math.min(this.#endedBefore, place)
    this.#latestRequest = request
    const counters = { interrupted: 0, stalled: null, idle: 0, resumes: 0 } as const
    const row = { status, ...counters, ended: null, pruned: null } as const
    return { place, id: request.runId, ...row, request, tools: toolset.tools }
  }

  /**
   * Returns the stored form of a list of tools, which is stored once for all its runs. As long as the list stays the
   * same, so do its objects: what is cached for a definition, such as its encoded form, serves the next run.
   */
  #toolset(definitions: string): Toolset {
    if (this.#latestToolset?.definitions === definitions) return this.#latestToolset
    const id = this.#findToolset(definitions) ?? this.#addToolset(definitions)
    const tools: readonly ToolDefinition[] = JSON.parse(definitions)
    return (this.#latestToolset = { id, definitions, tools })
  }

  #findToolset(definitions: string): number | undefined {
    const query = `SELECT id, definitions FROM toolsets WHERE definitions = ? OR definitions LIKE '@%' ORDER BY id DESC`
    const rows = this.#database.rows<{ id: number; definitions: string }>(query, definitions)
    const isSame = (stored: string, id: number) =>
      stored === definitions || this.#database.text(stored, { table: 'toolsets', key: id }) === definitions
    return rows.find((row) => isSame(row.definitions, row.id))?.id
  }

  #addToolset(definitions: string): number {
    const add = 'INSERT INTO toolsets (definitions) VALUES (?) RETURNING id'
    return this.#database.sql.exec<{ id: number }>(add, this.#database.chunks.keep(definitions)).one().id
  }

  /**
   * Shortens the lists of tools that only pruned runs have, except the latest run's, which the next run is likely to
   * have too. Names and annotations remain: a run that is repeated offers the current tools of these names.
   */
  pruneToolsets(): void {
    const rows = this.#database.rows<{ id: number; definitions: string }>(
      `SELECT id, definitions FROM toolsets WHERE definitions <> '[]' AND definitions NOT LIKE '${SHORT_LIST}%'
       AND id <> (SELECT toolset FROM runs ORDER BY place DESC LIMIT 1)
       AND id NOT IN (SELECT toolset FROM runs WHERE pruned IS NULL)`,
    )
    for (const { id, definitions } of rows) {
      const row = { table: 'toolsets', key: id }
      const tools = this.#database.value(definitions, row, isTools) ?? []
      const shortList = JSON.stringify(tools.map(shortDefinition))
      // A long list in parts is not recognized by how it begins.
      if (shortList === this.#database.text(definitions, row)) continue
      this.#database.chunks.drop(definitions)
      this.#database.rows('UPDATE toolsets SET definitions = ? WHERE id = ?', this.#database.chunks.keep(shortList), id)
      if (this.#latestToolset?.id === id) this.#latestToolset = undefined
    }
  }

  row(id: string): RunRow | undefined {
    if (this.#latestRow?.id !== id) this.#latestRow = { id, row: this.#readRow(id) }
    return this.#latestRow.row
  }

  #readRow(id: string): RunRow | undefined {
    const [row] = this.#database.rows<RunRow & { has_record: number } & Record<string, SqlStorageValue>>(
      `SELECT ${COLUMNS} FROM runs WHERE id = ?`,
      id,
    )
    if (!row) return undefined
    const { has_record: hasRecord, ...columns } = row
    return { ...columns, status: plausibleStatus(row.status, hasRecord === 1) }
  }

  /** Returns the ids of the unfinished runs in order, without parked ones; the first is the run whose turn it is. */
  unfinished(): readonly string[] {
    return this.#openRuns().flatMap(({ id, status }) => (status === 'parked' ? [] : [id]))
  }

  /** Returns the parked runs at a place and after it. */
  parkedFrom(place: number): readonly string[] {
    return this.#openRuns().flatMap((run) => (run.status === 'parked' && run.place >= place ? [run.id] : []))
  }

  #openRuns(): readonly Pick<RunRow, 'id' | 'place' | 'status'>[] {
    if (this.#open) return this.#open
    const query = `SELECT id, place, status FROM runs
      WHERE pruned IS NULL AND record IS NULL AND place >= ? ORDER BY place`
    const rows = this.#database.rows<{ id: string; place: number; status: RunStatus }>(query, this.#endedBefore)
    this.#endedBefore = rows[0]?.place ?? Number.MAX_SAFE_INTEGER
    return (this.#open = rows)
  }

  /** Forgets what is cached, after a transaction that failed or after everything was deleted. */
  forget(): void {
    this.#forgetRows()
    this.#endedBefore = 0
    this.#latestToolset = undefined
    this.#latestRequest = undefined
  }

  #forgetRows(): void {
    this.#open = undefined
    this.#latestRow = undefined
  }

  /** Executes a statement that changes rows of runs. */
  #change(statement: string, ...values: SqlStorageValue[]): readonly object[] {
    this.#forgetRows()
    return this.#database.rows(statement, ...values)
  }

  /** Returns a run with its request and tools; undefined if it does not exist or cannot be read. */
  get(id: string): StoredRun | undefined {
    const row = this.row(id)
    const request = this.request(id)
    const query = 'SELECT definitions FROM toolsets WHERE id = (SELECT toolset FROM runs WHERE id = ?)'
    const [toolset] = this.#database.rows<{ definitions: string }>(query, id)
    const tools = toolset && this.#database.value(toolset.definitions, { table: 'toolsets', key: id }, isTools)
    if (row && request && tools) return { ...row, request, tools }
    if (toolset) this.#loseRequest(id)
    return undefined
  }

  /** Returns the request of a run, without the list of its tools, which may be long; undefined if it cannot be read. */
  request(id: string): RunRequest | undefined {
    if (this.#latestRequest?.runId === id) return this.#latestRequest
    const [row] = this.#database.rows<{ request: string }>('SELECT request FROM runs WHERE id = ?', id)
    if (!row || row.request === '') return undefined
    const request = this.#database.value(row.request, { table: 'runs', key: id }, isRequestOf(id))
    if (!request) this.#loseRequest(id)
    return request
  }

  /** Makes sure that content which was set aside is not read again. */
  #loseRequest(id: string): void {
    this.#change("UPDATE runs SET request = '' WHERE id = ? AND request <> ''", id)
  }

  /** Returns the newest run that neither failed nor was cancelled, or is the given one. */
  lastFor(id: string): string | undefined {
    const query = `SELECT id FROM runs WHERE status NOT IN ('failed', 'cancelled') OR id = ? ORDER BY place DESC LIMIT 1`
    return this.#database.rows<{ id: string }>(query, id)[0]?.id
  }

  /** Returns the newest runs, or the newest before a given run, oldest first. */
  list(before: string | undefined, limit: number): RunSummary[] {
    const place = before === undefined ? undefined : this.row(before)?.place
    const query = 'SELECT id, status, created, ended FROM runs WHERE place < ? ORDER BY place DESC LIMIT ?'
    const rows = this.#database.rows<{ id: string; status: RunStatus; created: number; ended: number | null }>(
      query,
      place ?? Number.MAX_SAFE_INTEGER,
      limit,
    )
    return rows.reverse().map(({ ended, ...run }) => (ended === null ? run : { ...run, ended }))
  }

  /** Reads the ids and places of the runs before a place lazily, newest first. */
  *before(place: number): Generator<{ readonly id: string; readonly place: number }> {
    const query = 'SELECT place, id FROM runs WHERE place < ? ORDER BY place DESC LIMIT 1'
    for (let at = place; ;) {
      const [row] = this.#database.rows<{ place: number; id: string }>(query, at)
      if (!row) return
      at = row.place
      yield row
    }
  }

  /** Reads all runs lazily, oldest first. */
  *all(): Generator<RunSummary> {
    const query = 'SELECT place, id, status, created FROM runs WHERE place > ? ORDER BY place LIMIT 1'
    for (let at = 0; ;) {
      const [row] = this.#database.rows<RunSummary & { place: number } & Record<string, SqlStorageValue>>(query, at)
      if (!row) return
      at = row.place
      yield row
    }
  }

  /** Returns the stored record of a finished run, which lacks the preambles and the calls' arguments and results. */
  record(id: string): RunRecord | undefined {
    const [row] = this.#database.rows<{ record: string | null }>('SELECT record FROM runs WHERE id = ?', id)
    return row?.record ? this.#database.value(row.record, { table: 'records', key: id }, isRecord) : undefined
  }

  /** Returns when a run was accepted, in epoch milliseconds; 0 if it does not exist. */
  acceptedAt(id: string): number {
    return this.#database.rows<{ created: number }>('SELECT created FROM runs WHERE id = ?', id)[0]?.created ?? 0
  }

  setStatus(id: string, status: RunStatus): void {
    this.#change('UPDATE runs SET status = ? WHERE id = ? AND record IS NULL', status, id)
  }

  /**
   * Ends a run and releases its reserved event numbers, as it has no further events. Returns false, and changes
   * nothing, if the run has ended already.
   */
  end(record: RunRecord, now: number): boolean {
    const query =
      'UPDATE runs SET status = ?, record = ?, ended = ?, reserved = 0 WHERE id = ? AND record IS NULL RETURNING id'
    const column = this.#database.chunks.keep(JSON.stringify(withoutContent(record)))
    return this.#change(query, record.status, column, now, record.id).length > 0
  }

  /** Replaces the request of a run. */
  setRequest(id: string, request: RunRequest): void {
    for (const row of this.#database.rows<{ request: string }>('SELECT request FROM runs WHERE id = ?', id))
      this.#database.chunks.drop(row.request)
    this.#change('UPDATE runs SET request = ? WHERE id = ?', this.#database.chunks.keep(JSON.stringify(request)), id)
    this.#latestRequest = request
  }

  countInterruption(id: string, now: number): void {
    this.#change('UPDATE runs SET interrupted = interrupted + 1, stalled = ifnull(stalled, ?) WHERE id = ?', now, id)
  }

  /** Resets the counts of a run's interruptions and idle time, because it has made progress or is retried. */
  clearStall(id: string, resumes = 0): void {
    this.#change('UPDATE runs SET interrupted = 0, stalled = NULL, idle = 0, resumes = ? WHERE id = ?', resumes, id)
  }

  /** Counts time in which an instance has driven the run without progress, and so has survived resuming it. */
  countIdle(id: string, ms: number): void {
    this.#change('UPDATE runs SET idle = idle + ?, resumes = 0 WHERE id = ?', ms, id)
  }

  countResume(id: string): void {
    this.#change('UPDATE runs SET resumes = resumes + 1 WHERE id = ?', id)
  }

  /** Reserves event numbers up to `upTo`, so that no later instance of the object gives them again. */
  reserve(id: string, upTo: number): void {
    this.#change('UPDATE runs SET reserved = max(reserved, ?) WHERE id = ?', upTo, id)
  }

  /** Returns the last event number that is in use or reserved; the next event gets the one after it. */
  lastNumber(id: string): number {
    // If no event of a run is stored, none was shown to anybody.
    const query = `SELECT min(max(CAST(last AS INTEGER), CAST(reserved AS INTEGER)), ${MOST_INTEGER}) AS last FROM
      (SELECT reserved, (SELECT max(last) FROM events WHERE run = runs.id) AS last FROM runs WHERE id = ?)`
    return this.#database.rows<{ last: number }>(query, id)[0]?.last ?? 0
  }

  /** Returns the first finished run of those whose events are not pruned yet. */
  unpruned(): { readonly id: string; readonly ended: number } | undefined {
    const query = `SELECT id, min(CAST(ended AS INTEGER), ${MOST_INTEGER}) AS ended FROM runs
      WHERE pruned IS NULL AND runs.ended IS NOT NULL ORDER BY place LIMIT 1`
    return this.#database.rows<{ id: string; ended: number }>(query)[0]
  }

  setPruned(id: string, upTo: number): void {
    this.#change('UPDATE runs SET pruned = ? WHERE id = ?', upTo, id)
  }
}

/** How the text of a shortened list of tools begins. */
const SHORT_LIST = '[{"description":"","inputSchema":{}'

/** Returns what a finished run needs of a definition: its name, and the marks of its results. */
export function shortDefinition({
  name,
  version,
  annotations,
}: Pick<ToolDefinition, 'name' | 'version' | 'annotations'>): ToolDefinition {
  return { description: '', inputSchema: {}, name, version, hash: '', annotations }
}

const UNFINISHED: readonly RunStatus[] = ['queued', 'running', 'waiting', 'parked', 'cancelling']

/** Returns the status of a row; of one whose status was damaged, one that fits the rest of the row. */
function plausibleStatus(status: RunStatus, hasRecord: boolean): RunStatus {
  if (hasRecord) return isTerminal(status) ? status : 'failed'
  return UNFINISHED.includes(status) ? status : 'running'
}

function withoutContent({
  calls,
  preambles: _preambles,
  providerCalls: _providerCalls,
  citations: _citations,
  ...record
}: RunRecord): object {
  const shortCalls = calls.map(({ id, tool, status, ok, durationMs }) => ({
    id,
    tool,
    arguments: null,
    status,
    ok,
    durationMs,
  }))
  return { ...record, calls: shortCalls }
}

function isRequestOf(run: string): (value: unknown) => value is RunRequest {
  return (value): value is RunRequest => isRequest(value) && value.runId === run
}
