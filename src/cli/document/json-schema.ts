import type { JsonSchema } from '../../contract/json.ts'

/** Short forms of the JSON Schemas of which the OpenAPI document is made. */
export const text = { type: 'string' }
export const count = { type: 'integer', minimum: 0 }
export const flag = { type: 'boolean' }

/** What tells to which Worker a call was sent, and which version of it answered. */
export const SOURCE = {
  place: { type: 'string', description: 'The source of the tool, such as the binding `TOOL_CLOCK`.' },
  version: { type: 'string', description: 'The version of the tool’s definition.' },
}
export const DEPLOYMENT = { type: 'string', description: 'The deployed version of the Worker that answered.' }

/** Makes the schema of an object. It may have further members. */
export function object(
  required: Readonly<Record<string, JsonSchema>>,
  optional: Readonly<Record<string, JsonSchema>> = {},
): JsonSchema {
  const names = Object.keys(required)
  return { type: 'object', properties: { ...required, ...optional }, ...(names.length > 0 && { required: names }) }
}

/** Makes the schema of an array. */
export function list(items: JsonSchema): JsonSchema {
  return { type: 'array', items }
}

/** Returns a reference to a schema of the document. */
export function ref(name: string): JsonSchema {
  return { $ref: `#/components/schemas/${name}` }
}

/** What a decision model has said about a call or its result. */
export const JUDGEMENT = {
  required: { ok: flag },
  optional: {
    model: { type: 'string', description: 'Its name; absent if the edge has none.' },
    answer: { type: 'string', description: 'The most likely answer; absent if there was no usable one.' },
    probabilities: {
      type: 'object',
      additionalProperties: { type: 'number' },
      description: 'The probability of each answer, from 0 to 1.',
    },
    code: { type: 'string', description: 'Why there was no usable answer.' },
    usage: ref('Usage'),
    requests: { ...count, description: 'How many requests that took, if it was more than one.' },
  },
} as const

/** What a provider did with a tool of its own. */
export const PROVIDER_CALL = {
  required: {
    tool: { type: 'string', description: 'The name of the tool in the run.' },
    input: { type: 'object', description: 'What the model asked the tool for, such as a query.' },
    ok: flag,
  },
  optional: {
    kind: {
      enum: ['web_search', 'web_fetch', 'code', 'file_search', 'mcp'],
      description: 'What the tool does, if that is known.',
    },
    id: { type: 'string', description: 'The provider’s id.' },
    sources: { ...list(object({ url: text }, { title: text })), description: 'The first pages that it found.' },
    output: { type: 'string', description: 'The beginning of the text that it gave, or why it failed.' },
  },
} as const

export const PART_REFUSALS = {
  ...list(
    object({
      position: count,
      part: {},
      size: count,
      model: text,
      reason: { ...text, description: 'What the server said.' },
    }),
  ),
  description:
    'Parts of messages that the server of the model has refused, and that it is not sent again: `part` is the index in the content of the message at `position`, or `opaque` for data of the provider.',
}

/** What an agent has called. */
export const MADE_CALLS = {
  ...list(
    object(
      { tool: text, arguments: { type: 'string' }, outcome: { type: 'string' } },
      { by: text, times: count, inDoubt: { const: true } },
    ),
  ),
  description:
    'What an agent called that may have taken effect, in brief. `by`: the agents below it; `times`: how many calls of the tool there were, in the place of each; `inDoubt`: nobody knows whether it took effect.',
}
