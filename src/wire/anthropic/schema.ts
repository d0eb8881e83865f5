import type { JsonSchema } from '../../contract/json.ts'
import { narrow, withoutChoice } from '../narrow-schema.ts'

/** What Anthropic's structured outputs enforce. */
const ENFORCED = { plain: /^(type|title|required|enum|const)$/, lists: /^(anyOf|oneOf|allOf)$/, isClosed: true }

/** The arguments of a tool: any JSON Schema of an object, but no choice at its top. */
export function toInputSchema(schema: JsonSchema): JsonSchema {
  return withoutChoice(schema)
}

/** The form of an answer. Throws an UnsupportedSchema for what cannot be enforced, and says where. */
export function toOutputSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, ENFORCED)
}
