import type { DefinitionIssue } from '../contract/definition.ts'
import { hasHidden } from '../contract/hidden-characters.ts'
import { decodedFragment, isObject, type JsonObject, type JsonSchema, partAt, pointerKeys } from '../contract/json.ts'
import { HOLDS } from '../contract/subschemas.ts'
import { SAME_VALUE } from './keywords.ts'
import { matcher, type Matcher, propertiesIn } from './pattern.ts'
import { compileRule, type Rule } from './rule.ts'

/** A schema directly inside another: where, and whether it applies to the same value or to a part of it. */
interface Subschema {
  /** Keys from the outer schema, such as `['properties', 'city']`. */
  readonly path: readonly string[]
  readonly schema: unknown
  readonly sameValue: boolean
}

/** Returns the schemas directly inside a schema; references are not followed. */
export function subschemas(schema: JsonObject): Subschema[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    const holds = HOLDS.get(key)
    const sameValue = SAME_VALUE.has(key)
    if (holds === 'one' || (key === 'items' && !Array.isArray(value)))
      return [{ path: [key], schema: value, sameValue }]
    const isHeld = holds === 'map' ? isObject(value) : holds === 'list' && Array.isArray(value)
    return (
      Object.entries(isHeld ? Object(value) : {})
        // `dependencies` may hold names of other keys instead of a schema.
        .filter(([, inner]) => key !== 'dependencies' || !Array.isArray(inner))
        .map(([name, inner]) => ({ path: [key, name], schema: inner, sameValue }))
    )
  })
}

/** Returns the patterns of one schema, each with its path in it. */
export function patternsOf(schema: unknown): { readonly path: readonly string[]; readonly pattern: string }[] {
  if (!isObject(schema)) return []
  const { pattern, patternProperties } = schema
  const names = isObject(patternProperties) ? Object.keys(patternProperties) : []
  return [
    ...(typeof pattern === 'string' ? [{ path: ['pattern'], pattern }] : []),
    ...names.map((name) => ({ path: ['patternProperties', name], pattern: name })),
  ]
}

/** A place in a document that must hold a schema: its path, and its level, which is 1 for the root. */
export interface SchemaPlace {
  readonly schema: unknown
  readonly path: readonly string[]
  readonly level: number
}

/** A root schema with the schemas inside it, the targets of its references, and what was compiled of it. */
export interface SchemaDocument {
  readonly root: JsonSchema
  /** Whether this is draft-07 or older, in which keywords beside a `$ref` are ignored. */
  readonly isLegacy: boolean
  /** Whether the target of a reference may depend on the schemas that lead to it (`$dynamicRef`). */
  readonly isDynamic: boolean
  /** Whether a schema depends on which parts of a value others have evaluated (`unevaluatedProperties`). */
  readonly tracksEvaluated: boolean
  /** Whether a schema names a property `__proto__`, which values then may have. */
  readonly namesProto: boolean
  /** All places that must hold a schema, the root first. */
  readonly places: readonly SchemaPlace[]
  /** Adds the target of a reference to the places, unless it is there already; `address` is the URI that led to it. */
  add(schema: unknown, path: readonly string[], address: string): void
  /** Returns the URI of the resource that a schema is part of. */
  baseOf(schema: JsonObject): string
  /** Returns the absolute URI of a reference in a schema of this document. */
  addressOf(from: JsonObject, ref: string): string
  /** Returns the target of a reference in a schema of this document, or undefined if it is not in the document. */
  resolve(from: JsonObject, ref: string): unknown
  /** Returns the target of a `$dynamicRef`: the outermost schema with its anchor in the resources of `scope`. */
  resolveDynamic(from: JsonObject, ref: string, scope: readonly string[]): unknown
  /** Returns a schema of this document in compiled form, which is made once. */
  rule(schema: JsonObject): Rule
  /** Whether a pattern may be compiled: the first ones of a document may, as far as they name 64 Unicode properties. */
  mayRun(pattern: string): boolean
  matcher(pattern: string): Matcher
}

const MOST_PROPERTIES = 64
/** The most characters of an address. */
const MOST_ADDRESS = 2048
const NOT_RUN: Matcher = () => undefined

const documents = new WeakMap<JsonSchema, SchemaDocument>()
const ANYTHING: JsonSchema = {}
const NOTHING: JsonSchema = { allOf: [false] }

/** Returns the document of a root schema; it is made once. Recursive: check the depth of the schema first. */
export function documentOf(schema: JsonSchema | boolean): SchemaDocument {
  const root = typeof schema === 'boolean' ? (schema ? ANYTHING : NOTHING) : schema
  const document = documents.get(root) ?? openDocument(root)
  documents.set(root, document)
  return document
}

const BASE = 'schema:/'

function openDocument(root: JsonSchema): SchemaDocument {
  const isLegacy = /draft-0[4-7]/.test(String(root['$schema']))
  const places: SchemaPlace[] = []
  /** The base URI of each schema, to which its references are relative. */
  const bases = new Map<unknown, string>()
  /** The schemas that have a URI of their own, by `$id`, `$anchor` or `$dynamicAnchor`. */
  const schemasByAddress = new Map<string, unknown>([[BASE, root]])
  /** Those by `$dynamicAnchor` alone. */
  const dynamic = new Map<string, unknown>()
  let tracksEvaluated = false
  let namesProto = false
  const add = (schema: unknown, path: readonly string[], level = 1, outer = BASE): void => {
    if (bases.has(schema)) return
    places.push({ schema, path, level })
    if (!isObject(schema)) return
    const { $id, $anchor, $dynamicAnchor, $ref } = schema
    const { properties, required } = schema
    namesProto ||= Object.hasOwn(Object(properties), '__proto__') || [required].flat().includes('__proto__')
    tracksEvaluated ||= 'unevaluatedProperties' in schema || 'unevaluatedItems' in schema
    // Draft-07 ignores what stands beside a reference.
    const id = isLegacy && typeof $ref === 'string' ? '' : absolute($id, outer)
    if (id !== '') schemasByAddress.set(id.replace(/#$/, ''), schema)
    // In draft-07 an id that is a fragment alone is an anchor.
    const [base = ''] = (id || outer).split('#')
    bases.set(schema, base)
    for (const anchor of [$anchor, $dynamicAnchor]) {
      if (typeof anchor === 'string') schemasByAddress.set(`${base}#${anchor}`, schema)
    }
    if (typeof $dynamicAnchor === 'string') dynamic.set(`${base}#${$dynamicAnchor}`, schema)
    for (const inner of subschemas(schema)) add(inner.schema, [...path, ...inner.path], level + 1, base)
  }
  add(root, [])
  const matchers = new Map<string, Matcher>()
  // A value may have thousands of parts under the same reference.
  const addresses = new Map<string, string>()
  const targets = new Map<string, unknown>()
  const rules = new Map<JsonObject, Rule>()
  const document: SchemaDocument = {
    root,
    isLegacy,
    get isDynamic() {
      return dynamic.size > 0
    },
    get tracksEvaluated() {
      return tracksEvaluated
    },
    get namesProto() {
      return namesProto
    },
    places,
    add: (schema, path, address) => add(schema, path, 1, address.split('#')[0]),
    baseOf: (schema) => bases.get(schema) ?? BASE,
    addressOf: (from, ref) => {
      const base = document.baseOf(from)
      return once(addresses, `${base} ${ref}`, () => absolute(ref, base))
    },
    resolve: (from, ref) => {
      const address = document.addressOf(from, ref)
      return once(targets, address, () => {
        const [resource = '', fragment = ''] = address.split('#')
        return /^[^/]/.test(fragment)
          ? schemasByAddress.get(address)
          : partAt(schemasByAddress.get(resource), pointerKeys(decodedFragment(fragment)))
      })
    },
    resolveDynamic: (from, ref, scope) => {
      const target = document.resolve(from, ref)
      const [, fragment = ''] = document.addressOf(from, ref).split('#')
      // Without a dynamic anchor at its first target, a `$dynamicRef` is the same as a `$ref`.
      if (!isObject(target) || target['$dynamicAnchor'] !== fragment) return target
      const outermost = scope.find((base) => dynamic.has(`${base}#${fragment}`))
      return outermost === undefined ? target : dynamic.get(`${outermost}#${fragment}`)
    },
    rule: (schema) => once(rules, schema, () => compileRule(document, schema)),
    mayRun: admission(places),
    matcher: (pattern) => once(matchers, pattern, () => (document.mayRun(pattern) ? matcher(pattern) : NOT_RUN)),
  }
  return document
}

/**
 * Returns a function that tells which patterns may be compiled, in the order of the document, whichever of them a value
 * needs first.
 */
function admission(places: readonly SchemaPlace[]): (pattern: string) => boolean {
  const decisions = new Map<string, boolean>()
  let propertiesLeft = MOST_PROPERTIES
  const admit = (pattern: string): boolean =>
    once(decisions, pattern, () => {
      const properties = propertiesIn(pattern)
      if (properties > propertiesLeft) return false
      propertiesLeft -= properties
      return true
    })
  return (pattern) => {
    if (decisions.size === 0)
      for (const { schema } of places) for (const each of patternsOf(schema)) admit(each.pattern)
    return admit(pattern)
  }
}

function once<Key, Value>(all: Map<Key, Value>, key: Key, make: () => Value): Value {
  const cached = all.get(key)
  if (cached !== undefined) return cached
  const value = make()
  all.set(key, value)
  return value
}

/** Resolves a reference to an absolute URI, or to an empty text if it is not a reference or is too long. */
function absolute(ref: unknown, base: string): string {
  const address = typeof ref === 'string' && ref.length <= MOST_ADDRESS ? (URL.parse(ref, base)?.href ?? '') : ''
  return address.length <= MOST_ADDRESS ? address : ''
}

/** Copies a schema; in each `$ref` that begins with `from`, that part is replaced by `to`. */
export function rebase(schema: JsonSchema, from: string, to: string): JsonSchema {
  const moved: unknown = JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(from) ? to + value.slice(from.length) : value,
  )
  return isObject(moved) ? moved : {}
}

export interface PlainLimits {
  /** The most levels of nested objects and arrays. */
  readonly depth: number
  /** The most values in all, counted over all levels. */
  readonly values: number
  /**
   * Whether to refuse characters that models see and people do not (`hidden-characters.ts`). `schema` allows control
   * characters, since JSON shows them as escapes, such as `\u0000`.
   */
  readonly visible?: boolean | 'schema'
  /** Whether a key may be `__proto__`. Default: no, since code that copies such a value could change a prototype. */
  readonly proto?: boolean
}

/** The limits of a result, which may be larger than arguments. */
export const RESULT_LIMITS: PlainLimits = { depth: 64, values: 1_000_000 }

/**
 * Returns the first reason why a value is not plain, bounded JSON: too many levels, too many values, a key `__proto__`,
 * a function, a class instance, a number that is not finite. Undefined if it is. It does not recurse, so it can be
 * called before code that does.
 */
export function plainFault(root: unknown, limits: PlainLimits): DefinitionIssue | undefined {
  const open: Place[] = [{ value: root, depth: 0 }]
  let values = 0
  for (let place = open.pop(); place; place = open.pop()) {
    const { value, depth } = place
    values += 1
    if (values > limits.values) return { path: '', message: `expected at most ${limits.values} values` }
    const message = faultOf(value, place, limits)
    if (message !== undefined) return { path: pathOf(place), message }
    if (typeof value !== 'object' || value === null) continue
    for (const [key, child] of Object.entries(value)) {
      // Over RPC a key may arrive with the value undefined, which JSON would omit.
      if (child === undefined && !Array.isArray(value)) continue
      open.push({ value: child, depth: depth + 1, key, parent: place })
    }
  }
  return undefined
}

interface Place {
  readonly value: unknown
  readonly depth: number
  readonly key?: string
  readonly parent?: Place
}

function faultOf(value: unknown, { depth, key }: Place, limits: PlainLimits): string | undefined {
  if (key === '__proto__' && limits.proto !== true) return 'expected a name other than __proto__'
  const isHidden = (text: string) => hasHidden(limits.visible === 'schema' ? text.replace(CONTROLS, '') : text)
  if (limits.visible && key !== undefined && isHidden(key)) return HIDDEN_MESSAGE
  switch (typeof value) {
    case 'string':
      return limits.visible && isHidden(value) ? HIDDEN_MESSAGE : undefined
    case 'boolean':
      return undefined
    case 'number':
      return Number.isFinite(value) ? undefined : `expected a finite number, received ${value}`
    case 'object':
      if (value === null) return undefined
      if (depth >= limits.depth) return `expected at most ${limits.depth} levels`
      return Array.isArray(value) || isPlain(value) ? undefined : 'expected plain JSON, received an instance of a class'
    default:
      return `expected plain JSON, received ${typeof value}`
  }
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value)
  // Objects of another realm (a test's sandbox) have another Object.prototype, whose own prototype is null too.
  return prototype === null || Object.getPrototypeOf(prototype) === null
}

/** Matches the characters that JSON always escapes. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u001f]/g

const HIDDEN_MESSAGE = 'expected visible text, received control or invisible characters'

function pathOf(place: Place): string {
  const keys: string[] = []
  for (let at: Place | undefined = place; at?.key !== undefined; at = at.parent) keys.unshift(at.key)
  return keys.join('.')
}
