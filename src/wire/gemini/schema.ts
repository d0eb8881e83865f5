import type { JsonSchema } from '../../contract/json.ts'
import { narrow, withoutChoice } from '../narrow-schema.ts'

/** What Gemini documents for `parametersJsonSchema` and `responseJsonSchema`; it ignores other words. */
const DOCUMENTED = {
  plain: /^(type|title|format|required|enum|(min|max)(Items|imum)|additionalProperties)$/,
  lists: /^(anyOf|oneOf|prefixItems)$/,
}

/** The arguments of a tool. Throws an UnsupportedSchema for a reference that leads out of the schema, and says where. */
export function toParameters(schema: JsonSchema, tool: string): JsonSchema {
  return toResponseSchema(withoutChoice(schema), tool)
}

/** The form of an answer. Throws as `toParameters` does. */
export function toResponseSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, DOCUMENTED)
}
