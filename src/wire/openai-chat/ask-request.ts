import { isObject } from '../../contract/json.ts'
import { textOf } from '../../contract/message.ts'
import type { AssistantMessage, BinaryContent, Content, Message, ToolCall } from '../../contract/message.ts'
import type { ModelRequest, ResponseFormat, ToolChoice } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import type { ChatToolCall } from './types.ts'

export interface RequestOptions {
  /**
   * Says the reasoning of earlier steps again, as `reasoning_content`. Some servers refuse a request without it, others
   * one with it. Default: not.
   */
  readonly replayReasoning?: boolean
}

/**
 * The body text of a streamed request for an answer. Tools are encoded once for each array and definition, messages
 * once for each object: a step costs what it added.
 */
export function encodeRequest(model: string, request: ModelRequest, options: RequestOptions = {}): string {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { parallel_tool_calls: parallel, ...passed } = sampling ?? {}
  const head = JSON.stringify({
    ...passed,
    model,
    stream: true,
    stream_options: { include_usage: true },
    ...(responseFormat && { response_format: toResponseFormat(responseFormat) }),
    // Without tools OpenAI refuses what is said about them.
    ...(tools.length > 0 && {
      ...(toolChoice !== undefined && { tool_choice: toToolChoice(toolChoice) }),
      ...(parallel !== undefined && { parallel_tool_calls: parallel }),
    }),
  })
  const toolsText = tools.length > 0 ? `,"tools":${encodeTools(tools)}` : ''
  const encode = options.replayReasoning ? encodeWithReasoning : encodeMessage
  return `${head.slice(0, -1)}${toolsText},"messages":[${messages.map(encode).join(',')}]}`
}

/** Whether the history holds reasoning that `replayReasoning` would send. */
export function hasReasoning(messages: readonly Message[]): boolean {
  return messages.some((message) => message.role === 'assistant' && message.calls && message.reasoning)
}

const encodeTools = once((tools: readonly ToolDefinition[]) => `[${tools.map(encodeTool).join(',')}]`)

const encodeTool = once(({ name, description, inputSchema }: ToolDefinition) =>
  JSON.stringify({ type: 'function', function: { name, description, parameters: inputSchema } }),
)

const encodeMessage = once((message: Message) => JSON.stringify(toChatMessage(message)))

const encodeWithReasoning = once((message: Message) => {
  const replayed = message.role === 'assistant' && message.calls && message.reasoning
  return JSON.stringify({ ...toChatMessage(message), ...(replayed && { reasoning_content: message.reasoning }) })
})

/** Encodes a value the first time only, for as long as it lives. */
function once<Value extends object>(encode: (value: Value) => string): (value: Value) => string {
  const known = new WeakMap<Value, string>()
  return (value) => {
    let text = known.get(value)
    if (text === undefined) known.set(value, (text = encode(value)))
    return text
  }
}

function toChatMessage(message: Message): object {
  switch (message.role) {
    case 'system':
      return { role: 'system', content: message.content }
    case 'user':
      return { role: 'user', content: toUserContent(message.content) }
    case 'assistant':
      return toAssistantMessage(message)
    default:
      return { role: 'tool', tool_call_id: message.callId, content: textOf(message.content) }
  }
}

function toAssistantMessage({ content, calls = [] }: AssistantMessage): object {
  if (calls.length === 0) return { role: 'assistant', content }
  // Beside calls the format wants null, and some servers refuse an empty text.
  return { role: 'assistant', content: content === '' ? null : content, tool_calls: calls.map(toChatCall) }
}

function toUserContent(content: string | readonly Content[]): unknown {
  if (typeof content === 'string') return content
  return content.map((part) => (part.type === 'text' ? { type: 'text', text: part.text } : toBinaryPart(part)))
}

function toBinaryPart({ type, mediaType, data }: BinaryContent): object {
  const url = `data:${mediaType};base64,${data}`
  if (type === 'image') return { type: 'image_url', image_url: { url } }
  return { type: 'file', file: { filename: 'file', file_data: url } }
}

function toChatCall({ callId, tool, arguments: text }: ToolCall): ChatToolCall {
  return { id: callId, type: 'function', function: { name: tool, arguments: objectText(text) } }
}

/** Servers parse the arguments of earlier calls, and fail for good on text that is no object: it is wrapped in one. */
function objectText(text: string): string {
  if (text.trim() === '') return '{}'
  try {
    if (isObject(JSON.parse(text))) return text
  } catch {
    // Falls through: the model sees what it wrote, as a value.
  }
  return JSON.stringify({ unreadable: text })
}

function toToolChoice(choice: ToolChoice): unknown {
  return typeof choice === 'string' ? choice : { type: 'function', function: { name: choice.tool } }
}

function toResponseFormat(format: ResponseFormat): unknown {
  if (format.type !== 'json_schema') return { type: format.type }
  const { name, schema, strict } = format
  return { type: 'json_schema', json_schema: { name, schema, ...(strict !== undefined && { strict }) } }
}
