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
  let json: Record<string, unknown>
  try {
    json = toJsonSchema(schema as v.GenericSchema, {
      target: 'draft-2020-12',
      typeMode: 'input',
      // A check is code: a model cannot be told of it, and it still runs before the tool does.
      ignoreActions: ['check', 'partial_check', 'raw_check'],
    }) as Record<string, unknown>
  } catch (error) {
    throw new TypeError(`${what} has no JSON Schema: ${error instanceof Error ? error.message : String(error)}`, {
      cause: error,
    })
  }
  const { $schema: _, ...rest } = json
  return rest
}
