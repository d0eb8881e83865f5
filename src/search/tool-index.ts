/** The contract of an index that finds tools by words, so that a model sees a few of thousands. */
import { sha256 } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import type { ToolText } from '../contract/tool.ts'

export interface FoundTool {
  readonly name: string
  /** Higher is better. Only the scores of one answer can be compared. */
  readonly score: number
}

/** Contract: the answers depend on the tools alone, and not on the order in which they were added and removed. */
export interface ToolIndex {
  /** Adds tools; a tool replaces one with the same name. */
  add(tools: readonly ToolText[]): Promise<void>
  /** Removes tools by name; unknown names are ignored. */
  remove(names: readonly string[]): Promise<void>
  /** Finds at most `limit` tools, best first; none if nothing fits. */
  search(text: string, limit: number): Promise<readonly FoundTool[]>
}

/**
 * Returns a hash of a set of tools, whatever their order. It covers all that a search reads: each tool's hash, title
 * and tags.
 */
export function fingerprintOf(tools: readonly ToolDefinition[]): Promise<string> {
  const lines = tools.map(({ name, hash, title, tags }) => JSON.stringify([name, hash, title, tags]))
  return sha256(lines.sort().join('\n'))
}

/** Updates an index that holds the tools of `before` to those of `now`. Rejects with the error of the index. */
export async function update<Text extends ToolText>(
  index: ToolIndex,
  before: ReadonlyMap<string, Text>,
  now: ReadonlyMap<string, Text>,
): Promise<void> {
  const removedNames = [...before.keys()].filter((name) => !now.has(name))
  const changed = [...now.values()].filter((tool) => !isSame(tool, before.get(tool.name)))
  await Promise.all([removedNames.length > 0 && index.remove(removedNames), index.add(changed)])
}

/** Returns whether two tools are equal for a search. */
function isSame(tool: ToolText, previous: ToolText | undefined): boolean {
  if (tool.hash !== previous?.hash || tool.title !== previous.title || tool.group !== previous.group) return false
  return String(tool.tags) === String(previous.tags)
}
