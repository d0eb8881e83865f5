import type { Message } from '../contract/message.ts'

/** How many earlier messages a model sees at the most. */
export const WINDOW = 200

/**
 * The part of the earlier messages that a model sees: the newest `limit`, from a user's message on, so that no result
 * stands without its call. `messages` are the newest ones, oldest first.
 */
export function window(messages: readonly Message[], limit = WINDOW): readonly Message[] {
  const newest = messages.slice(-limit)
  const start = newest.findIndex((message) => message.role === 'user')
  return start < 0 ? [] : newest.slice(start)
}
