import { isObject, parseJson } from '../../contract/json.ts'
import type { ModelError, ModelEvent } from '../../contract/model.ts'
import { textOrJson } from '../fields.ts'
import type { Fields } from '../model-answer.ts'
import { NAMELESS, STREAM_CUT } from '../model-error.ts'

/** A call as far as it has been said; '' and undefined stand for what was not. */
interface OpenCall {
  readonly index: number
  label?: number | undefined
  id: string
  tool: string
  arguments: string
  /** What Google's servers want back with the call. */
  extra?: unknown
}

/** Puts the calls of one answer together from their fragments. */
export interface CallAssembly {
  /** Takes the `tool_calls` of one delta. What it adds is pushed to `events`. */
  readonly take: (entries: readonly Fields[], events: ModelEvent[]) => void
  /** Whether there are calls so far. */
  readonly any: () => boolean
  /** What is to go back with calls, by their index. */
  readonly extras: () => Readonly<Record<string, unknown>>
  /**
   * Tells the calls that are not yet told as complete, up to one that cannot be: it was never named, or it ends in the
   * midst of its arguments. That is its own affair where the answer itself `isOver`, but else it was cut.
   */
  readonly finish: (events: ModelEvent[], isOver: boolean) => ModelError | undefined
}

/**
 * No server can be trusted to label its calls: `index` is left out, always 0, or counted wrongly; ids are left out, come
 * late, are empty, repeated, or new in every fragment. So a call is known by nothing alone. A fragment goes to the call
 * that has its id, else its index, else the one spoken of last, unless what it says cannot be said of that call: then
 * another call begins.
 */
export function callAssembly(): CallAssembly {
  const calls: OpenCall[] = []
  let last: OpenCall | undefined
  /** Calls told as complete: always the first ones, so that they are told in order. */
  let told = 0

  function begin(events: ModelEvent[]): OpenCall {
    for (const call of calls.slice(told)) {
      if (!call.tool || !isWhole(call.arguments)) break
      events.push(toEvent(call))
      told += 1
    }
    const call = { index: calls.length, id: '', tool: '', arguments: '' }
    calls.push(call)
    return call
  }

  function add(entry: Fields, position: number | undefined, events: ModelEvent[]): void {
    // The legacy `function_call` has name and arguments without the wrapper.
    const called = isObject(entry.function) ? entry.function : entry
    const id = textOrJson(entry.id)
    const tool = textOrJson(called.name)
    const text = textOrJson(called.arguments)
    // Where it is missing, the place in the array tells apart the calls that one delta names together.
    const label = typeof entry.index === 'number' ? entry.index : position
    let known = calls.findLast((call) => id && call.id === id && (call.label ?? label) === (label ?? call.label))
    if (label !== undefined) known ??= calls.findLast((call) => call.label === label)
    // A fragment that neither names a tool nor has an id begins nothing, whatever its index.
    if (label === undefined || !(id || tool)) known ??= last
    if (!known && !id && !tool && !text.trim()) return
    const call = known && !isAnother(known, id, tool, text) ? known : begin(events)
    last = call
    call.label ??= label
    call.id ||= id
    call.extra ??= entry.extra_content
    const named = !call.tool && tool ? { tool } : undefined
    call.tool ||= tool
    // Some servers end with the whole call once more; after a call was told, only blanks can follow.
    const isAgain = call.index < told || (text === call.arguments && isWhole(text))
    if (!isAgain) call.arguments += text
    if (named || (text && !isAgain)) {
      events.push({ type: 'call.delta', index: call.index, ...named, arguments: isAgain ? '' : text })
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
      for (const call of calls.slice(told)) {
        if (call.arguments && !isOver && !isWhole(call.arguments)) return STREAM_CUT
        if (call.tool) events.push(toEvent(call))
        else if (call.arguments) return NAMELESS
      }
      return undefined
    },
  }
}

function isAnother(call: OpenCall, id: string, tool: string, text: string): boolean {
  if (tool && call.tool && tool !== call.tool) return true
  const hasOtherId = id && call.id && id !== call.id
  // Some servers make the id anew for every fragment: what goes on in the middle of arguments is no beginning.
  if (hasOtherId && tool && (!call.arguments || /^\s*(\{|$)/.test(text))) return true
  if (!text.trim() || !(tool || hasOtherId)) return false
  const isAgain = id && id === call.id && text === call.arguments
  return !isAgain && isWhole(call.arguments)
}

/** Whether nothing but blanks can follow this arguments text. */
function isWhole(text: string): boolean {
  // Read for every fragment: the last character rules out nearly all.
  return text.trimEnd().endsWith('}') && parseJson(text) !== undefined
}

function toEvent({ index, tool, arguments: text }: OpenCall): ModelEvent {
  return { type: 'call', index, tool, arguments: text }
}
