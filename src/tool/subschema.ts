import type { JsonObject } from '../contract/json.ts'
import { keysOf, partAt } from './pointer.ts'

/** A schema inside another: where, and whether it speaks of the same value or of a part of it. */
export interface Subschema {
  /** Keys from the outer schema, such as `['properties', 'city']`. */
  readonly path: readonly string[]
  readonly schema: unknown
  readonly sameValue: boolean
}

/** How a keyword holds schemas: one, a list, or a map by name. The map `dependencies` may also hold lists of names. */
export type Holder = 'one' | 'list' | 'one or list' | 'map'

/** The keywords of 2020-12 and draft-07 that hold schemas. */
export const HOLDERS: ReadonlyMap<string, Holder> = new Map([
  ['additionalItems', 'one'],
  ['additionalProperties', 'one'],
  ['contains', 'one'],
  ['else', 'one'],
  ['if', 'one'],
  ['not', 'one'],
  ['propertyNames', 'one'],
  ['then', 'one'],
  ['unevaluatedItems', 'one'],
  ['unevaluatedProperties', 'one'],
  ['items', 'one or list'],
  ['allOf', 'list'],
  ['anyOf', 'list'],
  ['oneOf', 'list'],
  ['prefixItems', 'list'],
  ['$defs', 'map'],
  ['definitions', 'map'],
  ['dependencies', 'map'],
  ['dependentSchemas', 'map'],
  ['patternProperties', 'map'],
  ['properties', 'map'],
])

const SAME_VALUE = new Set(['allOf', 'anyOf', 'oneOf', 'not', 'if', 'then', 'else', 'dependencies', 'dependentSchemas'])

/** The schemas directly inside this one, `$ref` aside. */
export function subschemas(schema: JsonObject): Subschema[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    const holder = HOLDERS.get(key)
    if (holder === undefined) return []
    const sameValue = SAME_VALUE.has(key)
    if (holder === 'one' || (holder === 'one or list' && !Array.isArray(value))) {
      return [{ path: [key], schema: value, sameValue }]
    }
    if (typeof value !== 'object' || value === null) return []
    return Object.entries(value)
      .filter(([, inner]) => key !== 'dependencies' || !Array.isArray(inner))
      .map(([name, inner]: [string, unknown]) => ({ path: [key, name], schema: inner, sameValue }))
  })
}

/** What a local reference (`#`, `#/$defs/place`) names, or undefined where it names nothing. */
export function resolveRef(root: JsonObject, ref: string): unknown {
  if (ref === '#') return root
  if (!ref.startsWith('#/')) return undefined
  try {
    return partAt(root, keysOf(decodeURIComponent(ref.slice(1))))
  } catch {
    return undefined
  }
}
