import { pause } from 'edgecall/tool'
import { withAccess } from './access.ts'
import { capabilitiesFor } from './elicit.ts'
import { askOverStream, STREAM_REVISION } from './event-stream.ts'
import { HttpFault, post, type Posted, readStream, RpcFault } from './exchange.ts'
import { headerValue } from './headers.ts'
import { fieldsOf, isObject, textOf } from './json.ts'
import type { McpEnv, McpServer } from './servers.ts'

const MODERN = '2026-07-28'
/** The revisions that begin with `initialize`, newest first. */
const OLDER = ['2025-11-25', '2025-06-18', '2025-03-26']
const UNSUPPORTED_VERSION = -32_022
const METHOD_NOT_FOUND = -32_601
const META = 'io.modelcontextprotocol/'
const CLIENT = { name: 'edgecall', version: '1' }
const MOST_SESSIONS = 1000
const LAST_WORD_MS = 2000
/** The longest wait for the other stream of a server, which may send nothing at all before its first message. */
const OPENING_MS = 1000

/** The codes that servers give a lost session: those of a server's own errors, and of an invalid request. */
const LOST_SESSION_CODES: ReadonlySet<number> = new Set([-32_000, -32_001, -32_600])

/** The revision that a server speaks, the session id if it has given one, and its instructions for models. */
interface Peer {
  readonly version: string
  readonly session: string | null
  readonly instructions: string
}

export interface Question {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** What is sent only to servers of the newest revision. */
  readonly newest?: {
    readonly params?: Readonly<Record<string, unknown>>
    readonly headers: Readonly<Record<string, string>>
    /** The methods of requests that can be answered. */
    readonly asks?: readonly string[] | undefined
  }
  /** The W3C Trace Context of the request, sent to servers of any revision. */
  readonly traceparent?: string
  readonly signal: AbortSignal
  /** Receives notifications of the server. */
  readonly onNotice?: (method: string, params: unknown) => void
  /** Answers requests of a server of an older revision. Returns undefined for one that is refused. */
  readonly onRequest?: (method: string, params: unknown) => Readonly<Record<string, unknown>> | undefined
}

/** What this isolate knows of servers. Plain values, because a Worker's requests cannot share I/O objects. */
const modern = new Map<string, Peer>()
const older = new Map<string, Peer>()
let lastId = 0

/**
 * Sends a request to a server, on behalf of a tenant or of none. If the server uses sessions, requests of one tenant
 * share a session, and those of two tenants never do. Resolves with the result, or rejects as `post` does. If the
 * signal aborts, the server is told that the request is cancelled.
 */
export function ask(
  env: McpEnv,
  server: McpServer,
  tenant: string | undefined,
  question: Question,
): Promise<Posted['result']> {
  return withAccess(env, server, tenant, (authorized) => askPeer(authorized, tenant, question))
}

async function askPeer(server: McpServer, tenant: string | undefined, question: Question): Promise<Posted['result']> {
  const peer = await peerFor(server, tenant, question.signal)
  try {
    return await send(server, peer, question)
  } catch (error) {
    if (!isForgotten(error, peer)) throw error
    forget(server, tenant)
    // The server has rejected the request unread, so nothing is done twice.
    return send(server, await peerFor(server, tenant, question.signal), question)
  }
}

/** Tells whether a server spoke the newest revision when this isolate last asked it. */
export function isModern(server: McpServer): boolean {
  return modern.has(keyOf(server))
}

/** Returns the instructions for models that a server gave when this isolate last connected to it; '' if it gave none. */
export function instructionsOf(server: McpServer): string {
  return (modern.get(keyOf(server)) ?? older.get(keyOf(server)))?.instructions ?? ''
}

function isForgotten(error: unknown, { version, session }: Peer): boolean {
  if (error instanceof RpcFault && error.code === UNSUPPORTED_VERSION) return version === MODERN
  if (!(error instanceof HttpFault) || session === null) return false
  // Some servers, such as the samples of the SDK, answer 400 for a session that they do not know, as for one that is missing.
  if (error instanceof RpcFault && !LOST_SESSION_CODES.has(error.code)) return error.status === 404
  return error.status === 404 || error.status === 400
}

/**
 * Forgets a server's revision and its session with the tenant (or without one), so that the next request finds them
 * again.
 */
export function forget(server: McpServer, tenant?: string): void {
  modern.delete(keyOf(server))
  older.delete(keyOf(server, tenant))
}

function keyOf({ name, url }: McpServer, tenant?: string): string {
  return JSON.stringify([name, url, tenant])
}

async function peerFor(server: McpServer, tenant: string | undefined, signal: AbortSignal): Promise<Peer> {
  const modernPeer = modern.get(keyOf(server))
  if (modernPeer) return modernPeer
  const olderPeer = older.get(keyOf(server, tenant))
  if (olderPeer) return olderPeer
  // A session without a tenant, as for `tools/list`, shows that the server speaks an older revision.
  const newest = older.has(keyOf(server)) ? undefined : await discover(server, signal)
  if (newest) {
    modern.set(keyOf(server), newest)
    return newest
  }
  // Also without a tenant, as for `tools/list`: some servers list tools that ask only to clients that can be asked.
  const peer = await connect(server, ['elicitation/create'], signal)
  if (older.size > MOST_SESSIONS) older.clear()
  older.set(keyOf(server, tenant), peer)
  return peer
}

/**
 * Asks a server for its revisions by `server/discover`, which only the newest one has and all its servers must answer.
 * Returns undefined if the server does not speak it.
 */
async function discover(server: McpServer, signal: AbortSignal): Promise<Peer | undefined> {
  const peer = { version: MODERN, session: null, instructions: '' }
  try {
    const result = await send(server, peer, { method: 'server/discover', params: {}, signal })
    const { supportedVersions, instructions } = result
    return isNewestIn(supportedVersions) ? { ...peer, instructions: textOf(instructions) } : undefined
  } catch (error) {
    if (error instanceof RpcFault && error.code === UNSUPPORTED_VERSION)
      return isNewestIn(fieldsOf(error.data)['supported']) ? peer : undefined
    if (error instanceof HttpFault && error.status < 500 && ![401, 403, 429].includes(error.status)) return undefined
    throw error
  }
}

function isNewestIn(versions: unknown): boolean {
  return Array.isArray(versions) && versions.includes(MODERN)
}

/** Connects to a server of an older revision. One that takes no messages at its address may have an event stream there. */
async function connect(server: McpServer, asks: readonly string[], signal: AbortSignal): Promise<Peer> {
  try {
    return await initialize(server, asks, signal)
  } catch (error) {
    if (!(error instanceof HttpFault) || ![400, 404, 405].includes(error.status)) throw error
    try {
      const { instructions } = await askOverStream(server, { initialize: STREAM_CLIENT, signal })
      return { version: STREAM_REVISION, session: null, instructions }
    } catch {
      throw error
    }
  }
}

const STREAM_CLIENT = { protocolVersion: STREAM_REVISION, capabilities: {}, clientInfo: CLIENT }

async function initialize(server: McpServer, asks: readonly string[], signal: AbortSignal): Promise<Peer> {
  const { url, headers, secrets } = server
  const [protocolVersion] = OLDER
  const params = { protocolVersion, capabilities: capabilitiesFor(asks), clientInfo: CLIENT }
  const message = { jsonrpc: '2.0', id: ++lastId, method: 'initialize', params }
  const { result, session } = await post({ url, headers, message, signal, secrets })
  const version = textOf(result['protocolVersion'])
  if (!OLDER.includes(version)) throw new Error(`it uses revision "${version}" of MCP`)
  const peer = { version, session, instructions: textOf(result['instructions']) }
  await tell(server, peer, { method: 'notifications/initialized' }, signal)
  return peer
}

async function send(server: McpServer, peer: Peer, question: Question): Promise<Posted['result']> {
  const { method, params, newest, signal, traceparent, onNotice = () => {} } = question
  const trace: Record<string, string> = traceparent === undefined ? {} : { traceparent }
  if (peer.version === STREAM_REVISION) {
    const request = { initialize: STREAM_CLIENT, method, params, headers: trace, signal, onNotice }
    return (await askOverStream(server, request)).result
  }
  const id = ++lastId
  const isNewest = peer.version === MODERN
  const message = {
    jsonrpc: '2.0',
    id,
    method,
    params: isNewest ? withMeta({ ...params, ...newest?.params }, newest?.asks) : params,
  }
  const toolName = textOf(params['name'] ?? params['uri'])
  const repeated = { ...newest?.headers, 'mcp-method': method, ...(toolName && { 'mcp-name': headerValue(toolName) }) }
  const end = new AbortController()
  const elsewhere = Promise.withResolvers<Posted['result']>()
  const onMessage = (answer: Readonly<Record<string, unknown>>) => {
    // Some servers answer a request on their other stream.
    if (answer['method'] === undefined) return answer['id'] === id ? settle(elsewhere, answer) : undefined
    if (answer['id'] === undefined) onNotice(textOf(answer['method']), answer['params'])
    else tell(server, peer, responseTo(answer, question), signal).catch(() => {})
  }
  const listens = !isNewest && question.onRequest !== undefined
  try {
    if (listens) await listen(server, peer, onMessage, AbortSignal.any([signal, end.signal]))
    const posted = post({
      url: server.url,
      headers: { ...headersFor(server, peer), ...trace, ...(isNewest && repeated) },
      message,
      signal: AbortSignal.any([signal, end.signal]),
      onMessage,
      resumes: !isNewest,
      secrets: server.secrets,
    })
    return await Promise.race([posted.then(({ result }) => result), elsewhere.promise])
  } catch (error) {
    // In older revisions a closed stream does not cancel the request; this notification does.
    if (signal.aborted && !isNewest) {
      const cancelled = { method: 'notifications/cancelled', params: { requestId: id } }
      await tell(server, peer, cancelled, AbortSignal.timeout(LAST_WORD_MS)).catch(() => {})
    }
    throw error
  } finally {
    end.abort()
  }
}

/** Settles a request with the message that answers it. */
function settle(request: PromiseWithResolvers<Posted['result']>, { result, error }: Posted['result']): void {
  if (isObject(error)) request.reject(new RpcFault(error, new Response()))
  else request.resolve(fieldsOf(result))
}

/**
 * Reads the stream on which servers of older revisions send requests that belong to no other stream, until the signal
 * aborts. Resolves when the stream is open, since servers drop what they send before, or is known not to be.
 */
function listen(
  server: McpServer,
  peer: Peer,
  onMessage: (message: Readonly<Record<string, unknown>>) => void,
  signal: AbortSignal,
): Promise<void> {
  const { url, secrets } = server
  const opened = Promise.withResolvers<void>()
  const onOpen = () => opened.resolve()
  // Most servers have no such stream.
  readStream({ url, headers: headersFor(server, peer), signal, secrets, onMessage, onOpen }).catch(() => {})
  return Promise.race([opened.promise, pause(OPENING_MS, signal)])
}

/** Returns the response to a request of a server: `ping` has a result, a request that cannot be served an error. */
function responseTo(
  { id, method, params }: Readonly<Record<string, unknown>>,
  { onRequest = () => undefined }: Question,
): object {
  const result = method === 'ping' ? {} : onRequest(textOf(method), params)
  const error = { code: METHOD_NOT_FOUND, message: 'This client has no such method.' }
  return { id, ...(result ? { result } : { error }) }
}

async function tell(server: McpServer, peer: Peer, notice: object, signal: AbortSignal): Promise<void> {
  const message = { jsonrpc: '2.0', ...notice }
  await post({ url: server.url, headers: headersFor(server, peer), message, signal, isRequest: false })
}

function headersFor({ headers }: McpServer, { version, session }: Peer): Record<string, string> {
  return { ...headers, 'mcp-protocol-version': version, ...(session !== null && { 'mcp-session-id': session }) }
}

function withMeta({ _meta, ...params }: Readonly<Record<string, unknown>>, asks?: readonly string[]): object {
  const clientCapabilities = capabilitiesFor(asks)
  const clientMeta = { protocolVersion: MODERN, clientInfo: CLIENT, clientCapabilities }
  const metaEntries = Object.entries(clientMeta).map(([key, value]) => [META + key, value])
  return { ...params, _meta: { ...Object(_meta), ...Object.fromEntries(metaEntries) } }
}
