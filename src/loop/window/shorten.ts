import { isObject, parseShallow } from '../../contract/json.ts'
import {
  type AssistantMessage,
  contentText,
  type Message,
  type ToolMessage,
  type UserContent,
} from '../../contract/message.ts'
import { READ_RESULT } from '../../contract/tool.ts'

/** A result that is not longer than this is not shortened: the line in its place would be as long. */
const SHORT_CHARACTERS = 240

const shortResults = new WeakMap<ToolMessage, ToolMessage>()

/** Returns one line in the place of a long result: its tool, its size, and the id by which it can be read whole. */
export function shortResult(message: ToolMessage): ToolMessage {
  return cached(shortResults, message, () => {
    const text = contentText(message.content)
    const files = message.content.filter(({ type }) => type !== 'text').length
    if (text.length <= SHORT_CHARACTERS && files === 0) return message
    const size = `${text.length} characters${files > 0 ? ` and ${files} files` : ''}`
    const line = `[Put aside to make room: the result of ${message.tool}, ${size}. ${READ_RESULT} reads it with the id "${message.callId}".]`
    return { ...message, content: [{ type: 'text', text: line }] }
  })
}

/** Returns the beginning of a result that has more than this many characters, with the way to read on. */
export function cutResult(message: ToolMessage, characters: number): ToolMessage {
  const text = contentText(message.content)
  if (text.length <= characters) return message
  const rest = `[${characters} of ${text.length} characters; ${READ_RESULT} reads on with the id "${message.callId}" from offset ${characters}]`
  return { ...message, content: [{ type: 'text', text: `${text.slice(0, characters)}\n${rest}` }] }
}

const cutAnswers = new WeakMap<AssistantMessage, { readonly characters: number; readonly message: AssistantMessage }>()

/** Returns an answer with calls whose text and arguments have at most about this many characters. */
export function cutCalls(message: AssistantMessage, characters: number): AssistantMessage {
  const { calls, content } = message
  if (!calls || [content, ...calls.map(({ arguments: text }) => text)].every((text) => text.length <= characters))
    return message
  const lastCut = cutAnswers.get(message)
  if (lastCut?.characters === characters) return lastCut.message
  const cut = {
    ...message,
    content: clip(content, characters),
    calls: calls.map((call) =>
      call.arguments.length <= characters ? call : { ...call, arguments: cutArguments(call.arguments, characters) },
    ),
  }
  cutAnswers.set(message, { characters, message: cut })
  return cut
}

/** Returns arguments as JSON with the beginning of each text that is longer than its share. */
function cutArguments(text: string, characters: number): string {
  const value = parseShallow(text)
  const share = Math.floor(characters / Math.max(1, isObject(value) ? Object.keys(value).length : 1))
  const cut = JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? clip(each, share) : each))
  return cut === undefined || cut.length > 2 * characters ? JSON.stringify({ cut: clip(text, share) }) : cut
}

const lightMessages = new WeakMap<Message, Message>()

/** Returns a message without its files, its reasoning and what its provider wants back. */
export function withoutFiles(message: Message): Message {
  return cached(lightMessages, message, () => {
    switch (message.role) {
      case 'system':
        return message
      case 'assistant': {
        const { reasoning: _, opaque: __, ...rest } = message
        return message.reasoning === undefined && message.opaque === undefined ? message : rest
      }
      case 'user':
        return typeof message.content === 'string' || message.content.every(({ type }) => type === 'text')
          ? message
          : { ...message, content: message.content.map(nameFile) }
      case 'tool':
        return message.content.every(({ type }) => type === 'text')
          ? message
          : { ...message, content: message.content.map(nameFile) }
    }
  })
}

function nameFile(part: UserContent): { readonly type: 'text'; readonly text: string } {
  return part.type === 'text'
    ? part
    : { type: 'text', text: `[${part.type}: ${part.mediaType}, left out to make room]` }
}

/** Returns the same object for the same message each time, so that a codec can encode it once. */
function cached<Kind extends Message>(cache: WeakMap<Kind, Kind>, message: Kind, make: () => Kind): Kind {
  let value = cache.get(message)
  if (!value) cache.set(message, (value = make()))
  return value
}

/** Returns a message with no more than its line of notes is made of. */
export function outlineOf(message: Message): Message {
  const light = withoutFiles(message)
  if (light.role === 'tool') return shortResult(light)
  return light.role === 'assistant' ? cutCalls(light, MOST_OUTLINE) : light
}

/** The most characters of the text and of each call of an answer in an outline. */
const MOST_OUTLINE = 2000

const MOST_TEXT = 200
const MOST_ARGUMENTS = 320
const MOST_OUTCOME = 120
/** The most characters of one text among the arguments of a call, and the most entries of a list. */
const MOST_VALUE = 48
const MOST_ENTRIES = 8

/**
 * Returns a turn, or a part of one, as one line of notes: what was asked, each call that may have taken effect with its
 * arguments and outcome, and what was answered. Calls of tools that only read are counted.
 */
export function lineOfTurn(messages: readonly Message[], isReadOnly: (tool: string) => boolean): string {
  const results = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.callId, each] as const] : [])))
  const reads = new Map<string, number>()
  const parts: string[] = []
  for (const message of messages) {
    if (message.role === 'user') parts.push(`user: ${excerpt(contentText(message.content), MOST_TEXT)}`)
    if (message.role !== 'assistant') continue
    for (const { callId, tool, arguments: text } of message.calls ?? []) {
      const result = results.get(callId)
      if (isReadOnly(tool)) reads.set(tool, (reads.get(tool) ?? 0) + 1)
      else parts.push(`called ${tool}(${briefArguments(text)}) ${outcomeOf(result)} [${callId}]`)
    }
    if (message.content !== '') parts.push(`answer: ${excerpt(message.content, MOST_TEXT)}`)
  }
  for (const [tool, times] of reads) parts.push(`read with ${tool}${times > 1 ? ` ${times} times` : ''}`)
  return `- ${parts.join('; ')}`
}

function outcomeOf(result: ToolMessage | undefined): string {
  if (!result) return '→ outcome unknown'
  const text = contentText(result.content)
  // Text that others wrote must not gain authority by being repeated in the notes.
  const words = result.marks?.includes('untrusted') ? `${text.length} characters` : excerpt(text, MOST_OUTCOME)
  return `→ ${result.ok ? '' : 'failed: '}${words}`
}

/** Returns arguments in one line, with the beginning of each long text in them, so that what identifies a call is left. */
function briefArguments(text: string): string {
  const value = parseShallow(text)
  const line = value === undefined ? text.replaceAll(/\s+/g, ' ') : JSON.stringify(briefValue(value))
  return clip(line, MOST_ARGUMENTS)
}

function briefValue(value: unknown): unknown {
  if (typeof value === 'string') return clip(value, MOST_VALUE)
  if (Array.isArray(value)) {
    const entries = value.slice(0, MOST_ENTRIES).map(briefValue)
    return value.length > MOST_ENTRIES ? [...entries, `… ${value.length - MOST_ENTRIES} more`] : entries
  }
  if (!isObject(value)) return value
  // Short values first: ids and amounts must not be cut off behind a long text.
  const entries = Object.entries(value).map(([key, each]) => [key, briefValue(each)] as const)
  const size = ([key, each]: readonly [string, unknown]) => key.length + JSON.stringify(each).length
  return Object.fromEntries(entries.sort((one, other) => size(one) - size(other)))
}

/** Returns the beginning of a text as a JSON string, which has no line breaks. */
function excerpt(text: string, most: number): string {
  return JSON.stringify(clip(text, most))
}

function clip(text: string, most: number): string {
  if (text.length <= most) return text
  const end = /[\uD800-\uDBFF]/.test(text.charAt(most - 1)) ? most - 1 : most
  return `${text.slice(0, end)}…`
}
