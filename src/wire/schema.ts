import * as v from 'valibot'
import { type Limit, limitRules } from '../contract/limits.ts'
import { optionRules, type RunOptionValues } from '../contract/run-options.ts'
import { ID, TOOL_NAME } from '../contract/id.ts'
import { edgeName } from '../contract/tool-names.ts'
import { isLongNumber } from '../contract/exact-numbers.ts'
import { isObject, MOST_LEVELS } from '../contract/json.ts'
import type { Content } from '../contract/message.ts'

/** Makes a schema that is `first` or `second`, as `isFirst` decides; a union could only report that neither fits. */
export function either<First extends v.GenericSchema, Second extends v.GenericSchema>(
  isFirst: (value: unknown) => boolean,
  first: First,
  second: Second,
): v.LazySchema<First | Second> {
  // The issue for a value that fits neither names both.
  const merged = { ...second, expects: `${first.expects} or ${second.expects}` }
  return v.lazy((value) => (isFirst(value) ? first : merged))
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** Makes the schema of a text, or of a list of parts. */
export function textOr<Part extends v.GenericSchema>(part: Part) {
  return either(isText, v.string(), v.array(part))
}

/** Returns content as a list of parts. */
export function partsOf<Part extends Content>(content: string | Part[]): (Part | Content)[] {
  return isText(content) ? [{ type: 'text', text: content }] : content
}

function matching(pattern: RegExp) {
  return v.pipe(v.string(), v.regex(pattern, `must match ${pattern.source}.`))
}

/** The id of a conversation. */
export const idSchema = matching(ID)

export const toolName = matching(TOOL_NAME)

/** The name of a tool of the caller in a format that allows 128 characters. `edgeName` makes it one for all providers. */
export const longToolName = /* @__PURE__ */ matching(/^[a-zA-Z0-9_-]{1,128}$/)

/** A text that is not empty. */
export const someText = v.pipe(v.string(), v.nonEmpty('must not be empty.'))

/** The name of a tool of the edge: that which models see, or the tool's own, such as `files.read`. */
export const toolReference = v.pipe(someText, v.transform(edgeName))

/** A tool choice that names no tool. */
export const choiceWord = v.picklist(['auto', 'none', 'required'])

/** Any object, such as a schema or a tool context. */
export const plainObject = v.custom<Record<string, unknown>>(isObject, 'must be an object.')

const LIMITS: ReadonlySet<string> = new Set([
  'minimum',
  'maximum',
  'exclusiveMinimum',
  'exclusiveMaximum',
  'multipleOf',
])
/** Keywords that hold values, and no schemas. */
const VALUES: ReadonlySet<string> = new Set(['const', 'default', 'enum', 'example', 'examples'])

/**
 * Returns a JSON Schema without the limits that JavaScript cannot hold, such as those of int64: a model would be told
 * another limit. Such a limit is text (`parseExactly`). Returns the schema itself if it has none, and leaves what is
 * nested over 100 levels deep.
 */
export function withoutLongLimits<Schema>(schema: Schema, levels?: number): Schema
export function withoutLongLimits(schema: unknown, levels = MOST_LEVELS): unknown {
  if (levels === 0) return schema
  if (Array.isArray(schema)) {
    const items = schema.map((each: unknown) => withoutLongLimits(each, levels - 1))
    return items.every((each, index) => each === schema[index]) ? schema : items
  }
  if (!isObject(schema)) return schema
  const all = Object.entries(schema)
  const rest = all.flatMap(([key, value]) => {
    if (LIMITS.has(key) && isLongLimit(value)) return []
    return [[key, VALUES.has(key) ? value : withoutLongLimits(value, levels - 1)] as const]
  })
  const isSame = rest.length === all.length && rest.every(([key, value]) => value === schema[key])
  return isSame ? schema : Object.fromEntries(rest)
}

/** Whether a limit has more digits than JavaScript holds, or has been rounded, as those of int64 are by `JSON.parse`. */
function isLongLimit(limit: unknown): boolean {
  return (
    isLongNumber(limit) || (Number.isInteger(limit) && Math.abs(Number(limit)) > 2 ** 53 && Number(limit) <= 2 ** 64)
  )
}

/** The most values in the schema of an answer: objects, lists and scalars. It is compiled, and checks each answer. */
const MOST_FORMAT_VALUES = 5000

/** The JSON Schema of an answer. */
export const formatSchema = v.pipe(
  plainObject,
  v.check((schema) => hasAtMost(MOST_FORMAT_VALUES, schema), `may have at most ${MOST_FORMAT_VALUES} values.`),
  v.transform((schema) => withoutLongLimits(schema)),
)

/** Whether a value has at most so many values in it, itself included. */
function hasAtMost(most: number, value: unknown): boolean {
  const values = [value]
  for (const each of values) {
    if (values.length > most) return false
    if (typeof each === 'object' && each !== null) for (const part of Object.values(each)) values.push(part)
  }
  return values.length <= most
}

/** The JSON Schema of a tool's arguments. If it has no type, such as `{}`, its type is `object`. */
export const parametersSchema = v.pipe(
  plainObject,
  v.check(({ type = 'object' }) => type === 'object', 'must have type "object".'),
  v.transform((schema) => ({ properties: {}, ...withoutLongLimits(schema), type: 'object' })),
)

/** A part of a message's or a result's content, in our own format. */
export const contentPart = v.variant('type', [
  v.strictObject({ type: v.literal('text'), text: v.string() }),
  v.strictObject({ type: v.picklist(['image', 'file']), mediaType: v.string(), data: v.string() }),
])

/** A part of a message of the user, which may also be a file under an `https` URL. */
export const userPart = either(
  (part) => isObject(part) && 'url' in part,
  v.strictObject({
    type: v.picklist(['image', 'file']),
    mediaType: v.exactOptional(v.string(), 'image/*'),
    url: matching(/^https:\/\/[^\s/]+/),
  }),
  contentPart,
)

/** Makes the schema of a whole number that is not below `least`. */
export function integerFrom(minimum: number) {
  const message = `must be a whole number from ${minimum}.`
  return v.pipe(v.number(), v.integer(message), v.minValue(minimum, message))
}

const plainNumber = v.number()

/**
 * A setting, such as a temperature, with any number of digits: `readJson` makes a text of one that is longer than a
 * JavaScript number, and here the nearest one does.
 */
export const setting: v.GenericSchema<number> = {
  ...plainNumber,
  '~run': ({ value }, config) =>
    plainNumber['~run'](
      { value: isLongNumber(value) && Number.isFinite(Number(value)) ? Number(value) : value },
      config,
    ),
}

/**
 * Makes the schema of a record with any keys. Unlike Valibot's own record, it does not silently drop `constructor`,
 * `prototype` and `__proto__`.
 */
export function byName<Value extends v.GenericSchema>(
  name: v.GenericSchema<string, string>,
  value: Value,
): v.GenericSchema<Readonly<Record<string, v.InferInput<Value>>>, Readonly<Record<string, v.InferOutput<Value>>>> {
  const pairs = v.array(v.tuple([name, value]))
  return {
    ...plain,
    // The members of a record that `@valibot/to-json-schema` reads.
    ...{ type: 'record', key: name, value },
    '~run': (dataset, config) => {
      const object = plain['~run'](dataset, config)
      if (!object.typed) return object
      const { value: input } = object
      const entries = pairs['~run']({ value: Object.entries(input) }, config)
      for (const { path, input: value } of entries.issues ?? []) {
        const key = Object.keys(input)[Number(path?.[0].key)]
        path?.splice(0, 2, { type: 'unknown', origin: 'value', input, key, value })
      }
      return entries.typed ? { ...entries, value: Object.fromEntries(entries.value) } : entries
    },
  }
}

const plain = v.custom<Record<string, unknown>>(isObject, 'expected an object')

/** An optional whole number, at least 1. */
export const optionalCount = v.exactOptional(integerFrom(1))

const limitSchemas: Readonly<Record<Limit, typeof optionalCount>> = Object.fromEntries(
  limitRules().map(([name, { above }]): readonly unknown[] => [
    name,
    above === undefined ? optionalCount : v.exactOptional(numberAbove(above)),
  ]),
)

/** The limits that a request may lower. */
const limits = v.strictObject({ ...limitSchemas, tools: v.exactOptional(byName(toolReference, integerFrom(1))) })

function numberAbove(minimum: number): v.GenericSchema<number> {
  return v.pipe(v.number(), v.gtValue(minimum, `must be above ${minimum}.`))
}

const MOST_CONTEXT = 16 * 1024

const context = v.pipe(
  plainObject,
  v.check(
    (context) => new TextEncoder().encode(JSON.stringify(context)).length <= MOST_CONTEXT,
    'may have at most 16 KiB of JSON.',
  ),
)

const toolNames = v.array(toolReference)

const selection = either(
  Array.isArray,
  toolNames,
  v.strictObject({ add: v.exactOptional(toolNames), remove: v.exactOptional(toolNames) }),
)

function oneOfThese(values: readonly (string | boolean)[]): v.GenericSchema<string | boolean> {
  const texts = values.filter((value) => typeof value === 'string')
  return texts.length === 0 ? v.boolean() : v.picklist(texts)
}

const optionSchemas: {
  readonly [Name in keyof RunOptionValues]: v.ExactOptionalSchema<v.GenericSchema<RunOptionValues[Name]>, undefined>
} = Object.fromEntries(
  optionRules().map(([name, { values }]): readonly unknown[] => [name, v.exactOptional(oneOfThese(values))]),
)

/** The options of a run that all surfaces share. */
export const runOptionSchemas = {
  tools: v.exactOptional(selection),
  context: v.exactOptional(context),
  limits: v.exactOptional(limits),
  ...optionSchemas,
  onBusy: v.exactOptional(v.picklist(['queue', 'reject', 'interrupt', 'steer'])),
  compat: v.exactOptional(v.picklist(['spring-ai', 'langchain4j'])),
}
