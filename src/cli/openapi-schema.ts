import { isObject, type JsonSchema, followRef } from '../contract/json.ts'
import { HOLDS } from '../contract/subschemas.ts'
import { ASSERTING } from '../schema/assertions.ts'

/** Thrown for a part of a document that cannot become a tool. The message is for people. */
export class UnsupportedError extends Error {
  constructor(message: string) {
    const { stackTraceLimit } = Error
    // A large document has thousands of such parts, and nobody reads their stacks, which cost more than all else.
    Error.stackTraceLimit = 0
    super(message)
    Error.stackTraceLimit = stackTraceLimit
  }
}

const MOST_HOPS = 20
/** The most references that are inlined: schemas that refer to one another could grow exponentially. */
const MOST_INLINED = 500
/** The deepest level at which a reference is inlined: an edge refuses deeper schemas. */
const MOST_INLINED_LEVELS = 64
/** The deepest level of schemas that is read: the reader is recursive, also across references. */
const MOST_LEVELS = 500
/** How many references that follow each other are replaced to tell the type of a value. */
const MOST_UNFOLDED = 2
/** The most schemas that are read for one operation: an edge takes 500. */
const MOST_SCHEMAS = 1000
/** Returns a value, or the target of its reference in the document. Throws an UnsupportedError if there is none. */
export function resolveRef(document: unknown, value: unknown): unknown {
  let at = value
  for (let hops = 0; isObject(at) && typeof at['$ref'] === 'string'; hops++) {
    const { $ref } = at
    const target = followRef(document, $ref)
    if (target === undefined || hops === MOST_HOPS)
      throw new UnsupportedError(`the reference ${$ref} leads nowhere in the document`)
    at = target
  }
  return at
}

/** The sizes of a document's schemas, each counted once however many operations refer to it. */
export class SchemaSizes {
  readonly #document: unknown
  readonly #parts = new Map<string, { readonly count: number; readonly refs: ReadonlySet<string> }>()
  readonly #verdicts = new Map<string, boolean>()

  constructor(document: unknown) {
    this.#document = document
  }

  /** Returns whether a reference leads to more schemas than are read for one operation. */
  isTooLarge(ref: string): boolean {
    const verdict = this.#verdicts.get(ref)
    if (verdict !== undefined) return verdict
    const closure = new Set([ref])
    let count = 0
    // A set is walked with what is added meanwhile.
    for (const each of closure) {
      const parts = this.#partsOf(each)
      count += parts.count
      if (count > MOST_SCHEMAS) break
      for (const inner of parts.refs) closure.add(inner)
    }
    this.#verdicts.set(ref, count > MOST_SCHEMAS)
    return count > MOST_SCHEMAS
  }

  #partsOf(ref: string) {
    const earlier = this.#parts.get(ref)
    if (earlier) return earlier
    const refs = new Set<string>()
    let count = 0
    const visit = (schema: unknown, levels: number): void => {
      if (!isObject(schema) || levels === 0 || count > MOST_SCHEMAS) return
      count += 1
      if (typeof schema['$ref'] === 'string') refs.add(schema['$ref'])
      for (const [keyword, value] of Object.entries(schema)) {
        const holds = HOLDS.get(keyword)
        if (holds === undefined && keyword !== 'items') continue
        const inner = Array.isArray(value) ? value : holds === 'map' && isObject(value) ? Object.values(value) : [value]
        for (const each of inner) if (!isObject(each) || each['readOnly'] !== true) visit(each, levels - 1)
      }
    }
    visit(followRef(this.#document, ref), MOST_LEVELS)
    const parts = { count, refs }
    this.#parts.set(ref, parts)
    return parts
  }
}

const WORDS = new Set(['title', 'description', 'default'])

/**
 * Converts the schemas of an OpenAPI document to JSON Schema 2020-12, as seen by a caller: `readOnly` properties are
 * left out, and keywords of OpenAPI 3.0 are translated. References are inlined; those of recursive schemas, those
 * beyond `MOST_INLINED` or `MOST_INLINED_LEVELS`, or all of them if `inline` is false, point to `defs`.
 */
export class SchemaReader {
  readonly #document: unknown
  /** How many more references may be inlined. */
  #inlinesLeft: number
  /** The names in `defs`, by reference. */
  readonly #names = new Map<string, string>()
  readonly #defs: Record<string, JsonSchema> = {}
  /** The nesting level of the schema that is being read. */
  #level = 0
  #schemasLeft = MOST_SCHEMAS

  readonly #sizes: SchemaSizes

  constructor(document: unknown, inline: boolean, sizes: SchemaSizes) {
    this.#document = document
    this.#sizes = sizes
    this.#inlinesLeft = inline ? MOST_INLINED : 0
  }

  /** The schemas that those read so far refer to, to be the `$defs` of the root. */
  get defs(): Readonly<Record<string, JsonSchema>> {
    return this.#defs
  }

  /** Converts a schema. Throws an UnsupportedError for a reference without a target, and for too deep nesting. */
  read(schema: unknown): JsonSchema {
    const read = this.#read(schema, [])
    return isObject(read) ? read : {}
  }

  /** Returns a schema that was read with its references replaced, as far as they tell what type a value is of. */
  unfold(schema: JsonSchema, levels = MOST_UNFOLDED): JsonSchema {
    const { $ref, items, ...rest } = schema
    if (typeof $ref === 'string') {
      const target = this.#defs[$ref.slice('#/$defs/'.length)]
      return target && levels > 0 ? this.unfold(target, levels - 1) : {}
    }
    const unions = ['anyOf', 'oneOf', 'allOf'].flatMap((keyword) => {
      const branches = rest[keyword]
      if (!Array.isArray(branches)) return []
      return [[keyword, branches.map((each) => (isObject(each) ? this.unfold(each, levels) : each))] as const]
    })
    return { ...rest, ...(isObject(items) && { items: this.unfold(items, levels) }), ...Object.fromEntries(unions) }
  }

  #read(schema: unknown, open: readonly string[]): unknown {
    if (this.#level >= MOST_LEVELS) throw new UnsupportedError(`its schemas are nested over ${MOST_LEVELS} levels deep`)
    if (this.#schemasLeft-- <= 0) throw new UnsupportedError(`it refers to over ${MOST_SCHEMAS} schemas`)
    this.#level += 1
    const read = this.#readWithin(schema, open)
    this.#level -= 1
    return read
  }

  #readWithin(schema: unknown, open: readonly string[]): unknown {
    if (!isObject(schema)) return schema === false ? false : {}
    const { $ref, ...own } = schema
    if (typeof $ref !== 'string') return this.#keywords(schema, open)
    if (this.#sizes.isTooLarge($ref)) throw new UnsupportedError(`it refers to over ${MOST_SCHEMAS} schemas`)
    return this.#reference($ref, own, open)
  }

  #reference($ref: string, own: Readonly<Record<string, unknown>>, open: readonly string[]): unknown {
    // OpenAPI 3.1 allows a description beside a reference; 3.0 allows nothing.
    const { description } = own
    const words = typeof description === 'string' ? { description } : {}
    const mayInline = !open.includes($ref) && this.#level < MOST_INLINED_LEVELS && this.#inlinesLeft-- > 0
    if (!mayInline) return { $ref: `#/$defs/${this.#define($ref)}`, ...words }
    const read = this.#read(resolveRef(this.#document, { $ref }), [...open, $ref])
    return isObject(read) ? { ...read, ...words } : read
  }

  #define(ref: string): string {
    const existingName = this.#names.get(ref)
    if (existingName !== undefined) return existingName
    const base = (ref.split('/').at(-1) ?? '').replace(/[^\w-]+/g, '_')
    const name = Object.hasOwn(this.#defs, base) ? `${base}_${this.#names.size}` : base
    this.#names.set(ref, name)
    this.#defs[name] = {}
    const read = this.#read(resolveRef(this.#document, { $ref: ref }), [ref])
    this.#defs[name] = isObject(read) ? read : {}
    return name
  }

  #keywords(schema: Record<string, unknown>, open: readonly string[]): JsonSchema {
    const keywords = Object.entries(this.#withoutReadOnly(schema)).filter(
      ([keyword]) => ASSERTING.has(keyword) || WORDS.has(keyword),
    )
    const read = Object.fromEntries(
      keywords.map(([keyword, value]) => [keyword, this.#keywordValue(keyword, value, open)]),
    )
    return withNull(withBounds(read))
  }

  #keywordValue(keyword: string, value: unknown, open: readonly string[]): unknown {
    const holds = HOLDS.get(keyword)
    if (keyword === 'default' || (holds === undefined && keyword !== 'items')) return value
    if (Array.isArray(value)) return value.map((inner) => this.#read(inner, open))
    if (holds !== 'map' || !isObject(value)) return typeof value === 'boolean' ? value : this.#read(value, open)
    return Object.fromEntries(
      Object.entries(value).map(([name, inner]) => [name, Array.isArray(inner) ? inner : this.#read(inner, open)]),
    )
  }

  #withoutReadOnly(schema: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
    const { properties, required } = schema
    const all = Object.entries(isObject(properties) ? properties : {})
    const written = all.filter(([, inner]) => {
      const target = resolveRef(this.#document, inner)
      return isObject(target) && target['readOnly'] === true
    })
    if (written.length === 0) return schema
    const names = new Set<unknown>(written.map(([name]) => name))
    return {
      ...schema,
      properties: Object.fromEntries(all.filter(([name]) => !names.has(name))),
      ...(Array.isArray(required) && { required: required.filter((name) => !names.has(name)) }),
    }
  }
}

/** Translates the exclusive bounds of OpenAPI 3.0, such as `minimum: 0, exclusiveMinimum: true`. */
function withBounds(schema: JsonSchema): JsonSchema {
  const read: Record<string, unknown> = { ...schema }
  for (const [keyword, exclusive] of [
    ['minimum', 'exclusiveMinimum'],
    ['maximum', 'exclusiveMaximum'],
  ] as const) {
    if (typeof read[exclusive] !== 'boolean') continue
    const limit = read[keyword]
    const isExclusive = read[exclusive] && typeof limit === 'number'
    delete read[exclusive]
    if (!isExclusive) continue
    delete read[keyword]
    read[exclusive] = limit
  }
  return read
}

/** Translates `nullable: true` of OpenAPI 3.0. */
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
