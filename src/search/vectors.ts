import { sha256 } from '../contract/json.ts'

export interface Vector {
  readonly id: string
  readonly values: readonly number[]
}

export interface NearVector {
  readonly id: string
  /** The cosine similarity: 1 for the same direction. */
  readonly score: number
}

export interface VectorStore {
  /** Stores vectors; a vector replaces one of the same id. */
  put(vectors: readonly Vector[]): Promise<void>
  remove(ids: readonly string[]): Promise<void>
  /** Finds at most `limit` vectors, nearest first. */
  nearest(values: readonly number[], limit: number): Promise<readonly NearVector[]>
}

/** Makes a store in the memory of the isolate; a number takes four bytes. */
export function memoryVectors(): VectorStore {
  const vectorsById = new Map<string, Float32Array>()
  return {
    async put(vectors) {
      for (const { id, values } of vectors) vectorsById.set(id, unit(values))
    },
    async remove(ids) {
      for (const id of ids) vectorsById.delete(id)
    },
    async nearest(values, limit) {
      const query = unit(values)
      const neighbours = [...vectorsById].map(([id, vector]) => ({
        id,
        score: vector.reduce((sum, value, at) => sum + value * (query[at] ?? 0), 0),
      }))
      return neighbours.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, limit)
    },
  }
}

function unit(values: readonly number[]): Float32Array {
  const length = Math.hypot(...values) || 1
  return Float32Array.from(values, (value) => value / length)
}

/** The part of a Vectorize binding that is used; the index must measure by `cosine`. */
export interface VectorizeBinding {
  upsert(vectors: VectorizeVector[]): Promise<unknown>
  deleteByIds(ids: string[]): Promise<unknown>
  query(values: number[], options: VectorizeQueryOptions): Promise<Pick<VectorizeMatches, 'matches'>>
}

/**
 * Makes a store in a Vectorize index, under a namespace. Ids are unique in a whole Vectorize index, so that the
 * namespace is hashed into them. Changes show after some seconds; vectors outlive the isolate.
 */
export function vectorizeVectors(binding: VectorizeBinding, namespace: string): VectorStore {
  const idOf = (id: string) => sha256(`${namespace}\n${id}`)
  return {
    async put(vectors) {
      const rows = vectors.map(async ({ id, values }) => {
        return { id: await idOf(id), values: [...values], namespace, metadata: { id } }
      })
      await binding.upsert(await Promise.all(rows))
    },
    async remove(ids) {
      await binding.deleteByIds(await Promise.all(ids.map(idOf)))
    },
    async nearest(values, limit) {
      const options = { namespace, topK: Math.min(limit, MOST_MATCHES), returnMetadata: 'all' } as const
      const { matches } = await binding.query([...values], options)
      return matches.flatMap(({ metadata, score }) => {
        const id = metadata?.['id']
        return typeof id === 'string' ? [{ id, score }] : []
      })
    },
  }
}

/** The most matches that Vectorize returns with metadata. */
const MOST_MATCHES = 20
