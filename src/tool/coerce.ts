import { isObject, type JsonObject, type JsonSchema } from '../contract/json.ts'
import { isExact, parseExactly } from './exact.ts'
import {
  alsoOf,
  branchesOf,
  fits,
  isOfType,
  isSame,
  listOf,
  type Look,
  lookAt,
  mapParts,
  optionsOf,
  step,
  target,
  typesOf,
} from './shape.ts'

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
  const look = lookAt(schema)
  const isNothing = value === undefined || value === null || value === ''
  const mended = mend(look, schema, isNothing && typesOf(schema).includes('object') ? {} : value)
  if (!isObject(mended) || fits(look, schema, mended)) return mended
  const [key, ...others] = Object.keys(mended)
  const { properties } = schema
  if (key === undefined || others.length > 0 || (isObject(properties) && Object.hasOwn(properties, key))) return mended
  const inner = mend(look, schema, mended[key])
  return isObject(inner) && fits(look, schema, inner) ? inner : mended
}

function mend(look: Look, schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value
  return step(look, value, () => {
    let mended = value
    for (const also of alsoOf(look, schema)) mended = mend(look, also, mended)
    return mendHere(look, schema, mendUnion(look, branchesOf(schema), mended))
  })
}

function mendUnion(look: Look, branches: readonly unknown[], value: unknown): unknown {
  if (branches.length === 0 || branches.some((branch) => fits(look, branch, value))) return value
  for (const branch of branches) {
    const mended = mend(look, branch, value)
    if (mended !== value && fits(look, branch, mended)) return mended
  }
  return mend(
    look,
    branches.find((branch) => isTagged(look, branch, value)),
    value,
  )
}

/** Returns whether a value has the constant that tells a branch of a union from the others. */
function isTagged(look: Look, branch: unknown, value: unknown): boolean {
  if (!isObject(branch) || !isObject(value)) return false
  const { properties } = { ...branch, ...Object(target(look, branch)) }
  return Object.entries(Object(properties)).some(
    ([key, inner]) => isObject(inner) && optionsOf(inner)?.length === 1 && isSame(optionsOf(inner)?.[0], value[key]),
  )
}

function mendHere(look: Look, schema: JsonObject, value: unknown): unknown {
  const options = optionsOf(schema)
  if (options) return options.some((option) => isSame(option, value)) ? value : optionOf(options, value)
  const types = typesOf(schema)
  if (types.length === 0 || types.some((type) => isOfType(type, value))) return mendParts(look, schema, value)
  for (const [type, convert] of CONVERSIONS) {
    if (!types.includes(type)) continue
    const made = mendParts(look, schema, convert(value))
    if (isOfType(type, made) && (type !== 'array' || fits(look, schema, made))) return made
  }
  return value
}

function mendParts(look: Look, schema: JsonObject, value: unknown): unknown {
  const mended = mapParts(schema, value, (inner, part) => mend(look, inner, part))
  const { properties } = schema
  if (!isObject(mended) || !isObject(properties)) return mended
  const required = listOf(schema['required'])
  const kept = Object.entries(mended).filter(
    ([key, part]) =>
      part !== null || !Object.hasOwn(properties, key) || required.includes(key) || fits(look, properties[key], null),
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

function optionOf(options: readonly unknown[], value: unknown): unknown {
  const folded = (scalar: unknown) => (/^[sbn]/.test(typeof scalar) ? String(scalar).trim().toLowerCase() : undefined)
  const wanted = folded(value)
  const found = wanted === undefined ? [] : options.filter((option) => folded(option) === wanted)
  return found.length === 1 ? found[0] : value
}
