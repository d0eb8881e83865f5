import { isWrittenAlike, readExactly } from '../../contract/exact-numbers.ts'
import { isObject, parseJson, parseShallow } from '../../contract/json.ts'
import type { Opaque } from '../../contract/message.ts'
import type { ModelError, ModelEvent, ModelFinish, ModelRequest } from '../../contract/model.ts'
import type { Citation } from '../../contract/provider-tool.ts'
import type { Usage } from '../../contract/usage.ts'
import { fieldsOf } from '../fields.ts'
import { badResponse, modelError, NOTHING, type ProviderFault, STREAM_CUT } from './model-error.ts'
import { explainError, UNEXPLAINED } from './openai-chat/types.ts'
import type { SseFrame } from '../sse.ts'

/**
 * Reads one answer of a model, frame by frame. Pure. Contract: the events that `push` and `end` return, in order, are a
 * stream as `ChatModel` promises it; whatever comes after its `finish` or `error` is ignored.
 */
interface AnswerDecoder {
  /** True once the answer has come to its `finish` or `error`. */
  readonly isDone: boolean
  /** True once the answer has given its stop reason, after which only usage and the end of the stream may follow. */
  readonly isOver: boolean
  /** Takes a frame of a stream, or the whole body of an answer from a server that does not stream. */
  readonly push: (frame: SseFrame) => readonly ModelEvent[]
  /** Ends the answer: nothing more will come. `isWhole`: what came was a whole body, so nothing of it is missing. */
  readonly end: (isWhole?: boolean) => readonly ModelEvent[]
}

/** Reads the answers of a provider. */
export interface AnswerCodec {
  /** `request`: the one that is answered, for formats whose answers do not name all that they call. */
  readonly decoder: (request?: ModelRequest) => AnswerDecoder
  /** Returns the fault that a parsed error body describes, or undefined if it says nothing. */
  readonly explain: (json: unknown) => ProviderFault | undefined
}

export type Fields = Readonly<Record<string, unknown>>

/** Reads one answer in the format of its provider. The events that it adds are pushed to `events`. */
export interface DecodedAnswer {
  /** Takes a chunk of the stream, or a whole answer. Returns the event that ends the answer, if the chunk ends it. */
  readonly take: (chunk: Fields, events: ModelEvent[], event?: string) => ModelEvent | undefined
  /** Returns whether the answer has given its stop reason, so that only the end of its stream is missing. */
  readonly isOver: () => boolean
  /** Emits what was not emitted yet, and returns the event that ends the answer. `isWhole`: see `AnswerDecoder.end`. */
  readonly close: (events: ModelEvent[], isWhole: boolean) => ModelEvent
}

/**
 * Makes a codec of `begin`, which starts to read one answer. `toChunk` converts what a server sends in another format.
 * An error ends an answer wherever it stands in a chunk; a stream that ends before its answer is over was cut.
 */
export function answerCodec(
  begin: (request?: ModelRequest) => DecodedAnswer,
  { explain = explainError, toChunk = (value: unknown) => value } = {},
): AnswerCodec {
  function decoder(request?: ModelRequest): AnswerDecoder {
    const { take, isOver, close } = begin(request)
    let isDone = false

    function end(events: ModelEvent[], last: ModelEvent): ModelEvent[] {
      isDone = true
      return [...events, last]
    }

    function finishAnswer(isWhole = false): ModelEvent[] {
      const events: ModelEvent[] = []
      const last = close(events, isWhole)
      return end(events, last)
    }

    return {
      get isDone() {
        return isDone
      },
      get isOver() {
        return isDone || isOver()
      },
      push: ({ data: text, event }) => {
        const events: ModelEvent[] = []
        const data = text.replace(/^(?:\s*data:)*\s*/, '')
        // Gateways pass the comments of a stream on as data.
        if (isDone || data === '' || data[0] === ':') return events
        if (/^\[done\]/i.test(data)) return finishAnswer()
        const values = PING.test(event ?? data) ? [] : valuesIn(data)
        if (!values) return end(events, errorEvent(badResponse('The model server sent something that is not JSON.')))
        for (const value of values) {
          const chunk = fieldsOf(toChunk(value))
          const last = faultIn(chunk, event) ?? take(chunk, events, event)
          if (last) return end(events, last)
        }
        return events
      },
      end: (isWhole) => {
        if (isDone) return []
        return isWhole || isOver() ? finishAnswer(isWhole) : end([], errorEvent(STREAM_CUT))
      },
    }
  }

  return { decoder, explain }
}

/** What some servers send so that a connection stays open. */
const PING = /^(?:ping|heartbeat|keep-?alive)$/i

/**
 * Returns the chunks of a frame: one, or those of an array from a server that streams JSON, but not as events. Some servers
 * write several into a frame, one after the other. Undefined if it is not JSON.
 */
function valuesIn(data: string): readonly unknown[] | undefined {
  const json = readExactly(data, isWrittenAlike)
  if (json !== undefined) return Array.isArray(json) ? json : [json]
  const end = data[0] === '{' ? objectEnd(data) : data.length
  const rest = data.slice(end).trim()
  if (rest === '') return undefined
  const first = readExactly(data.slice(0, end), isWrittenAlike)
  // The mark of the end may follow without a line break. Nothing is lost with it: a complete answer is over by then.
  const others = /^(?:data:\s*)?\[DONE\]/.test(rest) ? [] : valuesIn(rest)
  return first === undefined || !others ? undefined : [first, ...others]
}

/** Returns where the JSON object ends that a text begins with; its length if it does not. */
function objectEnd(text: string): number {
  let depth = 0
  for (const { 0: token, index } of text.matchAll(/"(?:[^"\\]|\\.)*"|[{}]/gs)) {
    if (token === '{') depth += 1
    else if (token === '}') depth -= 1
    if (depth === 0) return index + token.length
  }
  return text.length
}

function faultIn(chunk: Fields, event: string | undefined): ModelEvent | undefined {
  const { error, object, type } = chunk
  if (!error && ![event, object, type].includes('error')) return undefined
  return errorEvent(modelError(explainError(chunk) ?? UNEXPLAINED))
}

/** Tells that the model has thought, before its text, when the provider gives data to send back but no text of that. */
export const HIDDEN_REASONING: ModelEvent = { type: 'reasoning', text: '' }

/** Makes the event that ends an answer that failed. */
export function errorEvent(error: ModelError): ModelEvent {
  return { type: 'error', error }
}

/**
 * Makes the event that ends an answer that is complete. `reason`: the provider's own word for it. `stopSequence`: the
 * text at which the model stopped; '' for none. `citations`: the sources of its text.
 */
export function finishEvent(
  finish: ModelFinish,
  usage: Usage | undefined,
  opaque: Opaque | undefined,
  {
    reason = '',
    stopSequence = '',
    citations = [],
  }: { readonly reason?: string; readonly stopSequence?: string; readonly citations?: readonly Citation[] } = {},
): ModelEvent {
  const isFull = finish === 'length' && FULL.test(reason)
  return {
    type: 'finish',
    finish,
    usage,
    opaque,
    ...(isFull && { isWindowFull: true as const }),
    ...(stopSequence && { stopSequence }),
    ...(citations.length > 0 && { citations }),
    ...(reason === 'pause_turn' && { isPaused: true as const }),
  }
}

/** Anthropic and LM Studio. */
const FULL = /context_?(?:window|length)/i
const LENGTH = /length|max_tokens|context_window/i
const FILTERED = /filter|block|refusal|safety|sensitive|recitation|language|prohibited|spii|armor/i

/** Returns why the model stopped. Some servers report a plain stop for calls too: whether there are any decides. */
export function finishOf(reason: string, hasCalls: boolean): ModelFinish {
  if (LENGTH.test(reason)) return 'length'
  if (FILTERED.test(reason)) return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}

/** Makes usage of counts, without the parts that are 0. Undefined if input and output both are. */
export function toUsage({ inputTokens, outputTokens, ...parts }: Usage): Usage | undefined {
  if (inputTokens + outputTokens === 0) return undefined
  return { inputTokens, outputTokens, ...Object.fromEntries(Object.entries(parts).filter(([, tokens]) => tokens > 0)) }
}

/** Returns the list that a codec kept of an earlier answer; empty if it kept none, or if another codec did. */
export function opaqueDataOf(codec: string, opaque: Opaque | undefined): readonly unknown[] {
  return opaque?.codec === codec && Array.isArray(opaque.data) ? opaque.data : []
}

/**
 * Returns opaque data that a caller has brought, as far as it may reach a provider: without ids of items, which some SDKs
 * send in place of the items, and of files and containers. The provider would read them from what the operator's account
 * stores, also for others.
 */
export function broughtOpaque({ codec, data }: Opaque): Opaque {
  return { codec, data: withoutItemIds(data) }
}

/** Values that are nested deeper than any provider's data are left out. */
function withoutItemIds(value: unknown, depth = 0): unknown {
  if (depth > MOST_DEPTH) return null
  if (Array.isArray(value)) return value.map((each) => withoutItemIds(each, depth + 1))
  if (!isObject(value)) return value
  const entries = Object.entries(value).filter(([key]) => !ITEM_ID.test(key))
  return Object.fromEntries(entries.map(([key, each]) => [key, withoutItemIds(each, depth + 1)]))
}

const MOST_DEPTH = 64

const ITEM_ID = /^(item|response|previousresponse|conversation|file|container)_?id$/i

/** Returns the arguments of an earlier call as an object, since servers take nothing else: other values are wrapped. */
export function argumentsObject(text: string): Readonly<Record<string, unknown>> {
  const value = parseShallow(text.trim() || '{}', isWrittenAlike)
  return isObject(value) ? value : { unreadable: text }
}

/** Returns the same as JSON text: if the text is an object already, it stays as the model wrote it. */
export function argumentsText(text: string): string {
  return isObject(parseShallow(text)) ? text : JSON.stringify(argumentsObject(text))
}

/**
 * Makes the tool's name, or the id, of an earlier call valid: servers refuse a history with a name of invalid form. A
 * call that named no tool is given one.
 */
export function calledName(tool: string): string {
  return tool.replace(/[^\w-]/g, '_').slice(0, 64) || 'unnamed'
}

/**
 * Encodes an object of these members, and of lists whose items are encoded already, each by itself or joined by commas.
 * Empty lists are left out.
 */
export function jsonText(members: object, lists: Readonly<Record<string, string | readonly string[]>>): string {
  let text = JSON.stringify(members).slice(0, -1)
  // Texts are appended, not joined: joining copies each of them once more.
  for (const [name, items] of Object.entries(lists)) {
    if (items.length > 0)
      text += `${text === '{' ? '' : ','}"${name}":[${typeof items === 'string' ? items : items.join()}]`
  }
  return `${text}}`
}

/** Encodes items as the inside of a JSON list, without its brackets; '' for no items. */
export function joinItems(items: readonly object[]): string {
  return JSON.stringify(items).slice(1, -1)
}

/** Reads one answer in its provider's own format. */
export interface NativeAnswer {
  /** Takes a chunk, or a whole answer, and pushes its events to `events`. Returns whether it was the last chunk. */
  readonly take: (chunk: Fields, events: ModelEvent[]) => boolean
  readonly hasBegun: () => boolean
  /** Returns the provider's own stop reason; '' as long as there is none. */
  readonly reason: () => string
  /** Returns the text of the request's `stop` at which the model stopped. Default: the format does not tell. */
  readonly stopSequence?: () => string
  readonly calls: () => readonly SpokenCall[]
  readonly usage: () => Usage | undefined
  /** Returns the sources on which the text rests. Default: the format tells none. */
  readonly citations?: () => readonly Citation[]
  /** Returns the data that the provider wants back with this answer. */
  readonly opaque: () => Opaque | undefined
}

export interface SpokenCall {
  readonly tool: string
  readonly arguments: string
  /** Whether no fragment of its arguments was emitted. */
  readonly isSilent?: boolean
}

const FAILED = /malformed|unexpected_tool|too_many|signature|other|no_image/i

/**
 * Makes the codec of a native format. An answer is complete once its last chunk, or a stop reason, has come. Its calls
 * are emitted at its end, unless the answer ran out of tokens, was filtered or was cut.
 */
export function nativeAnswers(begin: () => NativeAnswer): AnswerCodec {
  return answerCodec(() => answerOf(begin()))
}

function answerOf({
  take,
  hasBegun,
  reason,
  stopSequence = () => '',
  calls,
  usage,
  citations = () => [],
  opaque,
}: NativeAnswer): DecodedAnswer {
  function close(events: ModelEvent[]): ModelEvent {
    const finishReason = reason()
    if (!hasBegun()) return errorEvent(NOTHING)
    if (FAILED.test(finishReason)) return errorEvent(badResponse(`The model stopped: ${finishReason}.`))
    const finish = finishOf(finishReason, calls().length > 0)
    for (const [index, { isSilent, ...call }] of finish === 'tool_calls' ? calls().entries() : []) {
      const isWhole = call.tool !== '' && parseJson(call.arguments) !== undefined
      if (finishReason === '' && !isWhole) return errorEvent(STREAM_CUT)
      if (isSilent) events.push({ type: 'call.delta', index, arguments: call.arguments })
      events.push({ type: 'call', index, ...call })
    }
    return finishEvent(finish, usage(), opaque(), {
      reason: finishReason,
      stopSequence: stopSequence(),
      citations: citations(),
    })
  }

  return {
    take: (chunk, events) => (take(chunk, events) ? close(events) : undefined),
    isOver: () => reason() !== '',
    close,
  }
}
