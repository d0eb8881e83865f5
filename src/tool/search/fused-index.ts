import type { FoundTool, ToolIndex } from './tool-index.ts'

/** The constant of reciprocal rank fusion: how little the first places of one index outweigh the rest. */
const EVEN = 60

/**
 * Asks several indexes and adds up the places that a tool has in their answers (reciprocal rank fusion), such as keyword
 * and semantic. An index that fails is left out of an answer; where all fail, the first error is thrown.
 */
export function createFusedIndex(...indexes: readonly [ToolIndex, ...ToolIndex[]]): ToolIndex {
  return {
    async add(tools) {
      await Promise.all(indexes.map((index) => index.add(tools)))
    },
    async remove(names) {
      await Promise.all(indexes.map((index) => index.remove(names)))
    },
    async search(text, limit) {
      const answers = await Promise.allSettled(indexes.map((index) => index.search(text, Math.max(limit * 4, 20))))
      const failed = answers.filter((answer) => answer.status === 'rejected')
      if (failed.length === answers.length) throw failed[0]?.reason
      const scores = new Map<string, number>()
      for (const answer of answers) {
        if (answer.status === 'rejected') continue
        answer.value.forEach(({ name }, place) => scores.set(name, (scores.get(name) ?? 0) + 1 / (EVEN + place + 1)))
      }
      const found: FoundTool[] = [...scores].map(([name, score]) => ({ name, score }))
      return found.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1)).slice(0, limit)
    },
  }
}
