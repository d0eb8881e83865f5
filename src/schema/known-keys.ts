import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { parseExactly } from './exact-numbers.ts'
import type { Issue } from './issue.ts'

/** Keywords that allow an object keys that `properties` does not name. */
const OTHERS = ['$ref', '$dynamicRef', 'allOf', 'anyOf', 'oneOf', 'if', 'patternProperties', 'dependentSchemas']

/**
 * Renames the keys of arguments to the names that their schema has. A model may write a name in another case (`City`,
 * `first-name` for `firstName`), or put all arguments inside one key (`{"arguments": {…}}`). If every field is
 * optional, such arguments fit the schema, and the tool would see none of them. Returns the value itself if there is
 * nothing to rename, and if the schema allows other keys.
 */
export function withKnownKeys(schema: JsonSchema, value: unknown): unknown {
  const propertyNames = namesOf(schema)
  if (!propertyNames || !isObject(value)) return value
  const renamed = rename(propertyNames, value)
  if (Object.keys(renamed).some((key) => propertyNames.has(key))) return renamed
  const [only, ...more] = Object.entries(renamed)
  const inner = only && more.length === 0 ? asObject(only[1]) : undefined
  if (!inner) return renamed
  const unwrapped = rename(propertyNames, inner)
  const keys = Object.keys(unwrapped)
  return keys.length > 0 && keys.every((key) => propertyNames.has(key)) ? unwrapped : renamed
}

/** Returns what is wrong with arguments of which the tool would see none, since the schema names none of their keys. */
export function unknownKeys(schema: JsonSchema, value: unknown): Issue | undefined {
  const propertyNames = namesOf(schema)
  const [first, ...others] = isObject(value) ? Object.keys(value) : []
  if (!propertyNames || first === undefined || [first, ...others].some((key) => propertyNames.has(key)))
    return undefined
  return { path: first, message: `expected ${[...propertyNames].slice(0, 20).join(', ')}, received another name` }
}

/** Returns the names of a schema's properties, or undefined if it may take others. */
function namesOf(schema: JsonSchema): ReadonlySet<string> | undefined {
  const { properties, additionalProperties = false } = schema
  if (!isObject(properties) || additionalProperties !== false || OTHERS.some((keyword) => keyword in schema))
    return undefined
  const names = Object.keys(properties)
  return names.length > 0 ? new Set(names) : undefined
}

function rename(propertyNames: ReadonlySet<string>, value: JsonObject): JsonObject {
  const keys = Object.keys(value)
  const names = new Map<string, string>()
  for (const key of keys) {
    if (propertyNames.has(key)) continue
    const same = (each: string) => folded(each) === folded(key)
    const [name, ...more] = [...propertyNames].filter(same)
    // With two similar names, or two keys for one name, it is unclear which was meant.
    if (name !== undefined && more.length === 0 && keys.filter(same).length === 1) names.set(key, name)
  }
  if (names.size === 0) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [names.get(key) ?? key, inner]))
}

function folded(name: string): string {
  return name.toLowerCase().replace(/[\s_-]/g, '')
}

function asObject(value: unknown): JsonObject | undefined {
  if (isObject(value)) return value
  if (typeof value !== 'string' || !value.trim().startsWith('{')) return undefined
  try {
    const parsed: unknown = parseExactly(value)
    return isObject(parsed) ? parsed : undefined
  } catch {
    return undefined
  }
}
