import type { Fields } from '../model-answer.ts'
import type { OutputPart } from './ask-opaque.ts'

/** The kinds of items that are read. */
export type Kind = 'message' | 'reasoning' | 'function_call'

/** An item of the output, as far as it has arrived. */
export interface OpenItem {
  kind?: Kind | undefined
  /** The number of characters of text or reasoning that were emitted. */
  emittedLength: number
  isComplete: boolean
  part?: OutputPart
  call?: ItemCall
}

export interface ItemCall {
  readonly index: number
  tool: string
  arguments: string
  isComplete: boolean
}

/** The items of one response, in the order in which they were first mentioned. */
export interface OpenItems {
  readonly all: readonly OpenItem[]
  /**
   * Returns the item with the first of these keys that is known, or a new one, which then has them all. The keys are
   * the id of the item, that of its call, and its index: gateways change all but one of them from event to event.
   */
  readonly withKeys: (keys: readonly unknown[], kind?: Kind) => OpenItem
  /**
   * Returns the item of the stream that an item of the complete output repeats, and adds it to `repeatedItems`. One
   * whose ids were not streamed is the next of its kind; a call must have the same name and arguments, too.
   */
  readonly streamed: (item: Fields, repeatedItems: Set<OpenItem>) => OpenItem
}

export function openItems(): OpenItems {
  const all: OpenItem[] = []
  const byKey = new Map<unknown, OpenItem>()

  function withKeys(keys: readonly unknown[], kind?: Kind): OpenItem {
    const usableKeys = keys.filter((key) => key !== undefined && key !== '')
    // Some servers send no keys: their items come one after the other.
    if (usableKeys.length === 0) usableKeys.push('')
    const isOther = (open?: OpenItem) => !open || (kind && open.kind && open.kind !== kind)
    let open = usableKeys.map((key) => byKey.get(key)).find((each) => !isOther(each))
    if (!open) all.push((open = { emittedLength: 0, isComplete: false }))
    open.kind ??= kind
    for (const key of usableKeys) if (isOther(byKey.get(key))) byKey.set(key, open)
    return open
  }

  return {
    all,
    withKeys,
    streamed: (item, repeatedItems) => {
      const isNext = (open: OpenItem) => !repeatedItems.has(open) && open.kind === item.type && isAlike(open, item)
      const open =
        byKey.get(item.id) ??
        byKey.get(item.call_id) ??
        all.find(isNext) ??
        withKeys([item.id, item.call_id], itemKind(item.type))
      repeatedItems.add(open)
      return open
    },
  }
}

/** The kinds of items to which events belong that name no item. */
export const KINDS: Readonly<Record<string, Kind>> = {
  'response.output_text.delta': 'message',
  'response.refusal.delta': 'message',
  'response.reasoning_text.delta': 'reasoning',
  'response.reasoning_summary_text.delta': 'reasoning',
  'response.function_call_arguments.delta': 'function_call',
}

export function itemKind(type: unknown): Kind | undefined {
  return type === 'message' || type === 'reasoning' || type === 'function_call' ? type : undefined
}

/** Whether an item may be this one of the complete output, whose ids are other ones. */
function isAlike({ call }: OpenItem, item: Fields): boolean {
  return !call || (call.tool === item.name && call.arguments === item.arguments)
}
