import type { Embed } from '../contract/embedding.ts'
import type { ToolText } from '../contract/tool.ts'
import type { ToolIndex } from './tool-index.ts'
import { memoryVectors, type VectorStore } from './vectors.ts'

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
  return {
    async add(tools) {
      const changed = tools.filter((tool) => textOf.get(tool.name) !== describe(tool))
      for (let from = 0; from < changed.length; from += batch) {
        const part = changed.slice(from, from + batch)
        const embeddings = await embedTools(part.map(describe))
        if (embeddings.length !== part.length)
          throw new TypeError(`Expected ${part.length} vectors but received ${embeddings.length}`)
        await vectors.put(part.map(({ name }, at) => ({ id: name, values: embeddings[at] ?? [] })))
        for (const tool of part) textOf.set(tool.name, describe(tool))
      }
    },
    async remove(names) {
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
