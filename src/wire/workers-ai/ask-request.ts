import type { Message } from '../../contract/message.ts'
import type { ModelRequest, ResponseFormat } from '../../contract/model.ts'
import { calledName } from '../call-arguments.ts'
import { toChatMessage, toChatTool, toToolChoice } from '../openai-chat/ask-request.ts'

/** The inputs of `run` for a request: what Chat Completions wants, but for a few habits of the binding. */
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

/** The binding refuses null for a text, and native models know a result by the name of its tool. */
function toMessage(message: Message): object {
  const said = toChatMessage(message)
  if (message.role === 'assistant') return { ...said, content: message.content }
  return message.role === 'tool' ? { ...said, name: calledName(message.tool) } : said
}

/** The schema stands here without a name. */
function toFormat(format: ResponseFormat): object {
  return format.type === 'json_schema' ? { type: format.type, json_schema: format.schema } : format
}
