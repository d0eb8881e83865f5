import type { JsonSchema } from '../../contract/json.ts'
import { narrow } from '../narrow-schema.ts'

/** What Anthropic's structured outputs enforce. */
const ENFORCED = { plain: /^(type|title|required|enum|const)$/, lists: /^(anyOf|oneOf|allOf)$/, isClosed: true }

/** The form of an answer. Throws an UnsupportedSchema for what cannot be enforced, and says where. */
export function toOutputSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, ENFORCED)
}
