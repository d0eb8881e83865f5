import * as v from 'valibot'
import { ID, TOOL_NAME } from '../contract/id.ts'
import { isObject } from '../contract/json.ts'
import type { Content } from '../contract/message.ts'

/** One schema or the other, as the value is. A union could only say that none fits, not what is wrong with which. */
export function either<First extends v.GenericSchema, Second extends v.GenericSchema>(
  isFirst: (value: unknown) => boolean,
  first: First,
  second: Second,
): v.LazySchema<First | Second> {
  // A value that is neither is told of both.
  const other = { ...second, expects: `${first.expects} or ${second.expects}` }
  return v.lazy((value) => (isFirst(value) ? first : other))
}

export function isText(value: unknown): value is string {
  return typeof value === 'string'
}

/** A text, or a list of parts. */
export function textOr<Part extends v.GenericSchema>(part: Part) {
  return either(isText, v.string(), v.array(part))
}

/** Content as parts alone. */
export function partsOf<Part extends Content>(content: string | Part[]): (Part | Content)[] {
  return isText(content) ? [{ type: 'text', text: content }] : content
}

function matching(pattern: RegExp) {
  return v.pipe(v.string(), v.regex(pattern, `must match ${pattern.source}.`))
}

/** The id of a conversation. */
export const idSchema = matching(ID)

export const toolName = matching(TOOL_NAME)

/** A text that is not empty. */
export const someText = v.pipe(v.string(), v.nonEmpty('must not be empty.'))

/** A tool choice that names no tool. */
export const choiceWord = v.picklist(['auto', 'none', 'required'])

/** Any object, as a schema or a tool context is. */
export const plainObject = v.custom<Record<string, unknown>>(isObject, 'must be an object.')

/** The schema of a tool's arguments. One without a type, such as `{}`, is taken for that of an object. */
export const parametersSchema = v.pipe(
  plainObject,
  v.check(({ type = 'object' }) => type === 'object', 'must have type "object".'),
  v.transform((schema) => ({ properties: {}, ...schema, type: 'object' })),
)

/** A part of our own content, of a message or a result. */
export const contentPart = v.variant('type', [
  v.strictObject({ type: v.literal('text'), text: v.string() }),
  v.strictObject({ type: v.picklist(['image', 'file']), mediaType: v.string(), data: v.string() }),
])

/** A whole number that is no less. */
export function wholeFrom(least: number) {
  const message = `must be a whole number from ${least}.`
  return v.pipe(v.number(), v.integer(message), v.minValue(least, message))
}

/**
 * Values by names that people give, each of them kept: Valibot's own record leaves out `constructor`, `prototype` and
 * `__proto__` without a word.
 */
export function byName<Value extends v.GenericSchema>(
  name: v.GenericSchema<string, string>,
  value: Value,
): v.GenericSchema<Readonly<Record<string, v.InferInput<Value>>>, Readonly<Record<string, v.InferOutput<Value>>>> {
  const pairs = v.array(v.tuple([name, value]))
  return {
    ...named,
    // What `@valibot/to-json-schema` reads of a record.
    ...{ type: 'record', key: name, value },
    '~run': (dataset, config) => {
      const object = named['~run'](dataset, config)
      if (!object.typed) return object
      const { value: input } = object
      const read = pairs['~run']({ value: Object.entries(input) }, config)
      for (const { path, input: value } of read.issues ?? []) {
        const key = Object.keys(input)[Number(path?.[0].key)]
        path?.splice(0, 2, { type: 'unknown', origin: 'value', input, key, value })
      }
      return read.typed ? { ...read, value: Object.fromEntries(read.value) } : read
    },
  }
}

const named = v.custom<Record<string, unknown>>(isObject, 'expected an object')

/** A whole number from 1, or nothing. */
export const count = v.exactOptional(wholeFrom(1))

const limits = v.strictObject({
  steps: count,
  calls: count,
  callsPerTool: count,
  callMs: count,
  runMs: count,
  resultBytes: count,
  concurrentCalls: count,
  tokens: count,
  cost: v.exactOptional(v.pipe(v.number(), v.gtValue(0, 'must be above 0.'))),
  sameCalls: count,
  tools: v.exactOptional(byName(v.string(), wholeFrom(1))),
})

const MOST_CONTEXT = 16 * 1024

const context = v.pipe(
  plainObject,
  v.check(
    (context) => new TextEncoder().encode(JSON.stringify(context)).length <= MOST_CONTEXT,
    'may have at most 16 KiB of JSON.',
  ),
)

const toolNames = v.array(toolName)

const selection = either(
  Array.isArray,
  toolNames,
  v.strictObject({ add: v.exactOptional(toolNames), remove: v.exactOptional(toolNames) }),
)

/** What both surfaces may ask of a run in the same words. */
export const runOptions = {
  tools: v.exactOptional(selection),
  context: v.exactOptional(context),
  limits: v.exactOptional(limits),
  execution: v.exactOptional(v.picklist(['edge', 'caller'])),
  toolErrors: v.exactOptional(v.picklist(['model', 'fail'])),
  onLimit: v.exactOptional(v.picklist(['answer', 'model', 'fail'])),
  compensate: v.exactOptional(v.boolean()),
  eager: v.exactOptional(v.boolean()),
  compat: v.exactOptional(v.picklist(['spring-ai', 'langchain4j'])),
}
