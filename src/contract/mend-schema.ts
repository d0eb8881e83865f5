import type { DefinitionIssue } from './definition.ts'
import { followRef, isObject, type JsonObject, type JsonSchema, MOST_LEVELS } from './json.ts'
import { mapSubschemas } from './subschemas.ts'

/** A schema in which nothing is unsound, and what was changed for that. */
export interface MendedSchema {
  readonly schema: JsonSchema
  /** Each with the path of the keyword. None if the schema is the one that was given. */
  readonly mends: readonly DefinitionIssue[]
}

/**
 * Makes a schema sound: what people and generators write in the place of JSON Schema is written as they mean it, such as
 * `required: true` on a property, a pattern between slashes or the type `int`. What means nothing is left out, such as an
 * empty `enum` or a reference without a target, so that a value may be anything there. Never throws; parts that are nested
 * over 100 levels deep become schemas of any value.
 */
export function mendSchema(schema: JsonSchema): MendedSchema {
  return mendWith(ALL, schema)
}

/**
 * Mends what is plainly meant otherwise: `required` of a property, an empty `enum`, a pattern
 * between slashes. Other faults stay, so that the author of a schema is told of them.
 */
export function mendPlainly(schema: JsonSchema): MendedSchema {
  return mendWith(PLAIN, schema)
}

function mendWith(menders: Menders, schema: JsonSchema): MendedSchema {
  const mends: DefinitionIssue[] = []
  const mend = (part: unknown, path: readonly string[]): unknown => {
    const tell = (keyword: string, message: string): void => {
      mends.push({ path: [...path, keyword].filter((key) => key !== '').join('.'), message })
    }
    if (typeof part === 'boolean') return part
    if (!isObject(part) || path.length > 2 * MOST_LEVELS) {
      if (menders !== ALL) return part
      tell('', 'expected a schema: any value is allowed here')
      return {}
    }
    const own = withSoundKeywords(requiredByParent(part, tell), { root: schema, menders, tell })
    return mapSubschemas(own, (inner, at) => mend(inner, [...path, ...at]))
  }
  const mended = mend(schema, [])
  return { schema: isObject(mended) ? mended : {}, mends }
}

type Tell = (keyword: string, message: string) => void

/** Moves `required: true` from properties to the list of their parent. */
function requiredByParent(schema: JsonObject, tell: Tell): JsonObject {
  const { properties, required } = schema
  if (!isObject(properties)) return schema
  const flagged = Object.entries(properties).filter(
    ([, inner]) => isObject(inner) && typeof inner.required === 'boolean',
  )
  if (flagged.length === 0) return schema
  const plain = flagged.map(([name, inner]) => {
    const { required: isRequired, ...rest } = Object(inner)
    tell(`properties.${name}.required`, 'expected the names of required properties: moved to the object around it')
    return [name, rest, isRequired === true] as const
  })
  const names = [...(Array.isArray(required) ? required : []), ...plain.flatMap(([name, , is]) => (is ? [name] : []))]
  return {
    ...schema,
    properties: { ...properties, ...Object.fromEntries(plain) },
    ...(names.length > 0 && { required: [...new Set(names)] }),
  }
}

interface Mending {
  readonly root: JsonSchema
  readonly menders: Menders
  readonly tell: Tell
}

/** Returns a schema whose keywords have values that they may have. */
function withSoundKeywords(schema: JsonObject, { root, menders, tell }: Mending): JsonObject {
  let isSame = true
  const entries = Object.entries(schema).flatMap(([keyword, value]) => {
    const mended = menders.get(keyword)?.(value, root) ?? value
    if (mended === value) return [[keyword, value] as const]
    isSame = false
    const result = mended === NOTHING ? [] : [[keyword, mended] as const]
    tell(keyword, result.length > 0 ? `mended to ${brief(mended)}` : `left out, as it says nothing: ${brief(value)}`)
    return result
  })
  return isSame ? schema : Object.fromEntries(entries)
}

function brief(value: unknown): string {
  return JSON.stringify(value).slice(0, 100)
}

/** In the place of a value that means nothing. */
const NOTHING = Symbol('nothing')

/** Returns the value of a keyword as it is meant; the value itself, or undefined, if it is sound. */
type Mender = (value: unknown, root: JsonSchema) => unknown
type Menders = ReadonlyMap<string, Mender>

const TYPES = new Set(['string', 'number', 'integer', 'boolean', 'object', 'array', 'null'])
/** The words for types in other languages and formats. */
const OTHER_TYPES = new Map([
  ['int', 'integer'],
  ['int32', 'integer'],
  ['int64', 'integer'],
  ['long', 'integer'],
  ['float', 'number'],
  ['double', 'number'],
  ['decimal', 'number'],
  ['str', 'string'],
  ['text', 'string'],
  ['date', 'string'],
  ['datetime', 'string'],
  ['file', 'string'],
  ['bool', 'boolean'],
  ['list', 'array'],
  ['dict', 'object'],
  ['map', 'object'],
  ['none', 'null'],
])

function typeWord(type: unknown): unknown {
  const word = String(type).toLowerCase()
  return TYPES.has(word) ? word : OTHER_TYPES.get(word)
}

const mendType: Mender = (type) => {
  const words: readonly unknown[] = [type].flat()
  const types = [...new Set(words.map(typeWord))]
  // A word for any type, or for one that nobody knows, leaves the value free.
  if (types.length === 0 || types.includes(undefined)) return NOTHING
  if (types.length === words.length && types.every((word, at) => word === words[at])) return type
  return Array.isArray(type) ? types : types[0]
}

/**
 * Returns a pattern without the slashes of a literal, which one with an anchor is. With a flag that changes what it matches,
 * no pattern would mean the same.
 */
const mendLiteral: Mender = (pattern) => {
  const [, literal, flags = ''] = /^\/(.+)\/([a-z]*)$/s.exec(String(pattern)) ?? []
  if (literal === undefined || !/^\^|\$$/.test(literal)) return pattern
  return /[^gu]/.test(flags) ? NOTHING : literal
}

/** The same; a pattern that does not compile is none. */
const mendPattern: Mender = (pattern, root) => {
  const source = typeof pattern === 'string' ? mendLiteral(pattern, root) : NOTHING
  return typeof source === 'string' && compiles(source) ? source : NOTHING
}

function compiles(pattern: string): boolean {
  return ['', 'u'].some((flags) => {
    try {
      return new RegExp(pattern, flags).flags === flags
    } catch {
      return false
    }
  })
}

const mendCount: Mender = (value) => {
  const count = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return Number.isSafeInteger(count) && Number(count) >= 0 ? count : NOTHING
}

const mendNumber: Mender = (value) => {
  // A number with many digits is text (`parseExactly`).
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  return typeof number === 'number' && Number.isFinite(number) ? number : NOTHING
}

/** A boolean, as draft-04 and OpenAPI 3.0 have, is a bound of `minimum` or `maximum`, which validators here know. */
const mendExclusive: Mender = (value, root) => (typeof value === 'boolean' ? value : mendNumber(value, root))

const mendNames: Mender = (names) => {
  if (!Array.isArray(names)) return NOTHING
  const texts = [...new Set(names.filter((name) => typeof name === 'string'))]
  return texts.length === names.length ? names : texts
}

const mendPositive: Mender = (value, root) => {
  const number = mendNumber(value, root)
  return typeof number === 'number' && number > 0 ? number : NOTHING
}

const mendEmpty: Mender = (value) => (Array.isArray(value) && value.length === 0 ? NOTHING : value)
const mendList: Mender = (value) => (Array.isArray(value) && value.length > 0 ? value : NOTHING)
const keep =
  (isSound: (value: unknown) => boolean): Mender =>
  (value) =>
    isSound(value) ? value : NOTHING
const keepMap = (isSound: (name: string, value: unknown) => boolean): Mender =>
  keep((map) => isObject(map) && Object.entries(map).every(([name, value]) => isSound(name, value)))
const keepText = (pattern: RegExp): Mender => keep((value) => typeof value === 'string' && pattern.test(value))
/** Some write `additionalProperties: "false"`; any other value would be no schema. */
const mendOpen: Mender = (value) =>
  typeof value === 'boolean' || isObject(value) ? value : value === 'false' ? false : NOTHING

/** A reference must lead to a schema of the document, by a path. Those by an id or an anchor are left to its reader. */
const mendRef: Mender = (ref, root) => {
  if (typeof ref !== 'string') return NOTHING
  if (!ref.startsWith('#')) return ref
  return ref === '#' || !ref.startsWith('#/') || followRef(root, ref) !== undefined ? ref : NOTHING
}

/* @__NO_SIDE_EFFECTS__ */
function table(rows: readonly (readonly [names: string, mender: Mender])[]): Menders {
  return new Map(rows.flatMap(([names, mender]) => names.split(' ').map((name) => [name, mender] as const)))
}

const PLAIN = table([
  ['enum', mendEmpty],
  ['pattern', mendLiteral],
])

const ALL = table([
  ['type', mendType],
  ['pattern', mendPattern],
  ['enum anyOf oneOf allOf prefixItems', mendList],
  ['required', mendNames],
  ['dependentRequired', keepMap((_, names) => Array.isArray(names))],
  ['minimum maximum', mendNumber],
  ['multipleOf', mendPositive],
  ['exclusiveMinimum exclusiveMaximum', mendExclusive],
  ['minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties', mendCount],
  ['patternProperties', keepMap(compiles)],
  ['properties $defs definitions dependentSchemas dependencies $vocabulary', keepMap(() => true)],
  ['uniqueItems nullable deprecated readOnly writeOnly', keep((value) => typeof value === 'boolean')],
  ['additionalProperties', mendOpen],
  ['contentSchema', keep(isObject)],
  ['examples', keep(Array.isArray)],
  ['title description format contentMediaType contentEncoding $comment $schema', keepText(/(?:)/)],
  ['$id', keepText(/^[^#]*#?$/)],
  // Drafts before 2020-12 have other values here.
  ['$anchor $dynamicAnchor $recursiveAnchor', keepText(/^[A-Za-z_][-\w.]*$/)],
  ['$ref', mendRef],
])
