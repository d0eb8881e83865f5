import type { JsonSchema } from '../../contract/json.ts'
import { count, list, object, text } from './json-schema.ts'

const OBJECT = { type: 'object' }

/** What an API key may do. */
export const KEY_TERMS = {
  scopes: list(text),
  expires: { type: ['string', 'integer', 'null'], description: 'A date, a time, or epoch milliseconds.' },
  rate: { type: ['string', 'null'] },
  budget: { type: ['object', 'null'] },
  location: { type: ['string', 'null'] },
  jurisdiction: { type: ['string', 'null'] },
}

const STORED_KEY = { id: text, tenant: text, scopes: list(text), disabled: { type: 'boolean' } }

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
      providerOptions: OBJECT,
      hasShortTools: {
        const: true,
        description:
          'The run was pruned: of the edge’s tools only names and annotations are stored, and the system message lacks their instructions.',
      },
    },
  ),
  Faults: object({
    faults: list(
      object(
        {
          at: { type: 'integer', description: 'When it was reported, in epoch milliseconds.' },
          code: text,
        },
        {
          step: count,
          model: { type: 'string', description: 'The model that failed.' },
          callId: { type: 'string', description: 'The call that failed, of the tool `tool`.' },
          tool: text,
          status: { type: 'integer', description: 'The HTTP status of the provider.' },
          attempts: count,
          durationMs: count,
          isRetried: { type: 'boolean', description: 'Whether the model was asked again.' },
          detail: {
            type: 'string',
            description: 'The reason, at most 4,000 characters. No model and no caller sees it.',
          },
        },
      ),
    ),
  }),
  StoredKey: object(STORED_KEY, KEY_TERMS),
  NewKey: object(
    { ...STORED_KEY, key: { type: 'string', description: 'The key itself, shown this once.' } },
    KEY_TERMS,
  ),
  KeyPage: object({ keys: list(object(STORED_KEY, KEY_TERMS)) }, { next: text }),
  HoldingPolicy: object(
    { pattern: { type: 'string', description: 'The pattern in `TOOL_POLICY`.' }, policy: OBJECT },
    { tool: { type: 'string', description: 'The tool behind an alias, if the pattern matches that one.' } },
  ),
}
