import { isObject, type JsonSchema } from '../../contract/json.ts'
import type { ResponseFormat } from '../../contract/model.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { fieldsOf } from '../fields.ts'

/** The keywords of JSON Schema that a provider accepts. */
interface SchemaDialect {
  /** Keywords whose values are passed as they are. */
  readonly plain: RegExp
  /** Keywords whose values are lists of schemas. `oneOf` is sent as `anyOf`. */
  readonly lists: RegExp
  /** Whether objects may only have properties that they name; and whether all of these are required, maybe as null. */
  readonly isClosed?: boolean
  readonly requiresAll?: boolean
  /** The accepted values of `format`. Default: any, if the keyword is accepted. */
  readonly formats?: RegExp
}

/** The error for a schema that a provider cannot accept. The message says which part cannot, and where it is. */
export class UnsupportedSchema extends Error {}

const NAMED_SCHEMAS = /^(properties|\$defs|definitions)$/

/**
 * Converts a schema to a dialect. Keywords that the dialect lacks move to the description: the model still reads them,
 * and the owner of the schema still checks them. Throws an UnsupportedSchema with the path of a part that can neither
 * be converted nor moved.
 */
export function narrow(part: unknown, path: string, dialect: SchemaDialect): JsonSchema {
  const { $ref, description, ...words } = fieldsOf(part)
  if (typeof $ref === 'string') {
    if ($ref.startsWith('#')) return { $ref: $ref.replace('/definitions/', '/$defs/') }
    throw new UnsupportedSchema(`The schema ${path} refers to "${$ref}", which is not a part of it.`)
  }
  const narrowed: Record<string, unknown> = description ? { description } : {}
  const unsupported: Record<string, unknown> = {}
  for (const [word, value] of Object.entries(words)) {
    const at = `${path}/${word}`
    const narrowChild = (child: unknown, key: string | number) => narrow(child, `${at}/${key}`, dialect)
    if (dialect.lists.test(word) && Array.isArray(value)) narrowed[word.replace('one', 'any')] = value.map(narrowChild)
    else if (NAMED_SCHEMAS.test(word)) narrowed[word.replace('definitions', '$defs')] = mapValues(value, narrowChild)
    else if (/^(items|additionalProperties)$/.test(word) && isObject(value)) narrowed[word] = narrow(value, at, dialect)
    else if (word === 'format' && dialect.formats?.test(String(value)) === false) unsupported[word] = value
    else if (dialect.plain.test(word)) narrowed[word] = value
    else if (word === 'const') narrowed.enum = [value]
    else if (!/^(\$|additionalProperties)/.test(word)) unsupported[word] = value
  }
  if (dialect.isClosed && (words.type === 'object' || words.properties)) {
    if (isObject(words.additionalProperties)) {
      throw new UnsupportedSchema(`The schema ${path} allows any property; this model needs all of them named.`)
    }
    narrowed.additionalProperties = false
    if (dialect.requiresAll) Object.assign(narrowed, requireAll(fieldsOf(narrowed.properties), words.required))
  }
  return describeUnsupported(narrowed, unsupported)
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

/** Moves a choice at the top of a tool's schema, which providers refuse, to its description. */
export function withoutChoice({ anyOf, oneOf, allOf, ...own }: JsonSchema): JsonSchema {
  return { ...describeUnsupported(own, { anyOf, oneOf, allOf }), type: 'object' }
}

function describeUnsupported(schema: JsonSchema, unsupported: JsonSchema): JsonSchema {
  const words = JSON.stringify(unsupported)
  if (words === '{}') return schema
  return { ...schema, description: [schema.description, words].filter(Boolean).join('\n') }
}

function mapValues(value: unknown, convert: (child: unknown, key: string) => JsonSchema): object {
  return Object.fromEntries(Object.entries(fieldsOf(value)).map(([name, child]) => [name, convert(child, name)]))
}

/** The keywords that OpenAI enforces for a strict tool (its guide to Structured Outputs, “Supported schemas”). */
const ENFORCED = {
  plain: /^(type|title|enum|pattern|format|multipleOf|(exclusive)?(Min|Max)imum|(min|max)(imum|Items)|required)$/,
  lists: /^(anyOf|oneOf)$/,
  formats: /^(date-time|time|date|duration|email|hostname|ipv4|ipv6|uuid)$/,
  isClosed: true,
  requiresAll: true,
}

/**
 * Converts the schema of a tool's arguments for OpenAI's formats: without a choice at the top, with properties, and for
 * a strict tool with enforced keywords only. Throws an UnsupportedSchema if a strict tool's schema cannot be converted,
 * and says where.
 */
export function toParameters({ name, inputSchema, strict }: ToolDefinition): JsonSchema {
  const schema = withoutChoice(inputSchema)
  return strict ? narrow(schema, `"${name}"`, ENFORCED) : { properties: {}, ...schema }
}

/** Encodes a tool. Array schemas without `items` get `items` of any type: else the whole request would be refused. */
export function toolText(tool: object): string {
  const text = JSON.stringify(tool)
  // A replacer is called for every member, so it is only used where it may find something.
  if (!text.includes('"array"')) return text
  return JSON.stringify(tool, (_, part: unknown) =>
    isObject(part) && [part.type].flat().includes('array') ? { items: {}, ...part } : part,
  )
}

/** Describes the format of an answer to a model that is not forced to keep it. */
export function inWords(format: ResponseFormat): string {
  const schema = format.type === 'json_schema' ? ` It fits this JSON Schema: ${JSON.stringify(format.schema)}` : ''
  return `Answer with one JSON object and nothing else.${schema}`
}
