import type { JsonSchema } from '../../../contract/json.ts'
import { narrow } from '../narrow-schema.ts'

/** The keywords that Anthropic's structured outputs enforce. */
const ENFORCED = { plain: /^(type|title|required|enum|const)$/, lists: /^(anyOf|oneOf|allOf)$/, isClosed: true }

/** Converts the schema of an answer. Throws an UnsupportedSchema that says what cannot be enforced, and where. */
export function toOutputSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, ENFORCED)
}
