/**
 * conversation/: the Durable Object that holds a conversation and runs its runs. May import contract/, wire/, tool/ and
 * loop/. The class stays thin; `cloudflare:workers` is imported where a class must extend it.
 */

/**
 * What the database has been, step by step; a new version appends and never edits. Values go in by parameters alone:
 * SQL text is recorded in traces.
 */
const MIGRATIONS: readonly string[] = [
  `CREATE TABLE runs (
     place INTEGER PRIMARY KEY AUTOINCREMENT,
     id TEXT NOT NULL UNIQUE,
     status TEXT NOT NULL,
     request TEXT NOT NULL,
     toolset INTEGER NOT NULL REFERENCES toolsets (id),
     record TEXT,
     reserved INTEGER NOT NULL DEFAULT 0,
     interrupted INTEGER NOT NULL DEFAULT 0,
     created INTEGER NOT NULL
   );
   CREATE INDEX runs_open ON runs (place) WHERE record IS NULL;
   CREATE TABLE toolsets (id INTEGER PRIMARY KEY, definitions TEXT NOT NULL);
   CREATE TABLE events (
     run TEXT NOT NULL,
     first INTEGER NOT NULL,
     last INTEGER NOT NULL,
     lines TEXT NOT NULL,
     PRIMARY KEY (run, first)
   ) WITHOUT ROWID;
   CREATE TABLE messages (position INTEGER PRIMARY KEY, run TEXT NOT NULL, message TEXT NOT NULL);`,
]

/** Brings the database to the newest version, in one transaction. */
export function migrate(storage: DurableObjectStorage): void {
  const { sql } = storage
  const version = isMade(storage) ? versionOf(sql) : 0
  if (version === MIGRATIONS.length) return
  storage.transactionSync(() => {
    sql.exec('CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)')
    for (const statements of MIGRATIONS.slice(version)) sql.exec(statements)
    sql.exec("INSERT OR REPLACE INTO meta VALUES ('version', ?)", String(MIGRATIONS.length))
  })
}

function versionOf(sql: SqlStorage): number {
  const [row] = sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'version'").toArray()
  return Number(row?.value ?? 0)
}

/** Whether the database was ever made; asking makes nothing. */
export function isMade({ sql }: DurableObjectStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").toArray().length > 0
}
