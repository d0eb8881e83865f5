import { isObject } from '../../../contract/json.ts'
import type { ModelEvent } from '../../../contract/model.ts'
import { countAt, fieldsOf, objectsOf, textAt, textOrJson } from '../../fields.ts'
import { isEmptyObject } from '../call-arguments.ts'
import { locateCitations, codeRun, fetchOf, isOwnUse, queriesIn, searchesOf } from './own-tools.ts'
import { type Fields, type NativeAnswer, nativeAnswers, type SpokenCall, toUsage } from '../model-answer.ts'

/** The label of the opaque data of Gemini's answers. */
export const GEMINI = 'gemini'

/**
 * A part of an answer. The parts are kept in order: a text as its length, the next call with the id that Gemini gave
 * it; a signed thought, and what concerns tools of its own, as it came. The texts and calls themselves are in the message. A signature must go back in the
 * same part in which it came.
 */
interface PartPlace {
  text?: number
  readonly call?: true
  readonly part?: Readonly<Record<string, unknown>>
  readonly id?: string
  readonly thoughtSignature?: string
}

/** The codec for the answers of servers that speak `generateContent`. Only the stream's end marks the last chunk. */
export const geminiAnswers = nativeAnswers(geminiAnswer)

/** Assembles the calls of one answer. */
function callAssembly() {
  const calls: SpokenCall[] = []
  /** The ids of the calls; '' for one without. */
  const ids: string[] = []
  /** The indexes of calls that came without arguments: readers are shown theirs at the end. */
  const placeholders = new Set<number>()
  /** The arguments of the last call, if they come in parts. */
  let partialArguments: unknown

  /** Whether a call has no name, and so adds to the last one: Vertex AI streams arguments so. */
  function isContinuation({ name, args }: Fields): boolean {
    return !name && args === undefined && calls.at(-1)?.isSilent === true
  }

  /** Adds the `partialArgs` of a call to its arguments. */
  function addToCall({ partialArgs, willContinue }: Fields): void {
    const last = calls.at(-1)
    if (!last || !(Array.isArray(partialArgs) || willContinue === true || last.isSilent)) return
    if (!last.isSilent) partialArguments = {}
    for (const argument of objectsOf(partialArgs)) partialArguments = addArgument(partialArguments, argument)
    calls[calls.length - 1] = { ...last, arguments: JSON.stringify(partialArguments), isSilent: true }
  }

  /** Whether a call with this id came before: some gateways send it first without its arguments, and then with them. */
  function isAgain(id: string, call: SpokenCall, isEmpty: boolean): boolean {
    const index = id ? ids.indexOf(id) : -1
    const before = calls[index]
    if (!before || before.tool !== call.tool) return false
    if (before.arguments === call.arguments || isEmpty) return true
    if (!placeholders.has(index)) return false
    calls[index] = call
    return true
  }

  return {
    /** Takes a part with a call. Returns whether it is another one than those before. */
    take: (functionCall: Fields, events: ModelEvent[]): boolean => {
      if (isContinuation(functionCall)) {
        addToCall(functionCall)
        return false
      }
      const { args, willContinue, partialArgs } = functionCall
      const isPartial = willContinue === true || Array.isArray(partialArgs)
      const id = textAt(functionCall, 'id')
      const call = { tool: textAt(functionCall, 'name'), arguments: textOrJson(args) || '{}' }
      const isSilent = isPartial || (id !== '' && isEmptyObject(call.arguments))
      if (!isPartial && isAgain(id, call, isSilent)) return false
      events.push({ type: 'call.delta', index: calls.length, ...call, ...(isSilent && { arguments: '' }) })
      if (isSilent && !isPartial) placeholders.add(calls.length)
      calls.push(call)
      ids.push(id)
      addToCall(functionCall)
      return true
    },
    all: () => calls.map((call, index) => (placeholders.has(index) ? { ...call, isSilent: true } : call)),
  }
}

function geminiAnswer(): NativeAnswer {
  const calls = callAssembly()
  const places: PartPlace[] = []
  let hasBegun = false
  let reason = ''
  let counts: unknown

  let text = ''
  let grounding: Fields = {}
  let pages: unknown

  function takePart(part: Fields, events: ModelEvent[]): void {
    const { functionCall, thought } = part
    const piece = textAt(part, 'text')
    const thoughtSignature = textAt(part, 'thoughtSignature')
    const signed = thoughtSignature ? { thoughtSignature } : undefined
    if (isObject(functionCall)) {
      const id = textAt(functionCall, 'id')
      if (calls.take(functionCall, events)) places.push({ call: true, ...(id && { id }), ...signed })
      return
    }
    if (piece) events.push({ type: thought ? 'reasoning' : 'text', text: piece })
    if (piece && !thought) text += piece
    events.push(...codeRun(part, places.at(-1)?.part))
    const last = places.at(-1)
    const isText = 'text' in part && !thought
    // A signed part is never merged with another.
    if (isText && !signed && last?.text !== undefined && !last.thoughtSignature) last.text += piece.length
    else if (isText && (piece || signed)) places.push({ text: piece.length, ...signed })
    else if (signed || isOwnUse(part)) places.push({ part })
  }

  return {
    take: ({ candidates, promptFeedback, usageMetadata }, events) => {
      counts = usageMetadata ?? counts
      const [candidate] = objectsOf(candidates)
      // A prompt that was blocked has no candidate.
      const blocked = textAt(promptFeedback, 'blockReason') && 'SAFETY'
      hasBegun ||= Boolean(candidate || blocked)
      const finishReason = textAt(candidate, 'finishReason')
      reason = blocked || (/UNSPECIFIED/.test(finishReason) ? '' : finishReason) || reason
      for (const part of objectsOf(fieldsOf(candidate?.content).parts)) takePart(part, events)
      grounding = { ...grounding, ...fieldsOf(candidate?.groundingMetadata) }
      pages = fieldsOf(candidate?.urlContextMetadata).urlMetadata ?? pages
      if (finishReason) events.push(...searchesOf(grounding), ...fetchOf(pages))
      return false
    },
    hasBegun: () => hasBegun,
    reason: () => reason,
    calls: calls.all,
    usage: () => {
      // The token count of the candidates excludes thoughts.
      const thoughts = countAt(counts, 'thoughtsTokenCount')
      const input = countAt(counts, 'promptTokenCount') + countAt(counts, 'toolUsePromptTokenCount')
      const output = countAt(counts, 'candidatesTokenCount') + thoughts
      const cachedInputTokens = countAt(counts, 'cachedContentTokenCount')
      return toUsage({
        inputTokens: input,
        outputTokens: output,
        cachedInputTokens,
        reasoningTokens: thoughts,
        webSearches: queriesIn(grounding).length,
      })
    },
    citations: () => locateCitations(grounding, text),
    opaque: () => (places.some(mustReturn) ? { codec: GEMINI, data: places } : undefined),
  }
}

function mustReturn({ part, id, thoughtSignature }: PartPlace): boolean {
  return Boolean(part || id || thoughtSignature)
}

const VALUES = ['stringValue', 'numberValue', 'boolValue', 'nullValue'] as const

/**
 * Adds a part of a call's arguments to what came before, and returns them together. The part is a `PartialArg` of
 * Vertex AI: a `jsonPath` such as `$.items[0].name`, and a value there. A text continues from the text at the same
 * path.
 */
function addArgument(target: unknown, part: Fields): unknown {
  const field = VALUES.find((name) => name in part)
  const keys = [...String(part.jsonPath).matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g)].map(
    ([, name, index, single, double]) => (index === undefined ? (name ?? single ?? double ?? '') : Number(index)),
  )
  return field === undefined ? target : withValue(target, keys, field === 'nullValue' ? null : part[field])
}

/** Returns a copy of a value with another one at a path. What is missing on the way is made. */
function withValue(target: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (key === undefined) return typeof target === 'string' && typeof value === 'string' ? target + value : value
  if (typeof key === 'number') {
    const list: unknown[] = Array.isArray(target) ? [...target] : []
    list[Math.min(key, list.length)] = withValue(list[key], rest, value)
    return list
  }
  const object = isObject(target) ? target : {}
  return { ...object, [key]: withValue(Object.hasOwn(object, key) ? object[key] : undefined, rest, value) }
}
