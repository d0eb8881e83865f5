import { parseJson } from '../../../contract/json.ts'
import type { Opaque } from '../../../contract/message.ts'
import type { ModelError, ModelEvent } from '../../../contract/model.ts'
import { TOOL_SEARCH } from '../../../contract/tool.ts'
import { fieldsOf, objectsOf, textAt } from '../../fields.ts'
import type { Fields } from '../model-answer.ts'
import { STREAM_CUT } from '../model-error.ts'
import { itemKind, KINDS, type ItemCall, type OpenItem, openItems } from './ask-items.ts'
import { responsesOpaque } from './ask-opaque.ts'
import { echoedArguments } from './arguments-text.ts'

/** Assembles the output of one response from its events. The model events are pushed to `events`. */
export interface OutputAssembler {
  /** Takes an event of the response. Events that are not about the output add nothing. */
  readonly take: (chunk: Fields, type: unknown, events: ModelEvent[]) => void
  /** Takes the complete output, and emits what was not emitted yet; calls only if the response `isComplete`. */
  readonly close: (output: unknown, isComplete: boolean, events: ModelEvent[]) => ModelError | undefined
  readonly hasCalls: () => boolean
  readonly opaque: () => Opaque | undefined
}

export function outputAssembler(): OutputAssembler {
  const items = openItems()
  const calls: ItemCall[] = []
  /** The number of calls emitted as complete: always the first ones, so that calls are emitted in order. */
  let emittedCalls = 0

  function addToCall(open: OpenItem, name: string, addition: string, events: ModelEvent[]): ItemCall {
    const call = (open.call ??= { index: calls.length, tool: '', arguments: '', isComplete: false })
    calls[call.index] = call
    const toolField = !call.tool && name ? { tool: name } : undefined
    call.tool ||= name
    call.arguments += addition
    if (toolField || addition) events.push({ type: 'call.delta', index: call.index, ...toolField, arguments: addition })
    return call
  }

  function emitCalls(events: ModelEvent[]): void {
    for (const { isComplete, ...call } of calls.slice(emittedCalls)) {
      if (!isComplete) return
      events.push({ type: 'call', ...call })
      emittedCalls += 1
    }
  }

  /** Takes a complete item, and emits what no delta had of it. */
  function complete(open: OpenItem, item: Fields, events: ModelEvent[]): void {
    if (open.isComplete || !item.type) return
    open.isComplete = true
    if (item.type === 'message') {
      if (open.emittedLength === 0) emitText(open, 'text', textIn(item.content, ''), events)
      open.part = { text: open.emittedLength, ...(typeof item.phase === 'string' && { phase: item.phase }) }
    } else if (item.type === 'reasoning') {
      if (open.emittedLength === 0)
        emitText(open, 'reasoning', textIn(item.summary, '\n\n') || textIn(item.content, ''), events)
      if (item.encrypted_content) open.part = { reasoning: item }
    } else if (item.type === 'function_call' && item.status !== 'incomplete') {
      const call = addToCall(open, textAt(item, 'name'), open.call?.arguments ? '' : textAt(item, 'arguments'), events)
      // The complete text takes precedence over the deltas.
      call.arguments = textAt(item, 'arguments') || call.arguments
      call.isComplete = call.tool !== ''
      open.part = { call: call.index }
      emitCalls(events)
    }
  }

  function closeCalls(events: ModelEvent[]): ModelError | undefined {
    for (const call of calls) {
      if (!call.isComplete && parseJson(call.arguments) === undefined) return STREAM_CUT
      call.isComplete = true
    }
    emitCalls(events)
    return undefined
  }

  return {
    take: (chunk, type, events) => {
      const item = itemOf(chunk.item)
      const delta = textAt(chunk, 'delta')
      const kind = TEXTS[String(type)]
      const open = items.withKeys(
        [item.id ?? chunk.item_id, item.call_id, chunk.output_index],
        KINDS[String(type)] ?? itemKind(item.type),
      )
      const isCall = item.type === 'function_call'
      if (kind) emitText(open, kind, delta, events)
      else if (type === 'response.output_item.added' && isCall) addToCall(open, textAt(item, 'name'), '', events)
      else if (type === 'response.output_item.done') complete(open, item, events)
      else if (type === 'response.function_call_arguments.delta') addToCall(open, '', delta, events)
      else if (type === 'response.function_call_arguments.done' && chunk.name)
        addToCall(open, textAt(chunk, 'name'), open.call?.arguments ? '' : textAt(chunk, 'arguments'), events)
      else if (type === 'response.reasoning_summary_part.added' && open.emittedLength > 0)
        emitText(open, 'reasoning', '\n\n', events)
    },
    close: (output, isComplete, events) => {
      const repeatedItems = new Set<OpenItem>()
      for (const rawItem of Array.isArray(output) ? output : []) {
        const item = itemOf(rawItem)
        if (!isComplete && item.type === 'function_call') continue
        complete(items.streamed(item, repeatedItems), item, events)
      }
      return isComplete ? closeCalls(events) : undefined
    },
    hasCalls: () => calls.length > 0,
    opaque: () => responsesOpaque(items.all.flatMap(({ part }) => part ?? [])),
  }
}

/** Returns an item's fields. A search that the server does not run becomes a call; its arguments are JSON, not text. */
function itemOf(value: unknown): Fields {
  const item = fieldsOf(value)
  if (item.type !== 'tool_search_call' || item.execution === 'server') return item
  return { ...item, type: 'function_call', name: TOOL_SEARCH, arguments: echoedArguments(item.arguments) }
}

/** The types of events whose `delta` is text or reasoning. */
const TEXTS: Readonly<Record<string, 'text' | 'reasoning'>> = {
  'response.output_text.delta': 'text',
  'response.refusal.delta': 'text',
  'response.reasoning_text.delta': 'reasoning',
  'response.reasoning_summary_text.delta': 'reasoning',
}

function emitText(open: OpenItem, type: 'text' | 'reasoning', text: string, events: ModelEvent[]): void {
  if (text === '') return
  open.emittedLength += text.length
  events.push({ type, text })
}

/** Returns the text of an item's parts. A refusal counts as text. */
function textIn(parts: unknown, between: string): string {
  const texts = objectsOf(parts).map((part) => textAt(part, 'text') || textAt(part, 'refusal'))
  return texts.filter(Boolean).join(between)
}
