import type { Message } from '../contract/message.ts'

/** Messages of one side in a row. */
export interface Turn {
  readonly isAnswer: boolean
  /** Each the parts of a message, encoded. */
  readonly parts: string[]
}

/**
 * The messages as turns of the model and of the user, who has results too, for formats in which sides take turns. What
 * `encode` has no text for, such as an empty message, is left out.
 */
export function byTurns(messages: readonly Message[], encode: (message: Message) => string): readonly Turn[] {
  const turns: Turn[] = []
  for (const message of messages) {
    const text = encode(message)
    if (text === '') continue
    const isAnswer = message.role === 'assistant'
    const last = turns.at(-1)
    if (last?.isAnswer === isAnswer) last.parts.push(text)
    else turns.push({ isAnswer, parts: [text] })
  }
  return turns
}

/** The texts of the system messages, wherever they were, for formats that have them apart. */
export function systemTexts(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => (message.role === 'system' && message.content.trim() ? message.content : []))
}
