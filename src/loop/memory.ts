import type { StoredMessage, WindowOptions } from '../contract/conversation.ts'
import type { Message } from '../contract/message.ts'
import { WINDOW, window } from './window.ts'

/** The memory of a conversation that somebody else drives: it keeps all, and shows the window that a model sees. */
export interface Memory {
  /** Adds messages as they were said. A turn begins with a user's message, and is shown whole or not at all. */
  add(...messages: readonly Message[]): void
  /** What a model sees: the newest turns within the limits. */
  messages(): readonly Message[]
}

/** An empty memory. Default limits: those of a conversation. */
export function memory(options: Partial<WindowOptions> = {}): Memory {
  const kept: { position: number; run: string; message: Message }[] = []
  let turn = 0
  return {
    add: (...messages) => {
      for (const message of messages) {
        if (message.role === 'user' && kept.at(-1)?.message.role !== 'user') turn += 1
        kept.push({ position: kept.length, run: String(turn), message })
      }
    },
    messages: () => {
      const shown = window(kept, { ...WINDOW, ...options })
      const last = kept.at(-1)?.message
      if (last?.role !== 'tool' || shown.at(-1) === last) return shown
      // The turn under way is too long. Without its results the model would ask for them again and again.
      const isSeen = ({ run, message }: StoredMessage) => run === String(turn) || message.role === 'system'
      return kept.filter(isSeen).map(({ message }) => message)
    },
  }
}
