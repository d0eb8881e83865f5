import type { Tool, ToolFinder, ToolSource } from '../../contract/tool.ts'

export interface FindOptions {
  readonly limit: number
  /** Those that are there for whoever asks: what it leaves out is not found. */
  readonly find: ToolSource['find']
  /** Default: all are. */
  readonly isWanted?: (name: string) => boolean
}

/** So many of the best are looked at where most are not for whoever asks. */
const MOST_TRIED = 1000

/** The tools that fit a question best, at most `limit`, best first. */
export async function findTools(
  finder: ToolFinder,
  text: string,
  { limit, find, isWanted = () => true }: FindOptions,
): Promise<readonly Tool[]> {
  for (let tried = limit; ; tried *= 4) {
    const names = await finder.search(text, tried)
    const wanted = names.filter(isWanted)
    const found = new Map((await find(wanted)).map((tool) => [tool.definition.name, tool]))
    const tools = wanted.flatMap((name) => found.get(name) ?? [])
    if (tools.length >= limit || names.length < tried || tried >= MOST_TRIED) return tools.slice(0, limit)
  }
}
