import { sha256 } from '../contract/json.ts'

export interface Vector {
  readonly id: string
  readonly values: ArrayLike<number>
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
  nearest(values: ArrayLike<number>, limit: number): Promise<readonly NearVector[]>
}

/** Makes a store in the memory of the isolate; a number takes one byte, so that 20,000 vectors of 1,024 take 20 MiB. */
export function memoryVectors(): VectorStore & { readonly all: () => readonly Vector[] } {
  const vectorsById = new Map<string, Int8Array>()
  return {
    all: () => [...vectorsById].map(([id, values]) => ({ id, values })),
    async put(vectors) {
      for (const { id, values } of vectors) vectorsById.set(id, toBytes(values))
    },
    async remove(ids) {
      for (const id of ids) vectorsById.delete(id)
    },
    async nearest(values, limit) {
      const query = toBytes(values)
      const neighbours = [...vectorsById].map(([id, vector]) => ({ id, score: cosine(vector, query) }))
      return neighbours.sort((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1)).slice(0, limit)
    },
  }
}

/** The length of a vector in bytes: the largest signed integer of a byte. */
const BYTE_LENGTH = 127

/**
 * Converts a vector to signed bytes, at a length of 127. The angles between vectors change by less than one percent.
 */
export function toBytes(values: ArrayLike<number>): Int8Array {
  const scale = BYTE_LENGTH / (lengthOf(values) || 1)
  return Int8Array.from(values, (value) => Math.round(value * scale))
}

function lengthOf(values: ArrayLike<number>): number {
  let sum = 0
  for (let at = 0; at < values.length; at++) sum += (values[at] ?? 0) ** 2
  return Math.sqrt(sum)
}

function cosine(a: Int8Array, b: Int8Array): number {
  let sum = 0
  for (let at = 0; at < a.length; at++) sum += (a[at] ?? 0) * (b[at] ?? 0)
  return sum / (lengthOf(a) * lengthOf(b) || 1)
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
        return { id: await idOf(id), values: Array.from(values), namespace, metadata: { id } }
      })
      await binding.upsert(await Promise.all(rows))
    },
    async remove(ids) {
      await binding.deleteByIds(await Promise.all(ids.map(idOf)))
    },
    async nearest(values, limit) {
      const options = { namespace, topK: Math.min(limit, MOST_MATCHES), returnMetadata: 'all' } as const
      const { matches } = await binding.query(Array.from(values), options)
      return matches.flatMap(({ metadata, score }) => {
        const id = metadata?.['id']
        return typeof id === 'string' ? [{ id, score }] : []
      })
    },
  }
}

/** The most matches that Vectorize returns with metadata. */
const MOST_MATCHES = 20
