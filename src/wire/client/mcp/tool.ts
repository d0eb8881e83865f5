import { fromBase64 } from '../../../contract/bytes.ts'
import type { CallInput, InputNeeds, InputRequest } from '../../../contract/input.ts'
import { isObject, type JsonObject, type JsonSchema } from '../../../contract/json.ts'
import type { Content } from '../../../contract/message.ts'
import type { ToolDefinition } from '../../../contract/tool-definition.ts'
import type { Progress, ToolOutcome } from '../../../contract/tool.ts'
import { type McpFault, missingCapability } from './message.ts'
import { fieldsOf } from '../../fields.ts'
import type { ToolUi } from './resource.ts'

/** Converts a tool to an entry of `tools/list`. `ui`: what it says of apps. */
export function toMcpTool(
  { name, title, description, inputSchema, outputSchema, annotations, later }: ToolDefinition,
  ui?: ToolUi,
): object {
  const { readOnly, destructive, idempotent, openWorld } = annotations
  return {
    name,
    title,
    description,
    inputSchema,
    // Clients of older revisions reject a schema of any other type, and the whole list with it.
    outputSchema: outputSchema?.['type'] === 'object' ? outputSchema : undefined,
    annotations: {
      readOnlyHint: readOnly,
      destructiveHint: destructive,
      idempotentHint: idempotent,
      openWorldHint: openWorld,
    },
    // A member of 2025-11-25; later clients are told of a task by the answer.
    ...(later && { execution: { taskSupport: 'optional' } }),
    // Apps were first found by the second member; their own SDK still writes both.
    ...(ui && { _meta: { ui, 'ui/resourceUri': ui.resourceUri } }),
  }
}

/**
 * Converts an outcome to the result of `tools/call`. `anyValue`: whether structured content may be other than an
 * object. Structured content that the text repeats is sent once, as text, unless the tool has an output schema.
 */
export function toCallResult(
  outcome: ToolOutcome,
  { outputSchema }: Pick<ToolDefinition, 'outputSchema'>,
  anyValue: boolean,
): object {
  if (!outcome.ok) return { content: [{ type: 'text', text: outcome.error.message }], isError: true }
  const { structured, metadata } = outcome
  const content = outcome.content.map(toMcpContent)
  const meta = metadata && { _meta: metadata }
  // Many hosts pass on both to their model. Only clients with an output schema rely on the value.
  if (outputSchema === undefined && isTextOf(structured, outcome.content)) return { content, ...meta }
  if (isObject(structured) || (anyValue && structured !== undefined))
    return { content, structuredContent: structured, ...meta }
  // With an output schema, clients take a result without a value for a defect of the server; an error reaches the model.
  return outputSchema?.['type'] === 'object' ? { content, isError: true, ...meta } : { content, ...meta }
}

/** Whether a content is the JSON text of a value, and nothing else. */
function isTextOf(value: unknown, [part, ...others]: readonly Content[]): boolean {
  return others.length === 0 && part?.type === 'text' && part.text === JSON.stringify(value)
}

function toMcpContent(part: Content, index: number): object {
  if (part.type === 'text') return part
  const { mediaType: mimeType, data } = part
  if (part.type === 'image') return { type: 'image', mimeType, data }
  if (mimeType.startsWith('audio/')) return { type: 'audio', mimeType, data }
  return { type: 'resource', resource: { uri: `part:${index}`, mimeType, blob: data } }
}

/**
 * Returns a function that converts progress to MCP notifications. MCP requires a number that grows each time; ours may
 * not.
 */
export function progressNotices(progressToken: unknown): (news: Progress) => object {
  let progress = 0
  return ({ message, fraction = 0 }) => {
    progress = Math.max(fraction, progress + LEAST_STEP)
    return { jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken, progress, total: 1, message } }
  }
}

const LEAST_STEP = 0.001

/** The keyword by which a schema asks clients to repeat an argument in the header `Mcp-Param-{its value}`. */
const MARK = 'x-mcp-header'
const WRAPPED = /^=\?base64\?(.*)\?=$/

/**
 * Checks that the `Mcp-Param-*` headers of a call repeat its arguments as the tool's schema requires (SEP-2243), so
 * that a proxy that routes by a header routes by what the tool receives. Returns what is wrong, or undefined.
 */
export function paramMismatch(schema: JsonSchema, args: unknown, headers: Headers): string | undefined {
  const properties = isObject(schema['properties']) ? Object.entries(schema['properties']) : []
  for (const [key, property] of properties) {
    if (!isObject(property)) continue
    const value = isObject(args) && Object.hasOwn(args, key) ? args[key] : undefined
    const { [MARK]: name } = property
    const fault =
      typeof name === 'string' && TOKEN.test(name)
        ? headerMismatch(`Mcp-Param-${name}`, value, headers)
        : paramMismatch(property, value, headers)
    if (fault !== undefined) return fault
  }
  return undefined
}

const TOKEN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/

function headerMismatch(header: string, value: unknown, headers: Headers): string | undefined {
  const text = textOf(value)
  const received = headers.get(header) ?? undefined
  const decoded = received === undefined ? undefined : decode(received)
  if (decoded === null) return `The header ${header} is not valid Base64.`
  return decoded === text ? undefined : `The header ${header} must repeat the argument that the schema marks with it.`
}

/** Returns a value as a header repeats it; undefined for one that has no plain text. */
function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined
}

/** Decodes a header that may be wrapped as Base64. Null if it is wrapped and not valid. */
function decode(value: string): string | null {
  const [, base64] = WRAPPED.exec(value) ?? []
  if (base64 === undefined) return value
  // Of a text without its padding, `fromBase64` reads what there is.
  const bytes = base64.length % 4 === 0 ? fromBase64(base64) : undefined
  try {
    return bytes ? new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes) : null
  } catch {
    return null
  }
}

/** Reads the answers that a repeated `tools/call` brings (SEP-2322), with what it says to be the state of the question. */
export function readInput({ inputResponses, requestState }: JsonObject): CallInput {
  const responses = Object.entries(fieldsOf(inputResponses)).flatMap(([key, value]) =>
    isObject(value) ? [[key, value] as const] : [],
  )
  return {
    responses: Object.fromEntries(responses),
    ...(typeof requestState === 'string' && { state: requestState }),
  }
}

/** What a client is asked for. */
interface InputRequiredResult {
  readonly resultType: 'input_required'
  readonly inputRequests: Readonly<Record<string, InputRequest>>
}

/**
 * Asks the client for the input that a call needs, as far as the client's capabilities allow; an error if they allow
 * none of it.
 */
export function toInputRequired(
  { requests }: Pick<InputNeeds, 'requests'>,
  capabilities: unknown,
): InputRequiredResult | McpFault {
  const entries = Object.entries(requests ?? {}).filter(([, request]) => typeof request?.method === 'string')
  const servable = entries.filter(([, { method }]) => capabilityOf(method) in fieldsOf(capabilities))
  if (entries.length > 0 && servable.length === 0) {
    return missingCapability(Object.fromEntries(entries.map(([, { method }]) => [capabilityOf(method), {}])))
  }
  return { resultType: 'input_required', inputRequests: Object.fromEntries(servable) }
}

/** Whether a request asks a person, and not the client or its model. */
export function isElicitation({ method }: InputRequest): boolean {
  return capabilityOf(method) === 'elicitation'
}

/** Returns the client capability that a method needs: the part of its name before the slash. */
function capabilityOf(method: string): string {
  return method.split('/', 1)[0] ?? method
}
