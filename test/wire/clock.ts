import type { Content, Message, ToolCall } from '../../src/contract/message.ts'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'

/** What the tests of requests send: a question, and a tool for it. */
export const USER: Message = { role: 'user', content: 'What time is it?' }

export const CLOCK: ToolDefinition = {
  name: 'clock',
  title: 'Clock',
  description: 'Tells the time.',
  inputSchema: { type: 'object', properties: { zone: { type: 'string' } } },
  version: '1',
  hash: 'h',
  annotations: { readOnly: true },
}

/** A message and a tool that count how often they are read, as an encoder does. */
export function counted() {
  const reads = { count: 0 }
  const tool: ToolDefinition = {
    ...CLOCK,
    get description() {
      reads.count += 1
      return CLOCK.description
    },
  }
  const message: Message = {
    role: 'user',
    get content() {
      reads.count += 1
      return 'Hi'
    },
  }
  return { reads, tool, message }
}

export const NOON: Content = { type: 'text', text: 'noon' }
export const PICTURE: Content = { type: 'image', mediaType: 'image/png', data: 'AAAA' }

/** A call of the clock as an assistant's message has it, and its result. */
export function call(callId: string, args = '{"zone":"UTC"}'): ToolCall {
  return { callId, tool: 'clock', arguments: args }
}
export function result(callId: string, content: readonly Content[], ok = true): Message {
  return { role: 'tool', callId, tool: 'clock', ok, content }
}
