import { wireName, withoutHidden, withTimeLimit } from 'edgecall/tool'
import { SignInNeeded } from './access.ts'
import { HttpFault, RpcFault } from './exchange.ts'
import { paramHeaders, type ParamHeader, withoutMarks } from './headers.ts'
import { fieldsOf, isObject, textOf } from './json.ts'
import { isLike, nameHere } from './names.ts'
import { ask, forget, instructionsOf, isModern } from './peer.ts'
import { HeldBack } from './oauth/trust.ts'
import type { McpEnv, McpServer } from './servers.ts'

/** A tool of a server, as the server lists it. */
export interface RemoteTool {
  /** The name on the server. */
  readonly name: string
  readonly title: string
  readonly description: string
  readonly inputSchema: Readonly<Record<string, unknown>>
  readonly outputSchema?: Readonly<Record<string, unknown>>
  readonly hints: Readonly<Record<string, unknown>>
  readonly headers: readonly ParamHeader[]
  /** The server's instructions for models, if they are wanted. */
  readonly instructions?: string
  /** What the tool says of apps, as the metadata of its definition has it. Default: nothing. */
  readonly ui?: ToolUi
  /** The request that the edge performs by this tool for MCP clients. Default: none. */
  readonly relays?: Relay
  /** Performs a call by other requests than `tools/call`. */
  readonly perform?: (input: unknown, ask: AskServer) => Promise<unknown>
}

/**
 * The user interface of a tool: the address of its page, and who may call the tool. From `_meta.ui` of MCP Apps (the
 * extension `io.modelcontextprotocol/ui`), without what belongs to the page itself.
 */
export interface ToolUi {
  readonly resourceUri?: string
  /** Default: both models and apps. */
  readonly visibility?: readonly ('model' | 'app')[]
}

/** What the edge asks of a server for MCP clients: requests of MCP, and `ui/read` for the page of an app. */
export type Relay = 'resources/list' | 'resources/read' | 'prompts/list' | 'prompts/get' | 'ui/read'

/** A tool of a server that is left out, under its name here; or a server, under its own name, of which tools are missing. */
export interface LeftOut {
  readonly name: string
  /** Why, for operators. */
  readonly reason: string
}

/** The tools of a server that are on offer, and those that are left out. */
export interface Listing {
  readonly tools: readonly RemoteTool[]
  readonly leftOut: readonly LeftOut[]
}

/** Sends a request to the server, in the context of a call, and resolves with its result. */
export type AskServer = (
  method: string,
  params: Readonly<Record<string, unknown>>,
) => Promise<Readonly<Record<string, unknown>>>

interface CachedList extends Listing {
  /** When the list was read, or last failed to be read, in epoch milliseconds. */
  readonly at: number
  readonly ttlMs: number
  /** Why the list could not be read, if it never was. */
  readonly failure?: string
}

/** The time limit for reading a list, in milliseconds: less than the 5 s that the edge waits for a description. */
const LIST_MS = 4000
const MOST_TTL_MS = 3_600_000
/** The time after a failure during which a server is not asked again, in milliseconds, unless it asks for more. */
const AGAIN_MS = 2000
const MOST_TOOLS = 1000
/** The most characters of JSON of a server's tools together: the edge gets the tools of all servers in one message. */
const MOST_CHARACTERS = 4_000_000
const METHOD_NOT_FOUND = -32_601

/** The lists, by server. They are plain values, because a Worker's requests cannot share I/O objects. */
const cache = new Map<string, CachedList>()

/** How often the lists of servers were marked as expired: what is being read then may be as old. */
const expiries = new Map<string, number>()

/** Marks a server's list as expired, so that the next use reads it again. If that fails, the old list stays in use. */
export function expireList(server: McpServer): void {
  expiries.set(keyOf(server), (expiries.get(keyOf(server)) ?? 0) + 1)
  const list = cache.get(keyOf(server))
  if (list) cache.set(keyOf(server), { ...list, ttlMs: 0 })
}

/**
 * Lists the tools of a server that its configuration selects, and those of them that are left out. If the server cannot
 * be reached, the previous list is used; rejects if there is none.
 */
export async function listTools(env: McpEnv, server: McpServer): Promise<Listing> {
  const cachedList = cache.get(keyOf(server))
  if (cachedList && Date.now() - cachedList.at < cachedList.ttlMs) return usable(cachedList)
  const expiry = expiries.get(keyOf(server))
  try {
    const list = await withTimeLimit(LIST_MS, (signal) => readList(env, server, signal))
    const isCurrent = expiries.get(keyOf(server)) === expiry
    cache.set(keyOf(server), isCurrent ? list : { ...list, ttlMs: 0 })
    return list
  } catch (error) {
    const event = error instanceof HeldBack ? 'mcp.held_back' : 'mcp.unavailable'
    warn({ event, server: server.name, detail: String(error) })
    forget(server)
    // Somebody may sign in or accept the authorization server at any time, and wants to see the tools then.
    if (error instanceof SignInNeeded || error instanceof HeldBack) throw error
    const newerList = cache.get(keyOf(server))
    // Another request has read it meanwhile.
    if (newerList && newerList !== cachedList && newerList.failure === undefined) return newerList
    const failure = error instanceof Error ? error.message : String(error)
    const before = cachedList && cachedList.failure === undefined ? cachedList : { tools: [], leftOut: [], failure }
    const askedMs = error instanceof HttpFault ? (error.retryAfterMs ?? 0) : 0
    const list = { ...before, at: Date.now(), ttlMs: Math.min(Math.max(AGAIN_MS, askedMs), MOST_TTL_MS) }
    cache.set(keyOf(server), list)
    return usable(list)
  }
}

function usable(list: CachedList): Listing {
  if (list.failure !== undefined) throw new Error(list.failure)
  return list
}

function keyOf({ name, url }: McpServer): string {
  return JSON.stringify([name, url])
}

async function readList(env: McpEnv, server: McpServer, signal: AbortSignal): Promise<CachedList> {
  const tools = new Map<string, RemoteTool>()
  const items = new Map<string, string>()
  const leftOut: LeftOut[] = []
  let characters = 0
  let ttlMs = server.ttlMs
  const add = (item: unknown): void => {
    const name = textOf(fieldsOf(item)['name'])
    if (name !== '' && !server.tools.some((pattern) => isLike(name, pattern))) return
    const text = JSON.stringify(item)
    // Pages may overlap.
    if (items.get(name) === text) return
    try {
      if (name === '') throw new Error('it has no name')
      if (items.has(name)) throw new Error('the server lists another tool of this name before it')
      items.set(name, text)
      if (characters + text.length > MOST_CHARACTERS)
        throw new Error(`the tools of the server together are longer than ${MOST_CHARACTERS} characters`)
      tools.set(name, readTool(server, name, fieldsOf(item)))
      characters += text.length
    } catch (error) {
      if (leftOut.length < MOST_TOOLS) leftOut.push(leaveOut(server, { name }, error))
    }
  }
  const cursors = new Set<unknown>()
  let cursor: unknown
  do {
    cursors.add(cursor)
    const params = cursor === undefined ? {} : { cursor }
    const newest = { headers: {}, asks: ['elicitation/create'] }
    const question = { method: 'tools/list', params, newest, signal }
    const page = await ask(env, server, undefined, question).catch((error: unknown) => {
      // A server may have resources or prompts alone.
      if (error instanceof RpcFault && error.code === METHOD_NOT_FOUND && offersMore(server)) return {}
      throw error
    })
    const { tools: entries, nextCursor, ttlMs: hinted } = fieldsOf(page)
    if (Array.isArray(entries)) entries.forEach(add)
    if (typeof hinted === 'number') ttlMs = Math.max(ttlMs, Math.min(hinted, MOST_TTL_MS))
    cursor = nextCursor
    // A cursor that comes again would make the loop endless.
  } while (typeof cursor === 'string' && !cursors.has(cursor) && items.size < MOST_TOOLS)
  if (typeof cursor === 'string' && !cursors.has(cursor)) {
    warnOnce({ event: 'mcp.list_cut', server: server.name, tools: items.size })
    const reason = `The server "${server.name}" lists more than ${items.size} tools: the others are left out.`
    leftOut.push({ name: server.name, reason })
  }
  return { tools: [...tools.values()], leftOut, at: Date.now(), ttlMs }
}

/** Whether a server is to offer anything beside tools. */
function offersMore({ resources, prompts }: McpServer): boolean {
  return resources.length + prompts.length > 0
}

/** Logs, once, why a tool of a server is left out, and returns that. */
export function leaveOut(server: McpServer, { name }: Pick<RemoteTool, 'name'>, error: unknown): LeftOut {
  warnOnce({ event: 'mcp.tool_refused', server: server.name, tool: name, detail: String(error) })
  if (name === '') return { name: server.name, reason: `A tool of the server "${server.name}" has no name.` }
  const why = error instanceof Error ? error.message : String(error)
  const reason = `The tool "${name}" of the server "${server.name}" is left out: ${why}`
  return { name: wireName(nameHere(server, name)), reason: withoutHidden(reason).slice(0, MOST_REASON) }
}

const MOST_REASON = 1000

/** Reads a tool as a server lists it. Throws an Error that says why it cannot be offered. */
function readTool(server: McpServer, name: string, item: Readonly<Record<string, unknown>>): RemoteTool {
  const { title, description, inputSchema, outputSchema, annotations, execution } = item
  if (!isObject(inputSchema)) throw new Error('it has no inputSchema')
  if (fieldsOf(execution)['taskSupport'] === 'required')
    throw new Error('it can only be run as a task, which this client does not do')
  checkKeys(inputSchema)
  checkKeys(outputSchema)
  const hints = fieldsOf(annotations)
  return {
    name,
    title: visible(textOf(title) || textOf(hints['title']) || name),
    description: visible(textOf(description)),
    inputSchema: { ...withoutMarks(inputSchema), type: 'object' },
    ...(isObject(outputSchema) && { outputSchema: withoutMarks(outputSchema) }),
    hints: server.hints ? hints : {},
    headers: isModern(server) ? paramHeaders(inputSchema) : [],
    ...instructionsFor(server),
    ...uiOf(fieldsOf(item['_meta'])),
  }
}

/** Reads what a tool says of apps. `ui/resourceUri` is how MCP Apps wrote the address before its first release. */
function uiOf(meta: Readonly<Record<string, unknown>>): Pick<RemoteTool, 'ui'> {
  const { resourceUri = meta['ui/resourceUri'], visibility } = fieldsOf(meta['ui'])
  const address = textOf(resourceUri)
  const ui = {
    ...(UI_ADDRESS.test(address) && { resourceUri: address }),
    ...(Array.isArray(visibility) && { visibility: AUDIENCES.filter((each) => visibility.includes(each)) }),
  }
  return Object.keys(ui).length > 0 ? { ui } : {}
}

const UI_ADDRESS = /^ui:\/\/[!-~]{1,1000}$/
const AUDIENCES = ['model', 'app'] as const

/** Throws an Error for a schema with a key that the edge refuses, and with it the tools of all servers. */
function checkKeys(schema: unknown): void {
  JSON.stringify(schema, (key, value: unknown) => {
    if (key === '__proto__') throw new Error('its schema has a member named __proto__')
    return value
  })
}

function instructionsFor(server: McpServer): Pick<RemoteTool, 'instructions'> {
  const instructions = server.instructions ? visible(instructionsOf(server)) : ''
  return instructions === '' ? {} : { instructions }
}

/** Removes characters that people cannot see but models read, and limits the length of a text. */
export function visible(text: string): string {
  return withoutHidden(text).slice(0, MOST_TEXT)
}

const MOST_TEXT = 4096

/** What was logged by `warnOnce`. */
const warnings = new Set<string>()
const MOST_WARNINGS = 1000

/** Logs a lasting problem once in this isolate: lists are read again and again. */
function warnOnce(entry: object): void {
  const text = JSON.stringify(entry)
  if (warnings.has(text)) return
  if (warnings.size >= MOST_WARNINGS) warnings.clear()
  warnings.add(text)
  warn(entry)
}

export function warn(entry: object): void {
  console.error(JSON.stringify(entry))
}
