import { toBase64 } from '../contract/bytes.ts'
import { type JsonObject, parseJson, withoutUndefined } from '../contract/json.ts'
import type { BinaryContent, Content } from '../contract/message.ts'
import type { Compat } from '../contract/run-options.ts'
import { failure, type ToolFailure, type ToolFault, type ToolOutcome } from '../contract/tool.ts'
import { INPUT_REQUIRED, type InputNeeds, type InputRequest } from '../contract/input.ts'
import { textOfThrown } from '../contract/thrown.ts'

/** Bytes that a tool may return. A Blob has a media type; bytes without one are sent as a file. */
export type Bytes = Blob | ArrayBuffer | ArrayBufferView

/** A part of a result: a text, bytes, or a content part, whose data may still be bytes. */
export type ResultPart = string | Bytes | Content | BinaryPart

interface BinaryPart extends Omit<BinaryContent, 'data'> {
  readonly data: string | Bytes
}

/** Marks a return value as parts of a result; made by `content(…)`. */
class Parts {
  readonly parts: readonly ResultPart[]

  constructor(parts: readonly ResultPart[]) {
    this.parts = parts
  }
}

/** Makes a result of parts, such as a text and an image: `content('The map:', { type: 'image', mediaType, data })`. */
export function content(...parts: ResultPart[]): unknown {
  return new Parts(parts)
}

/** A return value with metadata; made by `withMetadata`. */
class Annotated {
  readonly value: unknown
  readonly metadata: object

  constructor(value: unknown, metadata: object) {
    this.value = value
    this.metadata = metadata
  }
}

/**
 * Makes a result with data beside it, which hooks and the caller get, but no model:
 * `withMetadata('Booked.', { booking: 'B-7' })`.
 */
export function withMetadata(value: unknown, metadata: object): unknown {
  return new Annotated(value, metadata)
}

/**
 * Turns a tool's return value into the outcome of its call: undefined is `Success`, a string stays as it is, bytes are
 * an image or a file by their media type, anything else is compact JSON. Maps become objects, sets arrays, dates ISO
 * text, bigints decimal text, bytes within JSON base64. A value with no JSON form (a function, a symbol, a stream, a
 * promise, an error, a cycle, one whose `toJSON` or getter throws) is the failure `unserialisable`. Never rejects. With
 * `compat: 'spring-ai'` texts are as that library writes them: undefined is `"Done"`, and a string is quoted unless it
 * begins with a JSON value, as `3 strings: [a]` does.
 */
export async function toOutcome(value: unknown, compat?: Compat): Promise<ToolOutcome> {
  try {
    if (value instanceof Annotated) {
      const outcome = await toOutcome(value.value, compat)
      return outcome.ok ? { ...outcome, metadata: JSON.parse(JSON.stringify(value.metadata, toJson)) } : outcome
    }
    if (compat === 'spring-ai') {
      if (value === undefined) return text('"Done"')
      if (typeof value === 'string' && !beginsWithJson(value)) return text(JSON.stringify(value))
    }
    if (value === undefined) return text('Success')
    if (value instanceof Parts) return { ok: true, content: await Promise.all(value.parts.map(toContent)) }
    if (typeof value === 'string' || isBytes(value)) return { ok: true, content: [await toContent(value)] }
    const json = JSON.stringify(value, toJson)
    return { ok: true, content: [{ type: 'text', text: json }], structured: JSON.parse(json) }
  } catch (error) {
    return failure(
      'unserialisable',
      'The tool returned a value that cannot be written as JSON.',
      error instanceof Error ? error.message : String(error),
    )
  }
}

/** Matches a number or a word that a blank or the end follows, or a quoted text. */
const LEADING_SCALAR = /^(?:"(?:[^"\\]|\\.)*"|[^\s"[{]\S*)/

/** Whether a text begins with a JSON value. Jackson, with which Spring AI decides this, does not read what follows the value. */
function beginsWithJson(text: string): boolean {
  const trimmed = text.trimStart()
  if (!/^[[{]/.test(trimmed)) return parseJson(LEADING_SCALAR.exec(trimmed)?.[0] ?? '') !== undefined
  let depth = 0
  // Quoted texts are skipped, with the brackets in them.
  for (const { 0: token, index } of trimmed.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}]/g)) {
    if (token === '[' || token === '{') depth += 1
    if (token === ']' || token === '}') depth -= 1
    if (depth === 0) return parseJson(trimmed.slice(0, index + 1)) !== undefined
  }
  return false
}

function text(text: string): ToolOutcome {
  return { ok: true, content: [{ type: 'text', text }] }
}

async function toContent(part: ResultPart): Promise<Content> {
  if (typeof part === 'string') return { type: 'text', text: part }
  if (isBytes(part)) {
    const mediaType = (part instanceof Blob && part.type) || 'application/octet-stream'
    return { type: mediaType.startsWith('image/') ? 'image' : 'file', mediaType, data: await encode(part) }
  }
  if (part.type === 'text') return part
  const { type, mediaType, data } = part
  return { type, mediaType, data: typeof data === 'string' ? data : await encode(data) }
}

function isBytes(value: unknown): value is Bytes {
  return value instanceof Blob || value instanceof ArrayBuffer || ArrayBuffer.isView(value)
}

async function encode(bytes: Bytes): Promise<string> {
  return toBase64(toView(bytes instanceof Blob ? await bytes.arrayBuffer() : bytes))
}

function toView(bytes: ArrayBuffer | ArrayBufferView): Uint8Array {
  if (!ArrayBuffer.isView(bytes)) return new Uint8Array(bytes)
  return new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.byteLength)
}

/** A JSON replacer that also writes bigints, maps, sets and bytes. Throws for a value with no JSON form. */
export function toJson(key: string, value: unknown): unknown {
  if (typeof value === 'bigint') return value.toString()
  if (value instanceof Map) return Object.fromEntries(value)
  if (value instanceof Set) return [...value]
  if (value instanceof ArrayBuffer || ArrayBuffer.isView(value)) return toBase64(toView(value))
  if (typeof value === 'function' || typeof value === 'symbol' || isEmptyInJson(value)) {
    throw new TypeError(`a ${kindOf(value)} at ${key === '' ? 'the root' : `"${key}"`}`)
  }
  return value
}

const SERIALISABLE = new Set(['Object', 'Array', 'Number', 'String', 'Boolean'])

/** Returns whether JSON would be `{}` whatever the object holds: a stream, response, promise, generator or error. */
function isEmptyInJson(value: unknown): boolean {
  return (
    typeof value === 'object' && value !== null && !SERIALISABLE.has(kindOf(value)) && Object.keys(value).length === 0
  )
}

function kindOf(value: unknown): string {
  return typeof value === 'object' ? Object.prototype.toString.call(value).slice(8, -1) : typeof value
}

/**
 * The error a tool throws to tell the model what went wrong and what to change, such as “No city of that name; give
 * the country too.” Its message is read by the model: no secrets, no stack. A `fatal` error fails the run instead. A Durable
 * Object of the tool may throw it too.
 */
export class ToolError extends Error {
  readonly code: string
  readonly retryable: boolean | undefined
  /** How long what the tool asks wants to be left alone, in milliseconds. */
  readonly retryAfterMs: number | undefined
  readonly fatal: boolean | undefined
  readonly input: InputNeeds | undefined

  constructor(
    message: string,
    options: Partial<Omit<ToolFault, 'message' | 'detail'>> & { cause?: unknown; input?: InputNeeds } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause })
    this.name = 'ToolError'
    this.code = options.code ?? 'tool_error'
    this.retryable = options.retryable
    this.retryAfterMs = options.retryAfterMs
    this.fatal = options.fatal
    this.input = options.input
  }
}

/**
 * The error a tool throws when it needs something of a person, such as a confirmation. In a conversation the run waits
 * for the answer; an MCP client is asked. Then the tool is called again, with the answers in `context.input`. Elsewhere
 * the model is told that nobody can be asked.
 *
 * @example
 * const { confirm } = context.input?.responses ?? {}
 * if (!confirm) throw new InputRequired({ confirm: form('Delete all 12 files?', { type: 'object', properties: {} }) })
 */
export class InputRequired extends ToolError {
  constructor(requests: InputNeeds['requests'], state?: string) {
    const input = { requests, state }
    super('This tool needs input from a person, who cannot be asked here. Trying again will not help.', {
      code: INPUT_REQUIRED,
      input,
    })
  }
}

/**
 * Makes a request for a form that a person fills in. The schema is an object of plain values. Follows the elicitation
 * of MCP 2025-11-25, in the mode `form`.
 *
 * @example
 * form('Delete all 12 files?', { type: 'object', properties: {} })
 */
export function form(message: string, requestedSchema: JsonObject): InputRequest {
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

/**
 * Makes a request for a page that a person opens, such as to sign in. `elicitationId` identifies it among others.
 * Follows the elicitation of MCP 2025-11-25, in the mode `url`.
 *
 * @example
 * page('Sign in to GitHub', 'https://example.com/sign-in?state=7f3a', '7f3a')
 */
export function page(message: string, url: string, elicitationId: string): InputRequest {
  return { method: 'elicitation/create', params: { mode: 'url', message, url, elicitationId } }
}

/**
 * Returns whether an error is a ToolError. One that a Durable Object or another Worker has thrown comes over RPC without
 * its class, as an Error with the same properties.
 */
export function isToolError(error: unknown): error is ToolError {
  return error instanceof ToolError || (error instanceof Error && error.name === 'ToolError' && 'code' in error)
}

/** Returns the outcome of a call that threw. The text of any error but a ToolError is for operators alone. */
export function toFailure(name: string, error: unknown): ToolFailure {
  if (isToolError(error)) {
    const { code, message, retryable, retryAfterMs, fatal, cause, input } = error
    const detail = cause === undefined ? undefined : textOfThrown(cause)
    const fault = withoutUndefined({ code, message, detail, retryable, retryAfterMs, fatal })
    return withoutUndefined({ ok: false, error: fault, input })
  }
  const detail = textOfThrown(error)
  console.error(`tool "${name}" threw`, detail)
  return failure('tool_failed', `The tool "${name}" failed.`, detail)
}
