import { parseShallow } from './json.ts'

/** A part of a message or of a tool's result. `data` is base64 without a `data:` prefix. */
export type Content = TextContent | BinaryContent

export interface TextContent {
  readonly type: 'text'
  readonly text: string
}

export interface BinaryContent {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly data: string
}

/** A call as the model wrote it: `arguments` is its JSON text, not yet checked. */
export interface ToolCall {
  readonly callId: string
  readonly tool: string
  readonly arguments: string
}

export type Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage

export interface SystemMessage {
  readonly role: 'system'
  readonly content: string
}

export interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly Content[]
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly reasoning?: string
  readonly calls?: readonly ToolCall[]
  readonly opaque?: Opaque
}

/** What a provider wants back as it came, such as signatures of its reasoning. Read by the codec that wrote it alone. */
export interface Opaque {
  readonly codec: string
  /** Plain JSON. */
  readonly data: unknown
}

/** The one result of the call `callId`. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly tool: string
  readonly ok: boolean
  readonly content: readonly Content[]
  /** Bytes of the whole result, where `content` is a part of it. */
  readonly cut?: number
  readonly marks?: readonly DataMark[]
  /** Tools on offer that this result, of a search, made known. Said for one request; never kept. */
  readonly found?: readonly string[]
}

/** What data is: written by strangers, or not for everybody. */
export type DataMark = 'untrusted' | 'private'

/** What the results among some messages hold. */
export function marksAmong(messages: readonly Message[]): readonly DataMark[] {
  return messages.flatMap((message) => (message.role === 'tool' && message.marks) || [])
}

/** The text of some content, parts joined by line breaks; what is not text is named, not shown. */
export function textOf(content: string | readonly Content[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}: ${part.mediaType}]`)).join('\n')
}

/** The arguments of a call as a value, for people: the text itself where it is no JSON. */
export function argumentsOf(text: string): unknown {
  const value = parseShallow(text.trim() || '{}')
  return value === undefined ? text : value
}
