import { isObject, parseJson } from '../contract/json.ts'
import type { Change, HistoryEntry, HistoryPage, VersionWrite } from '../contract/catalogue.ts'
import type { IndexEntry } from '../tool/stored/copy.ts'
import type { VersionText } from '../tool/stored/texts.ts'

/**
 * catalogue/: the Durable Object that all writes of stored definitions go through, and its copy in KV. May import
 * contract/ and tool/. `cloudflare:workers` is imported where the class must extend it.
 */

/** A new version of these appends and never edits; each has been run or not at all. */
const MIGRATIONS: readonly string[] = [
  // hash: absent for a removal. uncopied: versions that the copy in KV lacks, by the write that brought them. copy: the
  // last write that the copy's index holds.
  `CREATE TABLE versions (
     name TEXT NOT NULL,
     hash TEXT NOT NULL,
     version TEXT NOT NULL,
     offered INTEGER NOT NULL,
     text TEXT NOT NULL,
     PRIMARY KEY (name, hash)
   );
   CREATE TABLE history (
     revision INTEGER PRIMARY KEY,
     name TEXT NOT NULL,
     action TEXT NOT NULL,
     hash TEXT,
     change TEXT,
     breaks TEXT,
     author TEXT NOT NULL,
     at INTEGER NOT NULL
   );
   CREATE INDEX history_of_name ON history (name, revision);
   CREATE TABLE uncopied (revision INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL);
   CREATE TABLE copy (revision INTEGER NOT NULL);
   INSERT INTO copy VALUES (0);`,
  // texts: the last write that the copy's texts hold.
  'ALTER TABLE copy ADD COLUMN texts INTEGER NOT NULL DEFAULT 0',
]

/** The version that a name has now. */
export interface Current {
  readonly revision: number
  readonly hash: string
  readonly text: string
}

interface HistoryRow extends Record<string, SqlStorageValue> {
  readonly revision: number
  readonly action: string
  readonly hash: string | null
  readonly version: string | null
  readonly change: string | null
  readonly breaks: string | null
  readonly author: string
  readonly at: number
}

/** The tables of the catalogue. Versions are only ever added; what a name stands for is the last row of its history. */
export class CatalogueStore {
  readonly #storage: DurableObjectStorage

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage
    const { sql } = storage
    sql.exec('CREATE TABLE IF NOT EXISTS meta (version INTEGER NOT NULL)')
    const [row] = this.#rows<{ version: number }>('SELECT version FROM meta')
    const version = row?.version ?? 0
    if (version === MIGRATIONS.length) return
    storage.transactionSync(() => {
      for (const statements of MIGRATIONS.slice(version)) sql.exec(statements)
      sql.exec('DELETE FROM meta')
      sql.exec('INSERT INTO meta VALUES (?)', MIGRATIONS.length)
    })
  }

  current(name: string): Current | undefined {
    const [last] = this.#rows<{ revision: number; hash: string | null; text: string | null }>(
      `SELECT revision, hash, text FROM history LEFT JOIN versions USING (name, hash)
       WHERE name = ? ORDER BY revision DESC LIMIT 1`,
      name,
    )
    const { revision = 0, hash, text } = last ?? {}
    return typeof hash === 'string' && typeof text === 'string' ? { revision, hash, text } : undefined
  }

  /** The revision of the write. */
  add(write: VersionWrite, { change, breaks }: Change, at: number): number {
    const { name, hash, text, version, offered, action, by } = write
    return this.#storage.transactionSync(() => {
      const [added] = this.#rows(
        `INSERT INTO versions (name, hash, version, offered, text) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO NOTHING RETURNING hash`,
        name,
        hash,
        version,
        offered ? 1 : 0,
        text,
      )
      const revision = this.#note(name, action, hash, change, JSON.stringify(breaks), JSON.stringify(by), at)
      if (added) this.#rows('INSERT INTO uncopied VALUES (?, ?, ?)', revision, name, hash)
      return revision
    })
  }

  remove(name: string, by: VersionWrite['by'], at: number): number {
    return this.#note(name, 'delete', null, null, null, JSON.stringify(by), at)
  }

  /** Revisions are times, or one more than the last: a catalogue that begins anew goes on after what KV still holds. */
  #note(...values: SqlStorageValue[]): number {
    const [row] = this.#rows<{ revision: number }>(
      `INSERT INTO history (name, action, hash, change, breaks, author, at, revision)
       VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, max(?7, (SELECT coalesce(max(revision), 0) + 1 FROM history)))
       RETURNING revision`,
      ...values,
    )
    return row?.revision ?? 0
  }

  history(name: string, { before = Number.MAX_SAFE_INTEGER, limit }: HistoryPage): HistoryEntry[] {
    return this.#rows<HistoryRow>(
      `SELECT revision, action, hash, version, change, breaks, author, at
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

  /** Versions that the copy lacks, by the writes that brought them, oldest first. */
  uncopied(limit: number): { readonly revision: number; readonly name: string; readonly hash: string }[] {
    return this.#rows('SELECT revision, name, hash FROM uncopied ORDER BY revision LIMIT ?', limit)
  }

  markCopied(revision: number): void {
    this.#rows('DELETE FROM uncopied WHERE revision = ?', revision)
  }

  /** The last write up to which the copy has all versions, and the last that its index and its texts hold. */
  revisions(): { readonly ready: number; readonly copied: number; readonly texts: number } {
    const [row] = this.#rows<{ ready: number; copied: number; texts: number }>(
      `SELECT copy.revision AS copied, copy.texts, coalesce(
         (SELECT min(revision) - 1 FROM uncopied), (SELECT max(revision) FROM history), 0) AS ready
       FROM copy`,
    )
    return row ?? { ready: 0, copied: 0, texts: 0 }
  }

  /** What was current after a write, by name. */
  index(revision: number): IndexEntry[] {
    return this.#rows<{ name: string; hash: string; offered: number }>(
      `SELECT name, hash, offered
       FROM (SELECT max(revision) AS revision FROM history WHERE revision <= ? GROUP BY name)
       JOIN history USING (revision) JOIN versions USING (name, hash) ORDER BY name`,
      revision,
    ).map(({ name, hash, offered }) => ({ name, hash, offered: offered === 1 }))
  }

  /** The definitions that were current after a write, by name. Reads one after another: together they may be large. */
  texts(revision: number): Iterable<VersionText> {
    return this.#storage.sql.exec<{ name: string; hash: string; text: string }>(
      `SELECT name, hash, text
       FROM (SELECT max(revision) AS revision FROM history WHERE revision <= ? GROUP BY name)
       JOIN history USING (revision) JOIN versions USING (name, hash) ORDER BY name`,
      revision,
    )
  }

  setCopied(revision: number): void {
    this.#rows('UPDATE copy SET revision = ?', revision)
  }

  setTexts(revision: number): void {
    this.#rows('UPDATE copy SET texts = ?', revision)
  }

  #rows<Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]): Row[] {
    return this.#storage.sql.exec<Row>(query, ...values).toArray()
  }
}

function toEntry({ revision, action, hash, version, change, breaks, author, at }: HistoryRow): HistoryEntry {
  const { tenant, key } = objectOf(author)
  return {
    revision,
    action: action === 'rollback' || action === 'delete' ? action : 'put',
    ...(hash !== null && { hash }),
    ...(version !== null && { version }),
    ...(isChange(change) && { change, breaks: issuesOf(breaks) }),
    by: { tenant: String(tenant), ...(typeof key === 'string' && { key }) },
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

function objectOf(text: string): Record<string, unknown> {
  const value = parseJson(text)
  return isObject(value) ? value : {}
}
