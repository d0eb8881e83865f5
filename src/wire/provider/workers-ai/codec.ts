import { isObject } from '../../../contract/json.ts'
import type { Message } from '../../../contract/message.ts'
import type { ModelRequest, ResponseFormat } from '../../../contract/model.ts'
import { answerCodec, calledName } from '../model-answer.ts'
import type { ProviderFault } from '../model-error.ts'
import { chatAnswer } from '../openai-chat/answer.ts'
import { explainError } from '../openai-chat/types.ts'
import { toChatMessage, toChatTool, toToolChoice, withEffort } from '../openai-chat/request.ts'

/** Returns the inputs of `run` for a request: those of Chat Completions, except where the binding differs. */
export function toInputs(request: ModelRequest): Record<string, unknown> {
  const { messages, tools, toolChoice, responseFormat, sampling } = request
  const { max_tokens, max_completion_tokens, parallel_tool_calls, ...passed } = withEffort(sampling)
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

/** The codec for the answers of Workers AI: older models have their own format, the others that of Chat Completions. */
export const workersAiAnswers = answerCodec(() => chatAnswer('workers-ai'), { explain, toChunk })

/** Converts `{ response, tool_calls: [{ name, arguments }] }`, or `{ errors }`, to a chunk of Chat Completions. */
function toChunk(value: unknown): unknown {
  if (!isObject(value) || 'choices' in value) return value
  if (Array.isArray(value.errors) && value.errors.length > 0) return { error: explain(value) ?? true }
  if (!('response' in value || 'tool_calls' in value)) return value
  const { response, tool_calls, finish_reason, usage } = value
  // A response that is a number, or JSON as requested, may come as a value instead of a text.
  const content = typeof response === 'string' ? response : JSON.stringify(response ?? undefined)
  return { usage, choices: [{ delta: { content, tool_calls }, finish_reason }] }
}

/** The error code of a day's free allocation that is used up. */
const USED_UP = 3036

/** Parses the error `{ internalCode, message, description }`, or `{ errors: [{ code, message }] }`. */
function explain(json: unknown): ProviderFault | undefined {
  const [error]: readonly unknown[] = isObject(json) && Array.isArray(json.errors) ? json.errors : [json]
  const fault = explainError(error)
  if (!fault || !isObject(error)) return fault
  const { description, code, internalCode = code } = error
  return {
    ...fault,
    ...(typeof description === 'string' && { message: description }),
    ...(internalCode === USED_UP && { code: 'insufficient_quota' }),
  }
}
