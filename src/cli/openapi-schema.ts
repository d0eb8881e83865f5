import { isObject, type JsonSchema } from '../contract/json.ts'
import { keysOf, partAt } from '../tool/pointer.ts'
import { HOLDS } from '../tool/schema/keywords.ts'
import { ASSERTING } from '../tool/stored/asserted.ts'

/** Why a part of a document cannot be a tool; its message is for people. */
export class Unfit extends Error {}

const MOST_HOPS = 20
/** Schemas that hold one another may have no end that is worth waiting for. */
const MOST_INLINED = 500
/** An edge takes none that is deeper. */
const MOST_INLINED_LEVELS = 64
/** What reads schemas calls itself, wherever it follows them to. */
const MOST_LEVELS = 500

/** The part of a document that a value stands for: itself, or what its reference leads to. Throws an Unfit. */
export function resolved(document: unknown, value: unknown): unknown {
  let at = value
  for (let hops = 0; isObject(at) && typeof at['$ref'] === 'string'; hops++) {
    const { $ref } = at
    const target = $ref.startsWith('#/') ? partAt(document, keysOf(decoded($ref.slice(1)))) : undefined
    if (target === undefined || hops === MOST_HOPS)
      throw new Unfit(`the reference ${$ref} leads nowhere in the document`)
    at = target
  }
  return at
}

function decoded(pointer: string): string {
  try {
    return decodeURIComponent(pointer)
  } catch {
    return pointer
  }
}

const WORDS = new Set(['title', 'description', 'default'])

/**
 * Makes plain JSON Schemas of those of an OpenAPI document, as a caller sends them: what servers alone write is left
 * out, and 3.0's own keywords are put in 2020-12's words. References are replaced by what they name; those of schemas
 * that hold themselves, those beyond some hundreds, or all of them where `inline` is false, lead to `defs`.
 */
export class SchemaReader {
  readonly #document: unknown
  /** How many references are still replaced. */
  #left: number
  /** Names in `defs`, by reference. */
  readonly #names = new Map<string, string>()
  readonly #defs: Record<string, JsonSchema> = {}
  /** How deep the schema that is being read stands in others. */
  #level = 0

  constructor(document: unknown, inline: boolean) {
    this.#document = document
    this.#left = inline ? MOST_INLINED : 0
  }

  /** What the schemas read so far refer to, as `$defs` of their root. */
  get defs(): Readonly<Record<string, JsonSchema>> {
    return this.#defs
  }

  /** Throws an Unfit for a reference that leads nowhere. */
  read(schema: unknown): JsonSchema {
    const read = this.#read(schema, [])
    return isObject(read) ? read : {}
  }

  #read(schema: unknown, open: readonly string[]): unknown {
    if (this.#level >= MOST_LEVELS) throw new Unfit(`its schemas are nested over ${MOST_LEVELS} levels deep`)
    this.#level += 1
    const read = this.#readWithin(schema, open)
    this.#level -= 1
    return read
  }

  #readWithin(schema: unknown, open: readonly string[]): unknown {
    if (!isObject(schema)) return schema === false ? false : {}
    const { $ref, ...own } = schema
    if (typeof $ref !== 'string') return this.#keywords(schema, open)
    // Beside a reference 3.1 allows words, and 3.0 nothing.
    const { description } = own
    const words = typeof description === 'string' ? { description } : {}
    const mayInline = !open.includes($ref) && this.#level < MOST_INLINED_LEVELS && this.#left-- > 0
    if (!mayInline) return { $ref: `#/$defs/${this.#define($ref)}`, ...words }
    const read = this.#read(resolved(this.#document, { $ref }), [...open, $ref])
    return isObject(read) ? { ...read, ...words } : read
  }

  #define(ref: string): string {
    const known = this.#names.get(ref)
    if (known !== undefined) return known
    const base = (ref.split('/').at(-1) ?? '').replace(/[^\w-]+/g, '_')
    const name = Object.hasOwn(this.#defs, base) ? `${base}_${this.#names.size}` : base
    this.#names.set(ref, name)
    this.#defs[name] = {}
    const read = this.#read(resolved(this.#document, { $ref: ref }), [ref])
    this.#defs[name] = isObject(read) ? read : {}
    return name
  }

  #keywords(schema: Record<string, unknown>, open: readonly string[]): JsonSchema {
    const kept = Object.entries(schema).filter(([keyword]) => ASSERTING.has(keyword) || WORDS.has(keyword))
    const read = Object.fromEntries(kept.map(([keyword, value]) => [keyword, this.#held(keyword, value, open)]))
    return withNull(withBounds(this.#withoutReadOnly(read, schema)))
  }

  #held(keyword: string, value: unknown, open: readonly string[]): unknown {
    const holds = HOLDS.get(keyword)
    if (keyword === 'default' || (holds === undefined && keyword !== 'items')) return value
    if (Array.isArray(value)) return value.map((inner) => this.#read(inner, open))
    if (holds !== 'map' || !isObject(value)) return typeof value === 'boolean' ? value : this.#read(value, open)
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, Array.isArray(inner) ? inner : this.#read(inner, open)]),
    )
  }

  #withoutReadOnly(read: JsonSchema, { properties }: Record<string, unknown>): JsonSchema {
    const all = Object.entries(isObject(properties) ? properties : {})
    const written = all.filter(([, inner]) => {
      const target = resolved(this.#document, inner)
      return isObject(target) && target['readOnly'] === true
    })
    if (written.length === 0) return read
    const names = new Set<unknown>(written.map(([name]) => name))
    const { properties: kept, required } = read
    return {
      ...read,
      properties: Object.fromEntries(Object.entries(Object(kept)).filter(([name]) => !names.has(name))),
      ...(Array.isArray(required) && { required: required.filter((name) => !names.has(name)) }),
    }
  }
}

/** 3.0 writes `minimum: 0, exclusiveMinimum: true`. */
function withBounds(schema: JsonSchema): JsonSchema {
  const read: Record<string, unknown> = { ...schema }
  for (const [bound, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof read[exclusive] !== 'boolean') continue
    const limit = read[bound]
    const isExclusive = read[exclusive] && typeof limit === 'number'
    delete read[exclusive]
    if (!isExclusive) continue
    delete read[bound]
    read[exclusive] = limit
  }
  return read
}

/** 3.0 writes `nullable: true`. */
function withNull({ nullable, ...schema }: JsonSchema): JsonSchema {
  if (nullable !== true) return schema
  const { type, enum: values } = schema
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  return {
    ...schema,
    type: [...new Set([type, 'null'].flat())],
    ...(Array.isArray(values) && { enum: [...new Set([...values, null])] }),
  }
}
