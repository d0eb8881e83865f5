import type { Message } from '../../src/contract/message.ts'

/** A message as Chat Completions has it, as far as calls and results go. */
interface SentMessage {
  readonly tool_calls?: unknown
  readonly tool_call_id?: string | undefined
}

/** What is wrong with the history that a model is sent; nothing where each call has one result, at once and in order. */
export function sentFault(messages: readonly SentMessage[]): string | undefined {
  return pairingFault(
    messages.map(({ tool_calls, tool_call_id }) => ({
      calls: Array.isArray(tool_calls) ? tool_calls.map((call: { id: string }) => call.id) : [],
      resultOf: tool_call_id,
    })),
  )
}

/** The same of the history that a conversation keeps. */
export function keptFault(messages: readonly Message[]): string | undefined {
  return pairingFault(
    messages.map((message) => ({
      calls: message.role === 'assistant' ? (message.calls ?? []).map((call) => call.callId) : [],
      resultOf: message.role === 'tool' ? message.callId : undefined,
    })),
  )
}

function pairingFault(
  messages: readonly { calls: readonly string[]; resultOf: string | undefined }[],
): string | undefined {
  let due: readonly string[] = []
  for (const [index, { calls, resultOf }] of messages.entries()) {
    if (resultOf === undefined) {
      if (due.length > 0) return `message ${index} stands where the result of ${due[0]} is due`
      due = calls
    } else {
      if (resultOf !== due[0]) return `message ${index} is a result of ${resultOf}, due is ${due[0]}`
      due = due.slice(1)
    }
  }
  return due.length > 0 ? `the call ${due[0]} has no result` : undefined
}
