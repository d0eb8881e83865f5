import type { JsonSchema } from '../../../contract/json.ts'
import { narrow } from '../narrow-schema.ts'

/** The keywords that Gemini documents for `parametersJsonSchema` and `responseJsonSchema`; it ignores others. */
const DOCUMENTED = {
  plain: /^(type|title|format|required|enum|(min|max)(Items|imum)|additionalProperties)$/,
  lists: /^(anyOf|oneOf|prefixItems)$/,
}

/** Converts a schema for Gemini. Throws an UnsupportedSchema for a reference that leads out of it, and says where. */
export function toSchema(schema: JsonSchema, name: string): JsonSchema {
  return narrow(schema, `"${name}"`, DOCUMENTED)
}
