import { parseJson } from '../../contract/json.ts'
import { failure, isFor, type Tool, type ToolOutcome, type ToolSource } from '../../contract/tool.ts'
import { inOrder } from '../../host/source/chain.ts'
import {
  addressThere,
  contentsOf,
  isPage,
  promptNameThere,
  serverOf,
  toMcpContents,
  toMcpPrompt,
  toMcpPrompts,
  toMcpResources,
  UI,
  uiOf,
} from '../../wire/client/mcp/resource.ts'
import {
  INTERNAL_ERROR,
  INVALID_PARAMS,
  type McpMessage,
  mcpFault,
  RESOURCE_NOT_FOUND,
} from '../../wire/client/mcp/message.ts'
import { fieldsOf, textAt } from '../../wire/fields.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { shareOfBudget } from '../runs/budget.ts'
import { callOutsideRun } from '../runs/call-outside-run.ts'

/** The most tools of MCP servers that are looked at, and the most bytes of what is read from a server. */
const MOST_TOOLS = 10_000
const MOST_BYTES = 1024 * 1024

/** The tools of one MCP server that a caller may use, those for apps and for the edge itself among them. */
type Server = readonly Tool[]

/** Returns the tools of an edge as `/mcp` knows them: with those that apps alone may call, and those of the edge itself. */
export function mcpTools({ setup, caller }: EdgeContext): ToolSource {
  const tools = setup.tools(caller)
  const workers = setup.workerTools?.(caller)
  if (!workers) return tools
  const isHidden = (tool: Tool) => !isFor('model', tool)
  const hiddenTools: ToolSource = {
    list: async (page) => ({ tools: (await workers.list(page)).tools.filter(isHidden), unavailable: [] }),
    offered: async () => [],
    find: async (names) => (await workers.find(names)).filter(isHidden),
  }
  return inOrder([tools, hiddenTools])
}

/** Returns the capabilities that an edge has for a caller by the MCP servers behind it. */
export async function relayCapabilities(context: EdgeContext): Promise<{
  readonly capabilities: object
  readonly extensions: object
}> {
  const servers = await serversOf(context)
  const kinds = RELAY_KINDS.filter((kind) => isOffered(servers, kind))
  return {
    capabilities: Object.fromEntries(kinds.map((kind) => [kind, {}])),
    extensions: [...servers.values()].some((server) => relayTool(server, 'ui/read')) ? { [UI]: {} } : {},
  }
}

const RELAY_KINDS = ['resources', 'prompts'] as const

/** Whether any server has something of a kind for a caller; the pages of apps are resources. */
function isOffered(servers: ReadonlyMap<string, Server>, kind: (typeof RELAY_KINDS)[number]): boolean {
  const relays = [...servers.values()].flat().map(relayOf)
  return relays.some((relay) => relay.startsWith(`${kind}/`) || (kind === 'resources' && relay === 'ui/read'))
}

/**
 * Answers a request for resources or prompts from the MCP servers behind the edge, as far as the caller may use their
 * tools: each request is a call of a tool of the server. Returns undefined for any other method, and for what no server
 * offers to this caller.
 */
export async function answerRelay(message: McpMessage, context: RequestContext): Promise<object | undefined> {
  const { method, params } = message
  const kind = RELAY_KINDS.find((each) => method.startsWith(`${each}/`))
  if (!kind) return undefined
  const servers = await serversOf(context)
  if (!isOffered(servers, kind)) return undefined
  const listAll = (relay: string, entriesOf: (server: string, result: Fields) => readonly object[]) =>
    listOfAll({ context, servers, relay, entriesOf })
  switch (method) {
    case 'resources/list':
      return withEntries(
        'resources',
        await listAll(method, (server, { resources }) => toMcpResources(server, resources, 'uri')),
      )
    case 'resources/templates/list':
      return withEntries(
        'resourceTemplates',
        await listAll('resources/list', (server, { templates }) => toMcpResources(server, templates, 'uriTemplate')),
      )
    case 'resources/read':
      return readResource(message, context, servers)
    case 'prompts/list':
      return withEntries('prompts', await listAll(method, (server, { prompts }) => toMcpPrompts(server, prompts)))
    case 'prompts/get': {
      const { server, prompt: name } = promptNameThere(textAt(params, 'name'))
      const tool = relayTool(servers.get(server) ?? [], method)
      if (!tool) return mcpFault(INVALID_PARAMS, `Unknown prompt: ${textAt(params, 'name')}`)
      const { arguments: values } = params
      const outcome = await read(tool, { name, ...(values !== undefined && { arguments: values }) }, context)
      return outcome.ok ? toMcpPrompt(server, outcome.value) : faultOf(outcome)
    }
    default:
      return undefined
  }
}

type Fields = Readonly<Record<string, unknown>>

/**
 * Returns the tools of each MCP server behind an edge, by its name. A name that two tool Workers have for a server is left
 * out: nobody could tell which of them an address means.
 */
async function serversOf({ setup, caller }: EdgeContext): Promise<ReadonlyMap<string, Server>> {
  const { tools = [] } = (await setup.workerTools?.(caller).list({ after: '', limit: MOST_TOOLS, origin: 'mcp' })) ?? {}
  const byName = Map.groupBy(
    tools.filter((tool) => serverOf(tool) !== undefined),
    (tool) => serverOf(tool) ?? '',
  )
  return new Map([...byName].filter(([, [first, ...rest]]) => rest.every(({ place }) => place === first?.place)))
}

/** Returns the tool of a server by which the edge makes a request. */
function relayTool(server: Server, relay: string): Tool | undefined {
  return server.find((tool) => relayOf(tool) === relay)
}

/** Returns the request that the edge makes of a server by a tool; '' for a tool that is not for that. */
function relayOf({ definition }: Tool): string {
  return textAt(definition.metadata, 'relays')
}

interface Listing {
  readonly context: RequestContext
  readonly servers: ReadonlyMap<string, Server>
  readonly relay: string
  readonly entriesOf: (server: string, result: Fields) => readonly object[]
}

/** Returns the entries of all servers; those of a server that fails are left out, unless all fail. */
async function listOfAll({ context, servers, relay, entriesOf }: Listing): Promise<readonly object[] | Failure> {
  const tools = [...servers].flatMap(([name, server]) => {
    const tool = relayTool(server, relay)
    return tool ? [{ name, tool }] : []
  })
  const lists = await Promise.all(
    tools.map(async ({ name, tool }) => ({ name, outcome: await read(tool, {}, context) })),
  )
  const failures = lists.flatMap(({ outcome }) => (outcome.ok ? [] : [outcome]))
  const [first] = failures
  if (first && failures.length === lists.length) return first
  return lists.flatMap(({ name, outcome }) => (outcome.ok ? entriesOf(name, outcome.value) : []))
}

function withEntries(member: string, entries: readonly object[] | Failure): object {
  return 'ok' in entries ? faultOf(entries) : { [member]: entries }
}

/** Reads a resource: the page of an app only for a caller who may use a tool that names it. */
async function readResource(
  { params, modern }: McpMessage,
  context: RequestContext,
  servers: ReadonlyMap<string, Server>,
): Promise<object> {
  const address = textAt(params, 'uri')
  const { server = '', uri } = addressThere(address) ?? {}
  const tools = servers.get(server) ?? []
  const namesPage = isPage(address) ? tools.find((tool) => uiOf(tool)?.resourceUri === address) : undefined
  const reader = relayTool(tools, isPage(address) ? 'ui/read' : 'resources/read')
  const needed = isPage(address) ? [reader, namesPage] : [reader]
  // A tool of another source may have the name of one of these.
  const foundTools = await mcpTools(context).find(needed.flatMap((tool) => tool?.definition.name ?? []))
  const mayRead = needed.every((tool) => foundTools.some(({ definition }) => definition === tool?.definition))
  if (!reader || !mayRead) return mcpFault(modern ? INVALID_PARAMS : RESOURCE_NOT_FOUND, `Unknown resource: ${address}`)
  const outcome = isPage(address) ? await read(reader, { uri }, context) : await call(reader, { uri }, context)
  if (!outcome.ok) return faultOf(outcome)
  const contents = 'value' in outcome ? outcome.value['contents'] : contentsOf(outcome)
  return contents === undefined ? faultOf(tooLarge) : toMcpContents(server, contents)
}

type Failure = Extract<ToolOutcome, { ok: false }>

/** Makes a request of a server, which is a call of a tool: with the rules of the edge for it, its limits and its hooks. */
async function call(tool: Tool, args: Fields, context: RequestContext): Promise<ToolOutcome> {
  await shareOfBudget(context)
  return callOutsideRun(tool, { ...context, arguments: args, resultBytes: MOST_BYTES })
}

/** Makes a request whose result is JSON, as text; a result that was cut is none. */
async function read(
  tool: Tool,
  args: Fields,
  context: RequestContext,
): Promise<{ readonly ok: true; readonly value: Fields } | Failure> {
  const outcome = await call(tool, args, context)
  if (!outcome.ok) return outcome
  const [part] = outcome.content
  const value = part?.type === 'text' ? parseJson(part.text) : undefined
  return value === undefined ? tooLarge : { ok: true, value: fieldsOf(value) }
}

const tooLarge = failure('result_too_large', 'The answer of the server is too large.')

/** The codes of failures by which a server, or its Worker, says that there is no such resource or prompt. */
const REFUSALS: ReadonlySet<string> = new Set(['mcp_refused', 'resource_not_allowed', 'invalid_arguments'])

function faultOf({ error: { code, message } }: Failure): object {
  return mcpFault(REFUSALS.has(code) ? INVALID_PARAMS : INTERNAL_ERROR, message)
}
