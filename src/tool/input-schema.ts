import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import { isObject, type JsonSchema } from '../contract/json.ts'
import { toJson } from './result.ts'
import type { InputSchema } from '../schema/standard-schema.ts'
import { AS } from '../schema/coerce.ts'

/**
 * Returns the JSON Schema (2020-12) of a schema's input: the value that a model must send, before defaults and
 * transforms. For a schema with no JSON form, throws a TypeError that begins with `what`, and says where the fault is
 * and what to do about it.
 *
 * | Valibot                                | told to the model                       | what `run` gets                  |
 * |----------------------------------------|-----------------------------------------|----------------------------------|
 * | string, number, boolean, null, literal | the same; bounds and formats with it    | the same                         |
 * | pipe with `integer()`                  | `integer`                               | a number                         |
 * | picklist, enum                         | `enum`                                  | the same                         |
 * | object, strictObject, record           | `object`; a strict one takes no more    | an object                        |
 * | array, tuple                           | `array`, `prefixItems`                  | an array                         |
 * | optional, with or without a default    | not among `required`; `default`         | undefined, or the default        |
 * | nullable, nullish                      | `anyOf` with `null`                     | null                             |
 * | union, variant, intersect              | `anyOf`, `oneOf`, `allOf`               | the same                         |
 * | lazy                                   | `$ref` into `$defs`                     | the same                         |
 * | date                                   | string, format `date-time`              | a Date; a text without zone: UTC |
 * | bigint                                 | `integer`                               | a bigint, with all its digits    |
 * | set                                    | `array`, `uniqueItems`                  | a Set                            |
 * | map with text for keys                 | `object`, `additionalProperties`        | a Map                            |
 * | pipe with `transform()`, `toDate()`, … | what comes before it                    | what it makes                    |
 * | file, blob, function, symbol, custom   | nothing: a TypeError                    |                                  |
 *
 * Schemas of other libraries give their own JSON Schema.
 */
export function inputSchema(schema: InputSchema, subject = 'The schema'): JsonSchema {
  return plain(convertInput(schema, subject))
}

/** Copies a schema as plain JSON, without the `AS` marks, which are for this Worker alone. */
export function plain(schema: JsonSchema): JsonSchema {
  const copy: unknown = JSON.parse(JSON.stringify(schema, plainValue))
  return isObject(copy) ? copy : {}
}

/** A JSON replacer that writes a bigint as an integer, as its schema says, or as its digits if it is too large. */
function plainValue(key: string, value: unknown): unknown {
  const number = typeof value === 'bigint' ? Number(value) : NaN
  return Number.isSafeInteger(number) ? number : toJson(key, value)
}

/** Converts like `inputSchema`, and keeps the `AS` marks that `decoder` needs. */
export function convertInput(schema: InputSchema, subject: string): JsonSchema {
  try {
    const { jsonSchema, vendor } = schema['~standard']
    if (!jsonSchema && vendor !== 'valibot') throw new TypeError(`${vendor} does not give it: ${UPDATE}`)
    const { $schema, ...rest } = jsonSchema ? jsonSchema.input({ target: 'draft-2020-12' }) : convert(schema)
    // Libraries name the draft in every schema; in a schema that was written out, the author has named it.
    const json = { ...(vendor === 'json-schema' && $schema !== undefined && { $schema }), ...rest }
    // This throws for a value that JSON cannot hold, such as a default that is a symbol.
    plain(json)
    return json
  } catch (error) {
    throw new TypeError(`${subject} has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

const UPDATE = 'use a version of it that implements Standard JSON Schema, or `jsonSchema(…)`.'

const REMEDY = 'Accept a JSON type (text, number, boolean, null, object, array) and convert it: v.transform(…).'

type Schema = v.GenericSchema

function convert(schema: unknown): JsonSchema {
  const json = attempt(schema)
  if (!('error' in json)) return json.schema
  const { path, message } = culprit(schema, [], new Set()) ?? { path: [], message: json.error }
  throw new TypeError(`${path.length === 0 ? '' : `at ${path.join('.')}, `}${message} ${REMEDY}`)
}

/** Finds the innermost part of a schema that cannot be converted. */
function culprit(schema: unknown, path: readonly string[], visited: Set<unknown>): Culprit | undefined {
  if (!isSchema(schema) || visited.has(schema)) return undefined
  visited.add(schema)
  const json = attempt(schema)
  if (!('error' in json)) return undefined
  for (const [keys, part] of partsOf(schema)) {
    const faultyPart = culprit(part, [...path, ...keys], visited)
    if (faultyPart) return faultyPart
  }
  return { path, message: json.error }
}

interface Culprit {
  readonly path: readonly string[]
  readonly message: string
}

function partsOf(schema: Schema): (readonly [keys: readonly string[], part: unknown])[] {
  return Object.entries(schema).flatMap(([key, value]: [string, unknown]): (readonly [string[], unknown])[] => {
    if (key === 'entries') return Object.entries(Object(value)).map(([name, part]) => [[name], part])
    if (key === 'getter' && typeof value === 'function') return [[[], value()]]
    return [value].flat().map((part) => [key === 'item' || key === 'value' ? ['*'] : [], part])
  })
}

function attempt(schema: unknown): { readonly schema: JsonSchema } | { readonly error: string } {
  try {
    return { schema: { ...toJsonSchema(view(schema, new Map()), SETTINGS) } }
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) }
  }
}

/** Actions that JSON Schema cannot state: checks in code, and the tidying of text. They run before the tool does. */
const OPAQUE_ACTIONS = [
  ...['check', 'partial_check', 'raw_check', 'finite'],
  ...['trim', 'trim_start', 'trim_end', 'to_lower_case', 'to_upper_case', 'normalize'],
]

const SETTINGS = {
  target: 'draft-2020-12',
  typeMode: 'input',
  ignoreActions: OPAQUE_ACTIONS,
  overrideSchema: ({ valibotSchema, jsonSchema, errors }) => {
    const as: unknown = Reflect.get(valibotSchema, AS)
    const { propertyNames } = jsonSchema
    const isKeyed = isObject(propertyNames) && propertyNames['type'] === 'string'
    // The converter accepts no keys but those of a plain string schema; here a picklist of strings will do too.
    if (errors && propertyNames) return isKeyed ? { ...jsonSchema, ...(as === 'map' && { [AS]: as }) } : undefined
    return typeof as === 'string' ? { ...jsonSchema, ...STANDS[as], [AS]: as } : undefined
  },
  // JSON Schema cannot state a bound on a value that JSON does not have; the bound is checked all the same.
  overrideAction: ({ jsonSchema, errors }) => (errors && AS in jsonSchema ? jsonSchema : undefined),
} satisfies Parameters<typeof toJsonSchema>[1]

/** JSON Schema for values that JSON does not have. The converter is shown a set as an array, and a map as a record. */
const STANDS: Readonly<Record<string, object>> = {
  date: { type: 'string', format: 'date-time' },
  bigint: { type: 'integer' },
  set: { uniqueItems: true },
  map: {},
}

/**
 * Copies a Valibot schema into a form that the converter takes: a set as an array, a map as a record, each with its
 * `AS` mark. An asynchronous schema has the fields of its synchronous twin; the converter's type asks for the latter.
 */
function view(schema: unknown, visited: Map<unknown, Schema>): Schema {
  const cached = visited.get(schema)
  if (cached) return cached
  const copy: Record<PropertyKey, unknown> = { ...Object(schema) }
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const viewed = copy as unknown as Schema
  visited.set(schema, viewed)
  for (const [key, value] of Object.entries(copy)) {
    if (key === 'entries') {
      copy[key] = Object.fromEntries(Object.entries(Object(value)).map(([name, each]) => [name, view(each, visited)]))
    } else if (key === 'getter' && typeof value === 'function') copy[key] = () => view(value(), visited)
    else if (Array.isArray(value)) copy[key] = value.map((each) => (isSchema(each) ? view(each, visited) : each))
    else if (isSchema(value)) copy[key] = view(value, visited)
  }
  const { type } = copy
  if (typeof type === 'string' && Object.hasOwn(STANDS, type)) copy[AS] = type
  if (type === 'set') Object.assign(copy, { type: 'array', item: copy['value'] })
  if (type === 'map') copy['type'] = 'record'
  return viewed
}

function isSchema(value: unknown): value is Schema {
  return isObject(value) && value['kind'] === 'schema'
}
