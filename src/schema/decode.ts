import { isObject, type JsonSchema } from '../contract/json.ts'
import { AS, asOf } from './as.ts'
import { hasShape } from './coerce.ts'
import { branchesOf, conjunctsOf, mapParts, step, type Walk, walk } from './shape.ts'

/**
 * Returns a function that turns JSON into the values that JSON does not have, where the schema is marked with `AS`,
 * such as a text into a Date. A value that does not fit its mark stays as it is.
 */
export function decoder(schema: JsonSchema): (value: unknown) => unknown {
  return isMarked(schema) ? (value) => walk(schema, value, (walk) => decodePart(walk, schema, value)) : (value) => value
}

function isMarked(schema: unknown): boolean {
  return typeof schema === 'object' && schema !== null && (AS in schema || Object.values(schema).some(isMarked))
}

function decodePart(walk: Walk, schema: unknown, value: unknown): unknown {
  if (!isObject(schema)) return value
  const as = asOf(schema)
  if (as && !as.fits(value)) return value
  return step(walk, () => {
    const branch = branchesOf(schema).find((each) => hasShape(walk, each, value))
    let decoded = mapParts(schema, value, (inner, part) => decodePart(walk, inner, part))
    for (const also of [branch, ...conjunctsOf(walk, schema)]) decoded = decodePart(walk, also, decoded)
    return as ? as.make(decoded) : decoded
  })
}
