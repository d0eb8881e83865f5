import type { ToolText } from '../../contract/tool.ts'
import type { ToolIndex } from './tool-index.ts'
import { memoryVectors, type VectorStore } from './vectors.ts'

export interface SemanticOptions {
  /** Contract: resolves with one vector for each text, in their order, all of one length. */
  readonly embed: (texts: readonly string[]) => Promise<readonly (readonly number[])[]>
  /** Where vectors are kept. Default: in the isolate. */
  readonly vectors?: VectorStore
  /** The least likeness of a tool that is found, from -1 to 1. Default 0.2. */
  readonly threshold?: number
  /** How many texts are embedded at once. Default 96. */
  readonly batch?: number
}

/**
 * Finds tools by what their names and descriptions mean. Each text is embedded once while its tool is there; a question
 * costs one call of `embed`. Rejects with what `embed` or the store rejects with; then what was to be added is not there.
 */
export function createSemanticIndex(options: SemanticOptions): ToolIndex {
  const { embed, vectors = memoryVectors(), threshold = 0.2, batch = 96 } = options
  const textOf = new Map<string, string>()
  return {
    async add(tools) {
      const changed = tools.filter((tool) => textOf.get(tool.name) !== describe(tool))
      for (let from = 0; from < changed.length; from += batch) {
        const part = changed.slice(from, from + batch)
        const made = await embed(part.map(describe))
        if (made.length !== part.length)
          throw new TypeError(`Expected ${part.length} vectors but received ${made.length}`)
        await vectors.put(part.map(({ name }, at) => ({ id: name, values: made[at] ?? [] })))
        for (const tool of part) textOf.set(tool.name, describe(tool))
      }
    },
    async remove(names) {
      const known = names.filter((name) => textOf.delete(name))
      if (known.length > 0) await vectors.remove(known)
    },
    async search(text, limit) {
      if (text.trim() === '' || textOf.size === 0) return []
      const [question] = await embed([text])
      if (!question) throw new TypeError('Expected a vector but received none')
      const near = await vectors.nearest(question, limit)
      // A store that is read while a deletion is on its way may still tell of what is gone.
      return near
        .filter(({ id, score }) => score >= threshold && textOf.has(id))
        .map(({ id, score }) => ({ name: id, score }))
    },
  }
}

function describe({ name, title, description }: ToolText): string {
  return `${title ?? name.replace(/[_.-]+/g, ' ')}: ${description}`
}
