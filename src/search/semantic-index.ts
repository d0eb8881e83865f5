import { sha256 } from '../contract/json.ts'
import type { Embed, EmbeddingService } from '../contract/model.ts'
import { withDeadline } from '../contract/time-limit.ts'
import type { ToolText } from '../contract/tool.ts'
import type { FoundTool, ToolIndex } from './tool-index.ts'

export interface SemanticOptions {
  /** Contract: resolves with one vector for each text, in their order, all of one length. */
  readonly embed: Embed
  /** As `embed`, for the texts of tools, such as `storedEmbeddings(…)`. Default: `embed`. */
  readonly embedTools?: Embed
  /** Stores the vectors. Default: the isolate's memory. */
  readonly vectors?: VectorStore
  /** The least similarity (cosine) of a tool that is found, from -1 to 1. Default 0.2. */
  readonly threshold?: number
  /** How many texts are embedded at once. Default 96. */
  readonly batch?: number
}

/**
 * Makes an index that finds tools by the meaning of their names and descriptions. A text is embedded once while its
 * tool is in the index; each search calls `embed` once. Rejects with the error of `embed` or of the store; the batch
 * that failed and later ones were then not added.
 *
 * @example
 * const embed = async (texts: readonly string[]) => {
 *   const request = { model: 'text-embedding-3-small', input: [...texts] }
 *   const { data } = await new OpenAI().embeddings.create(request)
 *   return data.map(({ embedding }) => embedding)
 * }
 * toolSearch({ index: () => createSemanticIndex({ embed }) })
 */
export function createSemanticIndex(options: SemanticOptions): ToolIndex {
  const { embed, embedTools = embed, vectors = memoryVectors(), threshold = 0.2, batch = 96 } = options
  const textOf = new Map<string, string>()
  /** The texts that were added last, some of which are still being embedded. */
  const latest = new Map<string, string>()
  return {
    async add(tools) {
      for (const tool of tools) latest.set(tool.name, describe(tool))
      const changed = tools.filter((tool) => textOf.get(tool.name) !== describe(tool))
      for (let from = 0; from < changed.length; from += batch) {
        const part = changed.slice(from, from + batch)
        const embeddings = await embedTools(part.map(describe))
        if (embeddings.length !== part.length)
          throw new TypeError(`Expected ${part.length} vectors but received ${embeddings.length}`)
        const added = part
          .map((tool, at) => ({ id: tool.name, values: embeddings[at] ?? [], text: describe(tool) }))
          // Others were changed or removed while they were embedded.
          .filter(({ id, text }) => latest.get(id) === text)
        await vectors.put(added.map(({ id, values }) => ({ id, values })))
        for (const { id, text } of added) if (latest.get(id) === text) textOf.set(id, text)
      }
    },
    async remove(names) {
      for (const name of names) latest.delete(name)
      const removedNames = names.filter((name) => textOf.delete(name))
      if (removedNames.length > 0) await vectors.remove(removedNames)
    },
    async search(text, limit) {
      if (text.trim() === '' || textOf.size === 0) return []
      const [question] = await embed([text])
      if (!question) throw new TypeError('Expected a vector but received none')
      const neighbours = await vectors.nearest(question, limit)
      // A store may still return a vector that was deleted just now.
      return neighbours
        .filter(({ id, score }) => score >= threshold && textOf.has(id))
        .map(({ id, score }) => ({ name: id, score }))
    },
  }
}

function describe({ name, title, description, group }: ToolText): string {
  const place = group === undefined ? '' : ` (${group})`
  return `${title ?? name.replace(/[_.-]+/g, ' ')}${place}: ${description}`
}

/**
 * Combines indexes, of which the first leads: put first what finds more by itself, such as keywords before meanings of a
 * weak model. A tool's score is the sum of its scores in their answers, each from 0 to 1; those of the other indexes
 * count by how open the first answer is, and how clear theirs. If the first finds nothing, the others decide. Added tools
 * are passed to each index with the next search. An index that fails is left out of the answer, and gets the tools that
 * it failed to add again. If all indexes fail, the search rejects with the first error.
 *
 * @example
 * toolSearch({ index: () => createFusedIndex(createKeywordIndex(), createSemanticIndex({ embed })) })
 */
export function createFusedIndex(...indexes: readonly [ToolIndex, ...ToolIndex[]]): ToolIndex {
  const parts = indexes.map((index) => ({ index, waiting: new Map<string, ToolText | undefined>() }))
  return {
    async add(tools) {
      for (const { waiting: pending } of parts) for (const tool of tools) pending.set(tool.name, tool)
    },
    async remove(names) {
      for (const { waiting: pending } of parts) for (const name of names) pending.set(name, undefined)
    },
    async search(text, limit) {
      const answers = await Promise.allSettled(
        parts.map(async ({ index, waiting: pending }) => {
          const changes = [...pending]
          const removals = changes.flatMap(([name, tool]) => (tool ? [] : [name]))
          const additions = changes.flatMap(([, tool]) => tool ?? [])
          // Both begin at once, so that no other search changes the index in between.
          await Promise.all([
            removals.length > 0 && index.remove(removals),
            additions.length > 0 && index.add(additions),
          ])
          for (const [name, tool] of changes) if (pending.get(name) === tool) pending.delete(name)
          return index.search(text, Math.max(limit * 4, MANY))
        }),
      )
      const failures = answers.filter((answer) => answer.status === 'rejected')
      if (failures.length === answers.length) throw failures[0]?.reason
      const [leading = [], ...others] = answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : []))
      const lead = scale(leading)
      const scores = new Map(lead.map(({ name, score }) => [name, score]))
      for (const answer of others) {
        // The last of many tools is as good as unrelated to the question, however near the model places all texts.
        const last = answer.at(-1)?.score ?? 0
        const other = scale(answer, answer.length < MANY ? Math.min(last, 0) : last)
        const weight = weightOf(other, lead)
        for (const { name, score } of other) scores.set(name, (scores.get(name) ?? 0) + weight * score)
      }
      const matches: FoundTool[] = [...scores].map(([name, score]) => ({ name, score }))
      return matches.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1)).slice(0, limit)
    },
  }
}

/** How many tools an index is asked for at least; an answer with fewer is all that it has. */
const MANY = 20
/** The tools that a search returns by default, whose scores say how clear an answer is. */
const FIRST = 5
/** Orders the tools that only an index without weight has found, after all others. */
const LEAST_WEIGHT = 0.001

/**
 * Returns the weight of an answer beside the one that leads, from 0.001 to 2. It is high if the lead leaves open which
 * tools are best, the fifth scoring nearly as much as the first, and if this answer does not. Only if its own fifth tool
 * scores less than 0.29 can a tool that the lead does not have come before the fifth of the lead. The curve was chosen on
 * one half of public sets of questions and measured on the other (docs/tool-search.md).
 */
function weightOf(answer: readonly FoundTool[], lead: readonly FoundTool[]): number {
  return Math.max(LEAST_WEIGHT, 2 * fifthScore(lead) * (1 - fifthScore(answer)) ** 2)
}

/** Returns the score of the fifth tool, or the last of fewer; 1 if there is none. */
function fifthScore(answer: readonly FoundTool[]): number {
  return answer.slice(0, FIRST).at(-1)?.score ?? 1
}

/** Maps the scores of an answer so that the best is 1 and `zero` is 0. */
function scale(answer: readonly FoundTool[], zero = 0): readonly FoundTool[] {
  const range = (answer[0]?.score ?? 0) - zero || 1
  return answer.map(({ name, score }) => ({ name, score: (score - zero) / range }))
}

interface GrowingVectorsOptions {
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

interface Vector {
  readonly id: string
  readonly values: ArrayLike<number>
}

interface NearVector {
  readonly id: string
  /** The cosine similarity: 1 for the same direction. */
  readonly score: number
}

interface VectorStore {
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

/** How long Vectorize may take to answer, in milliseconds. */
const VECTORIZE_MS = 10_000

/**
 * Makes a store in a Vectorize index, under a namespace. Ids are unique in a whole Vectorize index, so that the
 * namespace is hashed into them. Changes show after some seconds; vectors outlive the isolate. Rejects if Vectorize
 * does not answer within ten seconds.
 */
export function vectorizeVectors(binding: VectorizeBinding, namespace: string): VectorStore {
  const idOf = (id: string) => sha256(`${namespace}\n${id}`)
  return {
    async put(vectors) {
      const rows = vectors.map(async ({ id, values }) => {
        return { id: await idOf(id), values: Array.from(values), namespace, metadata: { id } }
      })
      await withDeadline(VECTORIZE_MS, binding.upsert(await Promise.all(rows)))
    },
    async remove(ids) {
      await withDeadline(VECTORIZE_MS, binding.deleteByIds(await Promise.all(ids.map(idOf))))
    },
    async nearest(values, limit) {
      const options = { namespace, topK: Math.min(limit, MOST_MATCHES), returnMetadata: 'all' } as const
      const { matches } = await withDeadline(VECTORIZE_MS, binding.query(Array.from(values), options))
      return matches.flatMap(({ metadata, score }) => {
        const id = metadata?.['id']
        return typeof id === 'string' ? [{ id, score }] : []
      })
    },
  }
}

/** The most matches that Vectorize returns with metadata. */
const MOST_MATCHES = 20

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
