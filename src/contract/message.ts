import { canonicalJson, parseShallow, sha256 } from './json.ts'
import type { Citation } from './provider-tool.ts'

/** A part of a message or of a tool result. `data` is base64 without a `data:` prefix. */
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

/** A file that is not at hand, but under an `https` URL. `mediaType` may be `image/*`, if no more is known. */
export interface LinkedContent {
  readonly type: 'image' | 'file'
  readonly mediaType: string
  readonly url: string
}

/** A part of a message of the user. */
export type UserContent = Content | LinkedContent

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
  /** Set by the edge, if the message comes with an event. */
  readonly marks?: readonly DataMark[]
}

export interface UserMessage {
  readonly role: 'user'
  readonly content: string | readonly UserContent[]
  /** Set by the edge, if the message links to files, or comes from somebody else than the caller: with an event, by a copy. */
  readonly marks?: readonly DataMark[]
  /** What the client shows of it beside its content. No model sees that. */
  readonly display?: MessageDisplay
}

/** What the page of a chat keeps of a message of its user, so that another page can show the same. */
export interface MessageDisplay {
  /** The id that the client has given to the message. */
  readonly id?: string
  readonly metadata?: unknown
  /** The names of the parts of the message that are files, by their index. */
  readonly names?: Readonly<Record<number, string>>
}

export interface AssistantMessage {
  readonly role: 'assistant'
  readonly content: string
  readonly reasoning?: string
  readonly calls?: readonly ToolCall[]
  readonly opaque?: Opaque
  /** The sources on which `content` rests. */
  readonly citations?: readonly Citation[]
  /** The marks of what the provider's own tools have found for this answer, and of what an event or a copy has brought. */
  readonly marks?: readonly DataMark[]
  /** Set if the run ended during this answer: `content` is the part of it that came before. */
  readonly wasInterrupted?: true
}

/** Data that a provider wants back unchanged, such as signatures of reasoning. Read only by the codec that wrote it. */
export interface Opaque {
  readonly codec: string
  /** Plain JSON. */
  readonly data: unknown
}

/** The result of the call `callId`, of which there is exactly one. */
export interface ToolMessage {
  readonly role: 'tool'
  readonly callId: string
  readonly tool: string
  readonly ok: boolean
  readonly content: readonly Content[]
  /** Bytes of the complete result, if `content` is only a part of it. */
  readonly cut?: number
  readonly marks?: readonly DataMark[]
  /** Set if the caller sent this marked result: the model reads its text unchanged. */
  readonly byCaller?: true
  /** The arguments as they were sent, as JSON text, if a person has changed those of the model. */
  readonly sentArguments?: string
  /** What the call made, if it was a program or an agent, or was undone because of it. Models read it after a reduction. */
  readonly calls?: readonly MadeCall[]
  /** Names of tools that this result of a tool search found. Set for one model request, never stored. */
  readonly found?: readonly string[]
}

/** A call that was made in another one, by a program or an agent, and that may have taken effect: as briefly as notes tell it. */
export interface MadeCall {
  readonly tool: string
  /** The arguments as they were sent, as JSON text. The middle of long texts is left out. */
  readonly arguments: string
  /** What came of it, in a few words. */
  readonly outcome: string
  /** The id of the call, if it is one of a program in this run. */
  readonly callId?: string
  /** The agents that made it, the outermost first, as in `lawyer > clerk`; absent if the call itself did. */
  readonly by?: string
  /** How many calls of the tool were made, in the place of each; `arguments` and `outcome` are empty then. */
  readonly times?: number
  /** Set if the call was sent and has failed, and nobody knows whether it took effect; of several calls, if one of them was. */
  readonly inDoubt?: true
}

/**
 * A part of a message that the server of a model has refused: it is not sent to that model again. `size` is that of its data
 * or its address, in characters, so that no other part is taken for it.
 */
export interface PartRefusal {
  /** That of the message in the conversation, or in the run if that is not stored. */
  readonly position: number
  /** Its index in the content. `opaque`: what the provider wanted back with an answer, such as signed reasoning. */
  readonly part: number | 'opaque'
  readonly size: number
  /** `provider/name`. */
  readonly model: string
  /** What the server said. */
  readonly reason: string
}

/** A mark on data: `untrusted` was written by third parties, `private` may not be shown to everybody. */
export type DataMark = 'untrusted' | 'private'

/** Returns the marks of all messages. */
export function marksAmong(messages: readonly Message[]): readonly DataMark[] {
  return messages.flatMap(({ marks = [] }) => marks)
}

/** Returns messages that have these marks as well: in the conversation that stores them, its forks and repeated turns. */
export function withMarks(messages: readonly Message[], marks: readonly DataMark[]): readonly Message[] {
  if (marks.length === 0) return messages
  return messages.map((message) => ({ ...message, marks: [...new Set([...(message.marks ?? []), ...marks])] }))
}

/** Whether what was made of data with these marks may leak data, if it is sent to the outside. */
export function mayLeak(marks: readonly DataMark[]): boolean {
  return marks.includes('untrusted') && marks.includes('private')
}

/** Returns content as text, its parts joined by line breaks. Images and files are named, not shown. */
export function contentText(content: string | readonly UserContent[]): string {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? part.text : `[${part.type}: ${part.mediaType}]`)).join('\n')
}

/**
 * Returns the SHA-256 of the canonical JSON of arguments, in hex: a decision names by it the arguments that a person has
 * seen. `text`: the arguments as JSON.
 */
export function hashArguments(text: string): Promise<string> {
  return sha256(canonicalJson(readableArguments(text)))
}

/** Returns the arguments of a call as a value for people to read, or the text itself if it is not JSON. */
export function readableArguments(text: string): unknown {
  const value = parseShallow(text.trim() || '{}')
  return value === undefined ? text : value
}
