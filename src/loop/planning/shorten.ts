import { isObject, parseShallow } from '../../contract/json.ts'
import {
  type AssistantMessage,
  contentText,
  type Message,
  type ToolCall,
  type ToolMessage,
  type UserContent,
} from '../../contract/message.ts'
import { READ_RESULT } from '../../contract/tool.ts'
import { argumentsId, briefArguments, callsId, clip, summaryOf } from '../effects.ts'

/** A result that is not longer than this is not shortened: the line in its place would be as long. */
const SHORT_CHARACTERS = 240

const shortResults = new WeakMap<ToolMessage, ToolMessage>()

/** Returns one line in the place of a long result: its tool, its size, and the id by which it can be read whole. */
export function shortResult(message: ToolMessage): ToolMessage {
  return cached(shortResults, message, () => {
    const text = contentText(message.content)
    const files = message.content.filter(({ type }) => type !== 'text').length
    if (text.length <= SHORT_CHARACTERS && files === 0) return withCalls(message)
    const size = `${text.length} characters${files > 0 ? ` and ${files} files` : ''}`
    const line = `[Put aside to make room: the result of ${message.tool}, ${size}. ${READ_RESULT} reads it with the id "${message.callId}".]`
    return withCalls({ ...message, content: [{ type: 'text', text: `${line}${changeNote(message)}` }] })
  })
}

const resultsWithCalls = new WeakMap<ToolMessage, ToolMessage>()

/** Returns a result with what its call made, which the model has not been told yet. */
function withCalls(message: ToolMessage): ToolMessage {
  const { calls, content, callId } = message
  if (!calls) return message
  return cached(resultsWithCalls, message, () => {
    const text = `[This call made ${summaryOf(calls)}. ${READ_RESULT} lists them with the id "${callsId(callId)}".]`
    return { ...message, content: [...content, { type: 'text', text }] }
  })
}

/** Returns the beginning of a result that has more than this many characters, with the way to read on. */
export function cutResult(message: ToolMessage, characters: number): ToolMessage {
  return withCalls(beginningOf(message, characters))
}

function beginningOf(message: ToolMessage, characters: number): ToolMessage {
  const text = contentText(message.content)
  if (text.length <= characters) return message
  const rest = `[${characters} of ${text.length} characters; ${READ_RESULT} reads on with the id "${message.callId}" from offset ${characters}]`
  return {
    ...message,
    content: [{ type: 'text', text: `${text.slice(0, characters)}\n${rest}${changeNote(message)}` }],
  }
}

/** Says again what the end of a result says, which is left out: that a person has changed the arguments. */
function changeNote({ sentArguments: text }: ToolMessage): string {
  return text === undefined ? '' : `\n[A person changed the arguments to ${briefArguments(text)}.]`
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
      call.arguments.length <= characters ? call : { ...call, arguments: cutArguments(call, characters) },
    ),
  }
  cutAnswers.set(message, { characters, message: cut })
  return cut
}

/** Returns arguments as JSON with the beginning of each text that is longer than its share. */
function cutArguments({ callId, arguments: text }: ToolCall, characters: number): string {
  const value = parseShallow(text)
  const share = Math.floor(characters / Math.max(1, isObject(value) ? Object.keys(value).length : 1))
  const cut = JSON.stringify(value, (_, each: unknown) => (typeof each === 'string' ? clip(each, share) : each))
  const rest = `${READ_RESULT} reads all of them with the id "${argumentsId(callId)}"`
  const short = isObject(value) && cut !== undefined && cut.length <= 2 * characters ? parseShallow(cut) : undefined
  return JSON.stringify(isObject(short) ? { ...short, '[cut]': rest } : { cut: `${clip(text, share)} [${rest}]` })
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
  if (light.role === 'tool') return beginningOf(light, MOST_OUTLINE)
  if (light.role !== 'assistant' || !light.calls) return light
  const calls = light.calls.map((call) => ({ ...call, arguments: briefArguments(call.arguments, MOST_OUTLINE) }))
  return { ...light, content: clip(light.content, MOST_OUTLINE), calls }
}

/** The most characters of the text, of each call and of each result in an outline. */
const MOST_OUTLINE = 2000
