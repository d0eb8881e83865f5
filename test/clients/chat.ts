import { AbstractChat, type ChatInit, type ChatState, type UIMessage } from 'ai'

/** What `useChat` is around, without React. */
export class Chat extends AbstractChat<UIMessage> {
  constructor({ messages = [], ...init }: ChatInit<UIMessage>) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => void (state.messages = [...state.messages, message]),
      popMessage: () => void (state.messages = state.messages.slice(0, -1)),
      replaceMessage: (index, message) => void (state.messages = state.messages.with(index, message)),
      snapshot: structuredClone,
    }
    super({ ...init, state })
  }
}

/** The parts of a message, those of tools as far as they tell what became of them. */
export function partsOf(message: UIMessage | undefined): unknown[] {
  return (message?.parts ?? []).map((part) => {
    if (part.type === 'text') return part.text
    if (!part.type.startsWith('tool-')) return part.type
    const { type, state, output, errorText } = { output: undefined, errorText: undefined, state: '', ...part }
    return [type, state, output ?? errorText]
  })
}

/** Answers that a page sends by itself nobody waits for. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve))
}
