import type { Context } from 'hono'
import type { HoldingPolicy, PolicySubject } from '../../../contract/policy.ts'
import { edgeName } from '../../../contract/tool-names.ts'
import type { ListPage, Tool, ToolFinder, ToolSource, Unavailable } from '../../../contract/tool.ts'
import type { EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'

/** Returns the tools that the caller may know of. */
export function callerTools(c: Context<EdgeEnv>): ToolSource {
  return c.env.setup.tools(c.env.caller)
}

/** Returns a tool. Throws a Problem 404 if there is none of this name that the caller may know of. */
export async function findTool(source: ToolSource, name: string): Promise<Tool> {
  const [tool] = await source.find([name])
  if (tool) return tool
  throw unknownToolProblem(name)
}

/** Returns the name of the tool in the path of a request, which may be the tool's own, such as `files.read`. */
export function toolNameOfPath({ req }: Context<EdgeEnv>): string {
  return edgeName(req.param('name') ?? '')
}

export function unknownToolProblem(name: string): Problem {
  return new Problem({ status: 404, code: 'unknown_tool', message: `There is no tool "${name}" at this edge.` })
}

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

interface ToolPage {
  /** Tools, available or not: in the order of names or, found by a search, best first. */
  readonly entries: readonly (Tool | Unavailable)[]
  /** The number of tools on all pages. */
  readonly total: number
  /** The name after which the next page begins; absent on the last page and for a search. */
  readonly next?: string
}

/** Returns a page of a source's tools. A source that has many is asked for no more than the page. */
export async function toolPage(source: ToolSource, page: ListPage): Promise<ToolPage> {
  const { after, limit, origin } = page
  // One tool beyond the limit tells whether another page follows.
  const { tools, unavailable, total } = await source.list({ ...page, limit: limit + 1 })
  const all = [...tools, ...unavailable].filter((each) => each.origin === (origin ?? each.origin))
  const pairs = all.map((each) => ({ name: entryName(each), each }))
  const rest = pairs.filter(({ name }) => name > after).sort((a, b) => (a.name < b.name ? -1 : 1))
  const entries = rest.slice(0, limit)
  const last = rest.length > limit ? entries.at(-1) : undefined
  return { entries: entries.map(({ each }) => each), total: total ?? all.length, ...(last && { next: last.name }) }
}

/** Returns the name of a tool, or the place of a whole source that is not available. */
export function entryName(entry: Tool | Unavailable): string {
  if ('definition' in entry) return entry.definition.name
  const { place, name = place, pending } = entry
  return pending?.definition.name ?? name
}

/**
 * Returns the policies that hold for a tool, in their order; for an alias also those of the tool behind it, which bind
 * its calls too. Undefined for a caller without `tools:admin`: policies name tenants, scopes and hosts.
 */
export async function visiblePolicies(
  c: Context<EdgeEnv>,
  tool: PolicySubject,
): Promise<readonly HoldingPolicy[] | undefined> {
  const { caller, setup } = c.env
  if (!caller.scopes.includes('tools:admin')) return undefined
  const own = setup.policies?.(tool) ?? []
  const { aliasOf } = tool.definition
  const [target] = aliasOf === undefined ? [] : await callerTools(c).find([aliasOf])
  if (!target) return own
  const behind = setup.policies?.(target) ?? []
  return [...own, ...behind.map((each) => ({ ...each, tool: target.definition.name }))]
}
