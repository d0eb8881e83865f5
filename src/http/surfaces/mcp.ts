import { Hono } from 'hono/tiny'
import { RecentMap } from '../../contract/recent-map.ts'
import { pause } from '../../contract/time-limit.ts'
import { edgeName } from '../../contract/tool-names.ts'
import { isFor, type Progress, type Tool, type ToolSource } from '../../contract/tool.ts'
import { type EdgeEnv, requestContext } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import { Problem, type ProblemDetails, problemHeaders } from '../problem.ts'
import { readJson } from '../request-body.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { openUntil, SSE_HEADERS } from '../respond/stream.ts'
import { shareOfBudget } from '../runs/budget.ts'
import { callOutsideRun } from '../runs/call-outside-run.ts'
import { NEEDS_CONVERSATION } from '../../loop/decide/admit.ts'
import type { ProblemContext, Surface } from '../surface.ts'
import { challenge, MCP_SCOPES } from './mcp-metadata.ts'
import { answerCall, askableMethods, mayApprove, performOnce, readAnswers } from './mcp-questions.ts'
import { answerRelay, mcpTools, relayCapabilities } from './mcp-relay.ts'
import { askingSession, ASK_PERSON, openSession, SESSION, takeNotice, takeReply } from './mcp-sessions.ts'
import { answerTask, startTask } from './mcp-tasks.ts'
import { callByRun, type CallStream, pickUpCall, questionFor, readLostStream } from './mcp-waiting-calls.ts'
import { toolPage } from './tools/find-tool.ts'
import {
  HEADER_MISMATCH,
  INTERNAL_ERROR,
  INVALID_PARAMS,
  INVALID_REQUEST,
  isFault,
  type McpFault,
  mcpFault,
  type McpMessage,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  readMessage,
  readReply,
  SERVER_INFO,
  toMessage,
  toNotice,
  VERSIONS,
} from '../../wire/client/mcp/message.ts'
import { knowsApps, UI, uiOf } from '../../wire/client/mcp/resource.ts'
import { takesTasks, TASKS } from '../../wire/client/mcp/task.ts'
import { paramMismatch, progressNotices, toMcpTool } from '../../wire/client/mcp/tool.ts'
import { decodeCallBody } from '../../wire/client/request.ts'
import { fieldsOf } from '../../wire/fields.ts'
import { encodeData } from '../../wire/sse.ts'

/** The most tools on a page, counting those that cannot be called here. Many clients read only the first page. */
const PAGE = 1000
/** How long clients may cache a listing, in milliseconds: as long as the edge caches what a tool Worker describes. */
const TTL_MS = 60_000

const CAPABILITIES = { tools: { listChanged: true } }
/** Tasks are a part of 2025-11-25, and an extension of the newest revision. */
const TASK_CAPABILITIES: Readonly<Record<string, object>> = {
  '2025-11-25': { tasks: { cancel: {}, requests: { tools: { call: {} } } } },
}

const app = new Hono<EdgeEnv>()

/**
 * `/mcp`: the edge's tools for clients of the Model Context Protocol, over Streamable HTTP. Nothing is kept between two
 * requests: a session is an id that says what its client has declared (`mcp-sessions.ts`). A client cancels a call by
 * closing its request.
 */
export const mcpRoutes: Surface = {
  routes: { '/mcp': app },
  dialect: { under: '/mcp', resource: '/mcp', answer: mcpProblem },
}

app.use(async (c, next) => {
  const origin = c.req.header('origin')
  // A page whose own host name was made to resolve to this edge (DNS rebinding) passes as the edge's own origin; but
  // `AUTH=open` has refused its host already, and `AUTH=keys` wants a key.
  const isOwn = origin === undefined || origin === new URL(c.req.url).origin
  if (!isOwn && !c.env.setup.config.corsOrigins.includes(origin)) {
    throw new Problem({ status: 403, code: 'origin_refused', message: 'This origin is not in CORS_ORIGINS.' })
  }
  for (const scope of MCP_SCOPES) requireScope(c.env.caller, scope)
  await next()
})

app.post('/', async (c) => {
  const { setup } = c.env
  const body = await readJson(c.req.raw, setup.config.maxBodyBytes)
  const clientReply = readReply(body)
  if (clientReply) {
    const fault = await takeReply(clientReply, requestContext(c))
    return fault ? reply(fault, fault) : c.body(null, 202)
  }
  const message = readMessage(body, c.req.raw.headers)
  if (isFault(message)) return reply(message, message)
  if (message.id === undefined) {
    await takeNotice(message, requestContext(c))
    return c.body(null, 202)
  }
  if (message.method === 'tools/call') return call(message, requestContext(c))
  if (message.modern && message.method === 'subscriptions/listen') return listen(message, requestContext(c))
  const context = requestContext(c)
  const taskAnswer = await answerTask(message, context)
  if (taskAnswer) return reply(message, taskAnswer)
  const relayAnswer = await answerRelay(message, context)
  const payload = relayAnswer ? withCacheFields(message, relayAnswer) : await answer(message, c.env)
  const session = message.method === 'initialize' ? openSession(c.env, message) : undefined
  return reply(message, payload, session === undefined ? {} : { [SESSION]: session })
})

/** The stream on which clients of older revisions are notified of changes, or that of a call which they have lost. */
app.get('/', async (c) => {
  if (!c.req.header('accept')?.includes('text/event-stream')) return c.body(null, 405, { allow: 'GET, POST' })
  const lastId = c.req.header('last-event-id')
  if (lastId !== undefined) return continueStream(lastId, requestContext(c))
  return streamMessages(c.req.raw.signal, (signal, send) =>
    watchTools(c.env, signal, { onChange: () => send(toNotice(TOOLS_CHANGED)), isAlive: () => send() }),
  )
})

app.all('/', (c) => c.body(null, 405, { allow: 'GET, POST' }))

/** Answers with a Problem as a JSON-RPC error, under the Problem's HTTP status. */
function mcpProblem({ details }: Problem, context?: ProblemContext): Response {
  const headers = { ...problemHeaders(details), ...(context && challenge(details, context)) }
  return reply({}, faultOf(details), headers)
}

function faultOf({ status, code, message }: ProblemDetails): McpFault {
  const number = code === 'malformed_body' ? PARSE_ERROR : status < 500 ? INVALID_REQUEST : INTERNAL_ERROR
  return mcpFault(number, message, status)
}

async function answer(message: McpMessage, context: EdgeContext): Promise<object> {
  const { method, params, modern } = message
  if (method === 'tools/list') {
    const isOffered = (tool: Tool) =>
      (isFor('model', tool) || (isFor('app', tool) && knowsApps(message))) &&
      (tool.definition.approval !== 'always' || context.setup.questionSigner !== undefined)
    return withCacheFields(message, await list(mcpTools(context), isOffered, params['cursor']))
  }
  if (modern) {
    if (method === 'server/discover') {
      const { capabilities, extensions } = await relayCapabilities(context)
      const all = { ...CAPABILITIES, ...capabilities, extensions: { [TASKS]: {}, ...extensions } }
      return withCacheFields(message, { supportedVersions: VERSIONS, capabilities: all })
    }
  } else if (method === 'ping') return {}
  else if (method === 'initialize') {
    const [, latest, ...older] = VERSIONS
    const protocolVersion = older.find((version) => version === params['protocolVersion']) ?? latest ?? ''
    const { capabilities, extensions } = await relayCapabilities(context)
    return {
      protocolVersion,
      capabilities: {
        ...CAPABILITIES,
        ...TASK_CAPABILITIES[protocolVersion],
        ...capabilities,
        ...(UI in extensions && { extensions }),
      },
      serverInfo: SERVER_INFO,
    }
  }
  return mcpFault(METHOD_NOT_FOUND, `There is no method "${method}" here.`, modern ? 404 : 200)
}

/** The results that clients of the newest revision may cache, and for how long, in milliseconds. */
const CACHEABLE: Readonly<Record<string, number>> = {
  'server/discover': TTL_MS,
  'tools/list': TTL_MS,
  'prompts/list': TTL_MS,
  'resources/list': TTL_MS,
  'resources/templates/list': TTL_MS,
  'resources/read': 0,
}

function withCacheFields({ method, modern }: McpMessage, result: object): object {
  const ttlMs = CACHEABLE[method]
  return !modern || ttlMs === undefined || isFault(result) ? result : { ...result, ttlMs, cacheScope: 'private' }
}

/** Streams the changes that a client of the newest revision asks for. Only tools are listed here, so only they change. */
function listen({ id, params }: McpMessage, context: RequestContext): Response {
  const isWanted = fieldsOf(params['notifications'])['toolsListChanged'] === true
  return streamMessages(context.request.signal, async (signal, send) => {
    send(toNotice('notifications/subscriptions/acknowledged', { notifications: { toolsListChanged: isWanted } }, id))
    const onChange = () => isWanted && send(toNotice(TOOLS_CHANGED, {}, id))
    await watchTools(context, signal, { onChange, isAlive: () => send() })
    // A subscription that the server ends is complete.
    send(toMessage({ ...(id !== undefined && { id }), modern: true }, {}))
  })
}

const TOOLS_CHANGED = 'notifications/tools/list_changed'

/**
 * Lists a page of the tools that can be called here: those that always need a person's approval can where the client
 * can ask for it.
 */
async function list(source: ToolSource, isOffered: (tool: Tool) => boolean, cursor: unknown = ''): Promise<object> {
  const cursorMatch = typeof cursor === 'string' ? /^(?:after:(.*))?$/s.exec(cursor) : null
  if (!cursorMatch) return mcpFault(INVALID_PARAMS, 'This cursor is invalid.')
  const [, after = ''] = cursorMatch
  const { entries, next } = await toolPage(source, { after, limit: PAGE })
  const tools = entries.flatMap((each) => ('definition' in each && !each.definition.atProvider ? [each] : []))
  return {
    tools: tools.filter(isOffered).map((tool) => toMcpTool(tool.definition, uiOf(tool))),
    ...(next !== undefined && { nextCursor: `after:${next}` }),
  }
}

/** Performs a call. Answers with its result as JSON, or streams progress and result if the client asks for that. */
async function call(message: McpMessage, context: RequestContext): Promise<Response> {
  const { params, meta, modern } = message
  const name = String(params['name'])
  const [tool] = await mcpTools(context).find([edgeName(name)])
  if (!tool || !(isFor('model', tool) || isFor('app', tool)))
    return reply(message, mcpFault(INVALID_PARAMS, `Unknown tool: ${name}`))
  const decoded = decodeCallBody({ arguments: params['arguments'] ?? {}, context: contextOf(meta) })
  if (!decoded.ok) return reply(message, mcpFault(INVALID_PARAMS, decoded.error.message))
  const mismatch =
    modern && paramMismatch(tool.definition.inputSchema, decoded.request.arguments, context.request.headers)
  if (mismatch) return reply(message, mcpFault(HEADER_MISMATCH, mismatch, 400))
  const subject = { caller: context.caller, tool: tool.definition.name, arguments: decoded.request.arguments }
  if (takesTasks(message)) {
    if (tool.definition.later) return reply(message, await startTask(message, context, { tool, ...decoded.request }))
    if (!modern) return reply(message, mcpFault(METHOD_NOT_FOUND, `The tool "${name}" cannot be called as a task.`))
  }
  await shareOfBudget(context)
  const answers = await readAnswers(message, context, subject)
  if (isFault(answers)) return reply(message, answers)
  const session = askingSession(context, message)
  const asks = session ? [ASK_PERSON] : askableMethods(context, message)
  const performCall = async ({ stream, ...control }: CallControl) => {
    const outcome =
      answers.refusal ?? (await callOutsideRun(tool, { ...decoded.request, ...context, ...control, ...answers, asks }))
    if (!outcome.ok && outcome.error.code === 'invalid_input') return mcpFault(INVALID_PARAMS, outcome.error.message)
    const byRun = { tool, ...decoded.request }
    if (outcome === NEEDS_CONVERSATION && !mayApprove(context, message))
      return callByRun(message, context, { call: byRun, stream })
    const question = stream && questionFor(stream, outcome)
    if (question) return callByRun(message, context, { call: { ...byRun, question }, stream })
    return answerCall(message, context, { tool, outcome, call: subject, answers })
  }
  const perform = (control: CallControl) =>
    performOnce(message, context, { tool, answers, perform: () => performCall(control) })
  const { progressToken } = meta
  const takesEvents = context.request.headers.get('accept')?.includes('text/event-stream')
  if (!takesEvents || (progressToken === undefined && !session)) return reply(message, await perform({}))
  return streamMessages(context.request.signal, async (signal, send) => {
    const noticeOf = progressNotices(progressToken)
    const progress = progressToken === undefined ? undefined : (news: Progress) => send(noticeOf(news))
    const stream = session && { session, send, signal, progressToken }
    const payload = perform({ signal, stream, ...(progress && { progress }) }).catch(faultInStream)
    send(toMessage(message, await payload))
  })
}

/** The status of the response was sent. */
function faultInStream(error: unknown): McpFault {
  if (error instanceof Problem) return faultOf(error.details)
  throw error
}

/** Continues the stream of a call, after the event that its client has got last. */
async function continueStream(lastId: string, context: RequestContext): Promise<Response> {
  const session = askingSession(context, { modern: false })
  const lost = session && (await readLostStream(context, session, lastId))
  if (!lost) {
    const message = 'This session has no stream with this event: call the tool again.'
    throw new Problem({ status: 400, code: 'bad_event_id', message })
  }
  const { request: id, progressToken } = lost
  return streamMessages(context.request.signal, async (signal, send) => {
    const payload = pickUpCall(lost, context, { session, send, signal, progressToken }).catch(faultInStream)
    send(toMessage({ id, modern: false }, await payload))
  })
}

interface CallControl {
  readonly signal?: AbortSignal
  readonly progress?: (news: Progress) => void
  /** The stream of the call, if its client can be asked in it. */
  readonly stream?: CallStream | undefined
}

/** Returns the tool context of a request: the members of its `_meta` but those of the protocol, tracing and vendors. */
function contextOf(meta: McpMessage['meta']): Record<string, unknown> {
  const isOfCodex = CODEX_TURN in meta
  const isContext = (key: string) => !PROTOCOL_KEYS.test(key) && !(isOfCodex && CODEX_KEYS.test(key))
  return Object.fromEntries(Object.entries(meta).filter(([key]) => isContext(key)))
}

const PROTOCOL_KEYS = /\/|^(?:progressToken|traceparent|tracestate|baggage)$/

/**
 * Codex names its own ids without a prefix. They are others for each call, and a call that waits for a person is found
 * again by its context.
 */
const CODEX_TURN = 'x-codex-turn-metadata'
const CODEX_KEYS = /^(?:x-codex-.*|(?:call|item|session|thread|window)Id)$/

function reply(message: Partial<McpMessage>, payload: object, headers: Record<string, string> = {}): Response {
  return Response.json(toMessage(message, payload), { status: isFault(payload) ? payload.status : 200, headers })
}

/**
 * Streams the messages that `work` sends, with their ids; without either, a comment that keeps the stream alive. Its
 * signal aborts with that of the request, or when the reader leaves.
 */
function streamMessages(
  requestSignal: AbortSignal,
  work: (signal: AbortSignal, send: (message?: object, id?: string) => void) => Promise<void>,
): Response {
  const bytes = new TextEncoder()
  const disconnection = new AbortController()
  const ended = Promise.withResolvers<void>()
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const send = (message?: object, id?: string) => {
        if (disconnection.signal.aborted) return
        const data = message ? encodeData(message) : id === undefined ? ': alive\n\n' : 'data:\n\n'
        controller.enqueue(bytes.encode(id === undefined ? data : `id: ${id}\n${data}`))
      }
      work(AbortSignal.any([requestSignal, disconnection.signal]), send)
        .then(
          () => disconnection.signal.aborted || controller.close(),
          (error: unknown) => controller.error(error),
        )
        .finally(ended.resolve)
    },
    cancel: () => {
      disconnection.abort()
      ended.resolve()
    },
  })
  return new Response(openUntil(stream, ended.promise), { headers: SSE_HEADERS })
}

/** How often tools are compared with the earlier ones, in milliseconds. Most of what is read comes from caches. */
const CHECK_MS = 1000
/** How many checks there are between two signs of life, by which a disconnected client is noticed. */
const QUIET_CHECKS = 15
/** How long changes are reported. Then the client must send a new request, whose key is checked again. */
const MOST_MS = 600_000

/** For how long a stream takes what another one has found: less than the time between two checks, which varies a little. */
const FRESH_MS = CHECK_MS - 100
/** The most callers whose tools an isolate watches. */
const MOST_WATCHED = 1000

/**
 * Reports each change of the tools of a caller, until the signal aborts or ten minutes have passed. `isAlive` is called in
 * between, so that a stream without changes is not silent.
 */
async function watchTools(
  context: EdgeContext,
  signal: AbortSignal,
  { onChange, isAlive }: { readonly onChange: () => void; readonly isAlive: () => void },
): Promise<void> {
  const read = viewReader(context)
  let last = await read()
  for (let checks = 1; checks <= MOST_MS / CHECK_MS; checks++) {
    await pause(CHECK_MS, signal)
    if (signal.aborted) return
    const current = await read()
    if (checks % QUIET_CHECKS === 0) isAlive()
    if (current === undefined || current === last) continue
    if (last !== undefined) onChange()
    last = current
  }
}

/**
 * Returns a function that returns a number, which changes with the tools of a caller; undefined while they are not known. Of
 * all streams of the caller in this isolate, one reads the tools once a second, and the others take what it has found.
 */
function viewReader({ setup, caller }: EdgeContext): () => Promise<number | undefined> {
  const { tenant, key, scopes } = caller
  const name = JSON.stringify([tenant, key, scopes])
  const source = setup.tools(caller)
  return async () => {
    const views = (setup.isolate.toolViews ??= new RecentMap({ most: MOST_WATCHED }))
    const view = views.get(name)
    const now = Date.now()
    if (view && now - view.at < FRESH_MS) return view.revision
    // Meanwhile, the others take what was found before.
    if (view) views.set(name, { ...view, at: now })
    const texts = await source.texts?.().catch(() => undefined)
    if (!texts) return view?.revision
    // Each stream has an array of its own.
    const isSame = view && (view.texts === texts || JSON.stringify(view.texts) === JSON.stringify(texts))
    const revision = view ? view.revision + (isSame ? 0 : 1) : 0
    views.set(name, { at: now, texts, revision })
    return revision
  }
}
