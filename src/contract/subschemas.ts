import { isObject, type JsonObject } from './json.ts'

/** How a keyword holds schemas. `items` may also hold one; `dependencies` may hold lists of names instead. */
export const HOLDS: ReadonlyMap<string, 'one' | 'list' | 'map'> = new Map([
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
  ['allOf', 'list'],
  ['anyOf', 'list'],
  ['items', 'list'],
  ['oneOf', 'list'],
  ['prefixItems', 'list'],
  ['$defs', 'map'],
  ['definitions', 'map'],
  ['dependencies', 'map'],
  ['dependentSchemas', 'map'],
  ['patternProperties', 'map'],
  ['properties', 'map'],
])

/**
 * Converts the schemas directly inside a schema; `path` leads to each from there. Returns the schema itself if `convert`
 * changes none of them. Values that should hold schemas and do not are left as they are.
 */
export function mapSubschemas(
  schema: JsonObject,
  convert: (inner: unknown, path: readonly string[]) => unknown,
): JsonObject {
  let isSame = true
  const converted = (inner: unknown, path: readonly string[]): unknown => {
    const result = convert(inner, path)
    if (result !== inner) isSame = false
    return result
  }
  const entries = Object.entries(schema).map(([keyword, value]): readonly [string, unknown] => {
    const holds = HOLDS.get(keyword)
    if (holds === 'map' && isObject(value)) {
      const pairs = Object.entries(value).map(([name, inner]) => [
        name,
        keyword === 'dependencies' && Array.isArray(inner) ? inner : converted(inner, [keyword, name]),
      ])
      return [keyword, Object.fromEntries(pairs)]
    }
    if (holds === 'list' && Array.isArray(value))
      return [keyword, value.map((inner: unknown, index) => converted(inner, [keyword, String(index)]))]
    const isOne = holds === 'one' || (keyword === 'items' && !Array.isArray(value))
    return [keyword, isOne ? converted(value, [keyword]) : value]
  })
  return isSame ? schema : Object.fromEntries(entries)
}
