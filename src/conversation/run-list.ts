import type { ListedApproval, ListedRun, OpenRunCount, RunListing, RunQuery } from '../contract/run-list.ts'
import { LazySchema } from '../contract/lazy-schema.ts'

/** The most runs of a tenant that are listed. Beyond, the oldest of those that have ended are left out. */
const MOST_RUNS = 100_000

/**
 * listed: runs in the order in which they were first listed; `at`, when the run stood so; `expires`, when its
 * conversation is deleted; `details`, the rest of a ListedRun as JSON. approvals: calls that wait for a person.
 */
const SCHEMA = `
  CREATE TABLE IF NOT EXISTS listed (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL, status TEXT NOT NULL, created INTEGER NOT NULL, ended INTEGER, cost REAL NOT NULL,
    at INTEGER NOT NULL, expires INTEGER, details TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS approvals (run TEXT NOT NULL, call TEXT NOT NULL, since INTEGER NOT NULL,
    approval TEXT NOT NULL, PRIMARY KEY (run, call)) WITHOUT ROWID;`

type Row = Pick<ListedRun, 'id' | 'conversation' | 'status' | 'created' | 'cost'> & {
  readonly ended: number | null
  readonly details: string
}

/** The runs of a tenant's conversations, newest first, and the calls that wait for a person. */
export class RunList {
  readonly #storage: DurableObjectStorage
  readonly #schema: LazySchema

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#schema = new LazySchema(storage.sql, 'listed', () => void storage.sql.exec(SCHEMA))
  }

  /** Lists a run, or updates its entry. */
  put({ run, at, expires, approvals }: RunListing): void {
    this.#schema.ensure()
    const { sql } = this.#storage
    const { id, conversation, status, created, ended = null, cost, ...details } = run
    this.#storage.transactionSync(() => {
      const values = [id, conversation, status, created, ended, cost, at, expires ?? null, JSON.stringify(details)]
      const [row] = sql.exec<{ place: number }>(PUT, ...values).toArray()
      // A newer entry arrived first.
      if (!row) return
      sql.exec('DELETE FROM approvals WHERE run = ?', id)
      for (const approval of approvals) {
        const { id: call, since } = approval
        sql.exec('INSERT INTO approvals VALUES (?, ?, ?, ?)', id, call, since, JSON.stringify(approval))
      }
      sql.exec('DELETE FROM listed WHERE place <= ? AND ended IS NOT NULL', row.place - MOST_RUNS)
    })
  }

  /** Removes the runs of a conversation. */
  remove(conversation: string): void {
    if (!this.#schema.isCreated) return
    const { sql } = this.#storage
    sql.exec('DELETE FROM approvals WHERE run IN (SELECT id FROM listed WHERE conversation = ?)', conversation)
    sql.exec('DELETE FROM listed WHERE conversation = ?', conversation)
  }

  /**
   * Returns the runs that a query wants, newest first; undefined if the run that they should come after is not listed.
   */
  runs(query: RunQuery, now: number): ListedRun[] | undefined {
    if (!this.#schema.isCreated) return query.before === undefined ? [] : undefined
    const { sql } = this.#storage
    const { before, isLatest, limit } = query
    let last = Number.MAX_SAFE_INTEGER
    if (before !== undefined) {
      const [row] = sql.exec<{ place: number }>('SELECT place FROM listed WHERE id = ?', before).toArray()
      if (!row) return undefined
      last = row.place
    }
    const conditions = conditionsOf(query, now)
    const where = conditions.map(([condition]) => condition).join(' AND ')
    const values = conditions.map(([, value]) => value)
    const columns = 'id, conversation, status, created, ended, cost, details'
    // Of a group, SQLite returns the row that has the greatest place.
    const select = isLatest
      ? `SELECT max(place) AS place, ${columns} FROM listed WHERE ${where} GROUP BY conversation HAVING max(place) < ?`
      : `SELECT place, ${columns} FROM listed WHERE ${where} AND place < ?`
    return sql
      .exec<Row & Record<string, SqlStorageValue>>(`${select} ORDER BY place DESC LIMIT ?`, ...values, last, limit)
      .toArray()
      .map(listedRun)
  }

  /** Returns the calls that wait for a person, the one that has waited longest first. */
  approvals(now: number): ListedApproval[] {
    if (!this.#schema.isCreated) return []
    const query = `SELECT approval FROM approvals JOIN listed ON listed.id = run WHERE ${NOT_EXPIRED}
      ORDER BY since, run, call LIMIT 1000`
    return this.#storage.sql
      .exec<{ approval: string }>(query, now)
      .toArray()
      .map(({ approval }): ListedApproval => JSON.parse(approval))
  }

  /** Returns how many runs have not ended, by their status. */
  open(now: number): OpenRunCount[] {
    if (!this.#schema.isCreated) return []
    const query = `SELECT status, count(*) AS count FROM listed WHERE ended IS NULL AND ${NOT_EXPIRED}
      GROUP BY status ORDER BY status`
    return this.#storage.sql.exec<OpenRunCount & Record<string, SqlStorageValue>>(query, now).toArray()
  }
}

const PUT = `INSERT INTO listed (id, conversation, status, created, ended, cost, at, expires, details)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET status = excluded.status, ended = excluded.ended,
  cost = excluded.cost, at = excluded.at, details = excluded.details WHERE excluded.at >= at RETURNING place`

const NOT_EXPIRED = 'ifnull(expires > ?, 1)'

/** The conditions of a query as SQL, each with its value. */
function conditionsOf(query: RunQuery, now: number): (readonly [condition: string, value: SqlStorageValue])[] {
  const { status, tool, error, model, key, text, cost, duration, from, to } = query
  const all: readonly (readonly [condition: string, value: SqlStorageValue | undefined])[] = [
    [NOT_EXPIRED, now],
    ['status = ?', status],
    ["? IN (SELECT value FROM json_each(details, '$.tools'))", tool],
    ["? IN (SELECT value FROM json_each(details, '$.errors'))", error],
    ["json_extract(details, '$.model') = ?", model],
    ["json_extract(details, '$.key') = ?", key],
    [
      "instr(lower(id || ' ' || conversation || ' ' || json_extract(details, '$.question')), ?) > 0",
      text?.toLowerCase(),
    ],
    ['cost >= ?', cost],
    [`ifnull(ended, ${Math.floor(now)}) - created >= ?`, duration],
    ['created >= ?', from],
    ['created < ?', to],
  ]
  return all.flatMap(([condition, value]) => (value === undefined ? [] : [[condition, value] as const]))
}

function listedRun({ id, conversation, status, created, ended, cost, details }: Row): ListedRun {
  const rest: Pick<ListedRun, 'question' | 'model' | 'key' | 'tools' | 'errors'> = JSON.parse(details)
  return { id, conversation, status, created, ...(ended !== null && { ended }), cost, ...rest }
}
