import type { Tool, ToolDefinition } from '../../contract/tool.ts'

/** How many lists an isolate caches. */
const MOST_LISTS = 16

interface CachedList {
  readonly definitions: readonly ToolDefinition[]
  readonly text: string
}

/** The latest lists, the newest first. */
let lists: readonly CachedList[] = []

/**
 * Returns the JSON of the definitions of these tools. Definitions are the same objects as long as a description is cached,
 * so most requests have a list that is in JSON already.
 */
export function definitionsText(tools: readonly Tool[]): string {
  const list = lists.find(
    ({ definitions }) =>
      definitions.length === tools.length && tools.every(({ definition }, index) => definition === definitions[index]),
  )
  if (list) return list.text
  const definitions = tools.map(({ definition }) => definition)
  const text = JSON.stringify(definitions)
  lists = [{ definitions, text }, ...lists].slice(0, MOST_LISTS)
  return text
}
