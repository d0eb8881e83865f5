import type { JsonSchema } from '../contract/json.ts'
import { contentText } from '../contract/message.ts'
import type { ToolOutcome } from '../contract/tool.ts'
import { decoder } from '../schema/decode.ts'
import { invalidOutput, toIssue } from '../schema/issue.ts'
import type { InputSchema } from '../schema/standard-schema.ts'
import { convertInput, plain } from './input-schema.ts'

/** A tool's output schema: its published form, and the check of a result. */
interface Output {
  readonly schema: JsonSchema
  /** Returns the outcome if its structured result, else its text, fits; else the failure `invalid_output`. */
  readonly check: (outcome: ToolOutcome) => Promise<ToolOutcome>
}

/** Makes the check of a tool's results. Throws a TypeError that names the tool if the schema has no JSON form. */
export function outputOf(tool: string, schema: InputSchema, subject: string): Output {
  const json = convertInput(schema, subject)
  const decode = decoder(json)
  return {
    schema: plain(json),
    check: async (outcome) => {
      if (!outcome.ok) return outcome
      const result = 'structured' in outcome ? outcome.structured : contentText(outcome.content)
      const { issues } = await schema['~standard'].validate(decode(result))
      return issues
        ? invalidOutput(
            tool,
            issues.map((issue) => toIssue(issue)),
          )
        : outcome
    },
  }
}
