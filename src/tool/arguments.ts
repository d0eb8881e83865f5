import { isObject, type JsonSchema } from '../contract/json.ts'
import type { Compat } from '../contract/run-options.ts'
import { coerce, decoder } from '../schema/coerce.ts'
import { rebase } from '../schema/document.ts'
import { isMultiple } from '../contract/exact-numbers.ts'
import { type Issue, toIssue, unknownKeys, withKnownKeys } from '../schema/issue.ts'
import type { InputSchema, OutputOf, StandardIssue, StandardResult } from '../schema/standard-schema.ts'
import { convertInput, plain } from './input-schema.ts'

export type ParseResult<Output> =
  | { readonly ok: true; readonly value: Output }
  | {
      readonly ok: false
      readonly issues: readonly Issue[]
      /** The parsed arguments without those that do not fit, if the schema tells, and is that of an object without transforms. */
      readonly partial?: Output
      /** Whether the run fails, since the model is not to correct the arguments. */
      readonly fatal?: true
    }

/** A tool's arguments: the schema that a model is given, and the function that parses what it sends. */
export interface Arguments<Output> {
  /** The JSON Schema of the arguments; its root is `type: "object"`. */
  readonly schema: JsonSchema
  /** Parses arguments as they were sent. Rejects if the schema's own code throws. */
  readonly parse: (input: unknown) => Promise<ParseResult<Output>>
}

/** Arguments are always an object; the value of a schema that is not about an object is sent as this field of one. */
const FIELD = 'input'

const OPTIONAL: readonly unknown[] = ['optional', 'exact_optional', 'nullish', 'undefinedable']

/** Derives arguments from a tool's input schema. Throws a TypeError that begins with `what` if it has no JSON form. */
export function argumentsOf<Schema extends InputSchema>(schema: Schema, subject: string): Arguments<OutputOf<Schema>> {
  const json = convertInput(schema, subject)
  const root = objectOf(json)
  if (root) return { schema: plain(root), parse: parser(schema, root) }
  const required = OPTIONAL.includes(Reflect.get(schema, 'type')) || 'default' in json ? [] : [FIELD]
  const parse = parser(schema, json)
  const { $schema, ...ofField } = json
  const properties = { [FIELD]: rebase(ofField, '#', `#/properties/${FIELD}`) }
  return {
    schema: { ...($schema !== undefined && { $schema }), type: 'object', properties, required },
    parse: async (input) => {
      const parsed = await parse(fieldOf(input))
      if (parsed.ok) return parsed
      const issues = parsed.issues.map(({ path, message }) => ({ path: path ? `${FIELD}.${path}` : FIELD, message }))
      return { ok: false, issues }
    },
  }
}

/** Returns the value of the field, or all that was sent if the model left the field out. */
function fieldOf(input: unknown): unknown {
  if (!isObject(input)) return input
  return Object.hasOwn(input, FIELD) || Object.keys(input).length === 0 ? input[FIELD] : input
}

function parser<Output>(schema: InputSchema<Output>, json: JsonSchema): Arguments<Output>['parse'] {
  const standard = schema['~standard']
  const decode = decoder(json)
  return async (input) => {
    const renamed = withKnownKeys(json, input)
    const initial = withoutRemainders(await standard.validate(decode(renamed)))
    if (!initial.issues) {
      const unknown = unknownKeys(json, renamed)
      return unknown ? { ok: false, issues: [unknown] } : { ok: true, value: initial.value }
    }
    const coerced = coerce(json, renamed)
    const result = coerced === renamed ? initial : withoutRemainders(await standard.validate(decode(coerced)))
    if (!result.issues) return { ok: true, value: result.value }
    const issues = result.issues.map((issue) => toIssue(issue, json, coerced))
    return 'value' in result && isPlainObject(schema)
      ? { ok: false, issues, partial: result.value }
      : { ok: false, issues }
  }
}

const OBJECTS: readonly unknown[] = ['object', 'loose_object', 'strict_object']

/** Whether this is a JSON Schema, or Valibot's schema of an object, and nothing transforms the object as a whole. */
function isPlainObject(schema: InputSchema): boolean {
  if (schema['~standard'].vendor === 'json-schema') return true
  const { type, pipe = [] }: { readonly type?: unknown; readonly pipe?: readonly object[] } = Object(schema)
  return OBJECTS.includes(type) && pipe.slice(1).every((item) => Reflect.get(item, 'kind') !== 'transformation')
}

/** Valibot also tells the value of what does not fit, without the parts that do not. `typed`: only a check has failed. */
type Validation<Output> =
  | StandardResult<Output>
  | { readonly issues: readonly StandardIssue[]; readonly typed?: boolean; readonly value: Output }

/**
 * Leaves out issues about decimals that are multiples as they are written: Valibot compares remainders in binary, by which
 * 7 is not a multiple of 0.01. A value that has no other issue is valid.
 */
function withoutRemainders<Output>(result: Validation<Output>): Validation<Output> {
  if (!result.issues) return result
  const issues = result.issues.filter((issue) => !isMultipleAsWritten(issue))
  if (issues.length > 0) return { ...result, issues }
  return 'typed' in result && result.typed ? { value: result.value } : result
}

function isMultipleAsWritten(issue: object): boolean {
  const { type, input, requirement } = { type: '', input: 0, requirement: 0, ...issue }
  return type === 'multiple_of' && isMultiple(input, requirement)
}

const OTHER_ROOTS = ['$ref', 'allOf', 'anyOf', 'const', 'enum', 'items', 'not', 'oneOf', 'prefixItems']

/** Returns the schema with `type: "object"` at its root if it is about objects, else undefined. */
function objectOf(json: JsonSchema): JsonSchema | undefined {
  const { type } = json
  const isOfObjects = type === undefined ? !OTHER_ROOTS.some((key) => key in json) : [type].flat().includes('object')
  return isOfObjects ? Object.assign({ type: 'object', properties: {} }, json, { type: 'object' }) : undefined
}

/**
 * Parses arguments as Spring AI and LangChain4j do, which call a method with null for a required argument that the model
 * left out. The tool's `run` gets null there, whatever its schema says of the value. There is no null for a number or a
 * boolean: with Spring AI the run fails, with LangChain4j the arguments do not fit. Without `compat`, if other arguments do
 * not fit, and behind a transform of all arguments together, this parses as the schema says.
 */
export async function parseWithNulls<Output>(
  { schema, parse }: Arguments<Output>,
  input: unknown,
  compat: Compat | undefined,
): Promise<ParseResult<Output>> {
  const parsed = await parse(input)
  if (parsed.ok || !compat) return parsed
  const values = isObject(input) ? input : {}
  const missing = requiredOf(schema).filter(([name]) => (values[name] ?? null) === null)
  const isMissing = (path: string) => missing.some(([name]) => path === name || path.startsWith(`${name}.`))
  if (!parsed.issues.every(({ path }) => isMissing(path))) return parsed
  if (missing.some(([, { type }]) => PRIMITIVE.test(String(type)))) {
    return compat === 'spring-ai' ? { ...parsed, fatal: true } : parsed
  }
  if (parsed.partial === undefined) return parsed
  for (const [name] of missing) Reflect.set(Object(parsed.partial), name, null)
  return { ok: true, value: parsed.partial }
}

const PRIMITIVE = /^(?:number|integer|boolean)$/

type Property = readonly [name: string, schema: JsonSchema]

function requiredOf({ properties, required }: JsonSchema): readonly Property[] {
  const schemaOf = (name: string) => (isObject(properties) ? properties[name] : undefined)
  return (Array.isArray(required) ? required : []).map((name): Property => {
    const schema = schemaOf(String(name))
    return [String(name), isObject(schema) ? schema : {}]
  })
}
