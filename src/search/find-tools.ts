import type { Tool, ToolFinder, ToolSource } from '../contract/tool.ts'

export interface FindOptions {
  readonly limit: number
  /** Looks up tools as the caller may see them; a tool that it does not return is not found. */
  readonly find: ToolSource['find']
  /** Whether a tool with this name may be found. Default: every tool. */
  readonly isWanted?: (name: string) => boolean
}

/** If the caller may use few of the candidates, more are requested, until there are at least this many. */
const MOST_TRIED = 1000

/** Finds the tools that fit a question best: at most `limit`, best first. */
export async function findTools(
  finder: ToolFinder,
  text: string,
  { limit, find, isWanted = () => true }: FindOptions,
): Promise<readonly Tool[]> {
  const triedNames = new Set<string>()
  const tools: Tool[] = []
  for (let most = limit; ; most *= 4) {
    const names = await finder.search(text, most)
    const candidates = names.filter((name) => !triedNames.has(name) && isWanted(name))
    const byName = new Map((await find(candidates)).map((tool) => [tool.definition.name, tool]))
    tools.push(...candidates.flatMap((name) => byName.get(name) ?? []))
    if (tools.length >= limit || names.length < most || most >= MOST_TRIED) return tools.slice(0, limit)
    for (const name of names) triedNames.add(name)
  }
}
