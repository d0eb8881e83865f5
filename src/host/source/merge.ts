import type { Tool, ToolListing, Unavailable } from '../../contract/tool.ts'

/**
 * Merges the listings of several places. Of tools with one name and hash, the first that is offered stays, else the
 * first. Of tools with one name and several hashes none stays, since a call could mean any of them: each place is
 * listed as unavailable, with the names of the places in conflict.
 */
export function merge(listings: readonly ToolListing[]): ToolListing {
  const conflicts: Unavailable[] = []
  const all = listings.flatMap((listing) => listing.tools)
  // Usually each name occurs once.
  if (new Set(all.map((tool) => tool.definition.name)).size === all.length) {
    return { tools: all, unavailable: listings.flatMap((listing) => listing.unavailable) }
  }
  const tools = [...Map.groupBy(all, (tool) => tool.definition.name)].flatMap(([name, namesakes]): readonly Tool[] => {
    const hashes = new Set(namesakes.map((tool) => tool.definition.hash))
    if (hashes.size === 1) return [...namesakes.filter((tool) => tool.offered), ...namesakes].slice(0, 1)
    const places = [...new Set(namesakes.map((tool) => tool.place))].join(' and ')
    const reason = `The tool "${name}" is defined differently by ${places}; none of them is called.`
    conflicts.push(...namesakes.map(({ origin, place }) => ({ origin, place, reason, name })))
    return []
  })
  return { tools, unavailable: [...listings.flatMap((listing) => listing.unavailable), ...conflicts] }
}

/** Merges the listings of several sources, the first of which takes precedence over those after it, and so on. */
export function mergeInOrder(listings: readonly ToolListing[]): ToolListing {
  const first = new Map<string, Tool>()
  const heldTools: Unavailable[] = []
  for (const tool of listings.flatMap(({ tools }) => tools)) {
    const { name } = tool.definition
    const winner = first.get(name)
    if (winner) {
      const reason = `The tool "${name}" of ${tool.place} is held back: ${winner.place} has a tool of this name.`
      heldTools.push({ origin: tool.origin, place: tool.place, reason, name })
    } else first.set(name, tool)
  }
  return {
    tools: [...first.values()],
    unavailable: [...listings.flatMap(({ unavailable }) => unavailable), ...heldTools],
  }
}
