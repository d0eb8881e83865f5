import { isObject, type JsonObject, type JsonSchema, followRef } from '../../contract/json.ts'

/** What a field of a form is for. `json`: a schema that no field fits, written as JSON. */
export type FieldKind = 'text' | 'number' | 'integer' | 'boolean' | 'choice' | 'object' | 'list' | 'variants' | 'json'

/** How many schemas are followed for one field, and filled in at first: references may lead to ever more of them. */
const MOST_SCHEMAS = 200

/** Follows `$ref` within the schema, and merges what `allOf` says. */
export function resolveSchema(schema: unknown, root: JsonSchema): JsonObject {
  let schemasLeft = MOST_SCHEMAS
  const resolve = (each: unknown, depth: number): JsonObject => {
    if (!isObject(each) || depth > 8 || schemasLeft-- <= 0) return {}
    const { $ref, allOf, ...rest } = each
    const target = typeof $ref === 'string' ? resolve(followRef(root, $ref), depth + 1) : {}
    const parts = Array.isArray(allOf) ? allOf.map((part) => resolve(part, depth + 1)) : []
    return [target, ...parts].reduce<JsonObject>(merged, rest)
  }
  return resolve(schema, 0)
}

/** Tells which field a schema is filled in with. */
export function kindOf(schema: JsonObject): FieldKind {
  if (Array.isArray(schema['enum']) || 'const' in schema) return 'choice'
  if (variantsOf(schema).length > 0) return 'variants'
  switch (typeOf(schema)) {
    case 'string':
      return 'text'
    case 'number':
      return 'number'
    case 'integer':
      return 'integer'
    case 'boolean':
      return 'boolean'
    case 'array':
      return isObject(schema['items']) ? 'list' : 'json'
    case 'object':
      return isObject(schema['properties']) ? 'object' : 'json'
    default:
      return isObject(schema['properties']) ? 'object' : 'json'
  }
}

/** The values of a choice. */
export function choicesOf(schema: JsonObject): readonly unknown[] {
  const options = schema['enum']
  return Array.isArray(options) ? options : [schema['const']]
}

/** The schemas of which a value fits one; for several types, one for each. */
export function variantsOf(schema: JsonObject): readonly JsonObject[] {
  const { anyOf, oneOf, type, ...rest } = schema
  const any = Array.isArray(anyOf) ? anyOf : oneOf
  if (Array.isArray(any)) return any.filter(isObject)
  const types = Array.isArray(type) ? type.filter((each) => each !== 'null') : []
  return types.length > 1 ? types.map((each: unknown) => ({ ...rest, type: each })) : []
}

export function propertiesOf(schema: JsonObject): readonly (readonly [string, JsonObject])[] {
  const { properties } = schema
  return isObject(properties)
    ? Object.entries(properties).map(([name, each]) => [name, isObject(each) ? each : {}])
    : []
}

export function requiredOf({ required }: JsonObject): readonly unknown[] {
  return Array.isArray(required) ? required : []
}

/** What a required field begins with; undefined where a person must say. */
export function emptyOf(schema: JsonObject, root: JsonSchema): unknown {
  let schemasLeft = MOST_SCHEMAS
  const empty = (each: JsonObject, depth: number): unknown => {
    if (schemasLeft-- <= 0) return undefined
    const target = resolveSchema(each, root)
    if ('default' in target) return target['default']
    if ('const' in target) return target['const']
    switch (kindOf(target)) {
      case 'boolean':
        return false
      case 'list':
        return []
      case 'object': {
        if (depth > 4) return undefined
        const required = requiredOf(target)
        const values = propertiesOf(target).map(
          ([name, inner]) => [name, required.includes(name) ? empty(inner, depth + 1) : undefined] as const,
        )
        return Object.fromEntries(values.filter(([, value]) => value !== undefined))
      }
      default:
        return undefined
    }
  }
  return empty(schema, 0)
}

/** The type of an HTML input for a text of this format. */
export function inputType({ format }: JsonObject): 'date' | 'time' | 'text' {
  return format === 'date' || format === 'time' ? format : 'text'
}

function typeOf({ type }: JsonObject): unknown {
  return Array.isArray(type) ? type.find((each) => each !== 'null') : type
}

function merged(a: JsonObject, b: JsonObject): JsonObject {
  const properties = { ...objectOf(b['properties']), ...objectOf(a['properties']) }
  const required = [...new Set([...requiredOf(b), ...requiredOf(a)])]
  return {
    ...b,
    ...a,
    ...(Object.keys(properties).length > 0 && { properties }),
    ...(required.length > 0 && { required }),
  }
}

function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {}
}
