import {
  AbstractChat,
  type ChatState,
  type ChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  type UIMessage,
} from 'ai'

export interface ChatOptions {
  readonly id: string
  readonly transport: ChatTransport<UIMessage>
  /** Those that the page begins with. */
  readonly messages: UIMessage[]
  readonly onChange: (messages: readonly UIMessage[]) => void
  readonly onError: (error: Error) => void
}

/**
 * The chat of the page: what `useChat` of the AI SDK is around, without React. In a React page, use
 * `useChat({ id, transport, messages, sendAutomaticallyWhen, resume: true })` in its place.
 */
export class Chat extends AbstractChat<UIMessage> {
  /** `onChange` is called with the messages whenever one has changed, and `onError` if something fails. */
  constructor({ id, transport, messages, onChange, onError }: ChatOptions) {
    const state: ChatState<UIMessage> = {
      status: 'ready',
      error: undefined,
      messages,
      pushMessage: (message) => show([...state.messages, message]),
      popMessage: () => show(state.messages.slice(0, -1)),
      replaceMessage: (index, message) => show(state.messages.with(index, message)),
      // Chromium refuses it as a method of another object.
      snapshot: (value) => structuredClone(value),
    }
    const show = (changed: UIMessage[]) => {
      state.messages = changed
      onChange(changed)
    }
    // Once a person has decided, the answer continues by itself.
    super({ id, transport, state, onError, sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses })
  }
}

/** The text and the calls of a message, a line for each part. `approval` is the id of a call that waits for a decision. */
export function linesOf({ parts }: UIMessage): { readonly text: string; readonly approval?: string }[] {
  return parts.flatMap((part) => {
    if (part.type === 'text') return [{ text: part.text }]
    if (!('toolCallId' in part)) return []
    const name = part.type.replace(/^tool-/, '')
    if (part.state === 'approval-requested')
      return [{ text: `${name} ${JSON.stringify(part.input)}`, approval: part.approval.id }]
    const result = part.state === 'output-available' ? JSON.stringify(part.output) : part.state
    return [{ text: `${name}: ${result}` }]
  })
}
