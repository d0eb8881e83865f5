import { isObject } from '../../../contract/json.ts'
import { answerCodec } from '../model-answer.ts'
import type { ProviderFault } from '../model-error.ts'
import { chatAnswer } from '../openai-chat/ask-answer.ts'
import { explainError } from '../openai-chat/error.ts'

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
