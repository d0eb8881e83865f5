import type { ToolCall } from '../../../contract/message.ts'
import type { ChatToolCall } from './types.ts'

export function toChatCall({ callId, tool, arguments: text }: ToolCall): ChatToolCall {
  return { id: callId, type: 'function', function: { name: tool, arguments: text } }
}

export function fromChatCall({ id, function: { name, arguments: text } }: Omit<ChatToolCall, 'type'>): ToolCall {
  return { callId: id, tool: name, arguments: text }
}
