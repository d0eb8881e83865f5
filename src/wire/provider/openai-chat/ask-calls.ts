import { isObject, parseJson } from '../../../contract/json.ts'
import type { ModelError, ModelEvent } from '../../../contract/model.ts'
import { textOrJson } from '../../fields.ts'
import type { Fields } from '../model-answer.ts'
import { STREAM_CUT } from '../model-error.ts'

/** A call as far as it has arrived; '' or undefined stand for what has not. */
interface OpenCall {
  readonly index: number
  label?: number | undefined
  id: string
  tool: string
  arguments: string
  /** Data that Google's servers want back with the call. */
  extra?: unknown
}

/** Assembles the calls of one answer from their fragments. */
export interface CallAssembly {
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
      if (!call.tool || !isComplete(call.arguments)) break
      events.push(toEvent(call))
      emitted += 1
    }
    const call = { index: calls.length, id: '', tool: '', arguments: '' }
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
    const label = typeof entry.index === 'number' ? entry.index : position
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
    const isAgain = call.index < emitted || (text === call.arguments && isComplete(text))
    if (!isAgain) call.arguments += text
    if (toolField || (text && !isAgain)) {
      events.push({ type: 'call.delta', index: call.index, ...toolField, arguments: isAgain ? '' : text })
    }
  }

  return {
    take: (entries, events) => {
      for (const [position, entry] of entries.entries()) {
        add(entry, entries.length > 1 ? position : undefined, events)
      }
    },
    any: () => calls.some((call) => call.tool || call.arguments),
    extras: () => Object.fromEntries(calls.flatMap(({ index, extra }) => (extra ? [[index, extra]] : []))),
    finish: (events, isOver) => {
      for (const call of calls.slice(emitted)) {
        if (call.arguments && !isOver && !(call.tool && isComplete(call.arguments))) return STREAM_CUT
        // A call without a name is passed on: the model is told of it.
        if (call.tool || call.arguments) events.push(toEvent(call))
      }
      return undefined
    },
  }
}

function isAnother(call: OpenCall, id: string, tool: string, text: string): boolean {
  if (tool && call.tool && tool !== call.tool) return true
  const hasOtherId = id && call.id && id !== call.id
  // Some servers send a new id with every fragment: text that continues in the middle of arguments begins no call.
  if (hasOtherId && tool && (!call.arguments || /^\s*(\{|$)/.test(text))) return true
  if (!text.trim() || !(tool || hasOtherId)) return false
  const isAgain = id && id === call.id && text === call.arguments
  return !isAgain && isComplete(call.arguments)
}

/** Returns whether this arguments text is complete: nothing but blanks can follow it. */
function isComplete(text: string): boolean {
  // Checked for every fragment: the last character rules out nearly all texts without parsing them.
  return text.trimEnd().endsWith('}') && parseJson(text) !== undefined
}

function toEvent({ index, tool, arguments: text }: OpenCall): ModelEvent {
  return { type: 'call', index, tool, arguments: text }
}
