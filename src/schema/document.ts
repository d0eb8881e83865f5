import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { pointerKeys, partAt } from '../contract/json-pointer.ts'
import { HOLDS, SAME_VALUE } from './keywords.ts'
import { matcher, type Matcher } from './pattern.ts'

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

/** Returns the references of a schema. `$dynamicRef` counts as `$ref`: within one document they name the same. */
export function refsOf({ $ref, $dynamicRef }: JsonObject): string[] {
  return [$ref, $dynamicRef].filter((ref) => typeof ref === 'string')
}

/** A place in a document that must hold a schema: its path, and its level, which is 1 for the root. */
export interface SchemaPlace {
  readonly schema: unknown
  readonly path: readonly string[]
  readonly level: number
}

/** A root schema with the schemas inside it, the targets of its references, and its compiled patterns. */
export interface SchemaDocument {
  /** Whether this is draft-07 or older, in which keywords beside a `$ref` are ignored. */
  readonly isLegacy: boolean
  /** All places that must hold a schema, the root first. */
  readonly places: readonly SchemaPlace[]
  /** Adds the target of a reference to the places, unless it is there already. */
  add(schema: unknown, path: readonly string[]): void
  /** Returns the target of a reference in a schema of this document, or undefined if it is not in the document. */
  resolve(from: JsonObject, ref: string): unknown
  matcher(pattern: string): Matcher
}

const documents = new WeakMap<JsonSchema, SchemaDocument>()

/** Returns the document of a root schema, which is made once. It recurses: bound the depth first. */
export function documentOf(root: JsonSchema): SchemaDocument {
  const document = documents.get(root) ?? openDocument(root)
  documents.set(root, document)
  return document
}

const BASE = 'schema:/'

function openDocument(root: JsonSchema): SchemaDocument {
  const places: SchemaPlace[] = []
  /** The base URI of each schema, to which its references are relative. */
  const bases = new Map<unknown, string>()
  /** The schemas that have a URI of their own, by `$id`, `$anchor` or `$dynamicAnchor`. */
  const named = new Map<string, unknown>([[BASE, root]])
  const add = (schema: unknown, path: readonly string[], level = 1, outer = BASE): void => {
    if (bases.has(schema)) return
    places.push({ schema, path, level })
    if (!isObject(schema)) return
    const { $id, $anchor, $dynamicAnchor } = schema
    const id = addressOf($id, outer)
    named.set(id.replace(/#$/, ''), schema)
    // In draft-07 an id that is a fragment alone is an anchor.
    const [base = ''] = (id || outer).split('#')
    bases.set(schema, base)
    for (const anchor of [$anchor, $dynamicAnchor]) named.set(`${base}#${String(anchor)}`, schema)
    for (const inner of subschemas(schema)) add(inner.schema, [...path, ...inner.path], level + 1, base)
  }
  add(root, [])
  const matchers = new Map<string, Matcher>()
  return {
    isLegacy: /draft-0[4-7]/.test(String(root['$schema'])),
    places,
    add: (schema, path) => add(schema, path),
    resolve: (from, ref) => {
      const address = addressOf(ref, bases.get(from) ?? BASE)
      const [resource = '', fragment = ''] = address.split('#')
      return /^[^/]/.test(fragment) ? named.get(address) : partAt(named.get(resource), pointerKeys(decoded(fragment)))
    },
    matcher: (pattern) => {
      const known = matchers.get(pattern) ?? matcher(pattern)
      matchers.set(pattern, known)
      return known
    },
  }
}

/** Resolves a reference to an absolute URI, or to an empty text if it is no reference. */
function addressOf(ref: unknown, base: string): string {
  return typeof ref === 'string' && URL.canParse(ref, base) ? new URL(ref, base).href : ''
}

function decoded(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}
