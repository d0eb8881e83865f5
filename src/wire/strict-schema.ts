import { isObject, type JsonSchema } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool.ts'
import { narrow, withoutChoice } from './narrow-schema.ts'

/** What OpenAI enforces of a strict tool (its guide to Structured Outputs, “Supported schemas”). */
const ENFORCED = {
  plain: /^(type|title|enum|pattern|format|multipleOf|(exclusive)?(Min|Max)imum|(min|max)(imum|Items)|required)$/,
  lists: /^(anyOf|oneOf)$/,
  formats: /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/,
  isClosed: true,
  isWhole: true,
}

/**
 * The arguments of a tool as OpenAI's formats want them: without a choice at the top, with properties, and those of a
 * strict tool in the words that are enforced. Throws an UnsupportedSchema for a strict one that cannot be said so, and says where.
 */
export function toParameters({ name, inputSchema, strict }: ToolDefinition): JsonSchema {
  const schema = withoutChoice(inputSchema)
  return strict ? narrow(schema, `"${name}"`, ENFORCED) : { properties: {}, ...schema }
}

/** The text of a tool. A list that does not say of what has the whole request refused: it may be of anything. */
export function toolText(tool: object): string {
  return JSON.stringify(tool, (_, part: unknown) =>
    isObject(part) && [part.type].flat().includes('array') ? { items: {}, ...part } : part,
  )
}
