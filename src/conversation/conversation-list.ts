import { LazySchema } from '../contract/lazy-schema.ts'
import { FIRST_BYTES, type StoredTotals } from '../contract/quotas.ts'

/**
 * sizes: the bytes of each conversation that has reported more than its initial size, and of each that is older than
 * this table. unlisted: large conversations that are deleted by themselves. totals: one row with the sums of the listed
 * conversations.
 */
const SCHEMA = `
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
    this.#schema = new LazySchema(storage.sql, 'conversations', () => void storage.sql.exec(SCHEMA))
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
