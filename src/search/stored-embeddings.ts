import type { Embed, EmbeddingService } from '../contract/model.ts'
import { sha256 } from '../contract/json.ts'
import { toBytes } from './semantic-index.ts'

export interface StoredEmbeddingsOptions {
  /** The model's name, under which its vectors are stored. */
  readonly model: string
  readonly embed: Embed
  readonly service: EmbeddingService
  /** How many texts are embedded at once. Default 96. */
  readonly batch?: number
}

/**
 * Wraps an embedder of tool texts so that each text is embedded once per model, for all isolates. A vector is stored
 * under the hash of its text, so a changed definition gets a new one.
 */
export function storedEmbeddings({ model, embed, service, batch = 96 }: StoredEmbeddingsOptions): Embed {
  return async (texts) => {
    const keys = await Promise.all(texts.map(sha256))
    const stored = await service.embeddings(model, keys)
    const vectors = stored.map((values): ArrayLike<number> | undefined => (values ? Int8Array.from(values) : undefined))
    const missing = [...keys.keys()].filter((at) => !vectors[at])
    for (let from = 0; from < missing.length; from += batch) {
      const part = missing.slice(from, from + batch)
      const answers = await embed(part.map((at) => texts[at] ?? ''))
      if (answers.length !== part.length)
        throw new TypeError(`Expected ${part.length} vectors but received ${answers.length}`)
      const bytes = answers.map(toBytes)
      part.forEach((at, index) => (vectors[at] = bytes[index]))
      const embeddings = part.map((at, index) => ({ key: keys[at] ?? '', values: new Uint8Array(bytes[index] ?? []) }))
      await service.storeEmbeddings(model, embeddings)
    }
    return vectors.map((vector) => vector ?? [])
  }
}
