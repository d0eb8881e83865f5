import type { Tool, ToolFinder, ToolSource } from '../contract/tool.ts'
import { createFinder } from '../tool/search/finder.ts'

/** So many tools are ranked for one question. */
const MOST_RANKED = 1000
/** Looked up at once. */
const AT_A_TIME = 100

export interface RankedPage {
  /** The name after which to begin; of one that is not among them, at the first. */
  readonly after: string
  readonly limit: number
  /** Of this origin alone. Default: of any. */
  readonly origin?: string | undefined
}

/**
 * The tools of a source that fit a question, best first, of the best 1,000. How many there are in all is not told: which of
 * them are there for whoever asks is known of those that were looked up.
 */
export async function rankedTools(
  source: ToolSource,
  finder: ToolFinder = createFinder(source),
  { query, after, limit, origin }: RankedPage & { readonly query: string },
): Promise<readonly Tool[]> {
  const names = await finder.search(query, MOST_RANKED)
  const tools: Tool[] = []
  let at = after === '' ? 0 : names.indexOf(after) + 1
  for (; at < names.length && tools.length < limit; at += AT_A_TIME) {
    const some = names.slice(at, at + AT_A_TIME)
    const found = new Map((await source.find(some)).map((tool) => [tool.definition.name, tool]))
    const there = some.flatMap((name) => found.get(name) ?? [])
    tools.push(...there.filter((tool) => tool.origin === (origin ?? tool.origin)))
  }
  return tools.slice(0, limit)
}
