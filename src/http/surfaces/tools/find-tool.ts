import type { Context } from 'hono'
import type { HoldingPolicy, PolicySubject } from '../../../contract/policy.ts'
import { edgeName } from '../../../contract/tool-names.ts'
import type { ListPage, Tool, ToolFinder, ToolSource, Unavailable, Caller } from '../../../contract/tool.ts'
import type { EdgeEnv } from '../../context.ts'
import { Problem } from '../../problem.ts'
import type { StoredTools } from '../../../contract/catalogue.ts'
import type { DefinitionIssue } from '../../../contract/definition.ts'
import { isObject } from '../../../contract/json.ts'
import { requireScope } from '../../middleware/auth.ts'

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

/**
 * Returns the tool of a definition that is not stored. Throws as storing it would, and a Problem 404 if the caller may
 * not call it.
 */
export async function unstoredTool(c: Context<EdgeEnv>, name: string, definition: unknown): Promise<Tool> {
  const reply = await definitionsToWrite(c).check(name, withEdgeName(definition))
  if (!reply.ok) throw invalidDefinition(reply.issues)
  if (!reply.tool) throw unknownToolProblem(name)
  return reply.tool
}

/** Renames a definition whose name providers would refuse to its wire name; its own name is then its default title. */
export function withEdgeName(definition: unknown): unknown {
  if (!isObject(definition) || typeof definition.name !== 'string') return definition
  const name = edgeName(definition.name)
  return name === definition.name ? definition : { title: definition.name, ...definition, name }
}

export function invalidDefinition(issues: readonly DefinitionIssue[]): Problem {
  return new Problem({ status: 422, code: 'invalid_definition', message: refusalText(issues), extra: { issues } })
}

export function refusalText(issues: readonly DefinitionIssue[]): string {
  const problems = issues.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`)).join('; ')
  return `The definition was not stored: ${problems}`
}

export type Whose = 'edge' | 'tenant'

/** Returns whose definitions a request asks for with `?owner=`: those of the edge, or of the caller's tenant. */
export function requestedOwner(c: Context<EdgeEnv>): Whose | undefined {
  const owner = c.req.query('owner')
  if (owner === undefined || owner === 'edge' || owner === 'tenant') return owner
  const message = 'The owner of a definition is "edge" or "tenant".'
  throw new Problem({ status: 400, code: 'invalid_request', message, param: 'owner' })
}

export function defaultOwner({ scopes }: Caller): Whose {
  return scopes.includes('tools:admin') ? 'edge' : 'tenant'
}

/** Returns the definitions that a request writes. Throws a Problem 403 if its key may not write those. */
export function definitionsToWrite(c: Context<EdgeEnv>): StoredTools {
  const { caller, setup } = c.env
  const owner = requestedOwner(c) ?? defaultOwner(caller)
  requireScope(caller, owner === 'edge' ? 'tools:admin' : 'tools:write')
  return setup.stored(owner, caller)
}
