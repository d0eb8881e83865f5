import type { Tool, ToolListing, Unavailable } from '../../contract/tool.ts'

/**
 * Puts the tools of several places together. Of one name and hash there is one tool, the first, or the first that is
 * offered. Of one name and several hashes there is none: which of them a model means is nobody's guess, so each place
 * is listed with the others' names.
 */
export function merge(listings: readonly ToolListing[]): ToolListing {
  const conflicts: Unavailable[] = []
  const all = listings.flatMap((listing) => listing.tools)
  const tools = [...Map.groupBy(all, (tool) => tool.definition.name)].flatMap(([name, same]): readonly Tool[] => {
    const hashes = new Set(same.map((tool) => tool.definition.hash))
    if (hashes.size === 1) return [...same.filter((tool) => tool.offered), ...same].slice(0, 1)
    const places = [...new Set(same.map((tool) => tool.place))].join(' and ')
    const reason = `The tool "${name}" is defined differently by ${places}; none of them is called.`
    conflicts.push(...same.map(({ origin, place }) => ({ origin, place, reason, name })))
    return []
  })
  return { tools, unavailable: [...listings.flatMap((listing) => listing.unavailable), ...conflicts] }
}
