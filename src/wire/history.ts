import type { Message, ToolMessage } from '../contract/message.ts'

/** What is wrong with messages that a caller sent. `index`: the message at fault; `callId`: the call, where one is. */
export interface HistoryFault {
  readonly kind:
    | 'no_messages'
    | 'ends_with_assistant'
    | 'unknown_call'
    | 'duplicate_call'
    | 'duplicate_result'
    | 'missing_result'
  readonly index: number
  readonly callId?: string
}

/**
 * A caller's messages as a model may see them: each call has exactly one result, right after it and in call order, with
 * the name of the tool that was called; the caller had the last word. Results may have come in any order.
 */
export function checkHistory(
  messages: readonly Message[],
): { readonly ok: true; readonly messages: readonly Message[] } | { readonly ok: false; readonly fault: HistoryFault } {
  const checked: Message[] = []
  let open: OpenCalls | undefined
  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      const { callId } = message
      const problem = open ? open.settle(message) : 'unknown_call'
      if (problem) return { ok: false, fault: { kind: problem, index, callId } }
      continue
    }
    const missing = open?.missing()
    if (missing !== undefined) return { ok: false, fault: { kind: 'missing_result', index, callId: missing } }
    checked.push(...(open?.results() ?? []), message)
    open = undefined
    if (message.role !== 'assistant' || !message.calls?.length) continue
    open = openCalls(message.calls)
    if (open.twice !== undefined) return { ok: false, fault: { kind: 'duplicate_call', index, callId: open.twice } }
  }
  const last = messages.at(-1)
  const index = messages.length - 1
  if (!last) return { ok: false, fault: { kind: 'no_messages', index: 0 } }
  if (last.role === 'assistant') return { ok: false, fault: { kind: 'ends_with_assistant', index } }
  const missing = open?.missing()
  if (missing !== undefined) return { ok: false, fault: { kind: 'missing_result', index, callId: missing } }
  return { ok: true, messages: [...checked, ...(open?.results() ?? [])] }
}

/** The calls of one assistant message, and the results that have come for them. */
interface OpenCalls {
  /** An id that two of the calls have. */
  readonly twice: string | undefined
  readonly settle: (result: ToolMessage) => 'unknown_call' | 'duplicate_result' | undefined
  readonly missing: () => string | undefined
  readonly results: () => readonly ToolMessage[]
}

function openCalls(calls: readonly { readonly callId: string; readonly tool: string }[]): OpenCalls {
  const tools = new Map(calls.map(({ callId, tool }) => [callId, tool]))
  const settled = new Map<string, ToolMessage>()
  const ids = calls.map(({ callId }) => callId)
  return {
    twice: ids.find((id, index) => ids.indexOf(id) !== index),
    settle: (result) => {
      const tool = tools.get(result.callId)
      if (tool === undefined) return 'unknown_call'
      if (settled.has(result.callId)) return 'duplicate_result'
      settled.set(result.callId, { ...result, tool })
      return undefined
    },
    missing: () => ids.find((id) => !settled.has(id)),
    results: () => ids.flatMap((id) => settled.get(id) ?? []),
  }
}

/** A fault in words for the caller, to follow the path of the message. */
export function explainHistory({ kind, callId }: HistoryFault): string {
  switch (kind) {
    case 'no_messages':
      return 'there are no messages.'
    case 'ends_with_assistant':
      return 'the last message is from the assistant, so there is nothing to answer.'
    case 'unknown_call':
      return `the assistant message before it asks for no call "${callId}".`
    case 'duplicate_call':
      return `two calls of this message have the id "${callId}".`
    case 'duplicate_result':
      return `the call "${callId}" has a result already.`
    default:
      return `the call "${callId}" of the assistant has no result.`
  }
}
