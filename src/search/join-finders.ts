import type { ToolFinder } from '../contract/tool.ts'

/**
 * Joins two finders over different tools. Their scores cannot be compared, so their answers alternate, best first; a
 * name that both find counts once.
 */
export function joinFinders(first: ToolFinder, second: ToolFinder): ToolFinder {
  return {
    size: async () => {
      const [one, other] = await Promise.all([first.size(), second.size()])
      return one + other
    },
    search: async (text, limit) => {
      const [firstNames, secondNames] = await Promise.all([first.search(text, limit), second.search(text, limit)])
      const longest = Math.max(firstNames.length, secondNames.length)
      const names = Array.from({ length: longest }, (_, at) => [firstNames[at], secondNames[at]]).flat()
      return [...new Set(names.filter((name) => name !== undefined))].slice(0, limit)
    },
  }
}
