import { isObject, parseJson } from '../../contract/json.ts'
import { type Content, type Message, textOf } from '../../contract/message.ts'
import type { ModelRequest, ResponseFormat, ToolChoice } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { toChatCall } from './call.ts'

/**
 * The body text of a streamed request for an answer. Each definition and message is encoded once: a step costs what it
 * added. `replayReasoning` says the reasoning of earlier steps again, as `reasoning_content`: some servers refuse a
 * request without it, others one with it.
 */
export function encodeRequest(model: string, request: ModelRequest, replayReasoning = false): string {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { parallel_tool_calls, ...passed } = sampling ?? {}
  const head = JSON.stringify({
    ...passed,
    model,
    stream: true,
    stream_options: { include_usage: true },
    response_format: responseFormat && toResponseFormat(responseFormat),
    // Without tools OpenAI refuses what is said about them.
    ...(tools.length > 0 && { tool_choice: toToolChoice(toolChoice), parallel_tool_calls }),
  })
  const toolsText = tools.length > 0 ? `,"tools":[${tools.map(encodeTool).join(',')}]` : ''
  const encode = replayReasoning ? encodeWithReasoning : encodeMessage
  return `${head.slice(0, -1)}${toolsText},"messages":[${messages.map(encode).join(',')}]}`
}

/** Whether the history holds reasoning that `replayReasoning` would send. */
export function hasReasoning(messages: readonly Message[]): boolean {
  return messages.some((message) => reasoningOf(message))
}

/** Only what led to calls is wanted back. */
function reasoningOf(message: Message): string | undefined {
  return message.role === 'assistant' && message.calls ? message.reasoning : undefined
}

const encodeTool = once(({ name, description, inputSchema }: ToolDefinition) =>
  JSON.stringify({ type: 'function', function: { name, description, parameters: inputSchema } }),
)

const encodeMessage = once((message: Message) => JSON.stringify(toChatMessage(message)))

const encodeWithReasoning = once((message: Message) =>
  JSON.stringify({ ...toChatMessage(message), reasoning_content: reasoningOf(message) }),
)

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
  const { role, content } = message
  switch (role) {
    case 'user':
      return { role, content: typeof content === 'string' ? content : content.map(toChatPart) }
    case 'assistant': {
      const { calls = [] } = message
      if (calls.length === 0) return { role, content }
      const tool_calls = calls.map((call) => toChatCall({ ...call, arguments: objectText(call.arguments) }))
      // Beside calls the format wants null, and some servers refuse an empty text.
      return { role, content: content || null, tool_calls }
    }
    case 'tool':
      return { role, tool_call_id: message.callId, content: textOf(content) }
    default:
      return { role, content }
  }
}

function toChatPart(part: Content): object {
  if (part.type === 'text') return part
  const url = `data:${part.mediaType};base64,${part.data}`
  return part.type === 'image'
    ? { type: 'image_url', image_url: { url } }
    : { type: 'file', file: { filename: 'file', file_data: url } }
}

/** Servers parse the arguments of earlier calls, and fail for good on text that is no object: it is wrapped in one. */
function objectText(text: string): string {
  if (text.trim() === '') return '{}'
  return isObject(parseJson(text)) ? text : JSON.stringify({ unreadable: text })
}

function toToolChoice(choice: ToolChoice | undefined): unknown {
  return typeof choice === 'object' ? { type: 'function', function: { name: choice.tool } } : choice
}

function toResponseFormat({ type, ...format }: ResponseFormat): object {
  return type === 'json_schema' ? { type, json_schema: format } : { type }
}
