/**
 * The generation of what objects store. The version before can read all that this one stores, unless this number is higher
 * than its own: `edgecall deploy` records it, and `edgecall rollback` goes back to no version with a lower one.
 */
export const STORAGE_GENERATION = 1

/**
 * Brings the tables of a Durable Object to the newest version, all at once or not at all. `migrations`: the statements of
 * each version, in order; new ones are appended and old ones never edited. The tables of a newer edge stay as they are:
 * that edge may be deployed again.
 */
export function migrateTables(storage: DurableObjectStorage, migrations: readonly string[]): void {
  const { sql } = storage
  sql.exec('CREATE TABLE IF NOT EXISTS meta (version INTEGER NOT NULL)')
  const [row] = sql.exec<{ version: number }>('SELECT version FROM meta').toArray()
  const version = row?.version ?? 0
  if (version >= migrations.length) return
  storage.transactionSync(() => {
    for (const statements of migrations.slice(version)) sql.exec(statements)
    sql.exec('DELETE FROM meta')
    sql.exec('INSERT INTO meta VALUES (?)', migrations.length)
  })
}

/** The tables of a Durable Object, created by the first write: an object that is only read stores nothing. */
export class LazySchema {
  readonly #create: () => void
  #isCreated = false

  /** `table`: one that every version of the schema has. If it exists, `create` runs at once, to migrate the others. */
  constructor(sql: SqlStorage, table: string, create: () => void) {
    this.#create = create
    const query = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    if (sql.exec(query, table).toArray().length > 0) this.ensure()
  }

  /** Whether there is anything to read. */
  get isCreated(): boolean {
    return this.#isCreated
  }

  /** Creates the tables, unless they exist. Call it before each write, outside of a transaction. */
  ensure(): void {
    if (this.#isCreated) return
    this.#create()
    this.#isCreated = true
  }
}
