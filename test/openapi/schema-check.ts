import { dereference, type Schema, validate } from '@cfworker/json-schema'
import { isObject } from '../../src/contract/json.ts'

/** Returns what a value lacks of a schema of the document. */
export type SchemaCheck = (schema: unknown, value: unknown) => string | undefined

/**
 * Checks values by the schemas of a document as they stand there, as a server would that has been made of the document: by
 * JSON Schema 2020-12, or by what OpenAPI 3.0 has of draft-05. Properties that only answers have are not required.
 */
export function schemaCheckOf(document: Readonly<Record<string, unknown>>): SchemaCheck {
  const isOld = String(document['openapi']).startsWith('3.0')
  const base = new URL('https://document.example/')
  const lookup = lookUp(plain(translated(document, isOld)), base)
  let checks = 0
  return (schema, value) => {
    const own = plain(translated(Object(schema), isOld))
    try {
      dereference(own, lookup, base, `/x-check/${checks++}`)
      const { valid, errors } = validate(value, own, '2020-12', lookup)
      return valid ? undefined : errors.map(({ instanceLocation, error }) => `${instanceLocation} ${error}`).join('; ')
    } catch {
      // A schema that refers to nothing checks nothing.
      return undefined
    }
  }
}

/** Finds the schemas of a document; none if it has two of one address, and then nothing is checked. */
function lookUp(document: Schema, base: URL): Record<string, Schema | boolean> {
  try {
    return dereference(document, {}, base)
  } catch {
    process.stdout.write('The schemas of this document cannot be checked\n')
    return {}
  }
}

/** Returns a copy without what is undefined. */
function plain(value: Readonly<Record<string, unknown>>): Schema {
  return JSON.parse(JSON.stringify(value))
}

/** Translates `nullable` and the boolean limits of OpenAPI 3.0, and drops what only answers must have. */
function translated(value: Readonly<Record<string, unknown>>, isOld: boolean): Record<string, unknown> {
  const read = (each: unknown): unknown =>
    Array.isArray(each) ? each.map(read) : isObject(each) ? translated(each, isOld) : each
  // OpenAPI 3.0 ignores what stands beside a reference.
  if (isOld && typeof value['$ref'] === 'string') return { $ref: value['$ref'] }
  const { nullable, type, exclusiveMinimum, exclusiveMaximum, minimum, maximum, required, properties, ...rest } = value
  const result = Object.fromEntries(
    Object.entries(rest).map(([key, inner]) => [
      key,
      key === 'example' || key === 'examples' ? undefined : read(inner),
    ]),
  )
  if (isObject(properties))
    result['properties'] = Object.fromEntries(Object.entries(properties).map(([key, inner]) => [key, read(inner)]))
  else if (properties !== undefined) result['properties'] = read(properties)
  if (type !== undefined) result['type'] = nullable === true && typeof type === 'string' ? [type, 'null'] : read(type)
  if (nullable === true && Array.isArray(result['enum'])) result['enum'] = [...result['enum'], null]
  if (typeof exclusiveMinimum === 'boolean') result[exclusiveMinimum ? 'exclusiveMinimum' : 'minimum'] = minimum
  else Object.assign(result, { minimum, exclusiveMinimum })
  if (typeof exclusiveMaximum === 'boolean') result[exclusiveMaximum ? 'exclusiveMaximum' : 'maximum'] = maximum
  else Object.assign(result, { maximum, exclusiveMaximum })
  // A pattern between slashes, or one that looks ahead, is checked by few; a name that is required and has no property by none.
  // Patterns that few check tell the branches of `oneOf` apart.
  if (result['oneOf'] !== undefined && result['anyOf'] === undefined) {
    result['anyOf'] = result['oneOf']
    delete result['oneOf']
  }
  if (!isChecked(result['pattern'])) delete result['pattern']
  if (Array.isArray(required))
    result['required'] = required.filter(
      (name) =>
        Object(Object(properties)[String(name)]).readOnly !== true &&
        (!isObject(properties) || Object.hasOwn(properties, String(name))),
    )
  else if (isObject(required)) result['required'] = read(required)
  return result
}

function isChecked(pattern: unknown): boolean {
  if (typeof pattern !== 'string' || /^\/.*\/\w*$|\(\?[=!<]|\)[*+{]/.test(pattern)) return false
  try {
    return new RegExp(pattern, 'u').source !== ''
  } catch {
    return false
  }
}
