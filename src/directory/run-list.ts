import { LazySchema } from '../contract/lazy-schema.ts'
import { FIRST_BYTES, type StoredTotals } from '../contract/quotas.ts'
import type {
  ListedApproval,
  ListedRun,
  OpenRunCount,
  PlacedRun,
  RunListing,
  RunSort,
  ShardQuery,
  StatusCount,
} from '../contract/run-list.ts'

/** The most runs that an object lists. Beyond, the oldest of those that have ended are left out. */
const MOST_RUNS = 100_000

/** The places of the runs that were accepted in one millisecond, of all objects but the first. */
const PLACES = 1000

/**
 * listed: runs by place, which is the order in which they were first listed in the first object of a directory, and that
 * in which they were accepted in all others: all runs of the first one are older. `at`, when the run stood so; `expires`, when its
 * conversation is deleted; `details`, the rest of a ListedRun as JSON. approvals: calls that wait for a person.
 */
const RUN_SCHEMA = `
  CREATE TABLE IF NOT EXISTS listed (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE,
    conversation TEXT NOT NULL, status TEXT NOT NULL, created INTEGER NOT NULL, ended INTEGER, cost REAL NOT NULL,
    at INTEGER NOT NULL, expires INTEGER, details TEXT NOT NULL);
  CREATE TABLE IF NOT EXISTS approvals (run TEXT NOT NULL, call TEXT NOT NULL, since INTEGER NOT NULL,
    approval TEXT NOT NULL, PRIMARY KEY (run, call)) WITHOUT ROWID;`

type Row = Pick<PlacedRun, 'place' | 'id' | 'conversation' | 'status' | 'created' | 'cost'> & {
  readonly ended: number | null
  readonly details: string
}

/** The runs of a tenant's conversations, newest first, and the calls that wait for a person. */
export class RunList {
  readonly #storage: DurableObjectStorage
  readonly #schema: LazySchema

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#schema = new LazySchema(storage.sql, 'listed', () => void storage.sql.exec(RUN_SCHEMA))
  }

  /** Lists a run, or updates its entry. `shard`: the number of this object. */
  put({ run, at, expires, approvals }: RunListing, shard = 0): void {
    this.#schema.ensure()
    const { sql } = this.#storage
    const first = shard === 0 ? null : run.created * PLACES
    const { id, conversation, status, created, ended = null, cost, ...details } = run
    this.#storage.transactionSync(() => {
      const values = [id, conversation, status, created, ended, cost, at, expires ?? null, JSON.stringify(details)]
      const [row] = sql.exec<{ place: number }>(PUT, ...values, first).toArray()
      // A newer entry arrived first.
      if (!row) return
      sql.exec('DELETE FROM approvals WHERE run = ?', id)
      for (const approval of approvals) {
        const { id: call, since } = approval
        sql.exec('INSERT INTO approvals VALUES (?, ?, ?, ?)', id, call, since, JSON.stringify(approval))
      }
      if (first === null) sql.exec('DELETE FROM listed WHERE place <= ? AND ended IS NOT NULL', row.place - MOST_RUNS)
      // This reads all entries, so it is done for one run in about a thousand.
      else if (run.created % 1000 === 0) sql.exec(DELETE_OLDEST, MOST_RUNS)
    })
  }

  /** Removes the runs of a conversation. */
  remove(conversation: string): void {
    if (!this.#schema.isCreated) return
    const { sql } = this.#storage
    sql.exec('DELETE FROM approvals WHERE run IN (SELECT id FROM listed WHERE conversation = ?)', conversation)
    sql.exec('DELETE FROM listed WHERE conversation = ?', conversation)
  }

  placeOf(run: string): number | undefined {
    if (!this.#schema.isCreated) return undefined
    return this.#storage.sql.exec<{ place: number }>('SELECT place FROM listed WHERE id = ?', run).toArray()[0]?.place
  }

  /** Returns the runs that a query wants, newest first. */
  runs(query: ShardQuery, now: number): PlacedRun[] {
    if (!this.#schema.isCreated) return []
    const { below = Number.MAX_SAFE_INTEGER, isLatest, limit, sort } = query
    const conditions = conditionsOf(query, now)
    const where = conditions.map(([condition]) => condition).join(' AND ')
    const values = conditions.map(([, value]) => value)
    const columns = 'id, conversation, status, created, ended, cost, details'
    // Of a group, SQLite returns the row that has the greatest place.
    const select = isLatest
      ? `SELECT max(place) AS place, ${columns} FROM listed WHERE ${where} GROUP BY conversation HAVING max(place) < ?`
      : `SELECT place, ${columns} FROM listed WHERE ${where} AND place < ?`
    return this.#storage.sql
      .exec<Row & Record<string, SqlStorageValue>>(
        `${select} ORDER BY ${orderOf(sort, now)} LIMIT ?`,
        ...values,
        below,
        limit,
      )
      .toArray()
      .map(placedRun)
  }

  /** Returns how many of the runs that a query wants have each status, and what they cost. */
  counts(query: ShardQuery, now: number): StatusCount[] {
    if (!this.#schema.isCreated) return []
    const conditions = conditionsOf(query, now)
    const where = conditions.map(([condition]) => condition).join(' AND ')
    const select = `SELECT status, count(*) AS count, sum(cost) AS cost FROM listed WHERE ${where} GROUP BY status`
    return this.#storage.sql
      .exec<StatusCount & Record<string, SqlStorageValue>>(select, ...conditions.map(([, value]) => value))
      .toArray()
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

/** Without a tenth value, the place is the next one. */
const PUT = `INSERT INTO listed (id, conversation, status, created, ended, cost, at, expires, details, place)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, (SELECT max(?10, ifnull(max(place) + 1, 0)) FROM listed WHERE place < ?10 + ${PLACES}))
  ON CONFLICT (id) DO UPDATE SET status = excluded.status, ended = excluded.ended,
  cost = excluded.cost, at = excluded.at, details = excluded.details WHERE excluded.at >= at RETURNING place`

const DELETE_OLDEST = `DELETE FROM listed WHERE ended IS NOT NULL
  AND place <= (SELECT place FROM listed ORDER BY place DESC LIMIT 1 OFFSET ?)`

/** How runs are sorted, in SQL. */
function orderOf(sort: RunSort | undefined, now: number): string {
  if (sort === undefined) return 'place DESC'
  const ended = `ifnull(ended, ${Math.floor(now)})`
  const by = { cost: 'cost', duration: `${ended} - created`, tokens: detail('tokens'), steps: detail('steps') }[sort]
  return `${by} DESC, place DESC`
}

function detail(name: 'tokens' | 'steps'): string {
  return `ifnull(json_extract(details, '$.${name}'), 0)`
}

const NOT_EXPIRED = 'ifnull(expires > ?, 1)'

/** The conditions of a query as SQL, each with its value. */
function conditionsOf(query: ShardQuery, now: number): (readonly [condition: string, value: SqlStorageValue])[] {
  const { status, tool, error, model, key, text, cost, duration, from, to, conversations, hasAgents, parent } = query
  const all: readonly (readonly [condition: string, value: SqlStorageValue | undefined])[] = [
    [NOT_EXPIRED, now],
    ["json_extract(details, '$.path') IS ?", hasAgents || parent !== undefined ? undefined : null],
    ["? IN (SELECT json_extract(value, '$.run') FROM json_each(details, '$.path'))", parent],
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
    ['conversation IN (SELECT value FROM json_each(?))', conversations && JSON.stringify(conversations)],
  ]
  return all.flatMap(([condition, value]) => (value === undefined ? [] : [[condition, value] as const]))
}

function placedRun({ place, id, conversation, status, created, ended, cost, details }: Row): PlacedRun {
  const rest: Omit<ListedRun, keyof Row | 'ended'> = JSON.parse(details)
  return { place, id, conversation, status, created, ...(ended !== null && { ended }), cost, ...rest }
}

/**
 * sizes: the bytes of each conversation that has reported more than its initial size, and of each that is older than
 * this table. unlisted: large conversations that are deleted by themselves. totals: one row with the sums of the listed
 * conversations.
 */
const CONVERSATION_SCHEMA = `
  CREATE TABLE IF NOT EXISTS conversations (id TEXT PRIMARY KEY) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS sizes (id TEXT PRIMARY KEY, bytes INTEGER NOT NULL) WITHOUT ROWID;
  CREATE TABLE IF NOT EXISTS unlisted (id TEXT PRIMARY KEY, bytes INTEGER NOT NULL, until INTEGER NOT NULL) WITHOUT ROWID;
  CREATE INDEX IF NOT EXISTS unlisted_until ON unlisted (until);
  CREATE TABLE IF NOT EXISTS totals (id INTEGER PRIMARY KEY, conversations INTEGER NOT NULL, bytes INTEGER NOT NULL);
  INSERT OR IGNORE INTO totals SELECT 1, count(*), count(*) * ${FIRST_BYTES} FROM conversations;`

/** The conversations of a tenant, with their sizes. */
export class ConversationList {
  readonly #storage: DurableObjectStorage
  readonly #schema: LazySchema

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#schema = new LazySchema(storage.sql, 'conversations', () => void storage.sql.exec(CONVERSATION_SCHEMA))
  }

  add(id: string): StoredTotals {
    if (this.bytesOf(id) === undefined) {
      this.#change(1, FIRST_BYTES, () => this.#storage.sql.exec('INSERT INTO conversations VALUES (?)', id))
    }
    return this.totals()
  }

  resize(id: string, bytes: number): StoredTotals {
    const before = this.bytesOf(id)
    if (before !== undefined) {
      const write = () => this.#storage.sql.exec('INSERT OR REPLACE INTO sizes VALUES (?, ?)', id, bytes)
      this.#change(0, bytes - before, write)
    }
    return this.totals()
  }

  /** Counts a conversation that is not listed until it ends, in epoch milliseconds. */
  resizeUnlisted(id: string, bytes: number, until: number): StoredTotals {
    this.#schema.ensure()
    this.#storage.sql.exec('DELETE FROM unlisted WHERE until < ?', Date.now())
    this.#storage.sql.exec('INSERT OR REPLACE INTO unlisted VALUES (?, ?, ?)', id, bytes, until)
    return this.totals()
  }

  remove(id: string): void {
    const bytes = this.bytesOf(id)
    if (this.#schema.isCreated) this.#storage.sql.exec('DELETE FROM unlisted WHERE id = ?', id)
    if (bytes === undefined) return
    this.#change(-1, -bytes, () => {
      this.#storage.sql.exec('DELETE FROM conversations WHERE id = ?', id)
      this.#storage.sql.exec('DELETE FROM sizes WHERE id = ?', id)
    })
  }

  /** Returns how many bytes a conversation counts for; undefined if it is not listed. */
  bytesOf(id: string): number | undefined {
    if (!this.#schema.isCreated) return undefined
    const query = 'SELECT coalesce(bytes, ?) AS bytes FROM conversations LEFT JOIN sizes USING (id) WHERE id = ?'
    return this.#storage.sql.exec<{ bytes: number }>(query, FIRST_BYTES, id).toArray()[0]?.bytes
  }

  totals(): StoredTotals {
    if (!this.#schema.isCreated) return { conversations: 0, storedBytes: 0 }
    const query = `SELECT conversations, bytes + (SELECT coalesce(sum(bytes), 0) FROM unlisted WHERE until >= ?) AS storedBytes
      FROM totals`
    const { conversations, storedBytes } = this.#storage.sql
      .exec<{ conversations: number; storedBytes: number }>(query, Date.now())
      .one()
    return { conversations, storedBytes }
  }

  list(after: string, limit: number): string[] {
    if (!this.#schema.isCreated) return []
    const query = 'SELECT id FROM conversations WHERE id > ? ORDER BY id LIMIT ?'
    return this.#storage.sql
      .exec<{ id: string }>(query, after, limit)
      .toArray()
      .map(({ id }) => id)
  }

  #change(conversations: number, bytes: number, write: () => void): void {
    this.#schema.ensure()
    this.#storage.transactionSync(() => {
      write()
      const add = 'UPDATE totals SET conversations = conversations + ?, bytes = bytes + ?'
      this.#storage.sql.exec(add, conversations, bytes)
    })
  }
}
