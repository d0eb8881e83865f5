import { isObject, parseJson } from '../../contract/json.ts'
import { LazySchema } from '../../contract/lazy-schema.ts'
import type { AgentStanding, AgentWait, RunRecord, RunStatus } from '../../contract/run.ts'
import type { Database } from './database.ts'

/** The run of an agent that a call of this conversation has started. */
export interface ChildRow {
  readonly call: string
  /** The run whose call it is. */
  readonly run: string
  readonly agent: string
  /** Where the agent's run is stored, and its id. */
  readonly conversation: string
  readonly child: string
  /** The most tokens that it may use, and its highest cost, of what the calling run had left; null without a limit. */
  readonly tokens: number | null
  readonly cost: number | null
  /** When it was first asked for, in epoch milliseconds. */
  readonly created: number
  /** How it stands, as far as is known; `asked` until its conversation has confirmed that it has accepted it. */
  readonly status: RunStatus | 'asked'
  /** Whether nobody waits for its outcome any more. */
  readonly settled: number
  /** The calls that wait for a person in it, as JSON. */
  readonly waits: string
}

const SCHEMA = `
  CREATE TABLE IF NOT EXISTS children (call TEXT PRIMARY KEY, run TEXT NOT NULL, agent TEXT NOT NULL,
    conversation TEXT NOT NULL, child TEXT NOT NULL, tokens REAL, cost REAL, created INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'asked',
    settled INTEGER NOT NULL DEFAULT 0, waits TEXT NOT NULL DEFAULT '[]') WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS children_run ON children (run);
  CREATE INDEX IF NOT EXISTS children_conversation ON children (conversation);`

/**
 * The runs of agents that the calls of a conversation have started. A copy of the conversation has none: they belong to
 * the original.
 */
export class ChildTable {
  readonly #database: Database
  #schema: LazySchema | undefined

  constructor(database: Database) {
    this.#database = database
  }

  /** Notes a run before it is asked for. A later attempt at the same call changes nothing. */
  add({
    call,
    run,
    agent,
    conversation,
    child,
    tokens,
    cost,
    created,
  }: Omit<ChildRow, 'status' | 'settled' | 'waits'>) {
    this.#tables.ensure()
    const query = `INSERT OR IGNORE INTO children (call, run, agent, conversation, child, tokens, cost, created)
      VALUES (?, ?, ?, ?, ?, ?, ?, ?)`
    this.#database.rows(query, call, run, agent, conversation, child, tokens, cost, created)
  }

  of(call: string): ChildRow | undefined {
    return this.#rows('SELECT * FROM children WHERE call = ?', call)[0]
  }

  /** Whether an agent of this conversation has used another one. */
  has(conversation: string): boolean {
    return this.#rows('SELECT * FROM children WHERE conversation = ? LIMIT 1', conversation).length > 0
  }

  /** Returns those of a run of this conversation. */
  ofRun(run: string): readonly ChildRow[] {
    return this.#rows('SELECT * FROM children WHERE run = ? ORDER BY created, call', run)
  }

  /** Returns the conversations of agents after an id, in order, each with one of the runs that have used it. */
  conversations(after: string, limit: number): readonly ChildRow[] {
    const query = 'SELECT * FROM children WHERE conversation > ? GROUP BY conversation ORDER BY conversation LIMIT ?'
    return this.#rows(query, after, limit)
  }

  /** Returns the conversations that runs have begun since a time, in epoch milliseconds. */
  since(time: number): readonly string[] {
    const query = 'SELECT * FROM children GROUP BY conversation HAVING min(created) >= ?'
    return this.#rows(query, time).map(({ conversation }) => conversation)
  }

  setStanding(call: string, { status, waits }: AgentStanding): void {
    this.#rows('UPDATE children SET status = ?, waits = ? WHERE call = ?', status, JSON.stringify(waits), call)
  }

  /** Notes that calls wait for a person no longer. A run that waits for no other is taken to be running. */
  removeWaits(run: string, calls: readonly string[]): void {
    for (const { call, settled, waits } of this.ofRun(run)) {
      const all = parseWaits(waits)
      const others = all.filter((wait) => !calls.includes(wait.call))
      if (settled !== 0 || others.length === all.length) continue
      this.setStanding(call, { status: others.length > 0 ? 'waiting' : 'running', waits: others })
    }
  }

  /** Returns the run that waits for a call, which is in the run of an agent. */
  runWaitingFor(call: string): string | undefined {
    const rows = this.#rows("SELECT * FROM children WHERE settled = 0 AND waits <> '[]'")
    return rows.find(({ waits }) => parseWaits(waits).some((wait) => wait.call === call))?.run
  }

  /** Notes that the outcome of a call is known, or that nobody waits for it any more. */
  settle(call: string): void {
    this.#rows("UPDATE children SET settled = 1, waits = '[]' WHERE call = ?", call)
  }

  /** Forgets a conversation that was deleted. */
  drop(conversation: string): void {
    this.#rows('DELETE FROM children WHERE conversation = ?', conversation)
  }

  /** Returns the calls that wait for a person in the runs of agents that a run waits for. */
  waits(run: string): readonly AgentWait[] {
    return this.#rows(
      "SELECT * FROM children WHERE run = ? AND settled = 0 AND waits <> '[]' ORDER BY created",
      run,
    ).flatMap(({ waits }) => parseWaits(waits))
  }

  /** Returns where a call is that waits for a person in the run of an agent. */
  findWait(run: string, call: string): AgentWait | undefined {
    return this.waits(run).find((wait) => wait.call === call)
  }

  /** Returns the record with the runs of agents, and how those stand that it waits for. */
  describe(record: RunRecord): RunRecord {
    const rows = new Map(this.ofRun(record.id).map((row) => [row.call, row]))
    if (rows.size === 0) return record
    const calls = record.calls.map((call) => {
      const row = rows.get(call.id)
      if (!row || row.status === 'asked') return call
      const { conversation, child: run, status, settled, waits } = row
      const standing = settled ? {} : { status, waits: parseWaits(waits) }
      return { ...call, child: { conversation, run, ...standing } }
    })
    return { ...record, calls }
  }

  /** Forgets what is cached, after everything was deleted or a transaction was rolled back. */
  forget(): void {
    this.#schema = undefined
  }

  get #tables(): LazySchema {
    const { sql } = this.#database
    return (this.#schema ??= new LazySchema(sql, 'children', () => void sql.exec(SCHEMA)))
  }

  #rows(query: string, ...values: SqlStorageValue[]): ChildRow[] {
    return this.#tables.isCreated
      ? this.#database.rows<ChildRow & Record<string, SqlStorageValue>>(query, ...values)
      : []
  }
}

/** Reads a list of calls, without entries of another shape: rows may be damaged. */
function parseWaits(text: string): readonly AgentWait[] {
  const list = parseJson(text)
  return Array.isArray(list) ? list.filter(isWait) : []
}

function isWait(value: unknown): value is AgentWait {
  if (!isObject(value)) return false
  const { conversation, run, call, tool, arguments: text, agents } = value
  return [conversation, run, call, tool, text].every((each) => typeof each === 'string') && Array.isArray(agents)
}
