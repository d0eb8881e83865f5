import type { Message, ToolMessage } from '../../contract/message.ts'
import { bodyFault, type DecodeResult, type InvalidBody } from './body.ts'

/**
 * Checks a caller's messages, and returns them as a model may see them: each call has exactly one result, right after
 * it and in call order, with the name of its tool. The caller may send results in any order; the last message must not
 * be the assistant's. Faults name the list `list`, and the field of a result that has the id of its call `member`.
 */
export function checkHistory(
  messages: readonly Message[],
  list: string,
  member: string,
): DecodeResult<readonly Message[]> {
  const history: Message[] = []
  /** The calls of the latest assistant message, with the results that came for them, by call id. */
  const openCalls = new Map<string, { readonly tool: string; result?: ToolMessage }>()

  function fault(index: number, callId: string, problem: string, path = `${list}[${index}]`): InvalidBody {
    return bodyFault(path, `the call "${callId}" ${problem}.`)
  }

  /** Closes the open calls: adds their results, in the order of the calls. */
  function close(index: number): InvalidBody | undefined {
    for (const [callId, { result }] of openCalls) {
      if (!result) return fault(index, callId, 'has no result')
      history.push(result)
    }
    openCalls.clear()
    return undefined
  }

  for (const [index, message] of messages.entries()) {
    if (message.role === 'tool') {
      const { callId } = message
      const call = openCalls.get(callId)
      const path = `${list}[${index}].${member}`
      if (!call) return fault(index, callId, 'answers no call of the preceding message', path)
      if (call.result) return fault(index, callId, 'has a result already', path)
      call.result = { ...message, tool: call.tool }
      continue
    }
    const missingResult = close(index)
    if (missingResult) return missingResult
    history.push(message)
    if (message.role !== 'assistant') continue
    for (const { callId, tool } of message.calls ?? []) {
      if (openCalls.has(callId)) return fault(index, callId, 'is the id of two calls')
      openCalls.set(callId, { tool })
    }
  }
  const end = messages.length - 1
  if (end < 0) return bodyFault(list, 'must not be empty.')
  if (messages[end]?.role === 'assistant')
    return bodyFault(`${list}[${end}]`, 'must not be from the assistant, since it is the last message.')
  return close(end) ?? { ok: true, request: history }
}
