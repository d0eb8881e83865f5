import { isObject, type JsonSchema } from '../contract/json.ts'

/** Returns whether all values of a schema are of a type, or null. */
export function isOf({ type }: JsonSchema, wanted: string): boolean {
  const types = [type].flat()
  return types.includes(wanted) && types.every((each) => each === wanted || each === 'null')
}

/** Returns the properties of an object that has no others; undefined for any other schema. */
export function knownParts(schema: JsonSchema): [string, JsonSchema][] | undefined {
  const { properties, additionalProperties = false, ...others } = schema
  const parts = Object.entries(isObject(properties) ? properties : {})
  const isKnown = isOf(schema, 'object') && parts.length > 0 && !UNIONS.some((keyword) => keyword in others)
  if (!isKnown || isObject(additionalProperties) || additionalProperties === true) return undefined
  return parts.map(([key, part]) => [key, isObject(part) ? part : {}])
}

const UNIONS = ['allOf', 'anyOf', 'oneOf', '$ref']

/** Whether a value of a schema may be an object. Of a schema that says nothing of it, none is taken for one. */
export function mayBeObject(schema: JsonSchema): boolean {
  const { type, properties, additionalProperties } = schema
  if (type !== undefined) return [type].flat().includes('object')
  if (isObject(properties) || isObject(additionalProperties)) return true
  return branchesOf(schema).some(mayBeObject)
}

/** Whether a value of a schema may be a list. */
export function mayBeList(schema: JsonSchema): boolean {
  return [schema['type']].flat().includes('array') || branchesOf(schema).some(mayBeList)
}

/** Whether all values of a schema are plain: neither lists nor objects. */
export function isPlain(schema: JsonSchema): boolean {
  const { type, enum: values, const: value } = schema
  if (type !== undefined) return [type].flat().every((each) => each !== 'array' && each !== 'object')
  if (Array.isArray(values) || value !== undefined)
    return [values ?? value].flat().every((each) => typeof each !== 'object')
  const branches = branchesOf(schema)
  return branches.length > 0 && branches.every(isPlain)
}

export function isPlainList(schema: JsonSchema): boolean {
  return isOf(schema, 'array') && isObject(schema['items']) && isPlain(schema['items'])
}

function branchesOf(schema: JsonSchema): JsonSchema[] {
  return ['anyOf', 'oneOf', 'allOf']
    .flatMap((keyword) => (Array.isArray(schema[keyword]) ? schema[keyword] : []))
    .filter(isObject)
}

/** Whether all values of a schema are files, or lists of them. */
export function isFile(schema: JsonSchema): boolean {
  const { format, items, contentMediaType } = schema
  if (format === 'binary' || contentMediaType !== undefined || (isObject(items) && isFile(items))) return true
  const branches = branchesOf(schema)
  return branches.length > 0 && branches.every(isFile)
}
