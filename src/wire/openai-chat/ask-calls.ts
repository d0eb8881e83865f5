import { isObject } from '../../contract/json.ts'
import type { ModelEvent } from '../../contract/model.ts'

/** One entry of a delta's `tool_calls`, cleaned: '' stands for what is not there. */
interface Fragment {
  readonly label: number | undefined
  readonly id: string
  readonly name: string
  readonly text: string
}

interface OpenCall {
  readonly index: number
  label: number | undefined
  id: string
  tool: string
  arguments: string
}

/** Puts the calls of one answer together from their fragments. */
export interface CallAssembly {
  /** Takes the `tool_calls` of one delta. What it adds is pushed to `events`. */
  readonly take: (entries: readonly unknown[], events: ModelEvent[]) => void
  /** Calls so far. */
  readonly count: () => number
  /** Whether the arguments of a call have begun and not ended. */
  readonly isInMidst: () => boolean
  /** The calls not yet told as complete. False where one of them was never named. */
  readonly finish: (events: ModelEvent[]) => boolean
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

  function find({ id, label, name }: Fragment): OpenCall | undefined {
    const byId = id === '' ? undefined : calls.findLast((call) => call.id === id && agree(call.label, label))
    if (byId || label === undefined) return byId ?? last
    // A fragment that neither names a tool nor has an id begins nothing, whatever its index.
    return calls.findLast((call) => call.label === label) ?? (id === '' && name === '' ? last : undefined)
  }

  function tellComplete(events: ModelEvent[]): void {
    for (; told < calls.length; told++) {
      const call = calls[told]
      if (!call || call.tool === '' || !isWhole(call.arguments)) return
      events.push(toEvent(call))
    }
  }

  function begin(events: ModelEvent[], { label, id }: Fragment): OpenCall {
    tellComplete(events)
    const call = { index: calls.length, label, id, tool: '', arguments: '' }
    calls.push(call)
    return call
  }

  function add(fragment: Fragment, events: ModelEvent[]): void {
    const known = find(fragment)
    if (!known && isEmpty(fragment)) return
    const call = known && !isAnother(known, fragment) ? known : begin(events, fragment)
    last = call
    call.label ??= fragment.label
    call.id ||= fragment.id
    const named = call.tool === '' && fragment.name !== '' ? { tool: fragment.name } : undefined
    if (named) call.tool = named.tool
    // Some servers end with the whole call once more; after a call was told, only blanks can follow.
    const repeated = fragment.text === call.arguments && isWhole(call.arguments)
    const text = repeated || call.index < told ? '' : fragment.text
    call.arguments += text
    if (named || text !== '') events.push({ type: 'call.delta', index: call.index, ...named, arguments: text })
  }

  return {
    take: (entries, events) => {
      for (const [position, entry] of entries.entries()) {
        if (isObject(entry)) add(toFragment(entry, entries.length > 1 ? position : undefined), events)
      }
    },
    count: () => calls.filter((call) => call.tool !== '' || call.arguments !== '').length,
    isInMidst: () => calls.some((call) => call.arguments !== '' && !isWhole(call.arguments)),
    finish: (events) => {
      for (const call of calls.slice(told)) {
        if (call.tool !== '') events.push(toEvent(call))
        else if (call.arguments !== '') return false
      }
      told = calls.length
      return true
    },
  }
}

/** Where `index` is missing, the place in the array tells apart the calls that one delta names together. */
function toFragment(entry: Record<string, unknown>, position: number | undefined): Fragment {
  // The legacy `function_call` has name and arguments without the wrapper.
  const called = isObject(entry.function) ? entry.function : entry
  return {
    label: typeof entry.index === 'number' ? entry.index : position,
    id: textOf(entry.id),
    name: textOf(called.name),
    text: argumentsText(called.arguments),
  }
}

function argumentsText(value: unknown): string {
  if (value === undefined || value === null) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function agree(a: number | undefined, b: number | undefined): boolean {
  return a === undefined || b === undefined || a === b
}

function isEmpty({ id, name, text }: Fragment): boolean {
  return id === '' && name === '' && text.trim() === ''
}

function isAnother(call: OpenCall, { id, name, text }: Fragment): boolean {
  if (name !== '' && call.tool !== '' && name !== call.tool) return true
  const otherId = id !== '' && call.id !== '' && id !== call.id
  // Some servers make the id anew for every fragment: what goes on in the middle of arguments is no beginning.
  if (otherId && name !== '' && (call.arguments === '' || /^\s*(\{|$)/.test(text))) return true
  if (text.trim() === '' || (name === '' && !otherId)) return false
  const sameAgain = id !== '' && id === call.id && text === call.arguments
  return !sameAgain && isWhole(call.arguments)
}

/** Whether nothing but blanks can follow this arguments text. */
function isWhole(text: string): boolean {
  // Read for every fragment: the last character rules out nearly all.
  if (!text.trimEnd().endsWith('}')) return false
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function toEvent({ index, tool, arguments: text }: OpenCall): ModelEvent {
  return { type: 'call', index, tool, arguments: text }
}
