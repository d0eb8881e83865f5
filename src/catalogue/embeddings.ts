import type { StoredEmbedding } from '../contract/model.ts'

/** Runs a query on the tables of the catalogue. */
type Rows = <Row extends Record<string, SqlStorageValue>>(query: string, ...values: SqlStorageValue[]) => Row[]

/** The most vectors that are kept; of 1,024 bytes each they take 50 MB. The oldest are dropped, and made again. */
const MOST_EMBEDDINGS = 50_000
/** How many keys one query may name: SQLite in Durable Objects takes 100 parameters. */
const KEYS_A_QUERY = 90

/** Returns the stored values of keys, in their order; null for each that is not stored. */
export function readEmbeddings(rows: Rows, model: string, keys: readonly string[]): (Uint8Array | null)[] {
  const valuesByKey = new Map<string, Uint8Array>()
  for (let from = 0; from < keys.length; from += KEYS_A_QUERY) {
    const part = keys.slice(from, from + KEYS_A_QUERY)
    const places = part.map(() => '?').join()
    const query = `SELECT key, bytes FROM embeddings WHERE model = ? AND key IN (${places})`
    for (const { key, bytes } of rows<{ key: string; bytes: ArrayBuffer }>(query, model, ...part)) {
      valuesByKey.set(key, new Uint8Array(bytes))
    }
  }
  return keys.map((key) => valuesByKey.get(key) ?? null)
}

/** Stores vectors, and drops the oldest if there are too many. */
export function writeEmbeddings(rows: Rows, model: string, embeddings: readonly StoredEmbedding[]): void {
  for (const { key, values } of embeddings) {
    const query =
      'INSERT INTO embeddings (model, key, bytes) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET bytes = excluded.bytes'
    rows(query, model, key, Uint8Array.from(values).buffer)
  }
  rows('DELETE FROM embeddings WHERE id <= (SELECT max(id) FROM embeddings) - ?', MOST_EMBEDDINGS)
}
