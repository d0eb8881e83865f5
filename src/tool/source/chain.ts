import type { Tool, ToolListing, ToolSource } from '../../contract/tool.ts'
import { merge } from './place.ts'
import { messageOf } from './thrown.ts'

/** A source that knows which tools are offered by default without reading all the others. */
export interface OfferingSource extends ToolSource {
  /** The tools that are `offered`. Like `find`, it never rejects because one of them is broken. */
  offered(): Promise<readonly Tool[]>
}

type AnySource = ToolSource & Partial<OfferingSource>

/**
 * Several sources as one. The same tool from two of them, by name and hash, is one tool; a name with two meanings is
 * listed as unavailable at both places, and cannot be called. A source that fails is listed, and hides no other.
 */
export function chain(sources: readonly AnySource[]): OfferingSource {
  const find = async (names: readonly string[]): Promise<readonly Tool[]> => {
    if (names.length === 0) return []
    const found = await Promise.all(sources.map((source) => source.find(names).catch(nothing)))
    return merge(found.flat()).tools
  }
  return {
    find,
    list: async () => {
      const listings = await Promise.all(sources.map((source, index) => source.list().catch(brokenSource(index))))
      const { tools, unavailable } = merge(listings.flatMap((listing) => listing.tools))
      return { tools, unavailable: [...listings.flatMap((listing) => listing.unavailable), ...unavailable] }
    },
    offered: async () => {
      const offered = await Promise.all(sources.map((source) => offeredBy(source).catch(nothing)))
      // Looked up by name once more: a tool that is not offered may have the name of one that is.
      const tools = await find(offered.flat().map((tool) => tool.definition.name))
      return tools.filter((tool) => tool.offered)
    },
  }
}

async function offeredBy(source: AnySource): Promise<readonly Tool[]> {
  if (source.offered) return source.offered()
  return (await source.list()).tools.filter((tool) => tool.offered)
}

function nothing(): readonly Tool[] {
  return []
}

/** Sources keep their failures to themselves; one that does not is code of this Worker's own. */
function brokenSource(index: number): (error: unknown) => ToolListing {
  return (error) => {
    const place = `source ${index + 1}`
    return { tools: [], unavailable: [{ origin: 'inline', place, reason: messageOf(error) }] }
  }
}
