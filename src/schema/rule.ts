import { isObject, type JsonObject, type JsonSchema, followRef } from '../contract/json.ts'
import { type Check, checksOf, refsOf } from './keywords.ts'
import { MOST_WORK, spend, startWork, type Work, WorkError } from './pattern.ts'

/** The keywords of one schema in the form in which `fit` applies them. */
export interface Rule {
  /** The schema as it was written. */
  readonly source: JsonObject
  /** The keywords that apply; draft-07 ignores those beside a `$ref`. */
  readonly schema: JsonObject
  readonly refs: readonly string[]
  /** The keywords that look at the value alone. */
  readonly checks: readonly Check[]
  readonly properties: ReadonlyMap<string, unknown>
  readonly patternProperties: readonly (readonly [pattern: string, schema: unknown])[]
  readonly required: readonly string[]
  /** What must hold if a key is present: other keys, or a schema. */
  readonly dependents: readonly (readonly [key: string, needs: readonly string[] | { readonly schema: unknown }])[]
  /** Whether any keyword applies to the keys of an object. */
  readonly hasKeys: boolean
  readonly first: readonly unknown[]
  readonly rest: unknown
  readonly allOf: readonly unknown[]
  readonly anyOf: Union | undefined
  readonly oneOf: Union | undefined
}

/** The branches of a union. */
export interface Union {
  readonly branches: readonly unknown[]
  /** Returns the branches that a value can fit, judged by the constant that tells them apart. */
  readonly candidates: (value: unknown) => readonly unknown[]
}

/** The document that a schema is part of. */
interface Resolver {
  readonly isLegacy: boolean
  resolve(from: JsonObject, ref: string): unknown
}

/** Compiles a schema. With a reference in draft-07, only the reference counts. */
export function compileRule(document: Resolver, schema: JsonObject): Rule {
  const refs = refsOf(schema)
  const used = document.isLegacy && refs.length > 0 ? {} : schema
  const { prefixItems, items, additionalItems, dependencies, dependentRequired, dependentSchemas } = used
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [toList(prefixItems), items]
  const needs = [dependencies, dependentRequired, dependentSchemas].flatMap(entriesOf)
  return {
    source: schema,
    schema: used,
    refs,
    checks: checksOf(used),
    properties: new Map(entriesOf(used['properties'])),
    patternProperties: entriesOf(used['patternProperties']),
    required: toList(used['required']).map(String),
    dependents: needs.map(([key, need]) => [key, Array.isArray(need) ? need.map(String) : { schema: need }]),
    hasKeys: ['properties', 'patternProperties', 'additionalProperties', 'propertyNames'].some((name) => name in used),
    first,
    rest,
    allOf: toList(used['allOf']),
    anyOf: findUnion(document, used['anyOf']),
    oneOf: findUnion(document, used['oneOf']),
  }
}

function findUnion(document: Resolver, branches: unknown): Union | undefined {
  if (!Array.isArray(branches) || branches.length === 0) return undefined
  return { branches, candidates: tagged(document, branches) ?? (() => branches) }
}

/** The fewest branches for which an index is worth making. */
const FEWEST_INDEXED = 4

/** Indexes branches by a required property with a constant in each of them; undefined if there is none. */
function tagged(document: Resolver, branches: readonly unknown[]): Union['candidates'] | undefined {
  if (branches.length < FEWEST_INDEXED) return undefined
  const constants = branches.map((branch) =>
    isObject(branch) && refsOf(branch).length === 0 ? scalarsOf(branch) : undefined,
  )
  const tags = branches.map((branch) => tagsOf(document, branch))
  const key = [...(tags[0]?.keys() ?? [])].find((each) => tags.every((tag) => tag.has(each)))
  if (constants.every((each) => each !== undefined)) {
    const index = indexOf(branches, constants)
    return (value) => index.get(value) ?? []
  }
  if (key === undefined) return undefined
  const index = indexOf(
    branches,
    tags.map((tag) => tag.get(key) ?? []),
  )
  return (value) => (isObject(value) && Object.hasOwn(value, key) ? (index.get(value[key]) ?? []) : branches)
}

function indexOf(branches: readonly unknown[], values: readonly (readonly unknown[])[]): Map<unknown, unknown[]> {
  const index = new Map<unknown, unknown[]>()
  for (const [at, branch] of branches.entries()) {
    for (const value of values[at] ?? []) {
      const others = index.get(value)
      if (others) others.push(branch)
      else index.set(value, [branch])
    }
  }
  return index
}

/** Returns the scalars that the value of each key must be one of, for the keys that an object must have. */
function tagsOf(document: Resolver, branch: unknown): ReadonlyMap<string, readonly unknown[]> {
  if (!isObject(branch)) return new Map()
  const [ref, ...more] = refsOf(branch)
  if (ref !== undefined) {
    // The target of a `$dynamicRef` depends on the schemas that lead to it.
    const target = more.length === 0 && '$ref' in branch ? document.resolve(branch, ref) : undefined
    return isObject(target) && refsOf(target).length === 0 ? tagsOf(document, target) : new Map()
  }
  const required = new Set(toList(branch['required']))
  return new Map(
    entriesOf(branch['properties']).flatMap(([key, inner]) => {
      const values = required.has(key) && isObject(inner) && refsOf(inner).length === 0 ? scalarsOf(inner) : undefined
      return values ? [[key, values] as const] : []
    }),
  )
}

function scalarsOf(schema: JsonObject): readonly unknown[] | undefined {
  const values = Object.hasOwn(schema, 'const') ? [schema['const']] : schema['enum']
  return Array.isArray(values) && values.every((value) => typeof value !== 'object' || value === null)
    ? [...new Set(values)]
    : undefined
}

function entriesOf(value: unknown): [key: string, inner: unknown][] {
  return isObject(value) ? Object.entries(value) : []
}

export function toList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

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
  return typeof $ref === 'string' ? followRef(root, $ref) : undefined
}

/** Returns the branches of a union. */
export function branchesOf({ anyOf, oneOf }: JsonObject): readonly unknown[] {
  return [...toList(anyOf), ...toList(oneOf)]
}

/** Returns the schemas that the same value must fit beside this one. */
export function collectConjuncts(walk: Walk, schema: JsonObject): readonly unknown[] {
  return [target(walk, schema), ...toList(schema['allOf'])]
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
function schemaAt(schema: JsonObject, key: string | number): unknown {
  if (typeof key === 'string') {
    const { properties, patternProperties, additionalProperties } = schema
    if (isObject(properties) && Object.hasOwn(properties, key)) return properties[key]
    // `patternProperties` is left to the validation of the whole value.
    return patternProperties === undefined ? additionalProperties : undefined
  }
  const { items, prefixItems, additionalItems } = schema
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [toList(prefixItems), items]
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
