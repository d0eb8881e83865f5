import type { InputRequest } from '../../../contract/input.ts'
import { toBase64 } from '../../../contract/bytes.ts'
import { isObject } from '../../../contract/json.ts'
import { brief, fieldsOf, textAt } from '../../fields.ts'

const MODERN = '2026-07-28'
const MOST_SHOWN = 100

/**
 * The supported revisions of the Model Context Protocol, the newest first. The newest states its version in every
 * request; the older ones negotiate it by `initialize`.
 */
export const VERSIONS: readonly string[] = [MODERN, '2025-11-25', '2025-06-18']
const [, ...OLDER] = VERSIONS

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
export const RESOURCE_NOT_FOUND = -32_002
export const HEADER_MISMATCH = -32_020
const MISSING_CAPABILITY = -32_021
const UNSUPPORTED_VERSION = -32_022

/** The name and version that the server gives itself, for people to read. The version is that of package.json. */
export const SERVER_INFO = { name: 'edgecall', version: '0.1.0' }

/** The prefix of the protocol's own keys in `_meta`. */
const RESERVED = 'io.modelcontextprotocol/'
/** The member of `_meta` in which a client of the newest revision declares its capabilities. */
export const CLIENT_CAPABILITIES = `${RESERVED}clientCapabilities`

export type MessageId = string | number

/** A request, or a notification, which has no id. */
export interface McpMessage {
  readonly id?: MessageId
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly meta: Readonly<Record<string, unknown>>
  /** Whether the message is of the newest revision, which has no `initialize`. */
  readonly modern: boolean
}

/** The reply of a client to a request of the edge. */
export interface McpReply {
  readonly id: string
  readonly result?: unknown
  readonly error?: unknown
}

/** Reads the reply of a client; undefined for any other message. */
export function readReply(body: unknown): McpReply | undefined {
  const { jsonrpc, id, method, result, error } = fieldsOf(body)
  const isReply = jsonrpc === '2.0' && method === undefined && typeof id === 'string'
  return isReply && (isObject(result) || isObject(error)) ? { id, result, error } : undefined
}

/** What is wrong with a message, as a JSON-RPC error and an HTTP status. */
export interface McpFault {
  readonly id?: MessageId
  readonly status: number
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export function mcpFault(code: number, message: string, status = 200): McpFault {
  return { status, error: { code, message } }
}

export function isFault(content: object): content is McpFault {
  // A task that has failed has an error too, and a status that is a text.
  return 'error' in content && 'status' in content && typeof content.status === 'number'
}

/** Makes the JSON-RPC response to a message from its result, or from what is wrong with it. */
export function toMessage({ id, modern }: Partial<McpMessage>, content: object): object {
  if (isFault(content)) return { jsonrpc: '2.0', id, error: content.error }
  const result = modern
    ? {
        resultType: 'complete',
        ...content,
        _meta: { ...fieldsOf(fieldsOf(content)['_meta']), [`${RESERVED}serverInfo`]: SERVER_INFO },
      }
    : content
  return { jsonrpc: '2.0', id, result }
}

/** Makes a request of the edge to a client. */
export function toRequest(id: string, { method, params }: InputRequest): object {
  return { jsonrpc: '2.0', id, method, params }
}

/** Makes a notification; on a stream of the newest revision, it names the request that subscribed. */
export function toNotice(method: string, params: object = {}, subscription?: MessageId): object {
  const tag = subscription !== undefined && { _meta: { [`${RESERVED}subscriptionId`]: String(subscription) } }
  return { jsonrpc: '2.0', method, params: { ...params, ...tag } }
}

/**
 * Parses the message of a body, and checks the headers as its revision requires. No supported revision has batches.
 */
export function readMessage(body: unknown, headers: Headers): McpMessage | McpFault {
  const { jsonrpc, id, method, params = {} } = fieldsOf(body)
  const idField = typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? { id } : {}
  const isWhole = jsonrpc === '2.0' && typeof method === 'string' && isObject(params)
  if (!isWhole || (id !== undefined && !('id' in idField))) {
    return { ...idField, ...mcpFault(INVALID_REQUEST, 'Send one JSON-RPC 2.0 request or notification.', 400) }
  }
  const meta = fieldsOf(params['_meta'])
  const version = headers.get('mcp-protocol-version')
  const claimed = textAt(meta, `${RESERVED}protocolVersion`)
  const isClaimed = claimed !== '' && !OLDER.includes(claimed)
  const modern = isClaimed || (version === MODERN && method !== 'initialize')
  const message = { ...idField, method, params, meta, modern }
  if (method === 'tools/call' && typeof params['name'] !== 'string')
    return { ...idField, ...mcpFault(INVALID_PARAMS, 'params.name must be a string.') }
  const fault = modern ? modernFault(message, claimed, headers) : legacyFault(message, version)
  return fault ? { ...idField, ...fault } : message
}

function legacyFault({ method }: McpMessage, version: string | null): McpFault | undefined {
  // `initialize` negotiates the version, and clients older than the header do not send it.
  return method === 'initialize' || version === null || VERSIONS.includes(version) ? undefined : unsupported(version)
}

/** The member of `params` that the header `Mcp-Name` repeats, by method. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ['tools/call', 'name'],
  ['prompts/get', 'name'],
  ['resources/read', 'uri'],
  ...['get', 'update', 'cancel'].map((verb) => [`tasks/${verb}`, 'taskId'] as const),
])

/** Checks `_meta`, and the headers that repeat the body for proxies to read. Headers are defined for requests only. */
function modernFault(
  { id, method, params, meta }: McpMessage,
  claimed: string,
  headers: Headers,
): McpFault | undefined {
  if (id === undefined) return undefined
  for (const key of ['protocolVersion', 'clientCapabilities'].map((each) => RESERVED + each)) {
    if (!(key in meta)) return mcpFault(INVALID_PARAMS, `params._meta needs "${key}".`, 400)
  }
  if (claimed !== MODERN && headers.get('mcp-protocol-version') === claimed) return unsupported(claimed)
  const repeated = { 'mcp-protocol-version': claimed, 'mcp-method': method }
  const member = NAMES.get(method)
  const nameHeader = member === undefined ? {} : { 'mcp-name': String(params[member]) }
  for (const [header, value] of Object.entries({ ...repeated, ...nameHeader })) {
    const received = headers.get(header)
    if (received !== value && received !== inBase64(value))
      return mcpFault(
        HEADER_MISMATCH,
        `The header ${header} is ${received}, but the body has ${brief(value, MOST_SHOWN)}.`,
        400,
      )
  }
  return undefined
}

/** The error of a call that needs a capability that the client has not declared. */
export function missingCapability(requiredCapabilities: object): McpFault {
  const message = 'This call needs a capability that the client has not declared.'
  return { status: 400, error: { code: MISSING_CAPABILITY, message, data: { requiredCapabilities } } }
}

function unsupported(requested: string): McpFault {
  const data = { supported: VERSIONS, requested }
  return {
    status: 400,
    error: { code: UNSUPPORTED_VERSION, message: 'This revision of MCP is not supported.', data },
  }
}

/** Encodes a value for a header that cannot hold it as plain text. */
function inBase64(value: string): string {
  return `=?base64?${toBase64(new TextEncoder().encode(value))}?=`
}
