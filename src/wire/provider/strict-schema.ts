import { isObject, type JsonSchema } from '../../contract/json.ts'
import type { ToolDefinition } from '../../contract/tool.ts'
import { narrow, withoutChoice } from './narrow-schema.ts'

/** The keywords that OpenAI enforces for a strict tool (its guide to Structured Outputs, “Supported schemas”). */
const ENFORCED = {
  plain: /^(type|title|enum|pattern|format|multipleOf|(exclusive)?(Min|Max)imum|(min|max)(imum|Items)|required)$/,
  lists: /^(anyOf|oneOf)$/,
  formats: /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/,
  isClosed: true,
  requiresAll: true,
}

/**
 * Converts the schema of a tool's arguments for OpenAI's formats: without a choice at the top, with properties, and for
 * a strict tool with enforced keywords only. Throws an UnsupportedSchema if a strict tool's schema cannot be converted,
 * and says where.
 */
export function toParameters({ name, inputSchema, strict }: ToolDefinition): JsonSchema {
  const schema = withoutChoice(inputSchema)
  return strict ? narrow(schema, `"${name}"`, ENFORCED) : { properties: {}, ...schema }
}

/** Encodes a tool. Array schemas without `items` get `items` of any type: else the whole request would be refused. */
export function toolText(tool: object): string {
  const text = JSON.stringify(tool)
  // A replacer is called for every member, so it is only used where it may find something.
  if (!text.includes('"array"')) return text
  return JSON.stringify(tool, (_, part: unknown) =>
    isObject(part) && [part.type].flat().includes('array') ? { items: {}, ...part } : part,
  )
}
