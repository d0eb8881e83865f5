import type { ListPage, Tool, ToolFinder, ToolSource } from '../../../contract/tool.ts'
import type { ToolPage } from './tool-page.ts'

/** The most tools that are ranked for a query. */
const MOST_RANKED = 1000
/** The number of tools that are looked up at once. */
const AT_A_TIME = 100

/**
 * Returns a page of the tools of a source that match a query, best first, of the best 1,000. Looks up all of these for
 * each page, because only the source tells which of them the caller may use. A page after a name that is not among them
 * is the first page.
 */
export async function rankedTools(
  source: ToolSource,
  finder: ToolFinder,
  { query, after, limit, origin }: ListPage & { readonly query: string },
): Promise<ToolPage> {
  const names = await finder.search(query, MOST_RANKED)
  const byName = new Map<string, Tool>()
  for (let at = 0; at < names.length; at += AT_A_TIME) {
    for (const tool of await source.find(names.slice(at, at + AT_A_TIME))) {
      if (tool.origin === (origin ?? tool.origin)) byName.set(tool.definition.name, tool)
    }
  }
  const from = after === '' ? 0 : names.indexOf(after) + 1
  const entries = names.slice(from).flatMap((name) => byName.get(name) ?? [])
  return { entries: entries.slice(0, limit), total: byName.size }
}
