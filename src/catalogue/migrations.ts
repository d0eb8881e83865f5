/** A new version of these appends and never edits; each has been run or not at all. */
export const MIGRATIONS: readonly string[] = [
  // hash: absent for a removal. uncopied: versions that the copy in KV lacks, by the write that brought them. copy: the
  // last write that the copy's index holds.
  `CREATE TABLE versions (name TEXT NOT NULL, hash TEXT NOT NULL, version TEXT NOT NULL, offered INTEGER NOT NULL,
     text TEXT NOT NULL, PRIMARY KEY (name, hash));
   CREATE TABLE history (revision INTEGER PRIMARY KEY, name TEXT NOT NULL, action TEXT NOT NULL, hash TEXT, change TEXT,
     breaks TEXT, author TEXT NOT NULL, at INTEGER NOT NULL);
   CREATE INDEX history_of_name ON history (name, revision);
   CREATE TABLE uncopied (revision INTEGER PRIMARY KEY, name TEXT NOT NULL, hash TEXT NOT NULL);
   CREATE TABLE copy (revision INTEGER NOT NULL);
   INSERT INTO copy VALUES (0);`,
  // texts: the last write that the copy's texts hold.
  'ALTER TABLE copy ADD COLUMN texts INTEGER NOT NULL DEFAULT 0',
  // place: where a tool of another source is, whose definition was accepted; its last row counts.
  `ALTER TABLE history ADD COLUMN place TEXT;
   CREATE INDEX history_of_place ON history (place, action);`,
]
