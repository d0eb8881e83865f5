import type { ToolText } from '../contract/tool.ts'
import type { FoundTool, ToolIndex } from './tool-index.ts'

/** The constant of reciprocal rank fusion: the higher, the less the first ranks of one index outweigh the rest. */
const EVEN = 60

/**
 * Combines several indexes, such as keyword and semantic, by a tool's ranks in their answers (reciprocal rank fusion).
 * Added tools are passed on to each index with the next search. An index that fails to add or to answer is left out of
 * the answer; tools that it failed to add are passed to it again. If all fail, the search rejects with the first error.
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
          if (removals.length > 0) await index.remove(removals)
          if (additions.length > 0) await index.add(additions)
          for (const [name, tool] of changes) if (pending.get(name) === tool) pending.delete(name)
          return index.search(text, Math.max(limit * 4, 20))
        }),
      )
      const failures = answers.filter((answer) => answer.status === 'rejected')
      if (failures.length === answers.length) throw failures[0]?.reason
      const scores = new Map<string, number>()
      for (const answer of answers) {
        if (answer.status === 'rejected') continue
        answer.value.forEach(({ name }, place) => scores.set(name, (scores.get(name) ?? 0) + 1 / (EVEN + place + 1)))
      }
      const matches: FoundTool[] = [...scores].map(([name, score]) => ({ name, score }))
      return matches.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1)).slice(0, limit)
    },
  }
}
