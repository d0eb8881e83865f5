import type {
  Acceptance,
  Author,
  Change,
  HistoryEntry,
  HistoryPage,
  Owner,
  QuotaRefusal,
  ToolFingerprint,
  VersionWrite,
} from '../contract/catalogue.ts'
import { isStrings, readStoredKey, type StoredKey, storedForm } from '../contract/api-key.ts'
import { isObject, parseJson } from '../contract/json.ts'
import { LazySchema, migrateTables } from '../contract/lazy-schema.ts'
import type { StoredEmbedding } from '../contract/model.ts'
import type { ReachedQuota } from '../contract/quotas.ts'
import { acceptedKey, type IndexEntry } from '../host/stored/copy.ts'
import { type ChangedKeys, REMEMBERED_MS } from '../host/stored/key-order.ts'
import type { VersionText } from '../host/stored/texts.ts'

/** The current version of a name. */
export interface CurrentVersion {
  readonly revision: number
  readonly hash: string
  readonly text: string
}

/** The most tools of one server that are remembered: it could bring new names for ever. */
const MOST_OF_A_SERVER = 2000
/** How long each of them is remembered at least, in milliseconds. Those that a person has accepted are never forgotten. */
const LEAST_MEMORY_MS = 86_400_000
/** The most characters of an accepted definition that are kept. */
const MOST_ACCEPTED_TEXT = 65_536

/** The tables of the catalogue. Versions are only ever added. The last row of a name's history tells its version. */
export class CatalogueStore {
  readonly #storage: DurableObjectStorage
  readonly #schema: LazySchema

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    this.#schema = new LazySchema(storage.sql, 'meta', () => migrateTables(storage, MIGRATIONS))
  }

  current(name: string): CurrentVersion | undefined {
    const [last] = this.#rows<{ revision: number; hash: string | null; text: string | null }>(
      `SELECT revision, hash, text FROM history LEFT JOIN versions USING (name, hash)
       WHERE name = ? AND place IS NULL ORDER BY revision DESC LIMIT 1`,
      name,
    )
    const { revision = 0, hash, text } = last ?? {}
    return typeof hash === 'string' && typeof text === 'string' ? { revision, hash, text } : undefined
  }

  /** Adds a version, and returns the revision of the write. */
  add(write: VersionWrite, { change, breaks }: Change, at: number): number {
    const { owner = 'edge', name, hash, text, version, offered, action, by } = write
    this.#schema.ensure()
    return this.#storage.transactionSync(() => {
      this.#rows('UPDATE copy SET owner = ?1 WHERE owner <> ?1', owner)
      const [newRow] = this.#rows(
        `INSERT INTO versions (name, hash, version, offered, text) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING RETURNING hash`,
        name,
        hash,
        version,
        offered ? 1 : 0,
        text,
      )
      const revision = this.#note(name, action, hash, change, JSON.stringify(breaks), JSON.stringify(by), at, null)
      if (newRow) this.#rows('INSERT INTO uncopied VALUES (?, ?, ?)', revision, name, hash)
      return revision
    })
  }

  /** Returns why there is no room for a write: a new name, or a version of another. */
  refusalOf({ most }: VersionWrite, hasName: boolean): QuotaRefusal | undefined {
    if (!most) return undefined
    const { names, bytes: limit } = most
    const refuse = (reached: ReachedQuota): QuotaRefusal => ({ ok: false, code: 'quota_exceeded', ...reached })
    const size = hasName ? 0 : this.size()
    if (size >= names) return refuse({ quota: 'definitions', used: size, limit: names })
    const { databaseSize: used } = this.#storage.sql
    return used >= limit ? refuse({ quota: 'storedBytes', used, limit }) : undefined
  }

  /** Returns the number of names that have a current version. */
  size(): number {
    const [row] = this.#rows<{ size: number }>(
      `SELECT count(*) AS size
       FROM (SELECT max(revision) AS revision FROM history WHERE place IS NULL GROUP BY name)
       JOIN history USING (revision) WHERE hash IS NOT NULL`,
    )
    return row?.size ?? 0
  }

  remove(name: string, by: Author, at: number): number {
    this.#schema.ensure()
    return this.#note(name, 'delete', null, null, null, JSON.stringify(by), at, null)
  }

  /**
   * Returns what is accepted of each tool. Without `by`, a definition is accepted only if it is the first of its name
   * at its place, and its server has room for one more.
   */
  accept(tools: readonly ToolFingerprint[], by: Author | undefined, at: number): (Acceptance | null)[] {
    this.#schema.ensure()
    return this.#storage.transactionSync(() =>
      tools.map((tool) => {
        const { name, place, hash } = tool
        if (by) {
          this.#keep(tool)
          return { revision: this.#note(name, 'accept', hash, null, null, JSON.stringify(by), at, place), hash }
        }
        const [previous] = this.#rows<{ revision: number; hash: string }>(
          'SELECT revision, hash FROM history WHERE name = ? AND place = ? ORDER BY revision DESC LIMIT 1',
          name,
          place,
        )
        if (previous) return previous
        if (!this.#hasRoom(tool, at)) return null
        this.#keep(tool)
        const revision = this.#note(name, 'first_seen', hash, null, null, 'null', at, place)
        this.#rows('UPDATE history SET server = ? WHERE revision = ?', tool.server ?? null, revision)
        return { revision, hash }
      }),
    )
  }

  /** Whether one more tool of a server can be remembered. Forgets the one that was seen first, if that is old enough. */
  #hasRoom({ place, server: ofTool }: ToolFingerprint, at: number): boolean {
    const server = ofTool ?? null
    const ofServer = "FROM history WHERE place = ? AND server IS ? AND action = 'first_seen'"
    const isFull =
      this.#rows(`SELECT revision ${ofServer} LIMIT 1 OFFSET ?`, place, server, MOST_OF_A_SERVER - 1).length > 0
    if (!isFull) return true
    const [oldest] = this.#rows<{ revision: number; name: string; hash: string }>(
      `SELECT revision, name, hash ${ofServer} AND at <= ? AND NOT EXISTS (SELECT 1 FROM history AS later
         WHERE later.name = history.name AND later.place = history.place AND later.action = 'accept')
       ORDER BY revision LIMIT 1`,
      place,
      server,
      at - LEAST_MEMORY_MS,
    )
    if (!oldest) return false
    const { revision, name, hash } = oldest
    this.#rows('DELETE FROM history WHERE revision = ?', revision)
    const isNamed = 'SELECT 1 FROM history WHERE history.name = versions.name AND history.hash = versions.hash'
    this.#rows(`DELETE FROM versions WHERE name = ? AND hash = ? AND NOT EXISTS (${isNamed})`, name, hash)
    return true
  }

  /** Keeps the definition of a tool that is not stored here, unless it is very long. */
  #keep({ name, hash, definition }: ToolFingerprint): void {
    if (!definition) return
    const text = JSON.stringify(definition)
    if (text.length > MOST_ACCEPTED_TEXT) return
    const add =
      'INSERT INTO versions (name, hash, version, offered, text) VALUES (?, ?, ?, 0, ?) ON CONFLICT DO NOTHING'
    this.#rows(add, name, hash, definition.version, text)
  }

  /**
   * A revision is the current time in epoch milliseconds, or the last revision plus one if that is higher. So a
   * catalogue that starts again continues after the revisions that KV still holds.
   */
  #note(...values: SqlStorageValue[]): number {
    const [row] = this.#rows<{ revision: number }>(
      `INSERT INTO history (name, action, hash, change, breaks, author, at, place, revision)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, max(?7, (SELECT coalesce(max(revision), 0) + 1 FROM history)))
       RETURNING revision`,
      ...values,
    )
    return row?.revision ?? 0
  }

  history(name: string, { before = Number.MAX_SAFE_INTEGER, limit }: HistoryPage): HistoryEntry[] {
    return this.#rows<HistoryRow>(
      `SELECT revision, action, hash, version, change, breaks, place, author, at
       FROM history LEFT JOIN versions USING (name, hash)
       WHERE name = ? AND revision < ? ORDER BY revision DESC LIMIT ?`,
      name,
      before,
      limit,
    ).map(toEntry)
  }

  text(name: string, hash: string): string | undefined {
    const query = 'SELECT text FROM versions WHERE name = ? AND hash = ?'
    return this.#rows<{ text: string }>(query, name, hash)[0]?.text
  }

  /** Returns the versions that the copy lacks, with the revisions that brought them, oldest first. */
  uncopied(limit: number): { readonly revision: number; readonly name: string; readonly hash: string }[] {
    return this.#rows('SELECT revision, name, hash FROM uncopied ORDER BY revision LIMIT ?', limit)
  }

  markCopied(revision: number): void {
    this.#rows('DELETE FROM uncopied WHERE revision = ?', revision)
  }

  /**
   * `ready`: the last revision up to which the copy has all versions. `copied`: the last revision that its index
   * contains. `areTextsOld`: a stored definition in its index has been written since its texts were.
   */
  revisions(): { readonly ready: number; readonly copied: number; readonly areTextsOld: boolean } {
    const [row] = this.#rows<{ ready: number; copied: number; old: number }>(
      `SELECT copy.revision AS copied, coalesce(
         (SELECT min(revision) - 1 FROM uncopied), (SELECT max(revision) FROM history), 0) AS ready,
         EXISTS (SELECT 1 FROM history
           WHERE place IS NULL AND history.revision > copy.texts AND history.revision <= copy.revision) AS old
       FROM copy`,
    )
    return { ready: row?.ready ?? 0, copied: row?.copied ?? 0, areTextsOld: row?.old === 1 }
  }

  /** Returns the current versions as of a revision, ordered by name. */
  index(revision: number): IndexEntry[] {
    return this.#rows<{ name: string; hash: string; offered: number }>(
      `SELECT name, hash, offered
       FROM (SELECT max(revision) AS revision FROM history WHERE revision <= ? AND place IS NULL GROUP BY name)
       JOIN history USING (revision) JOIN versions USING (name, hash) ORDER BY name`,
      revision,
    ).map(({ name, hash, offered }) => ({ name, hash, offered: offered === 1 }))
  }

  /** Returns the current definitions as of a revision, ordered by name. Read one by one: together they may be large. */
  texts(revision: number): Iterable<VersionText> {
    if (!this.#schema.isCreated) return []
    return this.#storage.sql.exec<{ name: string; hash: string; text: string }>(
      `SELECT name, hash, text
       FROM (SELECT max(revision) AS revision FROM history WHERE revision <= ? AND place IS NULL GROUP BY name)
       JOIN history USING (revision) JOIN versions USING (name, hash) ORDER BY name`,
      revision,
    )
  }

  /** Returns the accepted definitions as of a revision, ordered by key. */
  acceptances(revision: number): IndexEntry[] {
    return this.#rows<{ name: string; place: string; hash: string }>(
      `SELECT name, place, hash
       FROM (SELECT max(revision) AS revision FROM history WHERE revision <= ? AND place IS NOT NULL GROUP BY name, place)
       JOIN history USING (revision)`,
      revision,
    )
      .map((row) => ({ name: acceptedKey(row), hash: row.hash, offered: false }))
      .sort((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** Returns whose definitions these are. */
  owner(): Owner {
    const [row] = this.#rows<{ owner: Owner }>('SELECT owner FROM copy')
    return row?.owner ?? 'edge'
  }

  embeddings(model: string, keys: readonly string[]): (Uint8Array | null)[] {
    return readEmbeddings((query, ...values) => this.#rows(query, ...values), model, keys)
  }

  storeEmbeddings(model: string, embeddings: readonly StoredEmbedding[]): void {
    this.#schema.ensure()
    this.#storage.transactionSync(() =>
      writeEmbeddings((query, ...values) => this.#rows(query, ...values), model, embeddings),
    )
  }

  /** The API keys that were changed last. */
  readonly changedKeys: ChangedKeys = {
    get: (id) => {
      const [row] = this.#rows<{ key: string; at: number }>('SELECT key, at FROM changed_keys WHERE id = ?', id)
      return row && { key: readKeyText(row.key), at: row.at }
    },
    set: (id, key, at) => {
      this.#schema.ensure()
      this.#rows('DELETE FROM changed_keys WHERE at <= ?', at - REMEMBERED_MS)
      const text = JSON.stringify(key && storedForm(key))
      this.#rows('INSERT OR REPLACE INTO changed_keys (id, key, at) VALUES (?, ?, ?)', id, text, at)
    },
  }

  /** Returns the ids of the disabled API keys; null if they were never told. */
  disabledKeys(): string[] | null {
    const [row] = this.#rows<{ ids: string }>('SELECT ids FROM disabled_keys')
    const ids = parseJson(row?.ids ?? 'null')
    return isStrings(ids) ? ids : null
  }

  setDisabledKeys(ids: readonly string[]): void {
    this.#schema.ensure()
    const text = JSON.stringify(ids)
    this.#rows('INSERT INTO disabled_keys VALUES (1, ?1) ON CONFLICT DO UPDATE SET ids = ?1 WHERE ids <> ?1', text)
  }

  setCopied(revision: number): void {
    this.#rows('UPDATE copy SET revision = ?', revision)
  }

  setTexts(revision: number): void {
    this.#rows('UPDATE copy SET texts = ?', revision)
  }

  #rows<Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]): Row[] {
    return this.#schema.isCreated ? this.#storage.sql.exec<Row>(query, ...values).toArray() : []
  }
}

/** A row of the history, joined with the version that it names. */
interface HistoryRow extends Record<string, SqlStorageValue> {
  readonly revision: number
  readonly action: HistoryEntry['action']
  readonly hash: string | null
  readonly version: string | null
  readonly change: string | null
  readonly breaks: string | null
  readonly place: string | null
  readonly author: string
  readonly at: number
}

/** Converts a row to a history entry. */
function toEntry({ revision, action, hash, version, change, breaks, place, author, at }: HistoryRow): HistoryEntry {
  return {
    revision,
    action,
    ...(place !== null && { place }),
    ...(hash !== null && { hash }),
    ...(version !== null && { version }),
    ...(isChange(change) && { change, breaks: issuesOf(breaks) }),
    ...readAuthor(parseJson(author)),
    at: new Date(at).toISOString(),
  }
}

function isChange(change: string | null): change is Change['change'] {
  return change !== null
}

function issuesOf(text: string | null): Change['breaks'] {
  const issues = parseJson(text ?? '[]')
  return Array.isArray(issues)
    ? issues.filter(isObject).map(({ path, message }) => ({ path: String(path), message: String(message) }))
    : []
}

function readAuthor(author: unknown): Pick<HistoryEntry, 'by'> {
  const { tenant, key } = isObject(author) ? author : {}
  return typeof tenant === 'string' ? { by: { tenant, ...(typeof key === 'string' && { key }) } } : {}
}

/** Append new migrations, never edit old ones. Each is applied completely or not at all. */
export const MIGRATIONS: readonly string[] = [
  // hash: null for a removal. uncopied: versions that the copy in KV lacks, by the revision that brought them. copy:
  // the last revision that the copy's index contains.
  `CREATE TABLE versions (name TEXT NOT NULL, hash TEXT NOT NULL, version TEXT NOT NULL, offered INTEGER NOT NULL,
     text TEXT NOT NULL, PRIMARY KEY (name, hash));
   CREATE TABLE history (revision INTEGER PRIMARY KEY, name TEXT NOT NULL, action TEXT NOT NULL, hash TEXT, change TEXT,
     breaks TEXT, author TEXT NOT NULL, at INTEGER NOT NULL);
   CREATE INDEX history_of_name ON history (name, revision);
   CREATE TABLE uncopied (revision INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL);
   CREATE TABLE copy (revision INTEGER NOT NULL);
   INSERT INTO copy VALUES (0);`,
  // texts: the last revision that the copy's texts contain.
  'ALTER TABLE copy ADD COLUMN texts INTEGER NOT NULL DEFAULT 0',
  // place: the source of a tool that is not stored here and whose definition was accepted; its last row counts.
  `ALTER TABLE history ADD COLUMN place TEXT;
   CREATE INDEX history_of_place ON history (place, action);`,
  // owner: whose definitions these are, and with that the keys of the copy. Catalogues from before are the edge's.
  "ALTER TABLE copy ADD COLUMN owner TEXT NOT NULL DEFAULT 'edge'",
  // key: the hash of the text that was embedded. The oldest rows are dropped.
  'CREATE TABLE embeddings (id INTEGER PRIMARY KEY, model TEXT NOT NULL, key TEXT NOT NULL, bytes BLOB NOT NULL, UNIQUE (model, key))',
  // server: which of the servers at a place brought the tool.
  `ALTER TABLE history ADD COLUMN server TEXT;
   CREATE INDEX history_of_server ON history (place, server, action);`,
  // key: as it is stored in KV; null, as JSON, for a removed one. disabled_keys: one row, the list as JSON.
  `CREATE TABLE changed_keys (id TEXT PRIMARY KEY, key TEXT NOT NULL, at INTEGER NOT NULL);
   CREATE TABLE disabled_keys (id INTEGER PRIMARY KEY, ids TEXT NOT NULL);`,
]

function readKeyText(text: string): StoredKey | null {
  const entry = parseJson(text)
  return isObject(entry) ? readStoredKey(entry) : null
}

/** Runs a query on the tables of the catalogue. */
type Rows = <Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]) => Row[]

/** The most vectors that are kept; of 1,024 bytes each they take 50 MB. The oldest are dropped, and made again. */
const MOST_EMBEDDINGS = 50_000
/** How many keys one query may name: SQLite in Durable Objects takes 100 parameters. */
const KEYS_A_QUERY = 90

/** Returns the stored values of keys, in their order; null for each that is not stored. */
export function readEmbeddings(rows: Rows, model: string, keys: readonly string[]): (Uint8Array | null)[] {
  const valuesByKey = new Map<string, Uint8Array>()
  for (let from = 0; from < keys.length; from += KEYS_A_QUERY) {
    const part = keys.slice(from, from + KEYS_A_QUERY)
    const places = part.map(() => '?').join()
    const query = `SELECT key, bytes FROM embeddings WHERE model = ? AND key IN (${places})`
    for (const { key, bytes } of rows<{ key: string; bytes: ArrayBuffer }>(query, model, ...part)) {
      valuesByKey.set(key, new Uint8Array(bytes))
    }
  }
  return keys.map((key) => valuesByKey.get(key) ?? null)
}

/** Stores vectors, and drops the oldest if there are too many. */
export function writeEmbeddings(rows: Rows, model: string, embeddings: readonly StoredEmbedding[]): void {
  for (const { key, values } of embeddings) {
    const query =
      'INSERT INTO embeddings (model, key, bytes) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes'
    rows(query, model, key, Uint8Array.from(values).buffer)
  }
  rows('DELETE FROM embeddings WHERE id <= (SELECT max(id) FROM embeddings) - ?', MOST_EMBEDDINGS)
}
