import type { Tool, ToolDefinition, ToolSource, ToolText } from '../contract/tool.ts'

/**
 * Returns a function that reads the search texts of a source, or its definitions if it has no `texts`. While nothing
 * changes, it returns the same array.
 */
export function textReader(source: ToolSource): () => Promise<readonly ToolText[]> {
  let last: readonly ToolText[] = []
  return async () => {
    const texts = source.texts ? await source.texts() : (await source.list()).tools.map(toolText)
    return (last = sameOr(last, texts))
  }
}

/** Caches the texts of definitions, so that an unchanged definition has the same text. */
const textByDefinition = new WeakMap<ToolDefinition, ToolText>()

/** Returns the search text of a tool: its definition, and the name of its server or Worker. */
function toolText({ definition, place }: Tool): ToolText {
  let text = textByDefinition.get(definition)
  if (!text) textByDefinition.set(definition, (text = { ...definition, group: groupOf(definition, place) }))
  return text
}

/** Returns the server that an MCP tool names in its metadata, else the name of its binding without `TOOL_`. */
function groupOf({ metadata }: ToolDefinition, place: string): string {
  const server = metadata?.['server']
  return typeof server === 'string' ? server : place.replace(/^TOOL_/, '').toLowerCase()
}

/** Returns the first of two lists if the second holds the same items, else the second. */
export function sameOr<Item>(before: readonly Item[], now: readonly Item[]): readonly Item[] {
  if (before === now) return before
  return before.length === now.length && now.every((item, index) => item === before[index]) ? before : now
}

/** Returns about how many tools a source has. */
export async function toolCountOf(source: ToolSource): Promise<number> {
  return source.size ? source.size() : (await source.list()).tools.length
}
