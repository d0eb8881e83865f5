import { toJsonSchema } from '@valibot/to-json-schema'
import type * as v from 'valibot'
import type { JsonSchema } from '../contract/json.ts'

/** A Valibot schema whose input is an object, synchronous or not. */
export type ObjectSchema =
  | v.GenericSchema<Record<string, unknown>, Record<string, unknown>>
  | v.GenericSchemaAsync<Record<string, unknown>, Record<string, unknown>>

/**
 * The JSON Schema (2020-12) of what a schema accepts: what a caller must send, before defaults and transforms.
 * Throws a TypeError that begins with `what` for a schema with no JSON form, or whose root is no object.
 */
export function inputSchema(schema: v.GenericSchema | ObjectSchema, what = 'schema'): JsonSchema {
  try {
    const { $schema: _, ...json } = toJsonSchema(synchronous(schema), {
      target: 'draft-2020-12',
      typeMode: 'input',
      ignoreActions: UNTOLD,
    })
    return json
  } catch (error) {
    throw new TypeError(`${what} has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
}

/** A check is code, and tidying is ours to do: a model cannot be told of either, and both run before the tool does. */
const UNTOLD = [
  ...['check', 'partial_check', 'raw_check', 'finite'],
  ...['trim', 'trim_start', 'trim_end', 'to_lower_case', 'to_upper_case', 'normalize'],
]

/** An asynchronous schema describes itself as its synchronous twin does; the converter's type asks for that one. */
function synchronous(schema: v.GenericSchema | ObjectSchema): v.GenericSchema {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return schema as v.GenericSchema
}
