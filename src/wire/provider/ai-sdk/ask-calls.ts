import { isObject } from '../../../contract/json.ts'
import type { ModelEvent } from '../../../contract/model.ts'
import type { OpenCall } from './kept.ts'

/** Assembles the calls of one answer from its parts, and pushes what they add to `events`. */
export interface OpenCalls {
  /** Returns the call with this id, and begins it if there is none. */
  readonly begin: (id: string, tool: string, events: ModelEvent[]) => OpenCall
  readonly add: (id: string, delta: unknown, events: ModelEvent[]) => void
  /** Takes a `tool-call`, a part that has the whole call. */
  readonly complete: (part: Readonly<Record<string, unknown>>, events: ModelEvent[]) => OpenCall
  readonly any: () => boolean
  /** Returns whether all calls are complete. */
  readonly areWhole: () => boolean
}

export function openCalls(): OpenCalls {
  const calls = new Map<string, OpenCall>()
  /** The number of calls emitted as complete: always the first ones, so that calls are emitted in order. */
  let told = 0

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
      const open = calls.get(id)
      if (!open || typeof delta !== 'string' || delta === '') return
      events.push({ type: 'call.delta', index: open.call, arguments: delta })
    },
    complete: ({ toolCallId, toolName, input, providerMetadata }, events) => {
      const isUnsaid = !calls.has(String(toolCallId))
      const open = begin(String(toolCallId), String(toolName), events)
      open.arguments = typeof input === 'string' ? input : JSON.stringify(input ?? {})
      if (isObject(providerMetadata)) open.data = providerMetadata
      if (isUnsaid && open.arguments) events.push({ type: 'call.delta', index: open.call, arguments: open.arguments })
      for (const { call: index, tool, arguments: text } of [...calls.values()].slice(told)) {
        if (text === undefined) break
        events.push({ type: 'call', index, tool, arguments: text })
        told += 1
      }
      return open
    },
    any: () => calls.size > 0,
    areWhole: () => told === calls.size,
  }
}
