import type { ToolText } from '../contract/tool.ts'
import type { FoundTool, ToolIndex } from './tool-index.ts'

/**
 * Combines several indexes, such as keyword and semantic. A tool's score is the sum of its scores in their answers,
 * each divided by the best score of that answer. Unlike a fusion of ranks, this gives little weight to an index whose
 * best tools are hardly better than the rest. Added tools are passed to each index with the next search. An index that
 * fails is left out of the answer, and gets the tools that it failed to add again. If all indexes fail, the search
 * rejects with the first error.
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
        const most = answer.value[0]?.score ?? 1
        for (const { name, score } of answer.value) scores.set(name, (scores.get(name) ?? 0) + score / most)
      }
      const matches: FoundTool[] = [...scores].map(([name, score]) => ({ name, score }))
      return matches.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1)).slice(0, limit)
    },
  }
}
