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
]
