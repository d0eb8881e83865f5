import type { EmbeddingService } from '../contract/embedding.ts'
import { sha256 } from '../contract/json.ts'
import { memoryVectors, toBytes, type Vector, type VectorStore } from './vectors.ts'

export interface GrowingVectorsOptions {
  /** Holds the vectors once there are more than `most`, such as `vectorizeVectors(…)`. */
  readonly large: VectorStore
  /** Stores which vectors `large` has, for all isolates. */
  readonly service: EmbeddingService
  /** The name of that record. */
  readonly name: string
  /** The most vectors that are kept in the memory of the isolate. Default 20,000. */
  readonly most?: number
}

/** How many vectors are moved at once; Vectorize takes at most 1,000. */
const MOVED_AT_ONCE = 500

/**
 * Makes a store that keeps vectors in the isolate's memory and, above `most`, in an external store. A vector is sent
 * there once for all isolates. Vectors that are removed stay in the external store, since another isolate may need
 * them.
 */
export function growingVectors({ large, service, name, most = 20_000 }: GrowingVectorsOptions): VectorStore {
  const memory = memoryVectors()
  let isOutside = false

  async function send(vectors: readonly Vector[]): Promise<void> {
    const records = await Promise.all(
      vectors.map(async ({ id, values }) => {
        const [key, print] = await Promise.all([sha256(id), sha256(toBytes(values).join())])
        return { key, values: new TextEncoder().encode(print) }
      }),
    )
    const earlierRecords = await service.embeddings(
      name,
      records.map(({ key }) => key),
    )
    const isSent = (at: number) =>
      earlierRecords[at] != null && String(earlierRecords[at]) === String(records[at]?.values)
    const unsent = vectors.filter((_, at) => !isSent(at))
    if (unsent.length === 0) return
    await large.put(unsent)
    await service.storeEmbeddings(
      name,
      records.filter((_, at) => !isSent(at)),
    )
  }

  return {
    async put(vectors) {
      if (isOutside) return send(vectors)
      await memory.put(vectors)
      const all = memory.all()
      if (all.length <= most) return
      for (let from = 0; from < all.length; from += MOVED_AT_ONCE) await send(all.slice(from, from + MOVED_AT_ONCE))
      await memory.remove(all.map(({ id }) => id))
      isOutside = true
    },
    remove: (ids) => memory.remove(ids),
    nearest: (values, limit) => (isOutside ? large : memory).nearest(values, limit),
  }
}
