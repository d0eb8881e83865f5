import { partAt, pointerKeys } from '../contract/json-pointer.ts'
import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { MOST_WORK, spend, startWork, type Work, WorkError } from './work.ts'

/**
 * A walk over a value and its schema. Its steps are limited, since references and unions could make it long or deep.
 */
export interface Walk extends Work {
  readonly root: JsonSchema
  depth: number
}

const MOST_DEPTH = 256

/** Runs a walk, or returns `otherwise` if it reaches its limits. */
export function walk<Value>(root: JsonSchema, otherwise: Value, work: (walk: Walk) => Value): Value {
  try {
    return work({ ...startWork(MOST_WORK / 2), root, depth: 0 })
  } catch (error) {
    if (error instanceof WorkError) return otherwise
    throw error
  }
}

/** Runs `work` as one step of a walk. Throws a WorkError if the walk is at its limits. */
export function step<Value>(walk: Walk, work: () => Value): Value {
  spend(walk, 4)
  if (walk.depth >= MOST_DEPTH) throw new WorkError()
  walk.depth += 1
  const value = work()
  walk.depth -= 1
  return value
}

/** Returns the schema that `$ref` names by a JSON pointer from the root, such as `#/$defs/tree`. */
export function target({ root }: Walk, { $ref }: JsonObject): unknown {
  return typeof $ref === 'string' && /^#(?:\/|$)/.test($ref) ? partAt(root, pointerKeys($ref.slice(1))) : undefined
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the branches of a union. */
export function branchesOf({ anyOf, oneOf }: JsonObject): readonly unknown[] {
  return [...listOf(anyOf), ...listOf(oneOf)]
}

/** Returns the schemas that the same value must fit beside this one. */
export function conjunctsOf(walk: Walk, schema: JsonObject): readonly unknown[] {
  return [target(walk, schema), ...listOf(schema['allOf'])]
}

/** Returns the values that a schema lists, or undefined if it lists none. */
export function enumOf(schema: JsonObject): readonly unknown[] | undefined {
  if (Array.isArray(schema['enum'])) return schema['enum']
  return Object.hasOwn(schema, 'const') ? [schema['const']] : undefined
}

/** Returns the types that a schema wants: those that it names, or the one that its other keywords imply. */
export function typesOf(schema: JsonObject): readonly unknown[] {
  const { type, nullable, properties, items, prefixItems } = schema
  if (type !== undefined) return [type, nullable === true ? 'null' : []].flat()
  if (properties !== undefined) return ['object']
  return items === undefined && prefixItems === undefined ? [] : ['array']
}

export function isOfType(type: unknown, value: unknown): boolean {
  if (type === 'array') return Array.isArray(value)
  if (type === 'object') return isObject(value)
  if (type === 'null') return value === null
  return type === 'integer' ? Number.isInteger(value) : type === typeof value
}

/** Returns the schema for a part of an object or array, or undefined if any value fits. */
export function schemaAt(schema: JsonObject, key: string | number): unknown {
  if (typeof key === 'string') {
    const { properties, patternProperties, additionalProperties } = schema
    if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key]
    // `patternProperties` is left to the validation of the whole value.
    return patternProperties === undefined ? additionalProperties : undefined
  }
  const { items, prefixItems, additionalItems } = schema
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [listOf(prefixItems), items]
  return key < first.length ? first[key] : rest
}

/** Returns a copy of an object or array with each part changed, or the value itself if no part changes. */
export function mapParts(
  schema: JsonObject,
  value: unknown,
  change: (schema: unknown, part: unknown) => unknown,
): unknown {
  let changed = false
  const mapped = (key: string | number, part: unknown): unknown => {
    const changedPart = change(schemaAt(schema, key), part)
    changed ||= changedPart !== part
    return changedPart
  }
  if (Array.isArray(value)) {
    const parts = value.map((part: unknown, index) => mapped(index, part))
    return changed ? parts : value
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, part]) => [key, mapped(key, part)] as const)
  return changed ? Object.fromEntries(entries) : value
}
