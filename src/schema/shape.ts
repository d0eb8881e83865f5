import { canonicalJson, isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { pointerKeys, partAt } from '../contract/json-pointer.ts'

/**
 * The key under which a schema made by `convertInput` names the kind of value that JSON lacks and that it stands for,
 * such as `date`. It is a symbol, so that it never leaves this Worker.
 */
export const AS: unique symbol = Symbol('as')

/** A walk over a value and its schema. Its steps are limited: references and unions could make it long or deep. */
export interface Walk {
  readonly root: JsonSchema
  /** How many steps are left. */
  steps: number
  depth: number
}

const MOST_STEPS = 100_000
const MOST_DEPTH = 256

export function startWalk(root: JsonSchema): Walk {
  return { root, steps: MOST_STEPS, depth: 0 }
}

/** Runs `work` as one step of a walk, or returns `otherwise` if the walk is at its limits. */
export function step<Made>(walk: Walk, otherwise: Made, work: () => Made): Made {
  if (walk.depth >= MOST_DEPTH || (walk.steps -= 1) < 0) return otherwise
  walk.depth += 1
  try {
    return work()
  } finally {
    walk.depth -= 1
  }
}

/** Returns the schema that `$ref` names, if that is in the same document. */
export function target({ root }: Walk, { $ref }: JsonObject): unknown {
  return typeof $ref === 'string' && $ref.startsWith('#') ? partAt(root, pointerKeys($ref.slice(1))) : undefined
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

/** Returns the branches of a union. */
export function branchesOf({ anyOf, oneOf }: JsonObject): readonly unknown[] {
  return [...listOf(anyOf), ...listOf(oneOf)]
}

/** Returns the schemas that must all hold for the same value as this one. */
export function conjunctsOf(walk: Walk, schema: JsonObject): readonly unknown[] {
  return [target(walk, schema), ...listOf(schema['allOf'])]
}

/** Returns the values that a schema lists, or undefined if it lists none. */
export function optionsOf(schema: JsonObject): readonly unknown[] | undefined {
  if (Array.isArray(schema['enum'])) return schema['enum']
  return Object.hasOwn(schema, 'const') ? [schema['const']] : undefined
}

export function isSame(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === 'object' && typeof b === 'object' && canonicalJson(a) === canonicalJson(b))
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

/** Returns the schema for a part of an object or array, or undefined if any value will do. */
export function schemaAt(schema: JsonObject, key: string | number): unknown {
  if (typeof key === 'string') {
    const { properties, patternProperties, additionalProperties } = schema
    if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key]
    // Matching keys against `patternProperties` is left to the schema's own check.
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
    const made = change(schemaAt(schema, key), part)
    changed ||= made !== part
    return made
  }
  if (Array.isArray(value)) {
    const parts = value.map((part: unknown, index) => mapped(index, part))
    return changed ? parts : value
  }
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, part]) => [key, mapped(key, part)] as const)
  return changed ? Object.fromEntries(entries) : value
}

/**
 * Returns whether a value has the shape that a schema asks for: types, listed values, required and unknown keys, and
 * the parts likewise. Bounds, patterns and formats are left to the schema's own check.
 */
export function fits(walk: Walk, schema: unknown, value: unknown): boolean {
  if (typeof schema === 'boolean') return schema
  return !isObject(schema) || step(walk, false, () => fitsObject(walk, schema, value))
}

function fitsObject(walk: Walk, schema: JsonObject, value: unknown): boolean {
  const as = asOf(schema)
  if (as && !as.fits(value)) return false
  const types = typesOf(schema)
  if (!as && types.length > 0 && !types.some((type) => isOfType(type, value))) return false
  const options = optionsOf(schema)
  if (options && !options.some((option) => isSame(option, value))) return false
  if (isObject(value) && !listOf(schema['required']).every((key) => Object.hasOwn(value, String(key)))) return false
  const branches = branchesOf(schema)
  if (branches.length > 0 && !branches.some((branch) => fits(walk, branch, value))) return false
  if (!conjunctsOf(walk, schema).every((also) => fits(walk, also, value))) return false
  let isFit = true
  mapParts(schema, value, (inner, part) => {
    isFit &&= fits(walk, inner, part)
    return part
  })
  return isFit
}

interface As {
  readonly fits: (value: unknown) => boolean
  readonly make: (value: unknown) => unknown
}

const DIGITS = /^\s*-?\d+\s*$/
const ISO = /^(\d{4}-\d\d-\d\d)(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(z|[+-]\d\d:?\d\d)?)?$/i

/** Values that JSON does not have: which JSON fits each kind, and how it is converted. A time without a zone is UTC. */
const KINDS: Readonly<Record<string, As>> = {
  date: {
    fits: (value) => toDate(value) !== undefined,
    make: toDate,
  },
  bigint: {
    // An integer that a number cannot hold comes as its digits (`parseExactly`).
    fits: (value) => Number.isInteger(value) || (typeof value === 'string' && DIGITS.test(value)),
    make: (value) => BigInt(typeof value === 'number' ? value : String(value)),
  },
  set: { fits: Array.isArray, make: (value) => new Set(listOf(value)) },
  map: { fits: isObject, make: (value) => new Map(isObject(value) ? Object.entries(value) : []) },
}

export function asOf(schema: object): As | undefined {
  const as: unknown = Reflect.get(schema, AS)
  return typeof as === 'string' ? KINDS[as] : undefined
}

function toDate(value: unknown): Date | undefined {
  const [text, day = '', zone] = typeof value === 'string' ? (ISO.exec(value.trim()) ?? []) : []
  // `Date` accepts the 31st of any month and moves on to the next, so that the day is compared.
  if (text === undefined || !(new Date(day).toJSON() ?? '').startsWith(day)) return undefined
  const date = new Date(zone !== undefined || text === day ? text : `${text}Z`)
  return Number.isNaN(date.valueOf()) ? undefined : date
}
