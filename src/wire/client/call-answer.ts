import type { CallAnswer } from '../../contract/conversation.ts'
import type { RunFinished } from '../../contract/event.ts'
import { isFilledIn } from '../../contract/input.ts'
import { type Content, contentText, type Message, type ToolMessage, type UserMessage } from '../../contract/message.ts'
import type { RunError } from '../../contract/run.ts'

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
  return Object.fromEntries(results.map(({ callId, content, ok }) => [callId, resultAnswer(content, ok)]))
}

/** Makes the answer to a call that the caller has run. */
export function resultAnswer(content: string | readonly Content[], ok: boolean): CallAnswer {
  const result = contentText(content)
  const isText = typeof content === 'string' || content.every(({ type }) => type === 'text')
  return isText ? { result, ok } : { result, ok, content }
}

/** Makes a person's decision on a call. `input`: what the person filled in, if the call asks for something. */
export function decisionOf(agrees: boolean, reason: unknown, input?: unknown): CallAnswer {
  return {
    decision: agrees ? 'approve' : 'reject',
    ...(typeof reason === 'string' && reason !== '' && { reason }),
    ...(agrees && isFilledIn(input) && { input }),
  }
}

/** The error of a run whose events break off before its end. */
export const BROKEN_OFF: RunError = { code: 'run_interrupted', message: 'The event stream of the run ended early.' }

/** The error of a stream that has shown parts of an answer that was then rejected. */
export function rejection(issues: string): RunError {
  return { code: 'invalid_answer', message: `The streamed answer does not fit its format: ${issues}` }
}

/** Returns why a run did not complete. Only cancelled runs have no error of their own. */
export function runErrorOf({ error }: RunFinished): RunError {
  return error ?? { code: 'run_cancelled', message: 'The run was cancelled.' }
}
