import { isObject, type JsonObject } from '../contract/json.ts'
import type { SchemaDocument } from './document.ts'
import { refsOf } from './keywords.ts'

const MOST_NESTED = 4
/** The most values or branches that are named: messages are cut long before. */
const MOST_NAMED = 20

/** Describes a schema in a few words, such as `string | null` or `"asc" | "desc"`. */
export function describeSchema(document: SchemaDocument, schema: unknown, depth = 0): string {
  const parts = depth < MOST_NESTED && isObject(schema) ? namesOf(document, schema, depth + 1) : []
  return [...new Set(parts)].join(' | ') || 'a value'
}

function namesOf(document: SchemaDocument, schema: JsonObject, depth: number): string[] {
  const { const: only, enum: values, type, anyOf, oneOf, properties, required } = schema
  if (only !== undefined) return [JSON.stringify(only)]
  if (Array.isArray(values)) return values.slice(0, MOST_NAMED).map((value) => JSON.stringify(value))
  if (type === 'object' && Array.isArray(required) && required.length > 0) {
    return [`object with ${required.slice(0, MOST_NAMED).join(', ')}`]
  }
  if (type !== undefined) return [type].flat().map(String)
  const [ref] = refsOf(schema)
  if (ref !== undefined) return [describeSchema(document, document.resolve(schema, ref), depth)]
  const branches = anyOf ?? oneOf
  if (Array.isArray(branches))
    return branches.slice(0, MOST_NAMED).map((branch) => describeSchema(document, branch, depth))
  return properties === undefined ? [] : ['object']
}
