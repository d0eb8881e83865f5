import { isObject } from '../../contract/json.ts'
import { brief } from '../brief.ts'
import { fieldsOf, textAt } from '../fields.ts'

const MODERN = '2026-07-28'
const MOST_SHOWN = 100

/**
 * The revisions of the Model Context Protocol that are spoken here, the newest first. That one tells its version with
 * every request; the older ones agree on it by `initialize`.
 */
export const VERSIONS: readonly string[] = [MODERN, '2025-11-25', '2025-06-18']
const [, ...OLDER] = VERSIONS

export const PARSE_ERROR = -32_700
export const INVALID_REQUEST = -32_600
export const METHOD_NOT_FOUND = -32_601
export const INVALID_PARAMS = -32_602
export const INTERNAL_ERROR = -32_603
const HEADER_MISMATCH = -32_020
const UNSUPPORTED_VERSION = -32_022

/** What this server says it is; for people. The version is that of package.json. */
export const SERVER_INFO = { name: 'edgecall', version: '0.1.0' }

/** What the protocol itself puts in `_meta`. */
const RESERVED = 'io.modelcontextprotocol/'

export type MessageId = string | number

/** A request, or a notification, which has no id. */
export interface McpMessage {
  readonly id?: MessageId
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
  readonly meta: Readonly<Record<string, unknown>>
  /** Whether it is of the newest revision, and not of one with `initialize`. */
  readonly modern: boolean
}

/** What is wrong with a message, as JSON-RPC has it, and the HTTP status of that. */
export interface McpFault {
  readonly id?: MessageId
  readonly status: number
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
}

export function mcpFault(code: number, message: string, status = 200): McpFault {
  return { status, error: { code, message } }
}

export function isFault(made: object): made is McpFault {
  return 'error' in made
}

/** The answer to a message: its result, or what is wrong with it. */
export function toMessage({ id, modern }: Partial<McpMessage>, made: object): object {
  if (isFault(made)) return { jsonrpc: '2.0', id, error: made.error }
  const result = modern ? { resultType: 'complete', ...made, _meta: { [`${RESERVED}serverInfo`]: SERVER_INFO } } : made
  return { jsonrpc: '2.0', id, result }
}

/**
 * The one message of a body, its headers checked against it as its revision wants. Batches are of no revision that is
 * spoken here.
 */
export function readMessage(body: unknown, headers: Headers): McpMessage | McpFault {
  const { jsonrpc, id, method, params = {} } = fieldsOf(body)
  const given = typeof id === 'string' || (typeof id === 'number' && Number.isInteger(id)) ? { id } : {}
  const isWhole = jsonrpc === '2.0' && typeof method === 'string' && isObject(params)
  if (!isWhole || (id !== undefined && !('id' in given))) {
    return { ...given, ...mcpFault(INVALID_REQUEST, 'Send one JSON-RPC 2.0 request or notification.', 400) }
  }
  const meta = fieldsOf(params['_meta'])
  const version = headers.get('mcp-protocol-version')
  const claimed = textAt(meta, `${RESERVED}protocolVersion`)
  const isClaimed = claimed !== '' && !OLDER.includes(claimed)
  const modern = isClaimed || (version === MODERN && method !== 'initialize')
  const message = { ...given, method, params, meta, modern }
  if (method === 'tools/call' && typeof params['name'] !== 'string')
    return { ...given, ...mcpFault(INVALID_PARAMS, 'params.name must be a string.') }
  const fault = modern ? modernFault(message, claimed, headers) : legacyFault(message, version)
  return fault ? { ...given, ...fault } : message
}

function legacyFault({ method }: McpMessage, version: string | null): McpFault | undefined {
  // It is `initialize` that agrees on the version; and none was told before there was a header for it.
  return method === 'initialize' || version === null || VERSIONS.includes(version) ? undefined : unsupported(version)
}

/** Headers repeat what the body says, so that what stands between can go by them; they are defined for requests alone. */
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
  const named = method === 'tools/call' ? { 'mcp-name': String(params['name']) } : {}
  for (const [header, value] of Object.entries({ ...repeated, ...named })) {
    const told = headers.get(header)
    if (told !== value && told !== inBase64(value))
      return mcpFault(
        HEADER_MISMATCH,
        `The header ${header} is ${told}, and the body says ${brief(value, MOST_SHOWN)}.`,
        400,
      )
  }
  return undefined
}

function unsupported(requested: string): McpFault {
  const data = { supported: VERSIONS, requested }
  return {
    status: 400,
    error: { code: UNSUPPORTED_VERSION, message: 'This revision of MCP is not spoken here.', data },
  }
}

/** A value as a header has it that cannot hold it plainly. */
function inBase64(value: string): string {
  const bytes = Array.from(new TextEncoder().encode(value), (byte) => String.fromCharCode(byte))
  return `=?base64?${btoa(bytes.join(''))}?=`
}
