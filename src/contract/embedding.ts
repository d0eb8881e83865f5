/** Turns texts into vectors, as a model for embeddings does. Contract: one vector for each text, all of one length. */
export type Embed = (texts: readonly string[]) => Promise<readonly ArrayLike<number>[]>

/** A vector under the key of its text. Its values are the bytes of signed integers, at a length of 127. */
export interface StoredEmbedding {
  readonly key: string
  readonly values: Uint8Array
}

/** Keeps the vectors of tool texts beside the definitions, so that each text is embedded once for all isolates. */
export interface EmbeddingService {
  /** Returns the stored values of these keys for a model, in their order; null for each that is not stored. */
  embeddings(model: string, keys: readonly string[]): Promise<(Uint8Array | null)[]>
  storeEmbeddings(model: string, embeddings: readonly StoredEmbedding[]): Promise<void>
}
