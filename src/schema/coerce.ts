import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { isExact, parseExactly } from './exact-numbers.ts'
import {
  conjunctsOf,
  branchesOf,
  fits,
  isOfType,
  listOf,
  mapParts,
  optionsOf,
  step,
  target,
  typesOf,
  type Walk,
  walk,
} from './shape.ts'
import { spend } from './work.ts'

/**
 * Mends arguments that do not fit their schema into what the model meant. A tool's arguments are validated as they were
 * sent; if they do not fit, they are mended by this table, at every depth, and validated once more. A value that the
 * table does not name stays as it is, and the model is told what was expected and what was received.
 *
 * | wanted              | sent                                             | becomes                               |
 * |---------------------|--------------------------------------------------|---------------------------------------|
 * | number              | `" 1.5 "`, `"-2e3"`                              | the number                            |
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
 * A string is never changed where a string is wanted, and no number is ever rounded to an integer. Returns the value
 * itself, not a copy, if there is nothing to mend.
 */
export function coerce(schema: JsonSchema, value: unknown): unknown {
  return walk(schema, value, (walk) => {
    const isNothing = value === undefined || value === null || value === ''
    const mended = mend(walk, schema, isNothing && typesOf(schema).includes('object') ? {} : value)
    if (!isObject(mended) || fits(walk, schema, mended)) return mended
    const [key, ...others] = Object.keys(mended)
    const { properties } = schema
    if (key === undefined || others.length > 0 || (isObject(properties) && Object.hasOwn(properties, key)))
      return mended
    const inner = mend(walk, schema, mended[key])
    return isObject(inner) && fits(walk, schema, inner) ? inner : mended
  })
}

function mend(walk: Walk, schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value
  return step(walk, () => {
    let mended = value
    for (const also of conjunctsOf(walk, schema)) mended = mend(walk, also, mended)
    return mendHere(walk, schema, mendUnion(walk, branchesOf(schema), mended))
  })
}

function mendUnion(walk: Walk, branches: readonly unknown[], value: unknown): unknown {
  if (branches.length === 0 || branches.some((branch) => fits(walk, branch, value))) return value
  for (const branch of branches) {
    const mended = mend(walk, branch, value)
    if (mended !== value && fits(walk, branch, mended)) return mended
  }
  return mend(
    walk,
    branches.find((branch) => isTagged(walk, branch, value)),
    value,
  )
}

/** Returns whether a value has the constant that tells a branch of a union from the others. */
function isTagged(walk: Walk, branch: unknown, value: unknown): boolean {
  if (!isObject(branch) || !isObject(value)) return false
  const { properties } = { ...branch, ...Object(target(walk, branch)) }
  return Object.entries(Object(properties)).some(
    ([key, inner]) => isObject(inner) && optionsOf(inner)?.length === 1 && fits(walk, inner, value[key]),
  )
}

function mendHere(walk: Walk, schema: JsonObject, value: unknown): unknown {
  const options = optionsOf(schema)
  if (options) return isOption(walk, schema, value) ? value : optionOf(walk, options, value)
  const types = typesOf(schema)
  if (types.length === 0 || types.some((type) => isOfType(type, value))) return mendParts(walk, schema, value)
  for (const [type, convert] of CONVERSIONS) {
    if (!types.includes(type)) continue
    const made = mendParts(walk, schema, convert(value))
    if (isOfType(type, made) && (type !== 'array' || fits(walk, schema, made))) return made
  }
  return value
}

function mendParts(walk: Walk, schema: JsonObject, value: unknown): unknown {
  const mended = mapParts(schema, value, (inner, part) => mend(walk, inner, part))
  const { properties } = schema
  if (!isObject(mended) || !isObject(properties)) return mended
  const required = listOf(schema['required'])
  const kept = Object.entries(mended).filter(
    ([key, part]) =>
      part !== null || !Object.hasOwn(properties, key) || required.includes(key) || fits(walk, properties[key], null),
  )
  return kept.length === Object.keys(mended).length ? mended : Object.fromEntries(kept)
}

/** Conversions by wanted type, in the order in which they are tried. One whose result is of another type has failed. */
const CONVERSIONS: readonly (readonly [type: string, convert: (value: unknown) => unknown])[] = [
  ['boolean', (value) => ({ true: true, false: false })[textOf(value)?.toLowerCase() ?? '']],
  // Digits that a number would round stay as text.
  ['integer', (value) => toNumber(value, (number, text) => Number.isInteger(number) && isExact(number, text))],
  ['number', (value) => toNumber(value, Number.isFinite)],
  ['object', fromJson],
  ['array', toArray],
  ['string', (value) => (typeof value === 'number' || typeof value === 'boolean' ? String(value) : undefined)],
]

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value.trim() : undefined
}

const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?$/i

function toNumber(value: unknown, isRight: (number: number, text: string) => boolean): number | undefined {
  const text = textOf(value)
  if (text === undefined || !DECIMAL.test(text)) return undefined
  const number = Number(text)
  return isRight(number, text) ? number : undefined
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

function isOption({ look }: Walk, schema: JsonObject, value: unknown): boolean {
  const checks = look.document.rule(schema).checks.filter(({ keyword }) => keyword === 'enum' || keyword === 'const')
  return checks.every(({ holds }) => holds(value, look))
}

/** Returns the only option that is the value in another case or as text, else the value. */
function optionOf({ look }: Walk, options: readonly unknown[], value: unknown): unknown {
  const wanted = folded(value)
  if (wanted === undefined) return value
  if (options.length === 1) return folded(options[0]) === wanted ? options[0] : value
  const known = spellings.get(options) ?? spellingsOf(options)
  spellings.set(options, known)
  spend(look, 1 + wanted.length / 64)
  const found = known.get(wanted) ?? []
  return found.length === 1 ? found[0] : value
}

/** The options of each list by what `folded` makes of them. */
const spellings = new WeakMap<readonly unknown[], ReadonlyMap<string, unknown[]>>()

function spellingsOf(options: readonly unknown[]): ReadonlyMap<string, unknown[]> {
  const known = new Map<string, unknown[]>()
  for (const option of options) {
    const text = folded(option)
    const same = text === undefined ? undefined : known.get(text)
    if (same) same.push(option)
    else if (text !== undefined) known.set(text, [option])
  }
  return known
}

function folded(scalar: unknown): string | undefined {
  return /^[sbn]/.test(typeof scalar) ? String(scalar).trim().toLowerCase() : undefined
}
