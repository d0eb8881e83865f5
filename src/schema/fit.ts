import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { documentOf, refsOf, type SchemaDocument } from './document.ts'
import { UNMET } from './keywords.ts'
import { likeliest, type Misfit, misfit, type Place } from './misfit.ts'
import { type Budget, MOST_STEPS } from './pattern.ts'
import { nameOf } from './wording.ts'

/** A place, with the keys and indexes that schemas have evaluated: `unevaluatedProperties` applies to the others. */
interface Part extends Place {
  readonly seen: Set<string>
}

/** The state of one check of a value against a schema. */
interface Look extends Budget {
  readonly document: SchemaDocument
  /** How many references may still be followed: they can make the work larger than schema times value. */
  references: number
  /** How many patterns were not run. A fit that rests on one must not count against the value, such as under `not`. */
  unsure: number
}

type Misfits = Generator<Misfit, void>

const MOST_REFERENCES = 20_000

/**
 * Returns the reasons why a value does not fit a schema: the innermost ones, and for a union those of the branch that
 * was meant. Empty if it fits. Interprets 2020-12, draft-07 if `$schema` says so, and of OpenAPI 3.0 `nullable` and
 * boolean exclusive bounds. Expects a schema that `checkSchema` found sound, and a value of bounded depth. Throws a
 * RangeError for a value that takes too many references to check, and a TypeError for a reference that leads nowhere.
 */
export function misfits(schema: JsonSchema, value: unknown): Misfit[] {
  const look = { document: documentOf(schema), references: MOST_REFERENCES, steps: MOST_STEPS, unsure: 0 }
  return [...fit(look, schema, { value, keys: [], seen: new Set() })]
}

function* fit(look: Look, schema: unknown, at: Part): Misfits {
  if (schema === false) yield misfit('false', at, 'nothing here')
  if (!isObject(schema)) return
  const refs = refsOf(schema)
  for (const ref of refs) yield* fitHere(look, follow(look, schema, ref), at)
  if (look.document.isLegacy && refs.length > 0) return
  for (const [keyword, limit] of Object.entries(schema)) {
    const expected = UNMET.get(keyword)?.(at.value, limit, schema)
    if (expected !== undefined) yield misfit(keyword, at, expected)
  }
  const { pattern } = schema
  if (typeof pattern === 'string' && typeof at.value === 'string' && matches(look, pattern, at.value) === false) {
    yield misfit('pattern', at, `text that matches /${pattern}/u`)
  }
  if (isObject(at.value)) yield* fitObject(look, schema, at, at.value)
  if (Array.isArray(at.value)) yield* fitArray(look, schema, at, at.value)
  yield* fitLogic(look, schema, at)
  // Last, since it applies to the parts that no other keyword has evaluated.
  const rest = isObject(at.value) ? schema['unevaluatedProperties'] : schema['unevaluatedItems']
  if (rest === undefined || typeof at.value !== 'object' || at.value === null) return
  for (const [key, value] of Object.entries(at.value))
    if (!at.seen.has(key)) yield* fitPart(look, rest, at, [key, value])
}

/** Checks the same value against another schema. The keys that it evaluates count only if the value fits it. */
function fitHere(look: Look, schema: unknown, at: Part): Misfit[] {
  const seen = new Set<string>()
  const found = [...fit(look, schema, { ...at, seen })]
  if (found.length === 0) for (const key of seen) at.seen.add(key)
  return found
}

/** Checks a part of the value against a schema. */
function* fitPart(look: Look, schema: unknown, at: Part, entry: readonly [key: string, value: unknown]): Misfits {
  const [key, value] = entry
  at.seen.add(key)
  yield* fit(look, schema, { value, keys: [...at.keys, key], seen: new Set() })
}

function follow(look: Look, schema: JsonObject, ref: string): unknown {
  if ((look.references -= 1) < 0) throw new RangeError('too many references')
  const target = look.document.resolve(schema, ref)
  if (target === undefined) throw new TypeError(`no schema is at ${ref}`)
  return target
}

function matches(look: Look, pattern: string, text: string): boolean | undefined {
  const isMatch = look.document.matcher(pattern)(text, look)
  if (isMatch === undefined) look.unsure += 1
  return isMatch
}

function* fitObject(look: Look, schema: JsonObject, at: Part, value: JsonObject): Misfits {
  // Over RPC a key may come with the value undefined; JSON leaves it out.
  const own = new Map(Object.entries(value).filter(([, inner]) => inner !== undefined))
  const properties = entriesOf(schema['properties'])
  const { required, dependencies, dependentRequired, dependentSchemas, propertyNames } = schema
  const needed = [...entriesOf(dependencies), ...entriesOf(dependentRequired), ...entriesOf(dependentSchemas)]
  for (const needs of [required, ...needed.flatMap(([key, needs]) => (own.has(key) ? [needs] : []))]) {
    if (!Array.isArray(needs)) {
      yield* fitHere(look, needs, at)
      continue
    }
    for (const name of needs.map(String)) {
      if (own.has(name)) continue
      const expected = nameOf(look.document, properties.get(name))
      yield misfit('required', { value: undefined, keys: [...at.keys, name] }, expected)
    }
  }
  for (const entry of own) {
    const [key] = entry
    for (const each of fit(look, propertyNames, { value: key, keys: [...at.keys, key], seen: new Set() })) {
      yield { ...each, expected: `the name to be ${each.expected}` }
    }
    for (const inner of schemasOf(look, schema, key)) yield* fitPart(look, inner, at, entry)
  }
}

/** Returns the schemas for the value of a key. */
function schemasOf(look: Look, schema: JsonObject, key: string): unknown[] {
  const { additionalProperties } = schema
  const properties = entriesOf(schema['properties'])
  const schemas = properties.has(key) ? [properties.get(key)] : []
  for (const [pattern, inner] of entriesOf(schema['patternProperties'])) {
    const isMatch = matches(look, pattern, key)
    // A pattern that was not run may match the key, which then must not count as an additional one.
    if (isMatch !== false) schemas.push(isMatch ? inner : true)
  }
  return schemas.length > 0 || additionalProperties === undefined ? schemas : [additionalProperties]
}

function* fitArray(look: Look, schema: JsonObject, at: Part, value: readonly unknown[]): Misfits {
  const { prefixItems, items, additionalItems, contains, minContains = 1, maxContains = Infinity } = schema
  const [first, rest] = Array.isArray(items) ? [items, additionalItems] : [listOf(prefixItems), items]
  for (const [index, item] of value.entries()) {
    const inner: unknown = index < first.length ? first[index] : rest
    if (inner !== undefined) yield* fitPart(look, inner, at, [String(index), item])
  }
  if (contains === undefined) return
  const { unsure } = look
  let fitting = 0
  for (const [index, item] of value.entries()) {
    if (fitHere(look, contains, { value: item, keys: [], seen: new Set() }).length > 0) continue
    fitting += 1
    at.seen.add(String(index))
  }
  const words = `items that are ${nameOf(look.document, contains)}`
  if (fitting < Number(minContains)) yield misfit('contains', at, `at least ${String(minContains)} ${words}`)
  if (fitting > Number(maxContains) && look.unsure === unsure) {
    yield misfit('contains', at, `at most ${String(maxContains)} ${words}`)
  }
}

function* fitLogic(look: Look, schema: JsonObject, at: Part): Misfits {
  const { allOf, anyOf, oneOf, not } = schema
  for (const inner of listOf(allOf)) yield* fitHere(look, inner, at)
  yield* fitUnion(look, 'anyOf', listOf(anyOf), at)
  yield* fitUnion(look, 'oneOf', listOf(oneOf), at)
  const { unsure } = look
  if (not !== undefined && fitHere(look, not, { ...at, seen: new Set() }).length === 0 && look.unsure === unsure) {
    yield misfit(
      'not',
      at,
      /^(?:true|\{\})$/.test(JSON.stringify(not)) ? 'nothing here' : `nothing that fits ${JSON.stringify(not)}`,
    )
  }
  const { if: condition, then, else: otherwise } = schema
  if (condition === undefined) return
  const before = look.unsure
  if (fitHere(look, condition, at).length > 0) yield* fitHere(look, otherwise, at)
  else if (look.unsure === before) yield* fitHere(look, then, at)
}

function* fitUnion(look: Look, keyword: 'anyOf' | 'oneOf', schemas: readonly unknown[], at: Part): Misfits {
  if (schemas.length === 0) return
  const { unsure } = look
  const branches = schemas.map((schema) => fitHere(look, schema, at))
  const fitting = branches.filter((branch) => branch.length === 0).length
  if (fitting === 1 || (fitting > 1 && (keyword === 'anyOf' || look.unsure > unsure))) return
  const meant = fitting === 0 ? likeliest(branches, at.keys) : undefined
  yield* meant ?? [misfit(keyword, at, nameOf(look.document, { anyOf: schemas }))]
}

function entriesOf(value: unknown): ReadonlyMap<string, unknown> {
  return new Map(isObject(value) ? Object.entries(value) : [])
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
