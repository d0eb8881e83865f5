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
import {
  argumentsId,
  briefArguments,
  briefOutcome,
  callLine,
  callsId,
  clip,
  excerpt,
  MOST_ARGUMENTS,
  summaryOf,
} from '../effects.ts'
import { textTokens } from './count.ts'
import { CALL, INNER_CALL } from './notes.ts'

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

/** The most characters of what was asked or answered, in the line of a turn, and in full notes. */
const MOST_TEXT = 200
const MOST_FULL_TEXT = 1000
/** The most characters of the arguments of a call in full notes. */
const MOST_FULL_ARGUMENTS = 1500
/** The most characters of the calls that a call made, in the line of a turn. */
const MOST_MADE = 700

/** What notes tell of a turn. */
type Entry =
  | { readonly is: 'user' | 'answer'; readonly text: string }
  | { readonly is: 'call'; readonly call: ToolCall; readonly result: ToolMessage | undefined }
  | { readonly is: 'reads'; readonly tool: string; readonly times: number }

/** Yields what was asked, each call that may have taken effect, what was answered, and how often other tools were called. */
function* entriesOf(messages: readonly Message[], isReadOnly: (tool: string) => boolean): Generator<Entry> {
  const results = new Map(messages.flatMap((each) => (each.role === 'tool' ? [[each.callId, each] as const] : [])))
  const reads = new Map<string, number>()
  for (const message of messages) {
    if (message.role === 'user') yield { is: 'user', text: contentText(message.content) }
    if (message.role !== 'assistant') continue
    for (const call of message.calls ?? []) {
      const result = results.get(call.callId)
      if (isReadOnly(call.tool) && !result?.calls) reads.set(call.tool, (reads.get(call.tool) ?? 0) + 1)
      else yield { is: 'call', call, result }
    }
    if (message.content !== '') yield { is: 'answer', text: message.content }
  }
  for (const [tool, times] of reads) yield { is: 'reads', tool, times }
}

/**
 * Returns a turn, or a part of one, as one line of notes: what was asked, each call that may have taken effect with its
 * arguments and outcome, and what was answered. Calls of tools that only read are counted, and so are the first calls of a
 * line that would have more than so many tokens.
 */
export function lineOfTurn(
  messages: readonly Message[],
  isReadOnly: (tool: string) => boolean,
  tokens = Infinity,
): string {
  const entries = [...entriesOf(messages, isReadOnly)]
  const parts = entries.map((entry) => {
    if (entry.is === 'reads') return readsLine(entry)
    if (entry.is !== 'call') return `${entry.is}: ${excerpt(entry.text, MOST_TEXT)}`
    return `${lineOfCall(entry, MOST_ARGUMENTS)}${briefCalls(entry.result)}`
  })
  let room = tokens
  const start = tokens === Infinity ? 0 : parts.findLastIndex((part) => (room -= textTokens(part)) < 0) + 1
  const counted = entries
    .slice(0, start)
    .flatMap((entry) => (entry.is === 'call' ? [{ tool: entry.call.tool, arguments: '', outcome: '' }] : []))
  const first = counted.length > 0 ? [`${CALL}${summaryOf(counted)} before`] : []
  return `- ${[...first, ...parts.slice(start)].join('; ')}`
}

/**
 * Returns the same in full, as it is put aside: a line for each call, with more of its arguments, and for each that a
 * program or an agent made. The first line alone begins with a dash.
 */
export function linesOfTurn(messages: readonly Message[], isReadOnly: (tool: string) => boolean): string[] {
  const lines = [...entriesOf(messages, isReadOnly)].flatMap((entry) => {
    if (entry.is === 'reads') return [readsLine(entry)]
    if (entry.is !== 'call') return [`${entry.is}: ${excerpt(entry.text, MOST_FULL_TEXT)}`]
    const inner = entry.result?.calls?.map((call) => `${INNER_CALL}${callLine(call)}`) ?? []
    return [lineOfCall(entry, MOST_FULL_ARGUMENTS), ...inner]
  })
  return lines.map((line, index) => `${index === 0 ? '- ' : '  '}${line}`)
}

function readsLine({ tool, times }: Extract<Entry, { is: 'reads' }>): string {
  return `read with ${tool}${times > 1 ? ` ${times} times` : ''}`
}

function lineOfCall({ call, result }: Extract<Entry, { is: 'call' }>, most: number): string {
  const { callId, tool, arguments: text } = call
  const outcome = result
    ? briefOutcome({ text: contentText(result.content), ok: result.ok, isUntrusted: isUntrusted(result) })
    : 'outcome unknown'
  const changed = result?.sentArguments === undefined ? '' : ' as a person changed it'
  return `${CALL}${tool}(${briefArguments(result?.sentArguments ?? text, most)})${changed} → ${outcome} [${callId}]`
}

/** Returns the first calls that a call made, and how to read all of them. */
function briefCalls(result: ToolMessage | undefined): string {
  const { calls = [], callId = '' } = result ?? {}
  if (calls.length === 0) return ''
  const lines = calls.map(callLine)
  let size = 0
  const end = lines.findIndex((line) => (size += line.length) > MOST_MADE)
  if (end < 0 && !isUntrusted(result)) return `, which made ${lines.join(', ')}`
  const count = isUntrusted(result) ? 0 : end
  const some = count > 0 ? `${lines.slice(0, count).join(', ')}, and ` : ''
  return `, which made ${some}${summaryOf(calls.slice(count))} [${callsId(callId)}]`
}

/** Whether others wrote what a result says, and with it what a program did. */
function isUntrusted(result: ToolMessage | undefined): boolean {
  return result?.marks?.includes('untrusted') === true
}
