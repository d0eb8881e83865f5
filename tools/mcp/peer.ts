import { HttpFault, post, type Posted, RpcFault } from './exchange.ts'
import { headerValue } from './headers.ts'
import { fieldsOf, textOf } from './json.ts'
import type { McpServer } from './servers.ts'

const MODERN = '2026-07-28'
/** The revisions with `initialize`, the newest first. */
const OLDER = ['2025-11-25', '2025-06-18', '2025-03-26']
const UNSUPPORTED_VERSION = -32_022
const METHOD_NOT_FOUND = -32_601
const META = 'io.modelcontextprotocol/'
const CLIENT = { name: 'edgecall', version: '1' }
const MOST_SESSIONS = 1000
const LAST_WORD_MS = 2000

/** What a server speaks: the newest revision, or an older one, in a session where it wants one. */
interface Peer {
  readonly version: string
  readonly session: string | null
}

export interface Question {
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  /** Headers of this request, for servers of the newest revision. */
  readonly headers?: Readonly<Record<string, string>>
  readonly signal: AbortSignal
  /** Hears notifications. */
  readonly onNotice?: (method: string, params: unknown) => void
}

/** What isolates remember of servers; plain values, so that any request may use them. */
const modern = new Set<string>()
const older = new Map<string, Peer>()
let lastId = 0

/**
 * Asks a server, on behalf of a tenant or of nobody: calls of one tenant share a session where the server has such, and
 * those of two never do. Resolves with the result, or rejects as `post` does; a call that was given up is told to the server.
 */
export async function ask(
  server: McpServer,
  tenant: string | undefined,
  question: Question,
): Promise<Posted['result']> {
  const peer = await meet(server, tenant, question.signal)
  try {
    return await send(server, peer, question)
  } catch (error) {
    if (!isForgotten(error, peer)) throw error
    forget(server, tenant)
    // It did not look at the request: nothing is done twice.
    return send(server, await meet(server, tenant, question.signal), question)
  }
}

/** Whether a server speaks the newest revision, as it was when last asked. */
export function isModern(server: McpServer): boolean {
  return modern.has(keyOf(server))
}

function isForgotten(error: unknown, { version, session }: Peer): boolean {
  if (error instanceof RpcFault && error.code === UNSUPPORTED_VERSION) return version === MODERN
  return error instanceof HttpFault && error.status === 404 && session !== null
}

/** What a server speaks, and its session with a tenant, or the one without a tenant, are found out anew. */
export function forget(server: McpServer, tenant?: string): void {
  modern.delete(keyOf(server))
  older.delete(keyOf(server, tenant))
}

function keyOf({ name, url }: McpServer, tenant?: string): string {
  return JSON.stringify([name, url, tenant])
}

async function meet(server: McpServer, tenant: string | undefined, signal: AbortSignal): Promise<Peer> {
  const newest = { version: MODERN, session: null }
  if (modern.has(keyOf(server))) return newest
  const known = older.get(keyOf(server, tenant))
  if (known) return known
  // Asked on behalf of nobody, as for its list, it was an older one.
  if (!older.has(keyOf(server)) && (await speaksNewest(server, newest, signal))) {
    modern.add(keyOf(server))
    return newest
  }
  const peer = await initialize(server, signal)
  if (older.size > MOST_SESSIONS) older.clear()
  older.set(keyOf(server, tenant), peer)
  return peer
}

/** Whether a server answers what servers of the newest revision must; those of older ones know no such method. */
async function speaksNewest(server: McpServer, peer: Peer, signal: AbortSignal): Promise<boolean> {
  try {
    const { supportedVersions } = await send(server, peer, { method: 'server/discover', params: {}, signal })
    return isNewestIn(supportedVersions)
  } catch (error) {
    if (error instanceof RpcFault && error.code === UNSUPPORTED_VERSION)
      return isNewestIn(fieldsOf(error.data)['supported'])
    if (error instanceof HttpFault && error.status < 500 && ![401, 403, 429].includes(error.status)) return false
    throw error
  }
}

function isNewestIn(versions: unknown): boolean {
  return Array.isArray(versions) && versions.includes(MODERN)
}

async function initialize(server: McpServer, signal: AbortSignal): Promise<Peer> {
  const { url, headers } = server
  const [protocolVersion] = OLDER
  const params = { protocolVersion, capabilities: {}, clientInfo: CLIENT }
  const message = { jsonrpc: '2.0', id: ++lastId, method: 'initialize', params }
  const { result, session } = await post({ url, headers, message, signal })
  const version = textOf(result['protocolVersion'])
  if (!OLDER.includes(version)) throw new Error(`it speaks the revision "${version}" of MCP`)
  const peer = { version, session }
  await tell(server, peer, { method: 'notifications/initialized' }, signal)
  return peer
}

async function send(server: McpServer, peer: Peer, question: Question): Promise<Posted['result']> {
  const { method, params, signal, onNotice = () => {} } = question
  const id = ++lastId
  const isNewest = peer.version === MODERN
  const message = { jsonrpc: '2.0', id, method, params: isNewest ? withMeta(params) : params }
  const named = textOf(params['name'])
  const repeated = { ...question.headers, 'mcp-method': method, ...(named && { 'mcp-name': headerValue(named) }) }
  const onMessage = (said: Readonly<Record<string, unknown>>) => {
    if (said['id'] === undefined) onNotice(textOf(said['method']), said['params'])
    else refuse(server, peer, said, signal)
  }
  try {
    const { result } = await post({
      url: server.url,
      headers: { ...headersFor(server, peer), ...(isNewest && repeated) },
      message,
      signal,
      onMessage,
      resumes: !isNewest,
    })
    return result
  } catch (error) {
    // To older servers a stream that closes says nothing.
    if (signal.aborted && !isNewest) {
      const cancelled = { method: 'notifications/cancelled', params: { requestId: id } }
      await tell(server, peer, cancelled, AbortSignal.timeout(LAST_WORD_MS)).catch(() => {})
    }
    throw error
  }
}

/** Answers what a server asks of its client, which can do nothing but say that it is there. */
function refuse(server: McpServer, peer: Peer, { id, method }: Readonly<Record<string, unknown>>, signal: AbortSignal) {
  const error = { code: METHOD_NOT_FOUND, message: 'This client offers no such method.' }
  tell(server, peer, { id, ...(method === 'ping' ? { result: {} } : { error }) }, signal).catch(() => {})
}

async function tell(server: McpServer, peer: Peer, said: object, signal: AbortSignal): Promise<void> {
  const message = { jsonrpc: '2.0', ...said }
  await post({ url: server.url, headers: headersFor(server, peer), message, signal, isAsked: false })
}

function headersFor({ headers }: McpServer, { version, session }: Peer): Record<string, string> {
  return { ...headers, 'mcp-protocol-version': version, ...(session !== null && { 'mcp-session-id': session }) }
}

function withMeta({ _meta, ...params }: Readonly<Record<string, unknown>>): object {
  const told = { protocolVersion: MODERN, clientInfo: CLIENT, clientCapabilities: {} }
  const named = Object.entries(told).map(([key, value]) => [META + key, value])
  return { ...params, _meta: { ...Object(_meta), ...Object.fromEntries(named) } }
}
