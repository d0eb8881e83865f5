import { isObject } from '../../../contract/json.ts'
import {
  type AssistantMessage,
  type Content,
  type Message,
  contentText,
  type ToolMessage,
  type UserContent,
} from '../../../contract/message.ts'
import { argumentsObject, calledName } from '../call-arguments.ts'
import { encodeOnce } from '../../encode-once.ts'
import { objectsOf } from '../../fields.ts'
import { jsonText, joinItems } from '../json-text.ts'
import { opaqueDataOf } from '../opaque.ts'
import { byTurns } from '../turns.ts'
import { GEMINI } from './ask-answer.ts'

/** Encodes the `contents` of a request. Roles alternate; results count as the user's. Empty messages are left out. */
export function encodeContents(messages: readonly Message[]): readonly string[] {
  /** The ids that Gemini gave to calls, by our call ids. */
  const ids = new Map<string, unknown>()
  const turns = byTurns(messages, (message) => {
    if (message.role === 'assistant') {
      const places = placesOf(message).filter(({ call }) => call)
      for (const [index, { callId }] of (message.calls ?? []).entries()) ids.set(callId, places[index]?.id)
    }
    const parts = encodeParts(message)
    if (message.role !== 'tool') return parts
    const id = ids.get(message.callId)
    return `{"functionResponse":${id ? `{"id":${JSON.stringify(id)},${parts.slice(1)}` : parts}}`
  })
  return turns.map(({ isAnswer, parts }) => jsonText({ role: isAnswer ? 'model' : 'user' }, { parts }))
}

/** Encodes the parts of a message as the inside of a JSON list, or the response of a result; '' if there are none. */
const encodeParts = encodeOnce((message: Message): string => {
  switch (message.role) {
    case 'system':
      return ''
    case 'user': {
      const { content } = message
      return joinItems(typeof content === 'string' ? toText(content) : content.flatMap(toPart))
    }
    case 'assistant':
      return answerParts(message)
    case 'tool':
      return JSON.stringify(toResponse(message))
  }
})

/** The signature that Google accepts for a call that no Gemini signed, such as one of another provider's model. */
const UNSIGNED = 'skip_thought_signature_validator'

/** The members of parts that are sent back as they came. A caller may have written any others, such as another's file. */
const GENERATED = new Set([
  'text',
  'thought',
  'thoughtSignature',
  'inlineData',
  'executableCode',
  'codeExecutionResult',
])

/** Encodes an answer: its parts in their original order if it was kept, else the text, then the calls. */
function answerParts(message: AssistantMessage): string {
  const { content, calls = [] } = message
  const remainingCalls = [...calls]
  let at = 0

  function pushCall(id?: unknown, signature?: unknown): readonly object[] {
    // The first call of an answer must be signed.
    const thoughtSignature = signature ?? (remainingCalls.length === calls.length ? UNSIGNED : undefined)
    const call = remainingCalls.shift()
    if (!call) return []
    const functionCall = { id, name: calledName(call.tool), args: argumentsObject(call.arguments) }
    return [{ functionCall, thoughtSignature }]
  }

  const parts = placesOf(message).flatMap(({ part, text, call, id, thoughtSignature }): readonly object[] => {
    if (call) return pushCall(id, thoughtSignature)
    if (isObject(part)) return Object.keys(part).every((name) => GENERATED.has(name)) ? [part] : []
    const piece = content.slice(at, (at += Number(text)))
    return piece || thoughtSignature ? [{ text: piece, thoughtSignature }] : []
  })
  parts.push(...toText(content.slice(at)))
  while (remainingCalls.length > 0) parts.push(...pushCall())
  return joinItems(parts)
}

function placesOf({ opaque }: AssistantMessage): readonly Readonly<Record<string, unknown>>[] {
  return objectsOf(opaqueDataOf(GEMINI, opaque))
}

/** Converts a result with the files that Gemini accepts in one; other files are only named, in the text. */
function toResponse({ tool, ok, content }: ToolMessage): object {
  const isFile = (part: Content) => part.type !== 'text' && IN_RESULTS.test(part.mediaType)
  const parts = content.filter(isFile).flatMap(toPart)
  const text = contentText(content.filter((part) => !isFile(part)))
  return {
    name: calledName(tool),
    response: { [ok ? 'output' : 'error']: text },
    parts: parts.length > 0 ? parts : undefined,
  }
}

const IN_RESULTS = /^(image\/(png|jpeg|webp)|application\/pdf|text\/plain)$/

function toText(text: string): readonly object[] {
  return text === '' ? [] : [{ text }]
}

function toPart(part: UserContent): readonly object[] {
  if ('url' in part) return [{ fileData: { mimeType: part.mediaType, fileUri: part.url } }]
  return part.type === 'text' ? toText(part.text) : [{ inlineData: { mimeType: part.mediaType, data: part.data } }]
}
