import { isObject, parseJson } from '../../../contract/json.ts'
import type { ModelError, ModelEvent, ModelFinish } from '../../../contract/model.ts'
import { retryAfterMs } from '../../../contract/time-limit.ts'
import type { Usage } from '../../../contract/usage.ts'
import { aiSdkOpaque, type OpenCall, type OpenText } from './request.ts'
import { badResponse, modelError, STREAM_CUT } from '../model-error.ts'
import { explainError, UNEXPLAINED } from '../openai-chat/types.ts'

/** Reads the parts of one `doStream`. Contract: that of `AnswerDecoder`, with parts in place of frames. */
interface PartsDecoder {
  readonly isDone: boolean
  readonly push: (part: unknown) => readonly ModelEvent[]
  readonly end: () => readonly ModelEvent[]
}

const TEXTS: Readonly<Record<string, OpenText['type']>> = {
  'text-start': 'text',
  'text-delta': 'text',
  'text-end': 'text',
  'reasoning-start': 'reasoning',
  'reasoning-delta': 'reasoning',
  'reasoning-end': 'reasoning',
}

/** Reads one answer. Calls that the provider runs itself are not emitted. */
export function partsDecoder(): PartsDecoder {
  const calls = callAssembler()
  const texts = new Map<string, OpenText>()
  /** The texts and calls, in the order in which they began. */
  const parts = new Set<OpenText | OpenCall>()
  let isDone = false

  function fail(error: ModelError): readonly ModelEvent[] {
    isDone = true
    return [{ type: 'error', error }]
  }

  function text(type: OpenText['type'], part: Record<string, unknown>): readonly ModelEvent[] {
    const { id, delta, providerMetadata } = part
    const key = `${type} ${String(id)}`
    let openText = texts.get(key)
    if (!openText) texts.set(key, (openText = { type, length: 0 }))
    parts.add(openText)
    if (isObject(providerMetadata)) openText.data = providerMetadata
    // An id may be used again, once its text has ended.
    if (part.type === `${type}-end`) texts.delete(key)
    if (typeof delta !== 'string' || delta === '') return []
    openText.length += delta.length
    return [{ type, text: delta }]
  }

  function close({ finishReason, usage }: Record<string, unknown>): readonly ModelEvent[] {
    const { unified: reason, raw = null } = isObject(finishReason)
      ? finishReason
      : { unified: finishReason ?? 'unknown' }
    if (reason === 'error') return fail(modelError(UNEXPLAINED))
    // A provider that knows no reason why its model stopped has read a stream that was cut.
    if (reason === 'unknown' || (reason === 'other' && raw === null && isObject(finishReason))) return fail(STREAM_CUT)
    const finish = finishOf(reason, calls.any())
    if (finish === 'tool_calls' && !calls.areComplete()) return fail(badResponse('The model did not finish a call.'))
    isDone = true
    const totalUsage = aiSdkUsage(usage)
    const opaque = aiSdkOpaque([...parts])
    return [{ type: 'finish', finish, usage: totalUsage, opaque }]
  }

  function take(part: Record<string, unknown>): readonly ModelEvent[] {
    const { type, id, toolName, delta, providerExecuted } = part
    const kind = TEXTS[String(type)]
    if (kind) return text(kind, part)
    if (type === 'finish') return close(part)
    if (type === 'error') return fail(providerError(part.error))
    const events: ModelEvent[] = []
    if (providerExecuted === true) return events
    if (type === 'tool-input-start') parts.add(calls.begin(String(id), String(toolName), events))
    else if (type === 'tool-input-delta') calls.add(String(id), delta, events)
    else if (type === 'tool-call') parts.add(calls.complete(part, events))
    return events
  }

  return {
    get isDone() {
      return isDone
    },
    push: (part) => (isDone || !isObject(part) ? [] : take(part)),
    end: () => (isDone ? [] : fail(STREAM_CUT)),
  }
}

function finishOf(reason: unknown, hasCalls: boolean): ModelFinish {
  if (reason === 'length') return 'length'
  if (reason === 'content-filter') return 'content_filter'
  return hasCalls ? 'tool_calls' : 'stop'
}

/** Assembles the calls of one answer from its parts, and pushes what they add to `events`. */
interface CallAssembler {
  /** Returns the call with this id, and begins it if there is none. */
  readonly begin: (id: string, tool: string, events: ModelEvent[]) => OpenCall
  readonly add: (id: string, delta: unknown, events: ModelEvent[]) => void
  /** Takes a `tool-call`, a part that has the whole call. */
  readonly complete: (part: Readonly<Record<string, unknown>>, events: ModelEvent[]) => OpenCall
  readonly any: () => boolean
  /** Returns whether all calls are complete. */
  readonly areComplete: () => boolean
}

function callAssembler(): CallAssembler {
  const calls = new Map<string, OpenCall>()
  /** The number of calls emitted as complete: always the first ones, so that calls are emitted in order. */
  let emitted = 0

  function begin(id: string, tool: string, events: ModelEvent[]): OpenCall {
    let call = calls.get(id)
    if (!call) {
      calls.set(id, (call = { call: calls.size, id, tool }))
      events.push({ type: 'call.delta', index: call.call, tool, arguments: '' })
    }
    return call
  }

  return {
    begin,
    add: (id, delta, events) => {
      const openCall = calls.get(id)
      if (!openCall || typeof delta !== 'string' || delta === '') return
      events.push({ type: 'call.delta', index: openCall.call, arguments: delta })
    },
    complete: ({ toolCallId, toolName, input, providerMetadata }, events) => {
      const isNew = !calls.has(String(toolCallId))
      const openCall = begin(String(toolCallId), typeof toolName === 'string' ? toolName : '', events)
      openCall.arguments = typeof input === 'string' ? input : JSON.stringify(input ?? {})
      if (isObject(providerMetadata)) openCall.data = providerMetadata
      if (isNew && openCall.arguments)
        events.push({ type: 'call.delta', index: openCall.call, arguments: openCall.arguments })
      for (const { call: index, tool, arguments: text } of [...calls.values()].slice(emitted)) {
        if (text === undefined) break
        events.push({ type: 'call', index, tool, arguments: text })
        emitted += 1
      }
      return openCall
    },
    any: () => calls.size > 0,
    areComplete: () => emitted === calls.size,
  }
}

/** Parses usage: plain numbers in v2, objects of a total and its parts in v3 and v4. Undefined if there is none. */
function aiSdkUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens: input, outputTokens: output } = usage
  const inputTokens = count(isObject(input) ? input.total : input)
  const outputTokens = count(isObject(output) ? output.total : output)
  if (inputTokens + outputTokens === 0) return undefined
  const cached = count(isObject(input) ? input.cacheRead : usage.cachedInputTokens)
  const reasoning = count(isObject(output) ? output.reasoning : usage.reasoningTokens)
  return {
    inputTokens,
    outputTokens,
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}

/** Matches the names of AI SDK errors about a provider's answer; all other errors are about the request. */
const OF_ANSWER = /Parse|TypeValidation|EmptyResponse|InvalidResponse/

/**
 * Converts an error that a provider threw, with its status and whether a retry makes sense, if it says so. Undefined
 * for an error that is not one of the SDK's, such as a connection error.
 */
export function thrownError(error: unknown): ModelError | undefined {
  if (!isObject(error)) return undefined
  const { name, message, statusCode, isRetryable, responseHeaders, responseBody, data } = error
  const text = typeof message === 'string' ? message : UNEXPLAINED.message
  const status = typeof statusCode === 'number' ? statusCode : undefined
  if (status === undefined && isRetryable === undefined) {
    if (typeof name !== 'string' || !name.startsWith('AI_')) return undefined
    if (OF_ANSWER.test(name)) return badResponse('The answer of the model server is malformed.')
    return modelError({ message: text, code: name.includes('APIKey') ? 'api_key' : 'invalid_request' })
  }
  // The answer had begun, and broke off before its first part.
  if (status !== undefined && status < 400) return STREAM_CUT
  const body = typeof responseBody === 'string' ? parseJson(responseBody) : undefined
  const fault = explainError(data) ?? explainError(body) ?? { message: text }
  const wait = isObject(responseHeaders) ? retryAfterMs((name) => responseHeaders[name]) : undefined
  return {
    ...modelError({ ...fault, ...(status !== undefined && { status }) }),
    ...(typeof isRetryable === 'boolean' && { retryable: isRetryable }),
    ...(wait !== undefined && { retryAfterMs: wait }),
  }
}

/** Converts an error that came as a part of a stream. */
function providerError(error: unknown): ModelError {
  const fault = typeof error === 'string' && error !== '' ? { message: error } : explainError(error)
  return thrownError(error) ?? modelError(fault ?? UNEXPLAINED)
}
