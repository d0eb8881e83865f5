import type { Message } from '../../../contract/message.ts'
import type { ModelRequest, ResponseFormat } from '../../../contract/model.ts'
import { calledName } from '../call-arguments.ts'
import { toChatMessage, toChatTool, toToolChoice } from '../openai-chat/ask-request.ts'

/** Returns the inputs of `run` for a request: those of Chat Completions, except where the binding differs. */
export function toInputs(request: ModelRequest): Record<string, unknown> {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { max_tokens, max_completion_tokens, parallel_tool_calls, ...passed } = sampling ?? {}
  const isJson = responseFormat && responseFormat.type !== 'text'
  return {
    ...passed,
    max_tokens: max_completion_tokens ?? max_tokens,
    messages: messages.map(toMessage),
    ...(tools.length > 0 && {
      tools: tools.map(toChatTool),
      tool_choice: toToolChoice(toolChoice),
      parallel_tool_calls,
    }),
    // In its JSON mode the platform does not stream.
    ...(isJson ? { response_format: toFormat(responseFormat) } : { stream: true }),
  }
}

/** Converts a message. The binding refuses null as content, and older models match a result by the name of its tool. */
function toMessage(message: Message): object {
  const encoded = toChatMessage(message)
  if (message.role === 'assistant') return { ...encoded, content: message.content }
  return message.role === 'tool' ? { ...encoded, name: calledName(message.tool) } : encoded
}

/** Converts a format. Here `json_schema` is the schema itself, without a name. */
function toFormat(format: ResponseFormat): object {
  return format.type === 'json_schema' ? { type: format.type, json_schema: format.schema } : format
}
