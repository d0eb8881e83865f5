import type { BinaryContent, LinkedContent, Message } from '../../contract/message.ts'

/** Consecutive messages of one side. */
interface Turn {
  readonly isAnswer: boolean
  /** The encoded parts of each message. */
  readonly parts: string[]
}

/**
 * Groups messages into turns of the model and of the user, for formats in which these alternate. Results count as the
 * user's. A message for which `encode` returns '', such as an empty one, is left out.
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

/** Returns the texts of the system messages, wherever they stand, for formats that keep them apart. */
export function systemTexts(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => (message.role === 'system' && message.content.trim() ? message.content : []))
}

/** Returns the URL of a file, which is a data URL if the file is at hand. */
export function urlOf(part: BinaryContent | LinkedContent): string {
  return 'url' in part ? part.url : `data:${part.mediaType};base64,${part.data}`
}
