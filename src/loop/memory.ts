import type { StoredMessage, WindowOptions } from '../contract/conversation.ts'
import type { Message } from '../contract/message.ts'
import { WINDOW, window } from './window/sliding.ts'

/** The memory of a conversation outside the edge. It stores all messages, and returns the window that a model sees. */
export interface Memory {
  /** Adds messages, in order. A turn begins with a user message, and leaves the window as a whole. */
  add(...messages: readonly Message[]): void
  /** Returns what a model sees: the newest turns within the limits. */
  messages(): readonly Message[]
}

/**
 * Makes an empty memory of messages for a loop of your own, which shows a model the newest turns. Default limits:
 * those of a conversation.
 *
 * @example
 * const chat = memory({ messages: 20 })
 * chat.add({ role: 'user', content: 'Hello' })
 */
export function memory(options: Partial<WindowOptions> = {}): Memory {
  const entries: { position: number; run: string; message: Message }[] = []
  let turn = 0
  return {
    add: (...messages) => {
      for (const message of messages) {
        if (message.role === 'user' && entries.at(-1)?.message.role !== 'user') turn += 1
        entries.push({ position: entries.length, run: String(turn), message })
      }
    },
    messages: () => {
      const visible = window(entries, { ...WINDOW, ...options })
      const last = entries.at(-1)?.message
      if (last?.role !== 'tool' || visible.at(-1) === last) return visible
      // The turn under way exceeds the window. Without its results the model would repeat its calls for ever.
      const isSeen = ({ run, message }: StoredMessage) => run === String(turn) || message.role === 'system'
      return entries.filter(isSeen).map(({ message }) => message)
    },
  }
}
