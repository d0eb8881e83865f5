import { isObject, type JsonObject, type JsonSchema } from '../../contract/json.ts'
import { mapSubschemas } from '../../contract/subschemas.ts'
import type { ResponseFormat } from '../../contract/model.ts'
import { fieldsOf } from '../fields.ts'
import type { Keywords, StrictRules } from './dialects.ts'

/** The error for a schema that a provider cannot accept. The message says which part cannot, and where it is. */
export class UnsupportedSchema extends Error {}

const NAMED_SCHEMAS = /^(properties|\$defs|definitions)$/

/**
 * Converts a schema to the keywords of a provider. Those that it lacks move to the description: the model still reads
 * them, and the owner of the schema still checks them. Throws an UnsupportedSchema with the path of a part that can
 * neither be converted nor moved.
 */
export function narrow(part: unknown, path: string, keywords: Keywords): JsonSchema {
  const { $ref, description, ...words } = fieldsOf(part)
  if (typeof $ref === 'string') {
    if ($ref.startsWith('#')) return { $ref: $ref.replace('/definitions/', '/$defs/') }
    throw new UnsupportedSchema(`The schema ${path} refers to "${$ref}", which is not a part of it.`)
  }
  const narrowed: Record<string, unknown> = description ? { description } : {}
  const unsupported: Record<string, unknown> = {}
  for (const [word, value] of Object.entries(words)) {
    const at = `${path}/${word}`
    const narrowChild = (child: unknown, key: string | number) => narrow(child, `${at}/${key}`, keywords)
    if (keywords.lists.test(word) && Array.isArray(value)) narrowed[word.replace('one', 'any')] = value.map(narrowChild)
    else if (NAMED_SCHEMAS.test(word)) narrowed[word.replace('definitions', '$defs')] = mapValues(value, narrowChild)
    else if (/^(items|additionalProperties)$/.test(word) && isObject(value))
      narrowed[word] = narrow(value, at, keywords)
    else if (word === 'format' && keywords.formats?.test(String(value)) === false) unsupported[word] = value
    else if (keywords.plain.test(word)) narrowed[word] = value
    else if (word === 'const') narrowed.enum = [value]
    else if (!/^(\$|additionalProperties)/.test(word)) unsupported[word] = value
  }
  if (keywords.isClosed && (words.type === 'object' || words.properties)) {
    if (isObject(words.additionalProperties)) {
      throw new UnsupportedSchema(`The schema ${path} allows any property; this model needs all of them named.`)
    }
    narrowed.additionalProperties = false
    if (keywords.requiresAll) Object.assign(narrowed, requireAll(fieldsOf(narrowed.properties), words.required))
  }
  if (keywords.hasPlainEnums && Array.isArray(narrowed.enum)) movePlainEnum(narrowed, unsupported, narrowed.enum)
  if (keywords.requiresNamed) keepNamed(narrowed)
  return describeUnsupported(narrowed, unsupported)
}

/** Leaves an enum the values that can be said, and says the others in words. */
function movePlainEnum(
  narrowed: Record<string, unknown>,
  unsupported: Record<string, unknown>,
  values: readonly unknown[],
): void {
  const plain = values.filter((value) => typeof value === 'number' || (typeof value === 'string' && value !== ''))
  if (plain.length === values.length) return
  unsupported.enum = values
  // What remains would forbid the others, but for null, which the type allows.
  const isNullable = values.every((value) => plain.includes(value) || value === null)
  if (isNullable && plain.length > 0) narrowed.enum = plain
  else delete narrowed.enum
}

function keepNamed(narrowed: Record<string, unknown>): void {
  const { required, properties } = narrowed
  if (!Array.isArray(required)) return
  const names = required.filter((name) => Object.hasOwn(fieldsOf(properties), String(name)))
  if (names.length > 0) narrowed.required = names
  else delete narrowed.required
}

/** Makes all properties required. An optional one may then be null, which its tool treats as absent. */
function requireAll(properties: Readonly<Record<string, unknown>>, required: unknown): JsonSchema {
  const requiredNames: readonly unknown[] = Array.isArray(required) ? required : []
  const entries = Object.entries(properties).map(([name, schema]) => [
    name,
    requiredNames.includes(name) ? schema : orNull(fieldsOf(schema)),
  ])
  return { properties: Object.fromEntries(entries), required: Object.keys(properties) }
}

function orNull(schema: JsonSchema): JsonSchema {
  const { type, enum: values, anyOf } = schema
  if (Array.isArray(anyOf)) return { ...schema, anyOf: [...anyOf, { type: 'null' }] }
  if (type === undefined) return { anyOf: [schema, { type: 'null' }] }
  const types = [...new Set([type, 'null'].flat())]
  return { ...schema, type: types, ...(Array.isArray(values) && { enum: [...new Set([...values, null])] }) }
}

/** Moves keywords of a schema that a provider refuses there to its description. */
export function withoutWords(schema: JsonSchema, words: readonly string[]): JsonSchema {
  const refusedWords = Object.fromEntries(words.flatMap((word) => (word in schema ? [[word, schema[word]]] : [])))
  const own = Object.fromEntries(Object.entries(schema).filter(([word]) => !words.includes(word)))
  return describeUnsupported(own, refusedWords)
}

function describeUnsupported(schema: JsonSchema, unsupported: JsonSchema): JsonSchema {
  const words = JSON.stringify(unsupported)
  if (words === '{}') return schema
  return { ...schema, description: [schema.description, words].filter(Boolean).join('\n') }
}

function mapValues(value: unknown, convert: (child: unknown, key: string) => JsonSchema): object {
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, child]) => [name, convert(child, name)]))
}

/** Returns in which way a schema is larger than a provider enforces; undefined if it is not. */
export function sizeFault(schema: JsonSchema, rules: StrictRules): string | undefined {
  let [properties, levels, enumValues, characters] = [0, 0, 0, 0]
  let hasLongEnum = false
  const visit = (part: JsonObject, level: number): void => {
    const names = [part.properties, part.$defs].flatMap((map) => Object.keys(fieldsOf(map)))
    const values: readonly unknown[] = Array.isArray(part.enum) ? part.enum : []
    const size = (texts: readonly unknown[]) => texts.reduce<number>((sum, text) => sum + String(text).length, 0)
    properties += Object.keys(fieldsOf(part.properties)).length
    levels = Math.max(levels, level)
    enumValues += values.length
    characters += size(names) + size(values)
    const { longEnum } = rules
    hasLongEnum ||= values.length > longEnum.values && size(values) > longEnum.characters
    mapSubschemas(part, (inner) => {
      // A level is an object in an object, or in a list.
      if (isObject(inner)) visit(inner, level + (inner.type === 'object' || isObject(inner.properties) ? 1 : 0))
      return inner
    })
  }
  visit(schema, 1)
  if (properties > rules.mostProperties) return `it has ${properties} properties`
  if (levels > rules.mostLevels) return `it has ${levels} levels`
  if (enumValues > rules.mostEnumValues) return `its enums have ${enumValues} values`
  if (characters > rules.mostCharacters) return `its names and values have ${characters} characters`
  return hasLongEnum ? `an enum has over ${rules.longEnum.characters} characters` : undefined
}

/** Describes the format of an answer to a model that is not forced to keep it. */
export function inWords(format: ResponseFormat): string {
  const schema = format.type === 'json_schema' ? ` It fits this JSON Schema: ${JSON.stringify(format.schema)}` : ''
  return `Answer with one JSON object and nothing else.${schema}`
}
