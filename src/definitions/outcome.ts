import { contentText } from '../contract/message.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import { failure, type ToolFailure, type ToolOutcome } from '../contract/tool.ts'
import { RESULT_LIMITS } from '../schema/document.ts'
import { invalidOutput } from '../schema/issue.ts'
import { issuesOf, nearestNumbers } from '../schema/validate.ts'

/**
 * Returns an outcome if its structured result, else its text, fits the tool's `outputSchema`; else a failure. `hasEffect`:
 * whether the outcome is that of a request which a service has done. Default: nothing is known of that.
 */
export function checkOutcome(
  { name, outputSchema }: Pick<ToolDefinition, 'name' | 'outputSchema'>,
  outcome: ToolOutcome,
  hasEffect = false,
): ToolOutcome {
  if (!outcome.ok || !outputSchema) return outcome
  const result = 'structured' in outcome ? outcome.structured : contentText(outcome.content)
  const issues = issuesOf(outputSchema, result, RESULT_LIMITS)
  if (issues.length === 0) return outcome
  // A long number is text in a structured result, and is still a number to its schema.
  const { value, places } = nearestNumbers(outputSchema, result)
  const isFit = places.length > 0 && issuesOf(outputSchema, value, RESULT_LIMITS).length === 0
  return isFit ? outcome : invalidOutput(name, issues, hasEffect ? DONE : undefined)
}

const DONE = 'The service answered with a 2xx status, so the call took effect'

/** Makes the failure of a call that was sent, and whose answer did not come before its deadline. */
export function timedOut(name: string, detail?: string): ToolFailure {
  return failure('timeout', `The tool "${name}" did not answer in time; whether it took effect is unknown.`, detail)
}
