import { parseJson } from '../../../contract/json.ts'
import type { Opaque } from '../../../contract/message.ts'
import type { ModelError, ModelEvent, ModelRequest } from '../../../contract/model.ts'
import { TOOL_SEARCH } from '../../../contract/tool.ts'
import type { Citation } from '../../../contract/provider-tool.ts'
import type { Usage } from '../../../contract/usage.ts'
import { countAt, fieldsOf, objectsOf, textAt, textOrJson } from '../../fields.ts'
import {
  answerCodec,
  type DecodedAnswer,
  errorEvent,
  type Fields,
  finishEvent,
  HIDDEN_REASONING,
  toUsage,
} from '../model-answer.ts'
import { addArguments, type CallArguments, heldArguments, isComplete, isEmptyObject } from '../call-arguments.ts'
import { modelError, NOTHING, STREAM_CUT } from '../model-error.ts'
import { explainError } from '../openai-chat/types.ts'
import { citationsIn } from '../provider-call.ts'
import { readKindCall, searchName } from './tool-kinds.ts'
import { hostedCall, isHostedItem, isWebSearch, type OutputPart, responsesOpaque } from './request.ts'

/** The codec for the answers of Responses servers. */
export const responsesAnswers = answerCodec(responsesAnswer)

/** The input of a custom tool comes as it is, and becomes the only argument of a function. */
const INPUT_DELTA = 'response.custom_tool_call_input.delta'
const INPUT_DONE = 'response.custom_tool_call_input.done'

const ENDS = /^response\.(?:completed|incomplete|failed|cancelled)$/

/** Reads one answer. It is complete with the response object that ends it; a stream that ends before was cut. */
function responsesAnswer(request?: ModelRequest): DecodedAnswer {
  const output = outputAssembler(request ? searchName(request) : TOOL_SEARCH)

  /** Emits what the complete response holds and no event told, and returns how the answer ended. */
  function endOf(
    { status, error, incomplete_details, output: items, usage }: Fields,
    events: ModelEvent[],
  ): ModelEvent {
    if (error || status === 'failed' || status === 'cancelled') {
      return errorEvent(modelError(explainError({ error }) ?? { message: `The response is ${String(status)}.` }))
    }
    const isWhole = status !== 'incomplete'
    const fault = output.close(items, isWhole, events)
    if (fault) return errorEvent(fault)
    const totalUsage = usageOf(fieldsOf(usage), output.webSearches())
    if (isWhole)
      return finishEvent(output.hasCalls() ? 'tool_calls' : 'stop', totalUsage, output.opaque(), {
        citations: output.citations(),
      })
    const isFiltered = textAt(incomplete_details, 'reason') === 'content_filter'
    return finishEvent(isFiltered ? 'content_filter' : 'length', totalUsage, undefined)
  }

  return {
    take: (chunk, events, event) => {
      const { type = event, object, response } = chunk
      if (object === 'response') return endOf(chunk, events)
      // The type of the event gives the status of a response that has none.
      if (ENDS.test(String(type))) return endOf({ status: String(type).slice(9), ...fieldsOf(response) }, events)
      output.take(chunk, type, events)
      return undefined
    },
    isOver: () => false,
    close: (_, isWhole) => errorEvent(isWhole ? NOTHING : STREAM_CUT),
  }
}

function usageOf(usage: Fields, webSearches: number): Usage | undefined {
  return toUsage({
    inputTokens: countAt(usage, 'input_tokens'),
    outputTokens: countAt(usage, 'output_tokens'),
    cachedInputTokens: countAt(usage.input_tokens_details, 'cached_tokens'),
    cacheWriteTokens: countAt(usage.input_tokens_details, 'cache_write_tokens'),
    reasoningTokens: countAt(usage.output_tokens_details, 'reasoning_tokens'),
    webSearches,
  })
}

/** Assembles the output of one response from its events. The model events are pushed to `events`. */
interface OutputAssembler {
  /** Takes an event of the response. Events that are not about the output add nothing. */
  readonly take: (chunk: Fields, type: unknown, events: ModelEvent[]) => void
  /** Takes the complete output, and emits what was not emitted yet; calls only if the response `isComplete`. */
  readonly close: (output: unknown, isComplete: boolean, events: ModelEvent[]) => ModelError | undefined
  readonly hasCalls: () => boolean
  /** Returns how often the server has searched the web. */
  readonly webSearches: () => number
  readonly citations: () => readonly Citation[]
  readonly opaque: () => Opaque | undefined
}

/** `search`: the name of the tool that the model calls by searching. */
function outputAssembler(search: string): OutputAssembler {
  const items = openItems()
  const calls = openCalls()
  let textLength = 0
  let webSearches = 0
  const itemOf = (value: unknown) => asFunctionCall(fieldsOf(value), search)
  const citations: Citation[] = []

  function addText(open: OpenItem, text: string, events: ModelEvent[]): void {
    if (open.emittedLength === 0) open.start = textLength
    textLength += text.length
    emitText(open, 'text', text, events)
  }

  /** Takes a complete item, and emits what no delta had of it. */
  function complete(open: OpenItem, item: Fields, events: ModelEvent[]): void {
    if (open.isComplete || !item.type) return
    open.isComplete = true
    if (item.type === 'message') {
      if (open.emittedLength === 0) addText(open, textIn(item.content, ''), events)
      citations.push(...collectCitations(item.content, open.start))
      open.part = { text: open.emittedLength, ...(typeof item.phase === 'string' && { phase: item.phase }) }
    } else if (item.type === 'reasoning') {
      if (open.emittedLength === 0)
        emitText(open, 'reasoning', textIn(item.summary, '\n\n') || textIn(item.content, ''), events)
      if (item.encrypted_content) open.part = { reasoning: item }
      if (open.part && open.emittedLength === 0 && textLength === 0) events.push(HIDDEN_REASONING)
    } else if (item.type === 'function_call' && item.status !== 'incomplete') {
      const itemText = textOrJson(item.arguments)
      const call = calls.add(open, textAt(item, 'name'), calls.missing(open, itemText), events)
      // The complete text takes precedence over the deltas, unless it is what stands for them.
      if (itemText && !call.isPlaceholder && !(isEmptyObject(itemText) && isComplete(call.text))) call.text = itemText
      call.isComplete = call.tool !== ''
      open.part = { call: call.index }
      calls.emit(events)
    } else if (isHostedItem(item)) {
      if (isWebSearch(item)) webSearches += 1
      open.part = { hosted: item }
      events.push(...hostedCall(item))
    }
  }

  return {
    take: (chunk, type, events) => {
      const item = itemOf(chunk.item)
      const delta = textAt(chunk, 'delta')
      const kind = TEXTS[String(type)]
      const open = items.withKeys(
        [item.id ?? chunk.item_id, item.call_id, chunk.output_index],
        KINDS[String(type)] ?? itemKind(item.type),
        type === 'response.output_item.added',
      )
      const isCall = item.type === 'function_call'
      if (kind === 'text') addText(open, delta, events)
      else if (kind) emitText(open, kind, delta, events)
      else if (type === 'response.output_item.added' && isCall) calls.add(open, textAt(item, 'name'), '', events)
      else if (type === 'response.output_item.done') complete(open, item, events)
      else if (type === 'response.function_call_arguments.delta') calls.add(open, '', delta, events)
      else if (type === INPUT_DELTA)
        calls.add(open, '', (open.call?.text ? '' : '{"input":"') + JSON.stringify(delta).slice(1, -1), events)
      else if (type === INPUT_DONE && open.call?.text) calls.add(open, '', '"}', events)
      else if (type === 'response.function_call_arguments.done' && (chunk.name || open.call))
        calls.add(open, textAt(chunk, 'name'), calls.missing(open, textOrJson(chunk.arguments)), events)
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
      return isComplete ? calls.close(events) : undefined
    },
    hasCalls: calls.hasAny,
    webSearches: () => webSearches,
    citations: () => citations,
    opaque: () => responsesOpaque(items.all.flatMap(({ part }) => part ?? [])),
  }
}

/** The calls of one response. They are emitted as complete in their order. */
function openCalls() {
  const calls: ItemCall[] = []
  /** The number of calls emitted as complete: always the first ones. */
  let emittedCalls = 0

  function add(open: OpenItem, name: string, addition: string, events: ModelEvent[]): ItemCall {
    const call = (open.call ??= { index: calls.length, tool: '', text: '', isComplete: false })
    calls[call.index] = call
    const toolField = !call.tool && name ? { tool: name } : undefined
    call.tool ||= name
    const piece = addArguments(call, addition)
    if (toolField || piece) events.push({ type: 'call.delta', index: call.index, ...toolField, arguments: piece })
    return call
  }

  /** Returns the complete arguments of an item, if no delta had any of them. */
  function missing({ call }: OpenItem, text: string): string {
    return call?.text && !call.isPlaceholder ? '' : text
  }

  function emit(events: ModelEvent[]): void {
    for (const call of calls.slice(emittedCalls)) {
      if (!call.isComplete) return
      const { index, tool, text } = call
      const rest = heldArguments(call)
      if (rest) events.push({ type: 'call.delta', index, arguments: rest })
      events.push({ type: 'call', index, tool, arguments: text })
      emittedCalls += 1
    }
  }

  function close(events: ModelEvent[]): ModelError | undefined {
    for (const call of calls) {
      if (!call.isComplete && parseJson(call.text) === undefined) return STREAM_CUT
      call.isComplete = true
    }
    emit(events)
    return undefined
  }

  return { add, missing, emit, close, hasAny: () => calls.length > 0 }
}

/** Returns a call of any kind as that of a function, and any other item as it is. */
function asFunctionCall(item: Fields, search: string): Fields {
  const call = readKindCall(item, search)
  return call ? { ...item, type: 'function_call', ...call } : item
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

/** Returns the citations of a message whose text begins at `start` in that of the answer. */
function collectCitations(parts: unknown, start: number): readonly Citation[] {
  let at = start
  return objectsOf(parts).flatMap((part) => {
    const base = at
    at += (textAt(part, 'text') || textAt(part, 'refusal')).length
    return objectsOf(part.annotations).flatMap((each) => {
      const place = { start: base + countAt(each, 'start_index'), end: base + countAt(each, 'end_index') }
      return each.type === 'url_citation' ? citationsIn(each, place) : []
    })
  })
}

/** The kinds of items that are read. */
type Kind = 'message' | 'reasoning' | 'function_call'

/** An item of the output, as far as it has arrived. */
interface OpenItem {
  kind?: Kind | undefined
  /** The number of characters of text or reasoning that were emitted. */
  emittedLength: number
  /** Where its text begins in that of the answer. */
  start: number
  isComplete: boolean
  part?: OutputPart
  call?: ItemCall
}

interface ItemCall extends CallArguments {
  readonly index: number
  tool: string
  isComplete: boolean
}

/** The items of one response, in the order in which they were first mentioned. */
interface OpenItems {
  readonly all: readonly OpenItem[]
  /**
   * Returns the item with the first of these keys that is known, or a new one, which then has them all. The keys are
   * the id of the item, that of its call, and its index: gateways change all but one of them from event to event.
   * `begins`: the event begins an item, so that one that is complete is another, even if it has the same id.
   */
  readonly withKeys: (keys: readonly unknown[], kind?: Kind, begins?: boolean) => OpenItem
  /**
   * Returns the item of the stream that an item of the complete output repeats, and adds it to `repeatedItems`. One
   * whose ids were not streamed is the next of its kind; a call must have the same name and arguments, too.
   */
  readonly streamed: (item: Fields, repeatedItems: Set<OpenItem>) => OpenItem
}

function openItems(): OpenItems {
  const all: OpenItem[] = []
  const byKey = new Map<unknown, OpenItem>()

  function withKeys(keys: readonly unknown[], kind?: Kind, begins = false): OpenItem {
    const usableKeys = keys.filter((key) => key !== undefined && key !== '')
    // Some servers send no keys: their items come one after the other.
    if (usableKeys.length === 0) usableKeys.push('')
    const isOther = (open?: OpenItem) =>
      !open || (kind && open.kind && open.kind !== kind) || (begins && open.isComplete)
    let open = usableKeys.map((key) => byKey.get(key)).find((each) => !isOther(each))
    if (!open) all.push((open = { emittedLength: 0, start: 0, isComplete: false }))
    open.kind ??= kind
    for (const key of usableKeys) if (isOther(byKey.get(key))) byKey.set(key, open)
    return open
  }

  return {
    all,
    withKeys,
    streamed: (item, repeatedItems) => {
      const isFree = (open: OpenItem) => !repeatedItems.has(open)
      const isNext = (open: OpenItem) => isFree(open) && open.kind === item.type && isAlike(open, item)
      const candidates = [item.id, item.call_id].flatMap((key) => byKey.get(key) ?? []).filter(isFree)
      const open =
        candidates.find(isNext) ??
        candidates[0] ??
        all.find(isNext) ??
        withKeys([item.id, item.call_id], itemKind(item.type), true)
      repeatedItems.add(open)
      return open
    },
  }
}

/** The kinds of items to which events belong that name no item. */
const KINDS: Readonly<Record<string, Kind>> = {
  'response.output_text.delta': 'message',
  'response.refusal.delta': 'message',
  'response.reasoning_text.delta': 'reasoning',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.function_call_arguments.delta': 'function_call',
  [INPUT_DELTA]: 'function_call',
  [INPUT_DONE]: 'function_call',
}

function itemKind(type: unknown): Kind | undefined {
  return type === 'message' || type === 'reasoning' || type === 'function_call' ? type : undefined
}

/** Whether an item may be this one of the complete output, whose ids are other ones. */
function isAlike({ call }: OpenItem, item: Fields): boolean {
  return !call || (call.tool === item.name && call.text === textOrJson(item.arguments))
}
