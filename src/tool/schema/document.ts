import { isObject, type JsonObject, type JsonSchema } from '../../contract/json.ts'
import { keysOf, partAt } from '../pointer.ts'
import { HOLDS, SAME_VALUE } from './keywords.ts'
import { matcher, type Matcher } from './pattern.ts'

/** A schema inside another: where, and whether it speaks of the same value or of a part of it. */
interface Subschema {
  /** Keys from the outer schema, such as `['properties', 'city']`. */
  readonly path: readonly string[]
  readonly schema: unknown
  readonly sameValue: boolean
}

/** The schemas directly inside this one, references aside. */
export function subschemas(schema: JsonObject): Subschema[] {
  return Object.entries(schema).flatMap(([key, value]) => {
    const holds = HOLDS.get(key)
    const sameValue = SAME_VALUE.has(key)
    if (holds === 'one' || (key === 'items' && !Array.isArray(value)))
      return [{ path: [key], schema: value, sameValue }]
    const isHeld = holds === 'map' ? isObject(value) : holds === 'list' && Array.isArray(value)
    return (
      Object.entries(isHeld ? Object(value) : {})
        // What a key depends on may be names of other keys.
        .filter(([, inner]) => key !== 'dependencies' || !Array.isArray(inner))
        .map(([name, inner]) => ({ path: [key, name], schema: inner, sameValue }))
    )
  })
}

/** The references of a schema. `$dynamicRef` counts as `$ref`: without other documents they name the same. */
export function refsOf({ $ref, $dynamicRef }: JsonObject): string[] {
  return [$ref, $dynamicRef].filter((ref) => typeof ref === 'string')
}

/** Where in a document something is that stands for a schema, and how many schemas it is inside of. */
export interface SchemaPlace {
  readonly schema: unknown
  readonly path: readonly string[]
  readonly level: number
}

/** A root schema with what hangs on it: the schemas in it, what its references name, its patterns made ready. */
export interface SchemaDocument {
  /** Draft-07 or before: nothing beside a `$ref` counts. */
  readonly isLegacy: boolean
  /** All that stands for a schema, the root first. */
  readonly places: readonly SchemaPlace[]
  /** Adds what a reference names to the places, where it has none of its own. */
  add(schema: unknown, path: readonly string[]): void
  /** What a reference in a schema of this document names, or undefined where it names nothing here. */
  resolve(from: JsonObject, ref: string): unknown
  matcher(pattern: string): Matcher
}

const documents = new WeakMap<JsonSchema, SchemaDocument>()

/** The document of a root schema; made once for each. Recurses: bound the depth first. */
export function documentOf(root: JsonSchema): SchemaDocument {
  const document = documents.get(root) ?? openDocument(root)
  documents.set(root, document)
  return document
}

const BASE = 'schema:/'

function openDocument(root: JsonSchema): SchemaDocument {
  const places: SchemaPlace[] = []
  /** What references start from, by schema. */
  const bases = new Map<unknown, string>()
  /** What has an address: `$id`, `$anchor`, `$dynamicAnchor`. */
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
      return /^[^/]/.test(fragment) ? named.get(address) : partAt(named.get(resource), keysOf(decoded(fragment)))
    },
    matcher: (pattern) => {
      const known = matchers.get(pattern) ?? matcher(pattern)
      matchers.set(pattern, known)
      return known
    },
  }
}

/** A reference made absolute, or nothing where it is none. */
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
