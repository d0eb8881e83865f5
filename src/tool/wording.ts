import { isObject, type JsonObject } from '../contract/json.ts'
import { partAt } from './pointer.ts'

/** Follows a reference to the schema that it stands for. */
export type Follow = (ref: string) => unknown

/** Keywords that bound a number or a size, and how to say so. */
const BOUNDS: ReadonlyMap<string, string> = new Map([
  ['minimum', 'at least #'],
  ['maximum', 'at most #'],
  ['exclusiveMinimum', 'more than #'],
  ['exclusiveMaximum', 'less than #'],
  ['multipleOf', 'a multiple of #'],
  ['minLength', 'at least # characters'],
  ['maxLength', 'at most # characters'],
  ['pattern', 'text that matches /#/u'],
  ['minItems', 'at least # items'],
  ['maxItems', 'at most # items'],
  ['minProperties', 'at least # keys'],
  ['maxProperties', 'at most # keys'],
])

const FORMATS: ReadonlyMap<unknown, string> = new Map([
  ['date', 'a date such as 2026-01-31'],
  ['time', 'a time with its zone, such as 14:30:00Z'],
  ['date-time', 'a date and time with its zone, such as 2026-01-31T14:30:00Z'],
  ['duration', 'a duration such as PT1H30M'],
])

/** What a keyword expects, such as `at least 3`; undefined where that takes more than a few words. */
export function expectation(keyword: string, schema: unknown, follow: Follow): string | undefined {
  const limit = partAt(schema, [keyword])
  const bound = BOUNDS.get(keyword)
  if (bound !== undefined) return bound.replace('#', () => String(limit))
  switch (keyword) {
    case 'type':
      return nameOf({ type: limit }, follow)
    case 'const':
      return nameOf({ const: limit }, follow)
    case 'enum':
      return nameOf({ enum: limit }, follow)
    case 'anyOf':
    case 'oneOf':
      return nameOf({ anyOf: limit }, follow)
    case 'format':
      return FORMATS.get(limit) ?? `text of the format ${String(limit)}`
    case 'not':
      // The interpreter's own form of the schema `false`.
      return isObject(limit) && Object.keys(limit).length === 0 ? 'nothing here' : undefined
    default:
      return undefined
  }
}

const MOST_NESTED = 4
const MOST_CHARACTERS = 200

/** A schema in a few words, such as `string | null` or `"asc" | "desc"`. */
export function nameOf(schema: unknown, follow: Follow, depth = 0): string {
  const parts = depth < MOST_NESTED && isObject(schema) ? namesOf(schema, follow, depth + 1) : []
  const name = [...new Set(parts)].join(' | ')
  if (name === '') return 'a value'
  return name.length > MOST_CHARACTERS ? `${name.slice(0, MOST_CHARACTERS)}…` : name
}

function namesOf(schema: JsonObject, follow: Follow, depth: number): string[] {
  const { $ref, type, anyOf, oneOf, properties, required } = schema
  if (Object.hasOwn(schema, 'const')) return [JSON.stringify(schema['const'])]
  if (Array.isArray(schema['enum'])) return schema['enum'].map((value) => JSON.stringify(value))
  if (type === 'object' && Array.isArray(required) && required.length > 0) return [`object with ${required.join(', ')}`]
  if (typeof type === 'string') return [type]
  if (Array.isArray(type)) return type.map(String)
  if (typeof $ref === 'string') return [nameOf(follow($ref), follow, depth)]
  const branches = Array.isArray(anyOf) ? anyOf : oneOf
  if (Array.isArray(branches)) return branches.map((branch) => nameOf(branch, follow, depth))
  return isObject(properties) ? ['object'] : []
}

const MOST_SHOWN = 60

/** A value as a misfit's message shows it: what it is, texts cut short. */
export function received(value: unknown): string {
  if (typeof value === 'string') {
    return value.length > MOST_SHOWN ? `${JSON.stringify(value.slice(0, MOST_SHOWN))}…` : JSON.stringify(value)
  }
  if (Array.isArray(value)) return 'Array'
  return typeof value === 'object' && value !== null ? 'Object' : String(value)
}
