import { canonicalJson, isObject, type JsonObject } from '../contract/json.ts'
import { isMultiple } from '../contract/exact-numbers.ts'
import { spend, spendText, startWork, type Work } from './pattern.ts'

/** The keywords of JSON Schema, 2020-12 and draft-07, as tables. Those that hold schemas are applied by `fit`. */

/**
 * Three functions are marked as free of side effects, so that bundles of Workers that check no schema omit the tables.
 */
/* @__NO_SIDE_EFFECTS__ */
function table<Row>(rows: readonly (readonly [names: string, row: Row])[]): ReadonlyMap<string, Row> {
  return new Map(rows.flatMap(([names, row]) => names.split(' ').map((name) => [name, row] as const)))
}

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

/** What the value of a keyword must be in a sound schema: in words, and as a check. */
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
  // Draft-04 and OpenAPI 3.0 have a boolean here.
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

/** Returns the references of a schema, `$ref` and `$dynamicRef`. */
export function refsOf({ $ref, $dynamicRef }: JsonObject): string[] {
  return [$ref, $dynamicRef].filter((ref) => typeof ref === 'string')
}

/** The check of a keyword that looks at the value alone. */
export interface Check {
  readonly keyword: string
  readonly holds: (value: unknown, work: Work) => boolean
  /** Returns what the keyword expects, such as `at least 3`. */
  readonly expected: () => string
}

type Holds = Check['holds']
type MakeCheck = (limit: unknown, schema: JsonObject) => Omit<Check, 'keyword'> | undefined

/** Makes the checks of a schema's keywords, in the order in which they are written. */
export function checksOf(schema: JsonObject): Check[] {
  return Object.entries(schema).flatMap(([keyword, limit]) => {
    const check = MAKERS.get(keyword)?.(limit, schema)
    return check ? [{ keyword, ...check }] : []
  })
}

const MAKERS: ReadonlyMap<string, MakeCheck> = new Map<string, MakeCheck>([
  ['type', typeCheck],
  ['const', (limit) => valuesCheck([limit])],
  ['enum', (limit) => (Array.isArray(limit) ? valuesCheck(limit) : undefined)],
  ['format', formatCheck],
  ['uniqueItems', uniqueCheck],
  ['minimum', sizeCheck('number', isUnder, 'at least #')],
  ['maximum', sizeCheck('number', isOver, 'at most #')],
  ['exclusiveMinimum', exclusive('minimum', (size, limit) => size <= limit, 'more than #')],
  ['exclusiveMaximum', exclusive('maximum', (size, limit) => size >= limit, 'less than #')],
  ['multipleOf', sizeCheck('number', (size, divisor) => !isMultiple(size, divisor), 'a multiple of #')],
  ['minLength', sizeCheck('string', isUnder, 'at least # characters')],
  ['maxLength', sizeCheck('string', isOver, 'at most # characters')],
  ['minItems', sizeCheck('array', isUnder, 'at least # items')],
  ['maxItems', sizeCheck('array', isOver, 'at most # items')],
  ['minProperties', sizeCheck('object', isUnder, 'at least # keys')],
  ['maxProperties', sizeCheck('object', isOver, 'at most # keys')],
])

function typeCheck(limit: unknown, { nullable }: JsonObject): ReturnType<MakeCheck> {
  const types = new Set<unknown>([limit, nullable === true ? 'null' : []].flat())
  const holds: Holds = (value) => types.has(kindOf(value)) || (types.has('integer') && Number.isInteger(value))
  return { holds, expected: () => [...types].join(' | ') }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null'
  return Array.isArray(value) ? 'array' : typeof value
}

/** The most values of an `enum` that a message lists. */
const MOST_LISTED = 50

function valuesCheck(values: readonly unknown[]): ReturnType<MakeCheck> {
  const set = new ValueSet()
  const unbounded = startWork(Infinity)
  for (const value of values) set.add(unbounded, value)
  // A union may give this reason for each of its branches.
  let words: string | undefined
  return {
    holds: (value, work) => set.has(work, value),
    expected: () => (words ??= values.slice(0, MOST_LISTED).map(canonicalJson).join(' | ')),
  }
}

function formatCheck(limit: unknown): ReturnType<MakeCheck> {
  const [fits, words = `text of the format ${String(limit)}`] = FORMATS.get(limit) ?? []
  if (!fits) return undefined
  const holds: Holds = (value, work) => {
    if (typeof value !== 'string') return true
    spend(work, value.length / 8)
    return fits(value)
  }
  return { holds, expected: () => words }
}

function uniqueCheck(limit: unknown): ReturnType<MakeCheck> {
  if (limit !== true) return undefined
  const holds: Holds = (value, work) => {
    if (!Array.isArray(value)) return true
    const items = new ValueSet()
    return value.every((item) => items.add(work, item))
  }
  return { holds, expected: () => 'no item twice' }
}

type IsOut = (size: number, limit: number) => boolean

function isUnder(size: number, limit: number): boolean {
  return size < limit
}

function isOver(size: number, limit: number): boolean {
  return size > limit
}

/** Makes the check of a bound on a number, or on the size of a value of this kind. */
/* @__NO_SIDE_EFFECTS__ */
function sizeCheck(kind: string, isOut: IsOut, words: string): MakeCheck {
  return (limit) => {
    if (typeof limit !== 'number') return undefined
    const holds: Holds = (value, work) => kindOf(value) !== kind || !isOut(sizeOf(value, work), limit)
    return { holds, expected: () => words.replace('#', String(limit)) }
  }
}

/** Draft-04 and OpenAPI 3.0 write `exclusiveMinimum: true` to make `minimum` exclusive. */
/* @__NO_SIDE_EFFECTS__ */
function exclusive(other: string, isOut: IsOut, words: string): MakeCheck {
  const make = sizeCheck('number', isOut, words)
  return (limit, schema) => make(limit === true ? schema[other] : limit, schema)
}

/** Returns a number as it is, and the size of any other value. The size of a text is its number of code points. */
function sizeOf(value: unknown, work: Work): number {
  if (typeof value === 'number') return value
  if (typeof value === 'string') return codePoints(value, work)
  const { length } = Array.isArray(value) ? value : Object.keys(Object(value))
  if (!Array.isArray(value)) spend(work, length / 4)
  return length
}

function codePoints(text: string, work: Work): number {
  spendText(work, text)
  let pairs = 0
  for (let at = 0; at < text.length; at++) {
    // A high surrogate followed by a low one is one code point.
    if ((text.charCodeAt(at) & 0xfc00) === 0xd800 && (text.charCodeAt(at + 1) & 0xfc00) === 0xdc00) pairs += 1
  }
  return text.length - pairs
}

/** A set of JSON values. Equal objects are the same value, whatever the order of their keys. */
class ValueSet {
  readonly #scalars = new Set<unknown>()
  readonly #texts = new Set<string>()

  /** Adds a value; returns false if it is in the set already. */
  add(work: Work, value: unknown): boolean {
    const [set, key] = this.#place(work, value)
    if (set.has(key)) return false
    set.add(key)
    return true
  }

  has(work: Work, value: unknown): boolean {
    if (isCompound(value) && this.#texts.size === 0) return false
    const [set, key] = this.#place(work, value)
    return set.has(key)
  }

  #place(work: Work, value: unknown): readonly [set: Set<unknown>, key: unknown] {
    if (typeof value === 'string') spendText(work, value)
    else spend(work, 1)
    return isCompound(value) ? [this.#texts, textOf(work, value)] : [this.#scalars, value]
  }
}

function isCompound(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

/** Returns JSON with sorted keys. A key whose value is undefined is left out. */
function textOf(work: Work, value: unknown): string {
  if (!isCompound(value)) {
    if (typeof value === 'string') spendText(work, value)
    return JSON.stringify(value) ?? 'null'
  }
  const cachedText = work.texts.get(value)
  if (cachedText !== undefined) return cachedText
  const text = Array.isArray(value) ? textOfList(work, value) : textOfObject(work, value)
  spendText(work, text)
  work.texts.set(value, text)
  return text
}

function textOfList(work: Work, items: readonly unknown[]): string {
  spend(work, 4 + 4 * items.length)
  return `[${items.map((item) => textOf(work, item)).join()}]`
}

function textOfObject(work: Work, value: object): string {
  const entries = Object.entries(value).filter(([, inner]) => inner !== undefined)
  spend(work, 8 + 8 * entries.length)
  const sorted = entries.sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${sorted.map(([key, inner]) => `${JSON.stringify(key)}:${textOf(work, inner)}`).join()}}`
}

type Format = readonly [holds: (text: string) => boolean, words?: string]

/** The formats that are checked, each with a description for messages. Any other format is only a hint to the model. */
const FORMATS: ReadonlyMap<unknown, Format> = new Map<unknown, Format>([
  ['date', [isDate, 'a date such as 2026-01-31']],
  ['time', [isTime, 'a time with its zone, such as 14:30:00Z']],
  ['date-time', [isDateTime, 'a date and time with its zone, such as 2026-01-31T14:30:00Z']],
  ['email', [(text) => /^[^\s@]+@[^\s@]+$/.test(text)]],
  ['hostname', [(text) => /^(?:[a-z\d](?:[a-z\d-]{0,61}[a-z\d])?(?:\.(?!$)|$))+$/i.test(text)]],
  ['ipv4', [(text) => /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/.test(text)]],
  ['ipv6', [(text) => /^[\da-f:.]+$/i.test(text) && URL.canParse(`http://[${text}]`)]],
  ['uri', [(text) => /^[a-z][a-z\d+.-]*:[^\s"<>\\^`{|}]*$/i.test(text) && URL.canParse(text)]],
  ['uuid', [(text) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text)]],
])

/** Checks the day as well: `Date` takes the 31st of a shorter month for a day of the next one. */
function isDate(text: string): boolean {
  return /^\d{4}-\d\d-\d\d$/.test(text) && (new Date(text).toJSON() ?? '').startsWith(text)
}

function isTime(text: string): boolean {
  return /^(?:[01]\d|2[0-3]):[0-5]\d:(?:[0-5]\d|60)(?:\.\d+)?(?:z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i.test(text)
}

function isDateTime(text: string): boolean {
  const [date = '', time = '', more] = text.split(/t/i)
  return isDate(date) && isTime(time) && more === undefined
}
