import { isObject } from '../../../contract/json.ts'
import type { ModelError, ModelEvent, ModelFinish } from '../../../contract/model.ts'
import { badResponse, modelError, STREAM_CUT } from '../model-error.ts'
import { UNEXPLAINED } from '../openai-chat/error.ts'
import { callAssembler } from './ask-calls.ts'
import { providerError } from './ask-error.ts'
import { aiSdkUsage } from './ask-usage.ts'
import { type OpenCall, type OpenText, aiSdkOpaque } from './opaque.ts'

/** Reads the parts of one `doStream`. Contract: that of `AnswerDecoder`, with parts in place of frames. */
export interface PartsDecoder {
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
    return [{ type: 'finish', finish, ...(totalUsage && { usage: totalUsage }), ...(opaque && { opaque }) }]
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
