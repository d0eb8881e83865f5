import type { Tool, ToolListing, Unavailable } from '../../contract/tool.ts'

/** A tool that says where it came from, as operators know it: a binding, a key. */
export interface PlacedTool extends Tool {
  readonly place: string
}

/**
 * Puts tools of several places together. Of one name and hash there is one tool, the first. Of one name and several
 * hashes there is none: which of them a model means is nobody's guess, so each place is listed with the others' names.
 */
export function merge(tools: readonly Tool[]): ToolListing {
  const unavailable: Unavailable[] = []
  const merged = [...Map.groupBy(tools, (tool) => tool.definition.name)].flatMap(([name, same]) => {
    const [first] = same
    if (!first) return []
    if (same.every((tool) => tool.definition.hash === first.definition.hash)) {
      return [same.find((tool) => tool.offered) ?? first]
    }
    const places = [...new Set(same.map(placeOf))].join(' and ')
    const reason = `The tool "${name}" is defined differently by ${places}; none of them is called.`
    unavailable.push(...same.map((tool) => ({ origin: tool.origin, place: placeOf(tool), reason })))
    return []
  })
  return { tools: merged, unavailable }
}

function placeOf(tool: Tool): string {
  return 'place' in tool && typeof tool.place === 'string' ? tool.place : tool.origin
}
