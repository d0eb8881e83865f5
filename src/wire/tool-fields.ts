import * as v from 'valibot'
import { TOOL_NAME } from '../contract/id.ts'
import { isDeeper, MOST_SCHEMA_CHARACTERS } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool-definition.ts'
import { ANNOTATIONS, APPROVAL, CALLER_ANNOTATIONS } from './policy.ts'
import {
  optionalCount,
  either,
  isText,
  parametersSchema,
  plainObject,
  someText,
  toolName,
  withoutLongLimits,
} from './schema.ts'

/** Where a field of a tool's definition may be given, and the schema that checks it there. */
interface FieldRule<Value> {
  /** In the description of a tool Worker. Absent if the edge sets the field. */
  readonly worker?: v.GenericSchema<unknown, Value>
  /** In a stored definition. Absent if the edge or the kind of the definition decides it. */
  readonly stored?: v.GenericSchema<unknown, Value>
  /** In a tool that a caller brings along and runs itself. */
  readonly caller?: v.GenericSchema<unknown, Value>
}

const flag = v.exactOptional(v.boolean())
const name = v.pipe(v.string(), v.regex(TOOL_NAME))
const returnDirect = v.exactOptional(v.picklist(['always', 'if-last']))
const approval = v.exactOptional(APPROVAL)
const callers = v.exactOptional(v.pipe(v.array(v.picklist(['model', 'program'])), v.nonEmpty('expected at least one')))
const metadata = v.exactOptional(plainObject)

const MOST_EXAMPLES = 10
const MOST_EXAMPLE_CHARACTERS = 8000

const examples = v.exactOptional(
  v.pipe(
    v.array(plainObject),
    v.maxLength(MOST_EXAMPLES),
    v.check(
      (values) => JSON.stringify(values).length <= MOST_EXAMPLE_CHARACTERS,
      `expected at most ${MOST_EXAMPLE_CHARACTERS} characters of JSON`,
    ),
  ),
)

/** A text in a stored definition. */
const text = (most: number) => v.pipe(v.string(), v.nonEmpty('expected a text that is not empty'), v.maxLength(most))

/** `checkSchema` checks the schemas of a stored definition. */
const storedSchema = v.custom<Record<string, unknown>>((value) => v.is(plainObject, value), 'expected an object')

const MOST_LEVELS = 64

/** Bounds the size of a schema: a deep one could overflow the stack, and models read all of it. */
function isBounded(schema: Record<string, unknown>): boolean {
  return !isDeeper(schema, MOST_LEVELS) && JSON.stringify(schema).length <= MOST_SCHEMA_CHARACTERS
}

const workerSchema = v.pipe(
  plainObject,
  v.check(isBounded, `expected at most ${MOST_LEVELS} levels and ${MOST_SCHEMA_CHARACTERS} characters of JSON`),
  v.transform((schema) => withoutLongLimits(schema)),
)

/**
 * The fields of a tool's definition. The checks of tool Workers' descriptions, stored definitions and callers' tools,
 * the OpenAPI document and docs/tool-definition.md are made from this table; their texts come from the comments of
 * `ToolDefinition`. The compiler rejects a field that `ToolDefinition` has and this table lacks.
 */
export const TOOL_FIELDS = {
  name: { worker: name, stored: name, caller: toolName },
  title: { worker: v.exactOptional(v.string()), stored: v.exactOptional(text(128)) },
  ownName: { worker: v.exactOptional(someText) },
  description: {
    worker: v.pipe(v.string(), v.regex(/\S/)),
    stored: v.pipe(v.string(), v.regex(/\S/, 'expected a text that is not blank'), v.maxLength(1024)),
    caller: v.exactOptional(v.string(), ''),
  },
  instructions: { worker: v.exactOptional(v.string()), stored: v.exactOptional(text(4096)) },
  inputSchema: {
    worker: v.pipe(
      workerSchema,
      v.check((schema) => schema['type'] === 'object', 'expected a schema of type "object"'),
    ),
    stored: storedSchema,
    caller: v.exactOptional(parametersSchema, {}),
  },
  inputExamples: { worker: examples, stored: examples, caller: examples },
  outputSchema: { worker: v.exactOptional(workerSchema), stored: v.exactOptional(storedSchema) },
  version: { worker: v.string(), stored: v.exactOptional(text(64)) },
  hash: { worker: someText },
  annotations: {
    worker: v.object(ANNOTATIONS),
    stored: v.exactOptional(v.strictObject(ANNOTATIONS)),
    caller: v.exactOptional(v.strictObject(CALLER_ANNOTATIONS)),
  },
  returnDirect: { worker: returnDirect, stored: returnDirect },
  approval: { worker: approval, stored: approval },
  modelMayApprove: {},
  timeoutMs: { worker: optionalCount, stored: optionalCount },
  maxResultBytes: { worker: optionalCount, stored: optionalCount },
  exclusive: {
    worker: v.exactOptional(either(isText, v.string(), v.boolean())),
    stored: v.exactOptional(either(isText, text(64), v.boolean())),
  },
  maxConcurrent: { worker: optionalCount, stored: optionalCount },
  reconcile: { worker: flag },
  undo: { worker: flag },
  later: { worker: flag },
  history: { worker: flag, stored: flag },
  strict: { worker: flag, stored: flag, caller: flag },
  tags: {
    worker: v.exactOptional(v.array(v.string())),
    stored: v.exactOptional(v.pipe(v.array(text(64)), v.maxLength(32))),
  },
  aliasOf: {},
  callers: { worker: callers, stored: callers },
  callsTools: { worker: flag },
  atProvider: {},
  forms: {},
  metadata: { worker: metadata, stored: metadata },
} as const satisfies { readonly [Field in keyof Required<ToolDefinition>]: FieldRule<ToolDefinition[Field]> }

type Fields = typeof TOOL_FIELDS
type Place = keyof FieldRule<unknown>

/** The schemas of the fields that may be given in a place. */
type EntriesOf<In extends Place> = {
  readonly [Field in keyof Fields as In extends keyof Fields[Field] ? Field : never]: Fields[Field] extends {
    readonly [Name in In]: infer Schema extends v.GenericSchema
  }
    ? Schema
    : never
}

/** Returns the schemas of the fields that may be given in a place, as entries of an object's schema. */
export function toolFields<In extends Place>(place: In): EntriesOf<In> {
  const rules: readonly (readonly [string, FieldRule<unknown>])[] = Object.entries(TOOL_FIELDS)
  return Object.fromEntries(
    rules.map(([field, rule]): readonly unknown[] => [field, rule[place]]).filter(([, schema]) => schema !== undefined),
  )
}
