import type { StepAnswer } from '../../contract/hook.ts'
import { parseJson } from '../../contract/json.ts'
import { mendJson } from '../../schema/mend-json.ts'
import type { Message } from '../../contract/message.ts'
import type { RunError } from '../../contract/run.ts'
import type { Running } from '../running.ts'
import type { StepState } from '../state.ts'

/** How often a model may correct an answer that does not fit its format. */
export const MAX_REJECTIONS = 2

/**
 * Removes a code fence, and prose before it, from an answer that must be JSON, as models without a mode for JSON write
 * it. The text is held back until the answer is complete, so no reader has seen the fence. Any other answer is
 * unchanged.
 */
export function withPlainJson({ state }: Pick<Running, 'state'>, answer: StepAnswer): StepAnswer {
  const { text, calls, finish } = answer
  const isJson = state.request.responseFormat?.type === 'json_schema'
  if (!isJson || calls.length > 0 || finish !== 'stop' || parseJson(text) !== undefined) return answer
  const value = mendJson(text)
  return value === undefined ? answer : { ...answer, text: JSON.stringify(value) }
}

/** Returns why a text answer does not fit the requested format; undefined if it does, or if there is no format. */
export async function formatIssues(
  { state, loop }: Running,
  { text, calls, finish }: StepAnswer,
): Promise<string | undefined> {
  const { responseFormat } = state.request
  if (!loop.validate || responseFormat?.type !== 'json_schema' || calls.length > 0 || finish !== 'stop')
    return undefined
  const value = parseJson(text)
  if (value === undefined) return '- the answer is not JSON'
  const issues = await loop.validate(responseFormat.schema, value)
  return issues.length === 0
    ? undefined
    : issues.map(({ path, message }) => `- ${path || 'the whole'}: ${message}`).join('\n')
}

/** Returns the messages that tell a model why its answers did not fit. */
export function feedback(rejected: StepState['rejections']): Message[] {
  return rejected.flatMap(({ text, issues }): Message[] => [
    { role: 'assistant', content: text },
    {
      role: 'user',
      content: `This answer does not fit the requested JSON Schema:\n${issues}\nAnswer again with the JSON alone.`,
    },
  ])
}

export function invalidAnswer(issues: string): RunError {
  return {
    code: 'invalid_answer',
    message: `The model's answer does not fit the requested format:\n${issues}`,
  }
}
