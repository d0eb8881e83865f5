import type { Message, ToolMessage } from '../../contract/message.ts'
import { bodyFault, type Decoded, type Refused } from './body.ts'

/**
 * Checks a caller's messages, and returns them as a model may see them: each call has exactly one result, right after
 * it and in call order, with the name of its tool. Results may come in any order, and the last message must not be the
 * assistant's. A fault calls the list `list`, and the member of a result with the id of its call `member`.
 */
export function checkHistory(messages: readonly Message[], list: string, member: string): Decoded<readonly Message[]> {
  const checked: Message[] = []
  /** The calls of the latest assistant message, with the results that came for them, by call id. */
  const open = new Map<string, { readonly tool: string; result?: ToolMessage }>()

  function fault(index: number, callId: string, what: string, path = `${list}[${index}]`): Refused {
    return bodyFault(path, `the call "${callId}" ${what}.`)
  }

  /** Closes the open calls: their results come next, in the order of the calls. */
  function close(index: number): Refused | undefined {
    for (const [callId, { result }] of open) {
      if (!result) return fault(index, callId, 'has no result')
      checked.push(result)
    }
    open.clear()
    return undefined
  }

  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      const { callId } = message
      const call = open.get(callId)
      const path = `${list}[${index}].${member}`
      if (!call) return fault(index, callId, 'was not just asked for', path)
      if (call.result) return fault(index, callId, 'has a result already', path)
      call.result = { ...message, tool: call.tool }
      continue
    }
    const missing = close(index)
    if (missing) return missing
    checked.push(message)
    if (message.role !== 'assistant') continue
    for (const { callId, tool } of message.calls ?? []) {
      if (open.has(callId)) return fault(index, callId, 'is asked for twice')
      open.set(callId, { tool })
    }
  }
  const end = messages.length - 1
  if (end < 0) return bodyFault(list, 'must not be empty.')
  if (messages[end]?.role === 'assistant')
    return bodyFault(`${list}[${end}]`, 'must not be from the assistant: it is the last.')
  return close(end) ?? { ok: true, request: checked }
}
