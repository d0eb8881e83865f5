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

export interface RankedTools {
  readonly tools: readonly Tool[]
  /** How many there are on all pages. */
  readonly total: number
}

/**
 * The tools of a source that fit a question, best first, of the best 1,000. All of these are looked up, for each page:
 * which of them are there for whoever asks is not known otherwise.
 */
export async function rankedTools(
  source: ToolSource,
  finder: ToolFinder = createFinder(source),
  { query, after, limit, origin }: RankedPage & { readonly query: string },
): Promise<RankedTools> {
  const names = await finder.search(query, MOST_RANKED)
  const there = new Map<string, Tool>()
  for (let at = 0; at < names.length; at += AT_A_TIME) {
    for (const tool of await source.find(names.slice(at, at + AT_A_TIME))) {
      if (tool.origin === (origin ?? tool.origin)) there.set(tool.definition.name, tool)
    }
  }
  const from = after === '' ? 0 : names.indexOf(after) + 1
  const tools = names.slice(from).flatMap((name) => there.get(name) ?? [])
  return { tools: tools.slice(0, limit), total: there.size }
}
