import type { StoredMessage, WindowOptions } from '../../contract/conversation.ts'
import type { MessageTable } from '../store/messages.ts'
import { positionOf } from '../store/messages.ts'
import type { Message } from '../../contract/message.ts'
import { repair, type RepairedHistory } from './repair.ts'
import { tokensOf, windowOf } from '../../loop/perform/window.ts'

/** The most system messages that are still shown from turns before those that are read. */
const MOST_SYSTEM = 8

/**
 * Returns the messages of the turns before a run that a model sees. Reads no further back than the turn at which the
 * window ends. `from`: the position at which the window begins; of earlier messages, only system messages are shown.
 */
export function historyBefore(
  messages: MessageTable,
  place: number,
  options: WindowOptions,
): RepairedHistory & { readonly from: number } {
  if (options.show === 'none') return { ...repair([]), from: 0 }
  const newest: StoredMessage[] = []
  let tokens = 0
  for (const message of messages.newest(positionOf(place), options.show === 'all' ? 'current' : 'answers')) {
    // A turn is always read back to its beginning, whatever its length.
    const isOver = newest.length >= options.messages || tokens > options.tokens
    if (isOver && message.run !== newest.at(-1)?.run) break
    newest.push(message)
    tokens += tokensOf(message.message)
  }
  const oldest = newest.at(-1)?.position ?? 0
  const window = windowOf(newest.reverse(), options, messages.system(oldest, MOST_SYSTEM))
  const { messages: history, ...repairs } = repair(window.messages)
  return { messages: history.map(tellInterruption), ...repairs, from: Math.min(window.from, positionOf(place)) }
}

const INTERRUPTED = '[This answer was interrupted here.]'

/** Marks an answer that was interrupted for the model, which would otherwise take it for a complete one. */
function tellInterruption(message: Message): Message {
  if (message.role !== 'assistant' || !message.wasInterrupted) return message
  return { role: 'assistant', content: `${message.content}\n\n${INTERRUPTED}` }
}
