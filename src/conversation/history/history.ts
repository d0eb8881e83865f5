import type { StoredMessage, WindowOptions } from '../../contract/conversation.ts'
import type { MessageTable } from '../store/messages.ts'
import { positionOf } from '../store/messages.ts'
import type { ContextReduction, PlacedMessage } from '../../contract/context.ts'
import { repair, type RepairedHistory } from './repair.ts'
import { windowOf } from '../../loop/window/sliding.ts'
import { outlineOf } from '../../loop/window/shorten.ts'
import { tokensOf } from '../../loop/window/tokens.ts'

/** The most system messages that are still shown from turns before those that are read. */
const MOST_SYSTEM = 8

/** How a model sees the turns before a run. */
export interface HistoryView {
  readonly options: WindowOptions
  /** Whether the options were set: the newest turns within them are shown, and no others. */
  readonly isSliding: boolean
  /** The reduction in force, unless the window slides. */
  readonly reduction?: ContextReduction | undefined
}

/**
 * Returns the messages of the turns before a run that a model sees. Reads no further back than the turn at which the
 * window ends, or the reduction in force. `from`: the position at which a sliding window begins; of earlier messages,
 * only system messages are shown.
 */
export function historyBefore(
  messages: MessageTable,
  place: number,
  { options, isSliding, reduction }: HistoryView,
): RepairedHistory & { readonly from: number } {
  if (options.show === 'none') return { ...repair([]), from: 0 }
  const first = reduction ? Math.min(reduction.turn ?? reduction.from, reduction.from) : 0
  const selection = options.show === 'all' ? 'current' : 'answers'
  const newest: StoredMessage[] = []
  let tokens = 0
  let hasOlder = false
  for (const message of messages.newest(positionOf(place), selection)) {
    if (message.position < first) break
    // A turn is always read back to its beginning, whatever its length.
    const isOver = newest.length >= options.messages || tokens > options.tokens
    hasOlder = isOver && message.run !== newest.at(-1)?.run
    if (hasOlder) break
    newest.push(message)
    tokens += tokensOf(message.message)
  }
  // What is older is about to be reduced. It is read so that notes tell of it, and takes as little memory as they do.
  if (hasOlder && !isSliding) {
    for (const { message, ...rest } of messages.between(first, newest.at(-1)?.position ?? 0, selection))
      newest.push({ ...rest, message: outlineOf(message) })
  }
  const oldest = newest.at(-1)?.position ?? Math.min(first, positionOf(place))
  const system = messages.system(oldest, MOST_SYSTEM)
  const window = isSliding
    ? windowOf(newest.reverse(), options, system)
    : { messages: [...system, ...newest.reverse()], from: oldest }
  const { messages: history, ...repairs } = repair(window.messages)
  return { messages: history.map(tellInterruption), ...repairs, from: Math.min(window.from, positionOf(place)) }
}

const INTERRUPTED = '[This answer was interrupted here.]'

/** Marks an answer that was interrupted for the model, which would otherwise take it for a complete one. */
function tellInterruption(placed: PlacedMessage): PlacedMessage {
  const { position, message } = placed
  if (message.role !== 'assistant' || !message.wasInterrupted) return placed
  return { position, message: { role: 'assistant', content: `${message.content}\n\n${INTERRUPTED}` } }
}
