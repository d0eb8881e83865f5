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
