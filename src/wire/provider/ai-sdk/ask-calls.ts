import { isObject } from '../../../contract/json.ts'
import type { ModelEvent } from '../../../contract/model.ts'
import type { OpenCall } from './opaque.ts'

/** Assembles the calls of one answer from its parts, and pushes what they add to `events`. */
export interface CallAssembler {
  /** Returns the call with this id, and begins it if there is none. */
  readonly begin: (id: string, tool: string, events: ModelEvent[]) => OpenCall
  readonly add: (id: string, delta: unknown, events: ModelEvent[]) => void
  /** Takes a `tool-call`, a part that has the whole call. */
  readonly complete: (part: Readonly<Record<string, unknown>>, events: ModelEvent[]) => OpenCall
  readonly any: () => boolean
  /** Returns whether all calls are complete. */
  readonly areComplete: () => boolean
}

export function callAssembler(): CallAssembler {
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
