import type { JsonSchema } from '../../contract/json.ts'
import { count, list, object, text } from './json-schema.ts'

const OBJECT = { type: 'object' }

/** The schemas of answers that only operators get. */
export const OPERATOR_ANSWERS: Readonly<Record<string, JsonSchema>> = {
  StepRequest: object(
    {
      run: text,
      step: count,
      model: text,
      historyLength: { type: 'integer', description: 'The number of messages from before the run.' },
      messages: list(OBJECT),
      tools: list(OBJECT),
    },
    {
      toolChoice: {},
      responseFormat: OBJECT,
      sampling: OBJECT,
      hasShortTools: {
        const: true,
        description:
          'The run was pruned: of the edge’s tools only names and annotations are stored, and the system message lacks their instructions.',
      },
    },
  ),
  HoldingPolicy: object(
    { pattern: { type: 'string', description: 'The pattern in `TOOL_POLICY`.' }, policy: OBJECT },
    { tool: { type: 'string', description: 'The tool behind an alias, if the pattern matches that one.' } },
  ),
}
