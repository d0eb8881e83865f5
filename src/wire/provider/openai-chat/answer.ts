import { isObject } from '../../../contract/json.ts'
import type { AssistantMessage, Opaque } from '../../../contract/message.ts'
import type { ModelError, ModelEvent } from '../../../contract/model.ts'
import type { Usage } from '../../../contract/usage.ts'
import { countAt, fieldsOf, objectsOf, textAt, textOrJson } from '../../fields.ts'
import {
  type AnswerCodec,
  answerCodec,
  type DecodedAnswer,
  errorEvent,
  type Fields,
  finishEvent,
  finishOf,
  HIDDEN_REASONING,
  toUsage,
} from '../model-answer.ts'
import { addArguments, type CallArguments, heldArguments, isComplete } from '../call-arguments.ts'
import { modelError, NOTHING, STREAM_CUT } from '../model-error.ts'
import { type ChatUsage, explainError } from './types.ts'

/** Makes the codec for a Chat Completions server's answers. `codec` labels its opaque data: no other server gets it. */
export function chatCodec(codec: string): AnswerCodec {
  return answerCodec(() => chatAnswer(codec))
}

const FAILED = /error|insufficient|abort|cancel/i

/**
 * Reads one answer, as real servers send it. It is complete after a `finish_reason` or `[DONE]`; a stream that ends
 * with neither was cut. Of an answer that ran out of tokens or was filtered, only the calls before the one that it
 * broke off in are emitted.
 */
export function chatAnswer(codec: string): DecodedAnswer {
  const calls = callAssembly()
  const details: Fields[] = []
  let hasBegun = false
  /** Whether an event has shown something of the answer. */
  let hasShown = false
  let reason = ''
  let usage: Usage | undefined
  /** The last chunk without a choice: usage, a filter's verdict or nothing; if no other chunk came, maybe an error. */
  let separateReasoning: unknown

  function take(chunk: Fields, events: ModelEvent[]): undefined {
    const [choice] = objectsOf(chunk.choices)
    // Usage is on the chunk, on the choice (Moonshot), or in a field of the vendor (Groq).
    usage = chatUsage(chunk) ?? chatUsage(choice) ?? chatUsage(chunk.x_groq) ?? usage
    if (!choice) {
      separateReasoning = chunk
      return
    }
    hasBegun = true
    if (typeof choice.finish_reason === 'string') reason = choice.finish_reason || reason
    const delta = choice.delta ?? choice.message
    if (!isObject(delta)) return
    const detailsBefore = details.length
    addDetails(details, delta.reasoning_details ?? delta.thinking_blocks)
    // Two names of one field; servers in transition send both.
    pushText('reasoning', delta.reasoning_content || delta.reasoning, events)
    if (details.length > detailsBefore && events.length === 0 && !hasShown) events.push(HIDDEN_REASONING)
    pushText('text', delta.content, events)
    pushText('text', delta.refusal, events)
    calls.take(objectsOf(delta.tool_calls), events)
    calls.take(objectsOf([delta.function_call]), events)
    hasShown ||= events.length > 0
  }

  function close(events: ModelEvent[]): ModelEvent {
    if (!hasBegun) {
      const fault = explainError(separateReasoning)
      return errorEvent(fault ? modelError(fault) : NOTHING)
    }
    if (FAILED.test(reason)) return errorEvent(modelError({ message: `The model server stopped: ${reason}.` }))
    const finish = finishOf(reason, calls.any())
    const fault = finish === 'tool_calls' ? calls.finish(events, reason !== '') : undefined
    return fault
      ? errorEvent(fault)
      : finishEvent(finish, usage, chatOpaque(codec, details, calls.extras()), { reason })
  }

  return { take, isOver: () => reason !== '', close }
}

/** Emits the text of `content`: a string, or a list of parts, among which some servers put the reasoning. */
function pushText(type: 'text' | 'reasoning', content: unknown, events: ModelEvent[]): void {
  if (typeof content === 'string') {
    if (content !== '') events.push({ type, text: content })
    return
  }
  if (!Array.isArray(content)) return
  for (const part of content) {
    if (!isObject(part)) continue
    if (part.type === 'thinking') pushText('reasoning', part.thinking, events)
    else pushText(type, part.text, events)
  }
}

/** A call as far as it has arrived; '' or undefined stand for what has not. */
interface OpenCall extends CallArguments {
  readonly index: number
  label?: unknown
  id: string
  tool: string
  /** Data that Google's servers want back with the call. */
  extra?: unknown
}

/** Assembles the calls of one answer from their fragments. */
interface CallAssembly {
  /** Takes the `tool_calls` of one delta, and pushes what they add to `events`. */
  readonly take: (entries: readonly Fields[], events: ModelEvent[]) => void
  /** Returns whether there are any calls so far. */
  readonly any: () => boolean
  /** Returns the data that must go back with the calls, by the index of the call. */
  readonly extras: () => Readonly<Record<string, unknown>>
  /**
   * Emits the remaining calls as complete. Returns an error if one is incomplete because the stream was cut. If the
   * answer `isOver`, calls are emitted as they are, without a name or with incomplete arguments: the model wrote them
   * so.
   */
  readonly finish: (events: ModelEvent[], isOver: boolean) => ModelError | undefined
}

/**
 * Makes an assembly. No server can be trusted to label its calls: `index` is left out, always 0, or counted wrongly;
 * ids are left out, come late, are empty, repeated, or new in every fragment. So neither identifies a call by itself. A
 * fragment goes to the call with its id, else to that with its index, else to the latest one. If it cannot belong to
 * that call, it begins another.
 */
export function callAssembly(): CallAssembly {
  const calls: OpenCall[] = []
  let last: OpenCall | undefined
  /** The number of calls emitted as complete: always the first ones, so that calls are emitted in order. */
  let emitted = 0

  function begin(events: ModelEvent[]): OpenCall {
    for (const call of calls.slice(emitted)) {
      if (!call.tool || call.isPlaceholder || !isComplete(call.text)) break
      events.push(toEvent(call))
      emitted += 1
    }
    const call = { index: calls.length, id: '', tool: '', text: '' }
    calls.push(call)
    return call
  }

  function add(entry: Fields, position: number | undefined, events: ModelEvent[]): void {
    // The legacy `function_call` has name and arguments without the wrapper.
    const functionFields = isObject(entry.function) ? entry.function : entry
    const id = textOrJson(entry.id)
    const tool = textOrJson(functionFields.name)
    const text = textOrJson(functionFields.arguments)
    // If the index is missing, the position in the array tells the calls of one delta apart.
    const label = entry.index ?? position
    let match = calls.findLast((call) => id && call.id === id && (call.label ?? label) === (label ?? call.label))
    if (label !== undefined) match ??= calls.findLast((call) => call.label === label)
    // A fragment with neither a tool nor an id continues the latest call, even if its index is unknown.
    if (label === undefined || !(id || tool)) match ??= last
    if (!match && !id && !tool && !text.trim()) return
    const call = match && !isAnother(match, id, tool, text) ? match : begin(events)
    last = call
    call.label ??= label
    call.id ||= id
    call.extra ??= entry.extra_content
    const toolField = !call.tool && tool ? { tool } : undefined
    call.tool ||= tool
    // Some servers repeat the whole call at the end; once a call was emitted, only blanks can follow.
    const addition = call.index < emitted ? '' : addArguments(call, text)
    if (toolField || addition) {
      events.push({ type: 'call.delta', index: call.index, ...toolField, arguments: addition })
    }
  }

  return {
    take: (entries, events) => {
      for (const [position, entry] of entries.entries()) {
        add(entry, entries.length > 1 ? position : undefined, events)
      }
    },
    any: () => calls.some((call) => call.tool || call.text),
    extras: () => Object.fromEntries(calls.flatMap(({ index, extra }) => (extra ? [[index, extra]] : []))),
    finish: (events, isOver) => {
      for (const call of calls.slice(emitted)) {
        if (call.text && !isOver && !(call.tool && isComplete(call.text))) return STREAM_CUT
        const rest = heldArguments(call)
        if (rest) events.push({ type: 'call.delta', index: call.index, arguments: rest })
        // A call without a name is passed on: the model is told of it.
        if (call.tool || call.text) events.push(toEvent(call))
      }
      return undefined
    },
  }
}

function isAnother(call: OpenCall, id: string, tool: string, text: string): boolean {
  if (tool && call.tool && tool !== call.tool) return true
  const hasOtherId = id && call.id && id !== call.id
  // Some servers send a new id with every fragment: text that continues in the middle of arguments begins no call.
  if (hasOtherId && tool && (!call.text || /^\s*(\{|$)/.test(text))) return true
  if (!text.trim() || !(tool || hasOtherId)) return false
  if (call.isPlaceholder && !hasOtherId) return false
  const isAgain = id && id === call.id
  return !isAgain && isComplete(call.text)
}

function toEvent({ index, tool, text }: OpenCall): ModelEvent {
  return { type: 'call', index, tool, arguments: text }
}

/** The fields of a detail whose text comes in pieces; all others come once, though maybe not with the first piece. */
const TEXTS = new Set(['text', 'summary', 'thinking'])

/**
 * Adds the reasoning details of a delta (`reasoning_details` of OpenRouter, `thinking_blocks` of LiteLLM) to `details`.
 * The pieces of one detail are joined; a signature ends it.
 */
function addDetails(details: Fields[], value: unknown): void {
  for (const detail of objectsOf(value)) {
    const last = details.at(-1)
    if (!last || last.type !== detail.type || last.index !== detail.index || 'data' in detail || last.signature)
      details.push(detail)
    else details[details.length - 1] = join(last, detail)
  }
}

function join(first: Fields, addition: Fields): Fields {
  const newFields = Object.entries(addition).filter(([, value]) => value !== null)
  const mergedFields = newFields.map(([name, value]) => {
    const before = first[name]
    return [name, TEXTS.has(name) && typeof before === 'string' ? before + String(value) : value]
  })
  return { ...first, ...Object.fromEntries(mergedFields) }
}

/** Returns what a server wants back with its answer. `extras`: `extra_content` of its calls (Google), by call index. */
function chatOpaque(codec: string, details: readonly Fields[], extras: Fields): Opaque | undefined {
  const isNothing = details.length === 0 && Object.keys(extras).length === 0
  return isNothing ? undefined : { codec, data: { details, extras } }
}

/** Returns what `codec` kept of an earlier answer: its reasoning details, under the field they came in, and extras. */
export function opaqueFieldsOf(
  { opaque }: AssistantMessage,
  codec: string,
): { reasoning?: object | undefined; extras: Fields } {
  if (opaque?.codec !== codec) return { extras: {} }
  const { details: storedDetails, extras } = fieldsOf(opaque.data)
  // A caller may have written details of any other type, such as another's file.
  const details = objectsOf(storedDetails).filter((detail) =>
    /^(redacted_)?thinking$|^reasoning\./.test(textAt(detail, 'type')),
  )
  const [first] = details
  const name = /thinking/.test(textAt(first, 'type')) ? 'thinking_blocks' : 'reasoning_details'
  return { reasoning: first && { [name]: details }, extras: fieldsOf(extras) }
}

export function toChatUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): ChatUsage {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
  }
}

/** Parses the `usage` member of an object. Undefined if it reports none: many send `null`, some `{}` or zeros. */
export function chatUsage(holder: unknown): Usage | undefined {
  const usage = fieldsOf(fieldsOf(holder).usage)
  const input = countAt(usage, 'prompt_tokens')
  return toUsage({
    inputTokens: input,
    // xAI and Google count reasoning tokens only in the total.
    outputTokens: Math.max(countAt(usage, 'completion_tokens'), countAt(usage, 'total_tokens') - input),
    // DeepSeek and Moonshot have their own names for the number of cached tokens.
    cachedInputTokens:
      countAt(usage.prompt_tokens_details, 'cached_tokens') ||
      countAt(usage, 'prompt_cache_hit_tokens') ||
      countAt(usage, 'cached_tokens'),
    cacheWriteTokens: countAt(usage.prompt_tokens_details, 'cache_write_tokens'),
    reasoningTokens: countAt(usage.completion_tokens_details, 'reasoning_tokens'),
  })
}
