import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { gunzipSync, gzipSync } from 'node:zlib'

/** Where the databases of each released version are, in a folder with its name. */
export const RECORDED = join(import.meta.dirname, '../fixtures/databases')

/** The files of Durable Objects and of KV namespaces. */
const STORED = /^v\d+\/(?:do|kv)\//

/** What was recorded, beside the files. */
export interface Recording {
  /** When the edge was killed, in epoch milliseconds. */
  readonly at: number
  /** The ids of the runs, by name. */
  readonly runs: Readonly<Record<string, string>>
}

/** Stores the files of an edge that has been killed, each compressed. */
export function storeRecording(state: string, folder: string, recording: Recording): void {
  rmSync(folder, { recursive: true, force: true })
  for (const path of filesIn(state)) {
    if (!STORED.test(path) || /-(?:wal|shm)$/.test(path)) continue
    const file = join(state, path)
    if (path.endsWith('.sqlite')) complete(file)
    const to = join(folder, `${path}.gz`)
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, gzipSync(readFileSync(file), { level: 9 }))
  }
  writeFileSync(join(folder, 'recording.json'), `${JSON.stringify(recording, undefined, 2)}\n`)
}

/**
 * Restores the files of a version in the state folder of an edge, with the times of the conversations moved, as though
 * their edge had been killed at `at`.
 */
export function restoreRecording(folder: string, state: string, at: number): Recording {
  const recording: Recording = JSON.parse(readFileSync(join(folder, 'recording.json'), 'utf8'))
  for (const path of filesIn(folder).filter((name) => name.endsWith('.gz'))) {
    const to = join(state, path.slice(0, -'.gz'.length))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, gunzipSync(readFileSync(join(folder, path))))
    if (to.endsWith('.sqlite') && to.includes('-Conversation/')) moveTimes(to, at - recording.at)
  }
  return recording
}

/** Returns the database of the object that a text belongs to, such as the id of one of its runs. */
export function databaseWith(state: string, text: string): string {
  const files = filesIn(state).filter((path) => path.endsWith('.sqlite') && path.includes('-Conversation/'))
  const databaseFile = files
    .map((path) => join(state, path))
    .find((file) => {
      using database = open(file)
      const tables = tablesOf(database)
      return tables.includes('runs') && database.prepare('SELECT 1 FROM runs WHERE id = ?').all(text).length > 0
    })
  if (!databaseFile) throw new Error(`No database has the run ${text}`)
  return databaseFile
}

/** Has it look as though three instances in a row had been lost while they resumed a run. */
export function countLosses(state: string, run: string): void {
  using database = open(databaseWith(state, run))
  database.prepare('UPDATE runs SET resumes = 3 WHERE id = ?').run(run)
}

/** Moves all times in a database: numbers of epoch milliseconds, in columns and in JSON. */
export function moveTimes(file: string, by: number): void {
  using database = open(file)
  for (const table of tablesOf(database)) {
    const columns = database
      .prepare(`PRAGMA table_info("${table}")`)
      .all()
      .map(({ name }) => String(name))
    for (const column of columns) {
      database.exec(`UPDATE "${table}" SET "${column}" = "${column}" + ${by}
        WHERE typeof("${column}") = 'integer' AND "${column}" BETWEEN 1600000000000 AND 2500000000000`)
      const rows = database
        .prepare(`SELECT DISTINCT "${column}" AS text FROM "${table}" WHERE typeof("${column}") = 'text'`)
        .all()
      for (const { text } of rows) {
        const moved = String(text).replaceAll(/(?<=[:[,])\d{13}(?=[\]},])/g, (time) => String(Number(time) + by))
        if (moved !== text)
          database.prepare(`UPDATE "${table}" SET "${column}" = ? WHERE "${column}" = ?`).run(moved, String(text))
      }
    }
  }
}

/** Brings what is still in the log of a database into the database, and leaves out free pages. */
function complete(file: string): void {
  using database = open(file)
  database.exec('PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE; VACUUM;')
}

function open(file: string): DatabaseSync {
  return new DatabaseSync(file)
}

function tablesOf(database: DatabaseSync): string[] {
  const query = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
  return database
    .prepare(query)
    .all()
    .map(({ name }) => String(name))
}

function filesIn(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
}
