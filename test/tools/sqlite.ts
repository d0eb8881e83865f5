import { DatabaseSync, type SQLInputValue } from 'node:sqlite'

/** An empty SQLite database in memory, with the part of a Durable Object's `storage.sql` that tools use. */
export function memorySql(): SqlStorage {
  const database = new DatabaseSync(':memory:')
  const sql = {
    exec(query: string, ...bindings: SQLInputValue[]) {
      // A prepared statement is one statement: a script of several has no bindings.
      if (bindings.length === 0 && query.trim().includes(';')) {
        database.exec(query)
        return { toArray: () => [] }
      }
      const all = database.prepare(query).all(...bindings)
      return { toArray: () => all }
    },
  }
  return sql as unknown as SqlStorage
}
