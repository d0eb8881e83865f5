import type { DefinitionIssue } from '../contract/definition.ts'
import { canonicalJson, isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { documentOf, type SchemaDocument } from './document.ts'
import { refsOf } from './keywords.ts'
import { received } from './issue.ts'
import { fitsSchema } from './fit.ts'
import { startLook } from './check.ts'
import { ASSERTING, asserted, bareText, kindsOf, misfitsOf, valuesOf } from './assertions.ts'

/** The state of a comparison: the pairs of schemas that are being compared, and how many steps are left. */
interface Look {
  readonly from: SchemaDocument
  readonly to: SchemaDocument
  readonly fromRoot: JsonSchema
  readonly toRoot: JsonSchema
  readonly of: 'arguments' | 'result'
  readonly open: (readonly [from: unknown, to: unknown])[]
  steps: number
  /** What was computed of the schemas so far: a union compares each of its branches with many others. */
  readonly cache: {
    readonly texts: Map<unknown, string>
    /** A schema may be part of both documents, which resolve its references differently. */
    readonly parts: Record<Side, Map<JsonObject, readonly unknown[]>>
    readonly apart: Map<unknown, boolean>
    isShared?: boolean
  }
}

type Side = 'from' | 'to'
type Issues = Generator<DefinitionIssue, void>

const MOST_STEPS = 4000
const MOST_LEVELS = 200
const MOST_ISSUES = 32
const MOST_VALUES = 500
/** The units of work that the check of one value may take. */
const MOST_OF_VALUE = 500
/** The most branches of a union that are compared with each other. */
const MOST_BRANCHES = 150

/**
 * Returns where values that fit the schema `from` might not fit `to`; empty if all of them fit. A property that `from`
 * does not name is assumed never to be sent, so a new optional property is not narrower. For arguments, a property that
 * `to` no longer names is narrower, since its values are ignored. What cannot be decided counts as narrower. Expects
 * schemas that `checkSchema` found sound; never throws.
 */
export function narrowings(from: JsonSchema, to: JsonSchema, of: Look['of'] = 'arguments'): DefinitionIssue[] {
  const roots = { fromRoot: from, toRoot: to }
  const cache = { texts: new Map(), parts: { from: new Map(), to: new Map() }, apart: new Map() }
  const look: Look = { from: documentOf(from), to: documentOf(to), ...roots, of, open: [], steps: MOST_STEPS, cache }
  return Array.from(narrower(look, from, to, '').take(MOST_ISSUES))
}

function* narrower(look: Look, from: unknown, to: unknown, path: string): Issues {
  if (to === undefined || to === true || from === false) return
  const schema = isObject(from) ? from : {}
  if (!isObject(to)) return yield { path, message: 'no value is accepted here any more' }
  if (!Object.keys(to).some((keyword) => ASSERTING.has(keyword))) return
  if ((look.steps -= 1) < 0 || look.open.length > MOST_LEVELS) return yield { path, message: 'is too much to compare' }
  // A pair that is already being compared at an outer level fits if the rest of it does.
  if (look.open.some(([a, b]) => a === schema && b === to)) return
  if (isSame(look, schema, to)) return
  look.open.push([schema, to])
  yield* parts(look, schema, to, path)
  look.open.pop()
}

function* parts(look: Look, from: JsonObject, to: JsonObject, path: string): Issues {
  const [toParts, fromParts] = [partsOf(look, 'to', to), partsOf(look, 'from', from)]
  if (toParts.length !== 1 || toParts[0] !== to) {
    for (const part of toParts) yield* narrower(look, from, part, path)
  } else if (fromParts.length !== 1 || fromParts[0] !== from) {
    // A value that fits `from` fits all of its parts, so it is enough if `to` does not narrow one of them.
    yield* fewest(fromParts.map((part) => [...narrower(look, part, to, path)]))
  } else {
    yield* alternatives(look, from, to, path)
  }
}

/**
 * Splits a schema into parts that a value must all fit: its keywords, references, and each of `allOf`, `anyOf`,
 * `oneOf`.
 */
function partsOf({ cache, ...documents }: Look, side: Side, schema: JsonObject): readonly unknown[] {
  const parts = cache.parts[side].get(schema) ?? split(documents[side], schema)
  cache.parts[side].set(schema, parts)
  return parts
}

function split(document: SchemaDocument, schema: JsonObject): unknown[] {
  const referred = refsOf(schema).map((ref) => document.resolve(schema, ref))
  if (document.isLegacy && referred.length > 0) return referred
  const { $ref: _, $dynamicRef: _dynamic, allOf, anyOf, oneOf, ...own } = schema
  const unions = [...(anyOf === undefined ? [] : [{ anyOf }]), ...(oneOf === undefined ? [] : [{ oneOf }])]
  const others = [...referred, ...(Array.isArray(allOf) ? allOf : []), ...unions]
  const hasOwn = Object.keys(own).some((keyword) => ASSERTING.has(keyword))
  if (others.length === 0) return [schema]
  return others.length === 1 && unions.length === 1 && !hasOwn ? [schema] : [...(hasOwn ? [own] : []), ...others]
}

function* alternatives(look: Look, from: JsonObject, to: JsonObject, path: string): Issues {
  const fromUnion = from['anyOf'] ?? from['oneOf']
  const toUnion = to['anyOf'] ?? to['oneOf']
  if (Array.isArray(fromUnion)) {
    for (const branch of fromUnion) yield* narrower(look, branch, to, path)
    return
  }
  if (!Array.isArray(toUnion)) return yield* keywords(look, from, to, path)
  const types = Array.isArray(from['type']) || from['nullable'] === true ? kindsOf(from) : []
  if (types.length > 1) {
    const { nullable: _, ...rest } = from
    for (const type of types) yield* narrower(look, { ...rest, type }, to, path)
    return
  }
  if (look.steps < toUnion.length) return yield { path, message: 'is too much to compare' }
  const isOne = to['anyOf'] === undefined && !areApart(look, toUnion)
  const issuesByBranch = toUnion.map((branch) => [...narrower(look, from, branch, path)])
  if (isOne) yield { path, message: 'a value that matched one alternative may match several now' }
  else yield* fewest(issuesByBranch)
}

/** Returns the issues of the attempt with the fewest. */
function fewest(trials: readonly (readonly DefinitionIssue[])[]): readonly DefinitionIssue[] {
  return trials.reduce((best, trial) => (trial.length < best.length ? trial : best), trials[0] ?? [])
}

/** Returns whether no value can fit two branches, because their types or the constants of a required key differ. */
function areApart(look: Look, branches: readonly unknown[]): boolean {
  const { apart } = look.cache
  const areAll = apart.get(branches) ?? (branches.length <= MOST_BRANCHES && haveNoCommonValue(look, branches))
  apart.set(branches, areAll)
  return areAll
}

function haveNoCommonValue(look: Look, branches: readonly unknown[]): boolean {
  const all = branches.map((branch) => {
    const [only, ...more] = isObject(branch) ? partsOf(look, 'to', branch) : []
    return more.length === 0 && isObject(only) ? only : {}
  })
  return all.every((one, index) => all.slice(index + 1).every((other) => isApart(one, other)))
}

function isApart(one: JsonObject, other: JsonObject): boolean {
  const [kinds, others] = [kindsOf(one), kindsOf(other)]
  const both = (kind: string) => others.includes(kind) || (kind === 'integer' && others.includes('number'))
  const overlaps = kinds.some(both) || (others.includes('integer') && kinds.includes('number'))
  if (!overlaps) return true
  const required = [one, other].map((each) => (Array.isArray(each['required']) ? each['required'] : []))
  const keys = (required[0] ?? []).map(String).filter((key) => required[1]?.includes(key))
  const tags = (schema: JsonObject, key: string) => {
    const { [key]: property } = Object(schema['properties'])
    return isObject(property) ? valuesOf(property)?.map((value) => canonicalJson(value)) : undefined
  }
  const isOnlyObject = kinds.join() === 'object' && others.join() === 'object'
  return isOnlyObject && keys.some((key) => tags(one, key)?.every((tag) => tags(other, key)?.includes(tag) === false))
}

/** Compares two schemas that have neither references nor alternatives at their top level. */
function* keywords(look: Look, from: JsonObject, to: JsonObject, path: string): Issues {
  const values = valuesOf(from)
  if (values) return yield* narrowerValues(look, values, to, path)
  yield* misfitsOf(from, to, (one, other) => isSame(look, one, other)).map(([keyword, message]) => ({
    path: joined(path, keyword),
    message,
  }))
  const kinds = kindsOf(from)
  if (kinds.includes('object')) yield* objects(look, from, to, path)
  const { items } = from
  if (kinds.includes('array') && !Array.isArray(items) && !Array.isArray(to['items'])) {
    yield* narrower(look, items, to['items'], joined(path, 'items'))
  }
}

function* objects(look: Look, from: JsonObject, to: JsonObject, path: string): Issues {
  const [old, now] = [Object(from['properties']), Object(to['properties'])]
  const required = new Set<unknown>(Array.isArray(from['required']) ? from['required'] : [])
  for (const name of Array.isArray(to['required']) ? to['required'] : []) {
    if (!required.has(name)) yield { path: joined(path, `properties.${String(name)}`), message: 'is required now' }
  }
  for (const name of Object.keys(old)) {
    const at = joined(path, `properties.${name}`)
    if (Object.hasOwn(now, name)) yield* narrower(look, old[name], now[name], at)
    else if (look.of === 'arguments') yield { path: at, message: 'is gone' }
    else yield* narrower(look, old[name], to['additionalProperties'], at)
  }
  yield* narrower(look, from['additionalProperties'], to['additionalProperties'], joined(path, 'additionalProperties'))
}

/** Checks each of the values that `from` lists against `to`. */
function* narrowerValues(look: Look, values: readonly unknown[], to: JsonObject, path: string): Issues {
  look.steps -= values.length
  if (values.length > MOST_VALUES || look.steps < 0 || !refersToShared(textOf(look, to))) {
    return yield { path, message: 'is too much to compare' }
  }
  const { $defs, definitions, $schema } = look.toRoot
  const root = { ...to, ...($schema !== undefined && { $schema }), ...($defs !== undefined && { $defs }) }
  const schema = definitions === undefined ? root : { ...root, definitions }
  for (const value of values) {
    if (!fitsQuickly(schema, value)) yield { path, message: `takes ${received(value)} no more` }
  }
}

/** Returns whether a value fits a schema, which can be found out in a few steps. */
function fitsQuickly(schema: JsonSchema, value: unknown): boolean {
  const document = documentOf(schema)
  try {
    return fitsSchema(startLook(document, MOST_OF_VALUE), document.root, value)
  } catch {
    return false
  }
}

/** Returns whether two schemas assert the same; with references, only if the shared schemas are the same too. */
function isSame(look: Look, one: unknown, other: unknown): boolean {
  const text = textOf(look, one)
  if (text !== textOf(look, other)) return false
  return !text.includes('"$') || (refersToShared(text) && hasSharedSchemas(look))
}

function textOf({ cache: { texts } }: Look, schema: unknown): string {
  const text = texts.get(schema) ?? bareText(schema)
  texts.set(schema, text)
  return text
}

function hasSharedSchemas({ cache, fromRoot, toRoot }: Look): boolean {
  const shared = ({ $defs, definitions, $schema }: JsonSchema) =>
    canonicalJson([asserted({ $defs, definitions }), /draft-0[4-7]/.test(String($schema))])
  return (cache.isShared ??= shared(fromRoot) === shared(toRoot))
}

/** Returns whether all references are paths to shared schemas: the root's `$defs` or `definitions`. */
function refersToShared(text: string): boolean {
  const refs = text.matchAll(/"\$(?:dynamicR|r)ef":"([^"]*)"/g)
  return refs.every(([, ref = '']) => /^#\/(?:\$defs|definitions)\//.test(ref))
}

function joined(path: string, key: string): string {
  return path === '' ? key : `${path}.${key}`
}
