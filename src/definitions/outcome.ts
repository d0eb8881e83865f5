import { contentText } from '../contract/message.ts'
import { failure, type ToolOutcome } from '../contract/tool.ts'
import { issuesOf } from '../schema/validate.ts'
import type { StoredTool } from './definition.ts'

/** The limits for a result, which may be larger than arguments. */
const LIMITS = { depth: 64, values: 1_000_000 }

/** Returns an outcome if its structured result, else its text, fits the tool's `outputSchema`; else a failure. */
export function checkOutcome({ name, outputSchema }: StoredTool, outcome: ToolOutcome): ToolOutcome {
  if (!outcome.ok || !outputSchema) return outcome
  const result = 'structured' in outcome ? outcome.structured : contentText(outcome.content)
  const [issue] = issuesOf(outputSchema, result, LIMITS)
  if (!issue) return outcome
  const message = `The tool "${name}" answered with a result that does not fit its outputSchema.`
  return failure('result_unusable', message, `${issue.path}: ${issue.message}`)
}
