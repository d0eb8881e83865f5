/** The keywords of JSON Schema, 2020-12 and draft-07, as tables. Those that hold schemas are applied by `fit`. */
import { canonicalJson, isObject, type JsonObject } from '../contract/json.ts'
import { FORMATS } from './format.ts'

/** Three functions are marked as free of side effects: a Worker that interprets no schema then leaves all this out. */
/* @__NO_SIDE_EFFECTS__ */
function table<Row>(rows: readonly (readonly [names: string, row: Row])[]): ReadonlyMap<string, Row> {
  return new Map(rows.flatMap(([names, row]) => names.split(' ').map((name) => [name, row] as const)))
}

/** How a keyword holds schemas. `items` may also hold one; `dependencies` may hold lists of names instead. */
export const HOLDS = table<'one' | 'list' | 'map'>([
  ['additionalItems additionalProperties contains else if not propertyNames then', 'one'],
  ['unevaluatedItems unevaluatedProperties', 'one'],
  ['allOf anyOf items oneOf prefixItems', 'list'],
  ['$defs definitions dependencies dependentSchemas patternProperties properties', 'map'],
])

/** Keywords whose schemas apply to the same value, and not to a part of it. */
export const SAME_VALUE: ReadonlySet<string> = new Set(
  /* @__PURE__ */ 'allOf anyOf dependencies dependentSchemas else if not oneOf then'.split(' '),
)

const isText = (value: unknown) => typeof value === 'string'
const isNumber = (value: unknown) => typeof value === 'number'
const isFlag = (value: unknown) => typeof value === 'boolean'
const isFull = (value: unknown) => Array.isArray(value) && value.length > 0
const isNames = (value: unknown) => Array.isArray(value) && value.every(isText)
const isNeeds = (value: unknown) => !Array.isArray(value) || isNames(value)

const TYPES = 'string, number, integer, boolean, object, array, null'
const isType = (value: unknown) => typeof value === 'string' && TYPES.split(', ').includes(value)

/** What the value of a keyword must be in a sound schema, in words and as a check. */
export const SOUND = table<readonly [expected: string, isSound: (value: unknown) => boolean]>([
  [
    'type',
    [`one of ${TYPES}, or a list of them`, (value) => isType(value) || (isFull(value) && [value].flat().every(isType))],
  ],
  ['enum', ['a list of values, not empty', isFull]],
  ['required', ['a list of names', isNames]],
  ['dependentRequired', ['lists of names', (value) => isObject(value) && Object.values(value).every(isNames)]],
  ['dependencies', ['lists of names, or schemas', (value) => isObject(value) && Object.values(value).every(isNeeds)]],
  ['multipleOf', ['a number over 0', (value) => typeof value === 'number' && value > 0]],
  ['minimum maximum', ['a number', isNumber]],
  // Booleans are what draft-04 and OpenAPI 3.0 write here.
  ['exclusiveMinimum exclusiveMaximum', ['a number', (value) => isNumber(value) || isFlag(value)]],
  [
    'minLength maxLength minItems maxItems minContains maxContains minProperties maxProperties',
    ['a whole number from 0', (value) => Number.isSafeInteger(value) && Number(value) >= 0],
  ],
  ['$schema $id $anchor $ref $dynamicRef title description format pattern', ['text', isText]],
  ['uniqueItems nullable', ['true or false', isFlag]],
  ['allOf anyOf oneOf prefixItems', ['a list of schemas, not empty', isFull]],
  ['$defs definitions dependentSchemas patternProperties properties', ['an object of schemas', isObject]],
  ['$recursiveRef', ['$ref in its place', () => false]],
])

/** Checks for the keywords that look at the value alone: what an unmet keyword expects, such as `at least 3`. */
export const UNMET: ReadonlyMap<string, Unmet> = new Map<string, Unmet>([
  ['type', unmetType],
  ['const', (value, limit) => unmetEnum(value, [limit])],
  ['enum', unmetEnum],
  ['format', unmetFormat],
  ['uniqueItems', unmetUnique],
  ['minimum', bound('number', isUnder, 'at least #')],
  ['maximum', bound('number', isOver, 'at most #')],
  ['exclusiveMinimum', exclusive('minimum', (size, limit) => size <= limit, 'more than #')],
  ['exclusiveMaximum', exclusive('maximum', (size, limit) => size >= limit, 'less than #')],
  ['multipleOf', bound('number', (size, step) => !isMultiple(size, step), 'a multiple of #')],
  ['minLength', bound('string', isUnder, 'at least # characters')],
  ['maxLength', bound('string', isOver, 'at most # characters')],
  ['minItems', bound('array', isUnder, 'at least # items')],
  ['maxItems', bound('array', isOver, 'at most # items')],
  ['minProperties', bound('object', isUnder, 'at least # keys')],
  ['maxProperties', bound('object', isOver, 'at most # keys')],
])

type Unmet = (value: unknown, limit: unknown, schema: JsonObject) => string | undefined
type IsOut = (size: number, limit: number) => boolean

function unmetType(value: unknown, limit: unknown, { nullable }: JsonObject): string | undefined {
  const types = [limit, nullable === true ? 'null' : []].flat()
  const isOne = types.some((type) => type === kindOf(value) || (type === 'integer' && Number.isInteger(value)))
  return isOne ? undefined : types.join(' | ')
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

function unmetEnum(value: unknown, limit: unknown): string | undefined {
  const values = Array.isArray(limit) ? limit.map((each) => canonicalJson(each)) : []
  return values.includes(canonicalJson(value)) ? undefined : values.join(' | ')
}

function unmetFormat(value: unknown, limit: unknown): string | undefined {
  const [holds, words = `text of the format ${String(limit)}`] = FORMATS.get(limit) ?? []
  return typeof value !== 'string' || holds?.(value) !== false ? undefined : words
}

function unmetUnique(value: unknown, limit: unknown): string | undefined {
  const items = limit === true && Array.isArray(value) ? value.map((item) => canonicalJson(item)) : []
  return new Set(items).size < items.length ? 'no item twice' : undefined
}

function isUnder(size: number, limit: number): boolean {
  return size < limit
}

function isOver(size: number, limit: number): boolean {
  return size > limit
}

/** Makes the check of a bound on a number, or on the size of a value of this kind. */
/* @__NO_SIDE_EFFECTS__ */
function bound(kind: string, isOut: IsOut, words: string): Unmet {
  return (value, limit) => {
    const isUnmet = kindOf(value) === kind && typeof limit === 'number' && isOut(sizeOf(value), limit)
    return isUnmet ? words.replace('#', String(limit)) : undefined
  }
}

/** Draft-04 and OpenAPI 3.0 write `exclusiveMinimum: true` to make `minimum` exclusive. */
/* @__NO_SIDE_EFFECTS__ */
function exclusive(other: string, isOut: IsOut, words: string): Unmet {
  const check = bound('number', isOut, words)
  return (value, limit, schema) => check(value, limit === true ? schema[other] : limit, schema)
}

/** Compares decimals as they are written: 0.3 is a multiple of 0.1, though it is not in binary. */
function isMultiple(value: number, step: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(step)) return value % step === 0
  return Number.isInteger(Number((value / step).toPrecision(15)))
}

/** Returns a number as it is, and the size of any other value. The size of a text is its number of code points. */
function sizeOf(value: unknown): number {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? Array.from(value).length : Object.keys(Object(value)).length
}
