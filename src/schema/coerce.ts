import { canonicalJson, isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { isExact, parseExactly } from '../contract/exact-numbers.ts'
import {
  branchesOf,
  collectConjuncts,
  enumOf,
  isOfType,
  toList,
  mapParts,
  step,
  target,
  typesOf,
  type Walk,
  walk,
} from './rule.ts'
import { spend, spendText } from './pattern.ts'

/**
 * Mends arguments that do not fit their schema into what the model meant. A tool's arguments are validated as the model
 * sent them; if they do not fit, they are mended by this table, at every depth, and validated again. A value that the
 * table does not name is not changed, and the model is told what was expected and what was received.
 *
 * | wanted              | sent                                             | becomes                               |
 * |---------------------|--------------------------------------------------|---------------------------------------|
 * | number              | `" 1.5 "`, `"-2e3"`; digits that it cannot hold  | the number; the latter stay as text   |
 * | integer             | `"5"`, `"5.0"`; digits that a number cannot hold | the integer; the latter stay as text  |
 * | boolean             | `"true"`, `" False "`                            | the boolean; 0, 1 and “yes” stay      |
 * | string              | a number or boolean                              | its text                              |
 * | one of a list       | another case, or the text of a number in it      | the option, if only one option fits   |
 * | object, array       | its JSON as a string                             | the object or array                   |
 * | array               | one item of it                                   | an array of that item                 |
 * | optional, not null  | `null`                                           | absent                                |
 * | the arguments       | nothing, `null`, `""`                            | `{}`                                  |
 * | the arguments       | all inside one key that the schema lacks         | the value of that key, if it fits     |
 * | one of a union      | a value that fits no branch                      | mended for the first branch it fits   |
 *
 * Mending depends on types, listed values and required keys alone, so that the bundle of a tool Worker, whose schemas
 * validate themselves, needs no JSON Schema checker. A string is never changed where a string is wanted, and a number
 * is never rounded to an integer. Returns the value itself, not a copy, if there is nothing to mend.
 */
export function coerce(schema: JsonSchema, value: unknown): unknown {
  return walk(schema, value, (walk) => {
    const isNothing = value === undefined || value === null || value === ''
    const mended = mend(walk, schema, isNothing && typesOf(schema).includes('object') ? {} : value)
    if (mended.isFit || !isObject(mended.value)) return mended.value
    const [key, ...others] = Object.keys(mended.value)
    const { properties } = schema
    if (key === undefined || others.length > 0 || Object.hasOwn(Object(properties), key)) return mended.value
    const inner = mend(walk, schema, mended.value[key])
    return inner.isFit && isObject(inner.value) ? inner.value : mended.value
  })
}

/** Returns whether a value has the shape of a schema without being mended. */
function hasShape(walk: Walk, schema: unknown, value: unknown): boolean {
  const mended = mend(walk, schema, value)
  return mended.isFit && mended.value === value
}

/**
 * A mended value, and whether it then has the shape of its schema: the types, the listed values and the required keys.
 * Bounds, patterns and formats are left to the check of the arguments as a whole, which follows.
 */
interface Mended {
  readonly value: unknown
  readonly isFit: boolean
}

function mend(walk: Walk, schema: unknown, value: unknown): Mended {
  if (!isObject(schema)) return { value, isFit: schema !== false }
  return step(walk, () => {
    const mends = [
      ...collectConjuncts(walk, schema).map((also) => (current: unknown) => mend(walk, also, current)),
      (current: unknown) => mendUnion(walk, branchesOf(schema), current),
      (current: unknown) => mendHere(walk, schema, current),
    ]
    return mends.reduce<Mended>(
      (before, mendOnce) => {
        const after = mendOnce(before.value)
        return { value: after.value, isFit: before.isFit && after.isFit }
      },
      { value, isFit: true },
    )
  })
}

function mendUnion(walk: Walk, branches: readonly unknown[], value: unknown): Mended {
  if (branches.length === 0) return { value, isFit: true }
  const mended: Mended[] = []
  for (const branch of branches) {
    const each = mend(walk, branch, value)
    if (each.isFit && each.value === value) return each
    mended.push(each)
  }
  const tagged = branches.findIndex((branch) => isTagged(walk, branch, value))
  return mended.find(({ isFit }) => isFit) ?? mended[tagged] ?? { value, isFit: false }
}

/** Returns whether a value has the constant that tells a branch of a union from the others. */
function isTagged(walk: Walk, branch: unknown, value: unknown): boolean {
  if (!isObject(branch) || !isObject(value)) return false
  const { properties } = { ...branch, ...Object(target(walk, branch)) }
  return Object.entries(Object(properties)).some(
    ([key, inner]) => isObject(inner) && enumOf(inner)?.length === 1 && hasShape(walk, inner, value[key]),
  )
}

function mendHere(walk: Walk, schema: JsonObject, value: unknown): Mended {
  const options = enumOf(schema)
  if (options) {
    const option = isOption(walk, options, value) ? value : optionOf(walk, options, value)
    return { value: option, isFit: isOption(walk, options, option) }
  }
  const types = typesOf(schema)
  const as = findTarget(schema)
  if (as ? as.fits(value) : types.length === 0 || types.some((type) => isOfType(type, value)))
    return mendParts(walk, schema, value)
  if (typeof value === 'string') spendText(walk, value)
  for (const [type, convert] of CONVERSIONS) {
    if (!types.includes(type)) continue
    const converted = mendParts(walk, schema, convert(value))
    if (isOfType(type, converted.value) && (type !== 'array' || converted.isFit)) return converted
  }
  return { value, isFit: false }
}

function mendParts(walk: Walk, schema: JsonObject, value: unknown): Mended {
  if (typeof value !== 'object' || value === null) return { value, isFit: true }
  const withoutNull = withoutNulls(walk, schema, value)
  const required = toList(schema['required'])
  spend(walk, Object.keys(value).length + required.length / 2)
  let isFit = !isObject(withoutNull) || required.every((key) => withoutNull[String(key)] !== undefined)
  const mended = mapParts(schema, withoutNull, (inner, part) => {
    const each = mend(walk, inner, part)
    isFit &&= each.isFit
    return each.value
  })
  return { value: mended, isFit }
}

/** Removes optional properties whose value is null, unless null fits them. */
function withoutNulls(walk: Walk, { properties, required }: JsonObject, value: unknown): unknown {
  if (!isObject(value) || !isObject(properties)) return value
  const mayStay = ([key, part]: readonly [string, unknown]) =>
    part !== null ||
    !Object.hasOwn(properties, key) ||
    toList(required).includes(key) ||
    hasShape(walk, properties[key], null)
  const entries = Object.entries(value)
  return entries.every(mayStay) ? value : Object.fromEntries(entries.filter(mayStay))
}

/** Conversions by wanted type, in the order in which they are tried. A result of another type means that one failed. */
const CONVERSIONS: readonly (readonly [type: string, convert: (value: unknown) => unknown])[] = [
  ['boolean', (value) => ({ true: true, false: false })[textOf(value)?.toLowerCase() ?? '']],
  // Digits that a JavaScript number would round stay text.
  ['integer', (value) => toNumber(value, Number.isInteger)],
  ['number', (value) => toNumber(value, Number.isFinite)],
  ['object', fromJson],
  ['array', toArray],
  ['string', (value) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined)],
]

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.trim() : undefined
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

function toNumber(value: unknown, isRight: (number: number) => boolean): number | undefined {
  const text = textOf(value)
  if (text === undefined || !DECIMAL.test(text)) return undefined
  const number = Number(text)
  return isRight(number) && isExact(number, text) ? number : undefined
}

function toArray(value: unknown): unknown {
  const parsed = fromJson(value)
  if (Array.isArray(parsed)) return parsed
  return value === undefined || value === null || value === '' ? undefined : [value]
}

function fromJson(value: unknown): unknown {
  const text = textOf(value)
  try {
    return text !== undefined && /^[[{]/.test(text) ? parseExactly(text) : undefined
  } catch {
    return undefined
  }
}

function isOption(walk: Walk, options: readonly unknown[], value: unknown): boolean {
  const { values, texts } = optionLookup(options)
  if (typeof value !== 'object' || value === null) return values.has(value)
  if (texts.size === 0) return false
  const text = canonicalJson(value)
  spendText(walk, text)
  return texts.has(text)
}

/** Returns the option that equals the value but for case or as text, if there is exactly one; else the value. */
function optionOf(walk: Walk, options: readonly unknown[], value: unknown): unknown {
  const wanted = folded(value)
  if (wanted === undefined) return value
  spend(walk, 1 + wanted.length / 64)
  const matches = optionLookup(options).spellings.get(wanted) ?? []
  return matches.length === 1 ? matches[0] : value
}

/** The options of a list, prepared for look-ups. */
interface OptionLookup {
  readonly values: ReadonlySet<unknown>
  /** The canonical JSON of the options that are objects or arrays. */
  readonly texts: ReadonlySet<string>
  /** The options by what `folded` makes of them. */
  readonly spellings: ReadonlyMap<string, unknown[]>
}

const lists = new WeakMap<readonly unknown[], OptionLookup>()

function optionLookup(options: readonly unknown[]): OptionLookup {
  const cached = lists.get(options)
  if (cached) return cached
  const spellings = new Map<string, unknown[]>()
  for (const option of options) {
    const text = folded(option)
    const same = text === undefined ? undefined : spellings.get(text)
    if (same) same.push(option)
    else if (text !== undefined) spellings.set(text, [option])
  }
  const compounds = options.filter((option) => typeof option === 'object' && option !== null)
  const texts = new Set(compounds.map((option) => canonicalJson(option)))
  const lookup = { values: new Set(options), texts, spellings }
  lists.set(options, lookup)
  return lookup
}

function folded(scalar: unknown): string | undefined {
  return /^[sbn]/.test(typeof scalar) ? String(scalar).trim().toLowerCase() : undefined
}

/**
 * Returns a function that turns JSON into the values that JSON does not have, where the schema is marked with `AS`,
 * such as a text into a Date. A value that does not fit its mark stays as it is.
 */
export function decoder(schema: JsonSchema): (value: unknown) => unknown {
  return isMarked(schema) ? (value) => walk(schema, value, (walk) => decodePart(walk, schema, value)) : (value) => value
}

function isMarked(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && (AS in schema || Object.values(schema).some(isMarked))
}

function decodePart(walk: Walk, schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value
  const as = findTarget(schema)
  if (as && !as.fits(value)) return value
  return step(walk, () => {
    const branch = branchesOf(schema).find((each) => hasShape(walk, each, value))
    let decoded = mapParts(schema, value, (inner, part) => decodePart(walk, inner, part))
    for (const also of [branch, ...collectConjuncts(walk, schema)]) decoded = decodePart(walk, also, decoded)
    return as ? as.make(decoded) : decoded
  })
}

/**
 * The key under which a schema made by `convertInput` names a kind of value that JSON lacks, such as `date`, and that
 * its JSON is converted to. It is a symbol, so that it never leaves this Worker.
 */
export const AS: unique symbol = Symbol('as')

interface As {
  readonly fits: (value: unknown) => boolean
  readonly make: (value: unknown) => unknown
}

const DIGITS = /^\s*-?\d+\s*$/
const ISO = /^(\d{4}-\d\d-\d\d)(?:[t ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(z|[+-]\d\d:?\d\d)?)?$/i

/** Values that JSON does not have: which JSON fits each kind, and how it is converted. A time without a zone is UTC. */
const KINDS: Readonly<Record<string, As>> = {
  date: {
    fits: (value) => toDate(value) !== undefined,
    make: toDate,
  },
  bigint: {
    // An integer that a JavaScript number cannot hold arrives as text (`parseExactly`).
    fits: (value) => (typeof value === 'number' || typeof value === 'string') && DIGITS.test(String(value)),
    make: (value) => BigInt(String(value)),
  },
  set: { fits: Array.isArray, make: (value) => new Set(list(value)) },
  map: { fits: isObject, make: (value) => new Map(isObject(value) ? Object.entries(value) : []) },
}

function findTarget(schema: object): As | undefined {
  const as: unknown = Reflect.get(schema, AS)
  return typeof as === 'string' ? KINDS[as] : undefined
}

function toDate(value: unknown): Date | undefined {
  const [text, day = '', zone] = typeof value === 'string' ? (ISO.exec(value.trim()) ?? []) : []
  // `Date` takes the 31st of a shorter month for a day of the next one, so the day is compared.
  if (text === undefined || !(new Date(day).toJSON() ?? '').startsWith(day)) return undefined
  const date = new Date(zone !== undefined || text === day ? text : `${text}Z`)
  return Number.isNaN(date.valueOf()) ? undefined : date
}

function list(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}
