import type { ToolText } from '../contract/tool.ts'
import type { FoundTool, ToolIndex } from './tool-index.ts'
import { FILLERS } from './keyword-terms.ts'

/**
 * Makes an index that finds tools whose name or description contains words of the question literally, in any case (the
 * `regex` search of Spring AI, with its scores). No word is read as a pattern, so that the time of a search grows only
 * with the length of the texts. A question without a word finds every tool.
 */
export function createRegexIndex(): ToolIndex {
  const tools = new Map<string, ToolText>()
  return {
    async add(additions) {
      for (const tool of additions) tools.set(tool.name, tool)
    },
    async remove(names) {
      for (const name of names) tools.delete(name)
    },
    async search(text, limit) {
      const pattern = patternOf(text)
      const matches: FoundTool[] = []
      for (const { name, description } of tools.values()) {
        const score = scoreOf(name, pattern, 2, 1) + scoreOf(description, pattern, 1, 0.5)
        if (score > 0) matches.push({ name, score })
      }
      return matches.sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1)).slice(0, limit)
    },
  }
}

const MOST_CHARACTERS = 200

function patternOf(text: string): RegExp {
  const words = [...new Set(text.toLowerCase().split(/[\s,;:.!?()[\]{}"']+/))].filter((word) => word.length > 1)
  const significantWords = words.filter((word) => !FILLERS.has(word))
  let pattern = ''
  for (const word of significantWords.length > 0 ? significantWords : words) {
    const next = `${pattern}${pattern && '|'}${word.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&')}`
    if (next.length > MOST_CHARACTERS) break
    pattern = next
  }
  return new RegExp(pattern || '^', 'gi')
}

/** Scores a text: `each` for every match, and up to `early` more, the earlier the first match is. */
function scoreOf(text: string, pattern: RegExp, each: number, early: number): number {
  const matches = [...text.matchAll(pattern)]
  const [first] = matches
  return first ? each * matches.length + early / (1 + 0.1 * first.index) : 0
}
