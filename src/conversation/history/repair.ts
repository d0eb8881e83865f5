import type { PlacedMessage } from '../../contract/context.ts'
import type { ToolCall, ToolMessage } from '../../contract/message.ts'

/** A history that models accept, and how many messages were dropped from it and filled in. */
export interface RepairedHistory {
  readonly messages: readonly PlacedMessage[]
  readonly dropped: number
  readonly filled: number
}

/**
 * Ensures that every call has exactly one result, right after the calls and in their order: results without a call are
 * dropped, missing results are filled in as interrupted.
 */
export function repair(messages: readonly PlacedMessage[]): RepairedHistory {
  const history: PlacedMessage[] = []
  let dropped = 0
  let filled = 0
  for (let at = 0; at < messages.length; at++) {
    const placed = messages[at]
    if (!placed) continue
    const { message, position } = placed
    if (message.role === 'tool') {
      dropped += 1
      continue
    }
    history.push(placed)
    if (message.role !== 'assistant') continue
    const results = new Map<string, PlacedMessage>()
    const calls = message.calls ?? []
    for (let next = messages[at + 1]; next?.message.role === 'tool'; next = messages[at + 1]) {
      const { callId } = next.message
      if (results.has(callId) || !calls.some((call) => call.callId === callId)) dropped += 1
      else results.set(callId, next)
      at += 1
    }
    filled += calls.length - results.size
    history.push(...calls.map((call) => results.get(call.callId) ?? { position, message: interruptedResult(call) }))
  }
  return { messages: history, dropped, filled }
}

function interruptedResult({ callId, tool }: ToolCall): ToolMessage {
  const text = 'interrupted: the result of this call was lost; whether it took effect is unknown.'
  return { role: 'tool', callId, tool, ok: false, content: [{ type: 'text', text }] }
}
