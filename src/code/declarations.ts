import { isObject, type JsonSchema } from '../contract/json.ts'
import type { ToolDefinition } from '../contract/tool.ts'

/** The deepest schema that is printed; `unknown` stands for what is below. */
const MOST_DEPTH = 12

type Declared = Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'outputSchema'>

/**
 * Returns the TypeScript declarations of tools, for a model that calls them in a program: descriptions are comments, and a
 * result has the type of its output schema.
 *
 * @example
 * declarationsOf([{ name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }])
 */
export function declarationsOf(tools: readonly Declared[]): string {
  const members = tools.map(({ name, description, inputSchema, outputSchema }) => {
    const input = typeOf(inputSchema, inputSchema, '  ')
    // Without required fields the call may be made without arguments.
    const isOptional = !Array.isArray(inputSchema['required']) || inputSchema['required'].length === 0
    const output = outputSchema ? typeOf(outputSchema, outputSchema, '  ') : 'any'
    return `${comment(description, '  ')}  ${keyOf(name)}(input${isOptional ? '?' : ''}: ${input}): Promise<${output}>`
  })
  return `declare const tools: {\n${members.join('\n')}\n}`
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

function comment(text: unknown, indent: string): string {
  if (typeof text !== 'string' || text.trim() === '') return ''
  return `${indent}/** ${text.replaceAll('*/', '* /').replace(/\s+/g, ' ').trim()} */\n`
}

/** Returns the type of a schema. `root` resolves its references. */
function typeOf(schema: unknown, root: JsonSchema, indent: string, depth = 0): string {
  if (!isObject(schema) || depth > MOST_DEPTH) return 'unknown'
  const inner = (each: unknown) => typeOf(each, root, indent, depth + 1)
  const { $ref: ref, enum: values, const: constant, anyOf, oneOf, allOf, type, nullable } = schema
  const orNull = (text: string) => (nullable === true ? `${text} | null` : text)
  if (typeof ref === 'string') return inner(resolve(ref, root))
  if ('const' in schema) return JSON.stringify(constant)
  if (Array.isArray(values)) return orNull(union(values.map((value) => JSON.stringify(value))))
  const choices = Array.isArray(anyOf) ? anyOf : oneOf
  if (Array.isArray(choices)) return orNull(union(choices.map(inner)))
  if (Array.isArray(allOf)) return orNull(allOf.map((each) => parenthesised(inner(each))).join(' & '))
  if (Array.isArray(type)) return union(type.map((each) => inner({ ...schema, type: each })))
  if (type === 'object' || isObject(schema['properties'])) return orNull(objectType(schema, root, indent, depth))
  if (type === 'array') return orNull(arrayType(schema, inner))
  return orNull(PRIMITIVES[String(type)] ?? 'unknown')
}

const PRIMITIVES: Readonly<Partial<Record<string, string>>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ') || 'never'
}

function parenthesised(type: string): string {
  return type.includes(' | ') || type.includes(' & ') ? `(${type})` : type
}

function arrayType({ items, prefixItems }: JsonSchema, inner: (schema: unknown) => string): string {
  if (Array.isArray(prefixItems)) return `[${prefixItems.map(inner).join(', ')}]`
  return `${parenthesised(inner(items))}[]`
}

function objectType(schema: JsonSchema, root: JsonSchema, indent: string, depth: number): string {
  const { properties, required, additionalProperties: rest } = schema
  const names: readonly unknown[] = Array.isArray(required) ? required : []
  const nested = `${indent}  `
  const fields = Object.entries(isObject(properties) ? properties : {}).map(([name, field]) => {
    const description = comment(isObject(field) ? field['description'] : undefined, nested)
    const type = typeOf(field, root, nested, depth + 1)
    return `${description}${nested}${keyOf(name)}${names.includes(name) ? '' : '?'}: ${type}`
  })
  if (isObject(rest)) fields.push(`${nested}[name: string]: ${typeOf(rest, root, nested, depth + 1)}`)
  if (fields.length === 0) return rest === false ? '{}' : 'Record<string, unknown>'
  return `{\n${fields.join('\n')}\n${indent}}`
}

/** Returns the schema that a reference of the same document names; undefined for any other. */
function resolve(ref: string, root: JsonSchema): unknown {
  if (!ref.startsWith('#')) return undefined
  let target: unknown = root
  for (const part of ref.slice(1).split('/').slice(1)) {
    target = isObject(target) || Array.isArray(target) ? Reflect.get(target, decodePart(part)) : undefined
  }
  return target
}

function decodePart(part: string): string {
  return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
}
