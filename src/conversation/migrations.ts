/**
 * conversation/: the Durable Object that holds a conversation and runs its runs. May import contract/, wire/, tool/ and
 * loop/. The class stays thin; `cloudflare:workers` is imported where a class must extend it.
 */

/**
 * A database as it is made today. Values go in by parameters alone: SQL text is recorded in traces.
 *
 * runs: `reserved`, event numbers up to this may have been given; `stalled`, when it was first picked up after it had last
 * got ahead; `ended`, epoch milliseconds; `pruned`, the number of the last event that was removed, 0 where none had to be.
 * messages: `kind`, system, user, answer, work, or old for what was said anew. wholes: results too large to be shown, and
 * outcomes that came late.
 */
const SCHEMA = `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL);
  CREATE TABLE runs (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, status TEXT NOT NULL,
    request TEXT NOT NULL, toolset INTEGER NOT NULL REFERENCES toolsets (id), record TEXT,
    reserved INTEGER NOT NULL DEFAULT 0, interrupted INTEGER NOT NULL DEFAULT 0, created INTEGER NOT NULL,
    stalled INTEGER, ended INTEGER, pruned INTEGER);
  CREATE INDEX runs_open ON runs (place) WHERE record IS NULL;
  CREATE INDEX runs_unpruned ON runs (ended) WHERE ended IS NOT NULL AND pruned IS NULL;
  CREATE TABLE toolsets (id INTEGER PRIMARY KEY, definitions TEXT NOT NULL);
  CREATE TABLE events (run TEXT NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, lines TEXT NOT NULL,
    PRIMARY KEY (run, first)) WITHOUT ROWID;
  CREATE TABLE messages (position INTEGER PRIMARY KEY, run TEXT NOT NULL, message TEXT NOT NULL,
    kind TEXT NOT NULL DEFAULT 'work');
  CREATE INDEX messages_system ON messages (position) WHERE kind = 'system';`

/** Tables that are the same however a database came to be as it is. */
const ADDED = `
  CREATE TABLE chunks (id INTEGER NOT NULL, part INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (id, part))
    WITHOUT ROWID;
  CREATE TABLE wholes (call TEXT PRIMARY KEY, content TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE quarantine (id INTEGER PRIMARY KEY, place TEXT NOT NULL, content TEXT NOT NULL, reason TEXT NOT NULL);
  CREATE TABLE joined (id TEXT PRIMARY KEY, run TEXT NOT NULL, fingerprint TEXT NOT NULL) WITHOUT ROWID;
  CREATE TABLE notices (id TEXT PRIMARY KEY, body TEXT NOT NULL, due INTEGER NOT NULL, attempt INTEGER NOT NULL)
    WITHOUT ROWID;`

/**
 * What brings a database of each version, from 1 on, to the next; a new version appends and never edits, and changes what
 * is made today.
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
   ${ADDED}
   INSERT INTO meta SELECT 'usage', json_object('runs', count(*), 'usage', json_object(
       'inputTokens', ifnull(sum(json_extract(record, '$.usage.inputTokens')), 0),
       'outputTokens', ifnull(sum(json_extract(record, '$.usage.outputTokens')), 0),
       'cachedInputTokens', ifnull(sum(json_extract(record, '$.usage.cachedInputTokens')), 0),
       'reasoningTokens', ifnull(sum(json_extract(record, '$.usage.reasoningTokens')), 0)))
     FROM runs WHERE json_valid(record);`,
]

const NEWEST = MIGRATIONS.length + 1

/** Makes the database, or brings it to the newest version, in one transaction. */
export function migrate(storage: DurableObjectStorage): void {
  const { sql } = storage
  const version = isMade(storage) ? versionOf(sql) : 0
  // One of a newer edge stays as it is: that edge may be back tomorrow.
  if (version >= NEWEST) return
  storage.transactionSync(() => {
    if (version === 0) sql.exec(SCHEMA + ADDED)
    else for (const statements of MIGRATIONS.slice(version - 1)) sql.exec(statements)
    sql.exec("INSERT OR REPLACE INTO meta VALUES ('version', ?)", String(NEWEST))
  })
}

function versionOf(sql: SqlStorage): number {
  const [row] = sql.exec<{ value: string }>("SELECT value FROM meta WHERE key = 'version'").toArray()
  const version = Number(row?.value ?? 0)
  // One that cannot be read is that of the object's last life, which brought it to the newest.
  return Number.isInteger(version) ? version : NEWEST
}

/** Whether the database was ever made; asking makes nothing. */
export function isMade({ sql }: DurableObjectStorage): boolean {
  return sql.exec("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'meta'").toArray().length > 0
}
