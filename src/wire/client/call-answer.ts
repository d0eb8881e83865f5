import type { CallAnswer } from '../../contract/conversation.ts'
import { isFilledIn } from '../../contract/input.ts'
import { type Message, contentText, type ToolMessage, type UserMessage } from '../../contract/message.ts'

/** Results and decisions, by call id. */
export type CallAnswers = Readonly<Record<string, CallAnswer>>

/** Returns the messages after the last answer: those of the user, and results of calls that the caller ran. */
export function newPart(messages: readonly Message[]): {
  readonly input: readonly UserMessage[]
  readonly results: readonly ToolMessage[]
} {
  const after = messages.slice(messages.findLastIndex((message) => message.role === 'assistant') + 1)
  return {
    input: after.filter((message) => message.role === 'user'),
    results: after.filter((message) => message.role === 'tool'),
  }
}

export function answersOf(results: readonly ToolMessage[]): CallAnswers {
  return Object.fromEntries(results.map(({ callId, content }) => [callId, { result: contentText(content), ok: true }]))
}

/** Makes a person's decision on a call. `input`: what the person filled in, if the call asks for something. */
export function decisionOf(agrees: boolean, reason: unknown, input?: unknown): CallAnswer {
  return {
    decision: agrees ? 'approve' : 'reject',
    ...(typeof reason === 'string' && reason !== '' && { reason }),
    ...(agrees && isFilledIn(input) && { input }),
  }
}
