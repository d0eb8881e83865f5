import { isObject } from '../../contract/json.ts'
import { answerCodec } from '../model-answer.ts'
import type { ProviderFault } from '../model-error.ts'
import { chatAnswer } from '../openai-chat/ask-answer.ts'
import { explainError } from '../openai-chat/error.ts'

/** How the answers of Workers AI are read: its own form, which older models speak, and Chat Completions, which the others do. */
export const workersAiAnswers = answerCodec(() => chatAnswer('workers-ai'), { explain, toChunk })

/** `{ response, tool_calls: [{ name, arguments }] }` as a chunk. */
function toChunk(said: unknown): unknown {
  if (!isObject(said) || 'choices' in said) return said
  if (Array.isArray(said.errors) && said.errors.length > 0) return { error: explain(said) ?? true }
  if (!('response' in said || 'tool_calls' in said)) return said
  const { response, tool_calls, finish_reason, usage } = said
  // A text that is a number, or JSON as asked for, may come as such.
  const content = typeof response === 'string' ? response : JSON.stringify(response ?? undefined)
  return { usage, choices: [{ delta: { content, tool_calls }, finish_reason }] }
}

/** The free allocation of the day. */
const USED_UP = 3036

/** `{ internalCode, message, description }`, or `{ errors: [{ code, message }] }`. */
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
