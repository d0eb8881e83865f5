import type { ListPage, Tool, ToolFinder, ToolSource } from '../contract/tool.ts'
import { createFinder } from '../tool/search/finder.ts'
import type { ToolPage } from './tool-page.ts'

/** So many tools are ranked for one question. */
const MOST_RANKED = 1000
/** Looked up at once. */
const AT_A_TIME = 100

/**
 * The tools of a source that fit a question, best first, of the best 1,000. All of these are looked up, for each page:
 * which of them are there for whoever asks is not known otherwise. A page after a name that is not among them is the first.
 */
export async function rankedTools(
  source: ToolSource,
  finder: ToolFinder = createFinder(source),
  { query, after, limit, origin }: ListPage & { readonly query: string },
): Promise<ToolPage> {
  const names = await finder.search(query, MOST_RANKED)
  const there = new Map<string, Tool>()
  for (let at = 0; at < names.length; at += AT_A_TIME) {
    for (const tool of await source.find(names.slice(at, at + AT_A_TIME))) {
      if (tool.origin === (origin ?? tool.origin)) there.set(tool.definition.name, tool)
    }
  }
  const from = after === '' ? 0 : names.indexOf(after) + 1
  const listed = names.slice(from).flatMap((name) => there.get(name) ?? [])
  return { listed: listed.slice(0, limit), total: there.size }
}
