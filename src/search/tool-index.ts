/** The contract of every way to find tools by words, so that a model is given a few out of thousands. */
import { sha256 } from '../contract/json.ts'
import type { ToolDefinition, ToolText } from '../contract/tool.ts'

export interface FoundTool {
  readonly name: string
  /** Higher is better; comparable within one answer alone. */
  readonly score: number
}

/** Contract: the same tools give the same answers, whatever the order in which they were added and removed. */
export interface ToolIndex {
  /** Adds tools; a tool replaces one of the same name. */
  add(tools: readonly ToolText[]): Promise<void>
  /** Removes tools by name; a name that is not there is ignored. */
  remove(names: readonly string[]): Promise<void>
  /** Finds at most `limit` tools, best first; none if nothing fits. */
  search(text: string, limit: number): Promise<readonly FoundTool[]>
}

/** Returns a hash of a set of tools in any order. All that a search reads is in each tool's hash, title and tags. */
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

/** Returns whether two tools are the same to a search. */
function isSame(tool: ToolText, previous: ToolText | undefined): boolean {
  if (tool.hash !== previous?.hash || tool.title !== previous.title || tool.group !== previous.group) return false
  return String(tool.tags) === String(previous.tags)
}
