import { parseJson } from '../../contract/json.ts'
import { FIRST_BYTES } from '../../contract/quotas.ts'

/** A row that cannot be read. */
interface BrokenRow {
  readonly table: string
  readonly key: string | number
  readonly reason: string
}

/** Receives the rows that were set aside, to report them to operators. */
export type OnBroken = (row: BrokenRow) => void

interface DatabaseEvents {
  readonly onBroken: OnBroken
  /** Called each time that about 128 KiB of text were written, by whomever. */
  readonly onGrowth: () => void
}

/** The access to SQLite that all tables of a conversation share. */
export class Database {
  readonly sql: SqlStorage
  readonly chunks: Chunks
  readonly #events: DatabaseEvents
  readonly #setAside = new Set<string>()
  /** The characters that were written since `onGrowth` was last called. */
  #written = 0

  constructor(sql: SqlStorage, events: DatabaseEvents) {
    this.sql = sql
    this.chunks = new Chunks(sql, (characters) => this.#count(characters))
    this.#events = events
  }

  rows<Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]): Row[] {
    for (const value of values) if (typeof value === 'string') this.#count(value.length)
    return this.sql.exec<Row>(query, ...values).toArray()
  }

  #count(characters: number): void {
    this.#written += characters
    if (this.#written < FIRST_BYTES) return
    this.#written = 0
    this.#events.onGrowth()
  }

  /** Returns the value of a JSON column; undefined if it is of another shape, and then its content is set aside. */
  value<Value>(
    column: string,
    row: Omit<BrokenRow, 'reason'>,
    isShape: (value: unknown) => value is Value,
  ): Value | undefined {
    const text = this.text(column, row)
    if (text === undefined) return undefined
    const value = parseJson(text)
    if (value !== undefined && isShape(value)) return value
    this.setAside({ ...row, reason: value === undefined ? 'no JSON' : 'wrong shape' }, column)
    return undefined
  }

  /** Returns the text of a column; undefined if parts of it are missing, and then its content is set aside. */
  text(column: string, row: Omit<BrokenRow, 'reason'>): string | undefined {
    try {
      const stored: unknown = column
      // SQLite stores any value in any column, whatever its type.
      if (typeof stored !== 'string') throw new Error('no text')
      return this.chunks.read(column)
    } catch (error) {
      this.setAside({ ...row, reason: String(error) }, column)
      return undefined
    }
  }

  /** Copies unreadable content to the quarantine and reports it, once for each row and instance. */
  setAside(row: BrokenRow, content: string): void {
    const place = `${row.table}/${row.key}`
    if (this.#setAside.has(place)) return
    this.#setAside.add(place)
    this.sql.exec('INSERT INTO quarantine (place, content, reason) VALUES (?, ?, ?)', place, content, row.reason)
    this.#events.onBroken(row)
  }
}

/** The index of the runs that have not ended, or not long ago: it is written as a run begins, and not again as it ends. */
const UNPRUNED_INDEX = 'CREATE INDEX runs_unpruned ON runs (place) WHERE pruned IS NULL;'

/**
 * The statements that make a new database. Values are passed as parameters only, because traces record the SQL text.
 *
 * runs: event numbers up to `reserved` may be in use; since the run last made progress: `interrupted` counts its
 * interruptions, `stalled` is the time of the first one, and `idle` counts the milliseconds for which an instance has
 * driven it after that; `resumes` counts the instances that began to resume it and were not seen to survive; `ended`,
 * in epoch milliseconds; `pruned`, the number of the last event that pruning removed, 0 if it removed none. messages:
 * `kind`, system, user, answer (without calls), work (calls and results), or old (its turn was replaced). wholes:
 * complete results of which models see a part, and outcomes that came late.
 */
const SCHEMA = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE runs (place INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL,
    request TEXT NOT NULL, toolset INTEGER NOT NULL REFERENCES toolsets (id), record TEXT,
    reserved INTEGER NOT NULL DEFAULT 0, interrupted INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL,
    stalled INTEGER, ended INTEGER, pruned INTEGER, idle INTEGER NOT NULL DEFAULT 0,
    resumes INTEGER NOT NULL DEFAULT 0);
  ${UNPRUNED_INDEX}
  CREATE TABLE toolsets (id INTEGER PRIMARY KEY, definitions TEXT NOT NULL);
  CREATE TABLE events (run TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, lines TEXT NOT NULL,
    PRIMARY KEY (run, first)) WITHOUT ROWID;
  CREATE TABLE messages (position INTEGER PRIMARY KEY, run TEXT NOT NULL, message TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'work');
  CREATE INDEX messages_system ON messages (position) WHERE kind = 'system';`

/** Tables that are created by the same statements in a new database and in the first migration. */
const LATER_TABLES = `
  CREATE TABLE chunks (id INTEGER NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (id, part))
    WITHOUT ROWID;
  CREATE TABLE wholes (call TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE quarantine (id INTEGER PRIMARY KEY, place TEXT NOT NULL, content TEXT NOT NULL, reason TEXT NOT NULL);
  CREATE TABLE joined (id TEXT PRIMARY KEY, run TEXT NOT NULL, fingerprint TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE notices (id TEXT PRIMARY KEY, body TEXT NOT NULL, due INTEGER NOT NULL, attempt INTEGER NOT NULL)
    WITHOUT ROWID;`

/**
 * The statements that migrate a database from version 1 to 2, from 2 to 3, and so on. A new version appends an entry,
 * never edits an earlier one, and changes `SCHEMA` in the same way.
 */
const MIGRATIONS: readonly string[] = [
  `ALTER TABLE runs ADD COLUMN stalled INTEGER;
   ALTER TABLE runs ADD COLUMN ended INTEGER;
   ALTER TABLE runs ADD COLUMN pruned INTEGER;
   UPDATE runs SET ended = created WHERE record IS NOT NULL;
   CREATE INDEX runs_unpruned ON runs (ended) WHERE ended IS NOT NULL AND pruned IS NULL;
   ALTER TABLE messages ADD COLUMN kind TEXT NOT NULL DEFAULT 'work';
   UPDATE messages SET kind = CASE json_extract(message, '$.role') WHEN 'assistant' THEN 'answer'
       ELSE json_extract(message, '$.role') END
     WHERE CASE WHEN json_valid(message) THEN json_extract(message, '$.role') <> 'tool'
       AND json_extract(message, '$.calls') IS NULL END;
   CREATE INDEX messages_system ON messages (position) WHERE kind = 'system';
   ${LATER_TABLES}
   INSERT INTO meta SELECT 'usage', json_object('runs', count(*), 'usage', json_object(
       'inputTokens', ifnull(sum(json_extract(record, '$.usage.inputTokens')), 0),
       'outputTokens', ifnull(sum(json_extract(record, '$.usage.outputTokens')), 0),
       'cachedInputTokens', ifnull(sum(json_extract(record, '$.usage.cachedInputTokens')), 0),
       'reasoningTokens', ifnull(sum(json_extract(record, '$.usage.reasoningTokens')), 0)))
     FROM runs WHERE json_valid(record);`,
  `ALTER TABLE runs ADD COLUMN idle INTEGER NOT NULL DEFAULT 0;
   ALTER TABLE runs ADD COLUMN resumes INTEGER NOT NULL DEFAULT 0;`,
  `DROP INDEX runs_open;
   DROP INDEX runs_unpruned;
   ${UNPRUNED_INDEX}`,
]

const NEWEST = MIGRATIONS.length + 1

/** Creates the database, or migrates it to the newest version, in one transaction. */
export function migrate(storage: DurableObjectStorage): void {
  const { sql } = storage
  const version = hasSchema(storage) ? versionOf(sql) : 0
  // The database of a newer edge is left unchanged: that edge may be deployed again.
  if (version >= NEWEST) return
  storage.transactionSync(() => {
    if (version === 0) sql.exec(SCHEMA + LATER_TABLES)
    else for (const statements of MIGRATIONS.slice(version - 1)) sql.exec(statements)
    sql.exec("INSERT OR REPLACE INTO meta VALUES ('version', ?)", String(NEWEST))
  })
}

function versionOf(sql: SqlStorage): number {
  const [row] = sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'version'").toArray()
  const version = Number(row?.value)
  // An unreadable version is taken for the newest, to which every instance migrates the database when it starts.
  return Number.isInteger(version) && version > 0 ? version : NEWEST
}

/** Whether the database has been created. The check itself creates nothing. */
export function hasSchema({ sql }: DurableObjectStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").toArray().length > 0
}

/** The most characters of a text in one row: at most 512 KiB in UTF-8, whichever characters they are. */
export const PART_CHARACTERS = 170_000

/** Stores texts of any length. A text too long for one row is split into parts, and its column holds their name. */
export class Chunks {
  readonly #sql: SqlStorage
  readonly #onWrite: (characters: number) => void

  /** `onWrite`: told how many characters are stored in parts. */
  constructor(sql: SqlStorage, onWrite: (characters: number) => void = () => {}) {
    this.#sql = sql
    this.#onWrite = onWrite
  }

  /** Returns what to put in the column of a JSON text: the text, or the name of its stored parts, which is not JSON. */
  keep(text: string): string {
    if (text.length <= PART_CHARACTERS) return text
    this.#onWrite(text.length)
    const { id } = this.#sql.exec<{ id: number }>('SELECT ifnull(max(id), 0) + 1 AS id FROM chunks').one()
    let parts = 0
    for (let at = 0; at < text.length; parts++) {
      const end = at + PART_CHARACTERS
      // Half of a surrogate pair would be lost in the conversion to UTF-8.
      const next = isPairCut(text, end) ? end - 1 : end
      this.#sql.exec('INSERT INTO chunks VALUES (?, ?, ?)', id, parts, text.slice(at, next))
      at = next
    }
    return `@${id}/${parts}`
  }

  /** Returns the text of a column. Throws if a part of it is missing. */
  read(column: string): string {
    const name = chunkName(column)
    if (!name) return column
    const rows = this.#sql
      .exec<{ text: string }>('SELECT text FROM chunks WHERE id = ? ORDER BY part', name.id)
      .toArray()
    if (rows.length !== name.parts) throw new Error(`${rows.length} of ${name.parts} parts are there`)
    return rows.map((row) => row.text).join('')
  }

  /** Removes the parts of a column, if it has any. */
  drop(column: string): void {
    const name = chunkName(column)
    if (name) this.#sql.exec('DELETE FROM chunks WHERE id = ?', name.id)
  }
}

function isPairCut(text: string, at: number): boolean {
  const code = text.charCodeAt(at - 1)
  return at < text.length && code >= 0xd800 && code < 0xdc00
}

/** Returns the id and the number of a column's parts; undefined for a column that holds its text. */
export function chunkName(column: string): { readonly id: number; readonly parts: number } | undefined {
  const [, id, parts] = /^@(\d+)\/(\d+)$/.exec(column) ?? []
  return id === undefined ? undefined : { id: Number(id), parts: Number(parts) }
}
