import { isObject, type JsonSchema } from '../contract/json.ts'

/** Copies a schema; in each `$ref` that begins with `from`, that part is replaced by `to`. */
export function rebase(schema: JsonSchema, from: string, to: string): JsonSchema {
  const moved: unknown = JSON.parse(JSON.stringify(schema), (key, value: unknown) =>
    key === '$ref' && typeof value === 'string' && value.startsWith(from) ? to + value.slice(from.length) : value,
  )
  return isObject(moved) ? moved : {}
}
