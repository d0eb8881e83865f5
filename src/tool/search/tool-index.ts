/**
 * tool/search/: finds tools by words, so that a model is told of a few out of thousands. `ToolIndex` is the contract of
 * every strategy; `tool-search` keeps indexes for sessions and makes the tool that a model calls. May import contract/.
 */
import { sha256 } from '../../contract/json.ts'
import type { ToolDefinition, ToolText } from '../../contract/tool.ts'

export interface FoundTool {
  readonly name: string
  /** Higher is better; comparable within one answer alone. */
  readonly score: number
}

/** Contract: the same tools give the same answers, in whatever steps they came and went. */
export interface ToolIndex {
  /** A tool whose name is there already takes the other's place. */
  add(tools: readonly ToolText[]): Promise<void>
  /** Names that are not there are passed over. */
  remove(names: readonly string[]): Promise<void>
  /** At most `limit` tools, best first; none where nothing fits. */
  search(text: string, limit: number): Promise<readonly FoundTool[]>
}

/** The same for the same set of tools, in whatever order: what they are told by is in each one's hash, title and tags. */
export function fingerprintOf(tools: readonly ToolDefinition[]): Promise<string> {
  const lines = tools.map(({ name, hash, title, tags }) => JSON.stringify([name, hash, title, tags]))
  return sha256(lines.sort().join('\n'))
}

/** Brings an index of the tools `before` up to date. Rejects with what the index rejects with. */
export async function update<Told extends ToolText>(
  index: ToolIndex,
  before: ReadonlyMap<string, Told>,
  now: ReadonlyMap<string, Told>,
): Promise<void> {
  const gone = [...before.keys()].filter((name) => !now.has(name))
  const changed = [...now.values()].filter((tool) => !isSame(tool, before.get(tool.name)))
  await Promise.all([gone.length > 0 && index.remove(gone), index.add(changed)])
}

/** Whether both are told by the same. */
function isSame(tool: ToolText, other: ToolText | undefined): boolean {
  return tool.hash === other?.hash && tool.title === other.title && String(tool.tags) === String(other.tags)
}
