import { isObject, type JsonSchema, followRef } from '../contract/json.ts'
import { describeTool, type ModelTool, type ToolDefinition } from '../contract/tool-definition.ts'

/** What a program must know of a tool to call it. */
export type Declared = ModelTool & Pick<ToolDefinition, 'outputSchema'>

/** The most characters that the declarations of one tool, and of all tools together, may have. */
interface Room {
  readonly tool: number
  readonly all: number
}

const NO_BOUND: Room = { tool: Infinity, all: Infinity }

/**
 * Returns the TypeScript declarations of tools, for a model that calls them in a program: descriptions are comments, and a
 * result has the type of its output schema. A schema that others refer to is one named type, printed once. A tool that
 * takes more room than it has is declared in less detail, and its comment says so. Default: no bound.
 *
 * @example
 * declarationsOf([{ name: 'add', description: 'Adds.', inputSchema: { type: 'object' } }])
 */
export function declarationsOf(tools: readonly Declared[], { tool: mostOfTool, all }: Room = NO_BOUND): string {
  const fit = (tool: Declared, most: number) =>
    most === Infinity ? FULL : (DETAILS.find((detail) => sizeOf(tool, detail, most) <= most) ?? LEAST)
  const sizes = all === Infinity ? [] : tools.map((tool) => sizeOf(tool, fit(tool, mostOfTool), mostOfTool))
  const share = Math.min(mostOfTool, shareOf(sizes, all - frame('').length))
  const types: Types = new Map()
  const members = tools.map((tool) => memberOf(tool, fit(tool, share), types, share))
  return [...typeLines(types), frame(members.join('\n'))].join('\n')
}

function frame(members: string): string {
  return `declare const tools: {\n${members}\n}`
}

/** Returns the most that each may take, so that all of them together take no more than `total`. */
function shareOf(sizes: readonly number[], total: number): number {
  let rest = total
  for (const [index, size] of sizes.toSorted((a, b) => a - b).entries()) {
    const share = rest / (sizes.length - index)
    if (size > share) return Math.floor(share)
    rest -= size
  }
  return Infinity
}

/** How much is told of a tool: the characters of each description, the levels and fields of a type, and the named types. */
interface Detail {
  readonly description: number
  readonly comment: number
  readonly levels: number
  readonly fields: number
  readonly types: number
}

/** The deepest level of a type that is printed; `unknown` stands for what is below. */
const MOST_LEVELS = 12
const FULL: Detail = {
  description: Infinity,
  comment: Infinity,
  levels: MOST_LEVELS,
  fields: Infinity,
  types: Infinity,
}
/** What is left of a tool whatever its room. */
const LEAST: Detail = { description: 160, comment: 0, levels: 0, fields: 0, types: 0 }
const DETAILS: readonly Detail[] = [
  FULL,
  { ...FULL, description: 600, comment: 80 },
  { ...FULL, description: 400, comment: 0, levels: 3, types: 8 },
  { description: 200, comment: 0, levels: 1, fields: 24, types: 0 },
  { description: 160, comment: 0, levels: 1, fields: 8, types: 0 },
  LEAST,
]

/** The named types so far: what each stands for, by its name. */
type Types = Map<string, string>

function typeLines(types: Types): readonly string[] {
  return [...types].map(([name, text]) => `type ${name} = ${text}`)
}

function sizeOf(tool: Declared, detail: Detail, most: number): number {
  const types: Types = new Map()
  const member = memberOf(tool, detail, types, most)
  return [...typeLines(types), member].reduce((size, line) => size + line.length + 1, 0)
}

/** Returns the declaration of a tool, and adds the types that it names. What is far over `room` is not printed to its end. */
function memberOf(tool: Declared, detail: Detail, types: Types, room: number): string {
  const { name, inputSchema, outputSchema } = tool
  const more = detail === FULL ? '' : ` Shortened: \`await tools.$describe(${JSON.stringify(name)})\` tells all of it.`
  const words = comment(`${cut(describeTool(tool), detail.description)}${more}`, '  ')
  const input = addTypes(types, { schema: inputSchema, detail, room })
  // Without required fields the call may be made without arguments.
  const isOptional = !Array.isArray(inputSchema['required']) || inputSchema['required'].length === 0
  const output = outputSchema ? addTypes(types, { schema: outputSchema, detail, room }) : 'any'
  return `${words}  ${keyOf(name)}(input${isOptional ? '?' : ''}: ${input}): Promise<${output}>`
}

interface Source {
  readonly schema: JsonSchema
  readonly detail: Detail
  readonly room: number
}

/** Prints the type of a schema, and adds those that it names; under other names if another type has one of theirs. */
function addTypes(types: Types, source: Source): string {
  const plain = new TypePrinter(source, '').print()
  const isTaken = [...plain.types].some(([name, text]) => (types.get(name) ?? text) !== text)
  const printed = isTaken ? new TypePrinter(source, `$${types.size}`).print() : plain
  for (const [name, text] of printed.types) types.set(name, text)
  return printed.text
}

/** Prints the type of one schema. Each schema that a reference leads to is printed once, so that the text is linear. */
class TypePrinter {
  readonly #root: JsonSchema
  readonly #detail: Detail
  readonly #suffix: string
  /** How many more characters are worth printing. */
  #room: number
  /** What stands for each reference: the name of a type, or a short type itself. */
  readonly #references = new Map<string, string>()
  /** The schemas of the named types, which are printed one after another. */
  readonly #schemas = new Map<string, unknown>()

  constructor({ schema, detail, room }: Source, suffix: string) {
    this.#root = schema
    this.#detail = detail
    this.#suffix = suffix
    this.#room = room
  }

  print(): { readonly text: string; readonly types: Types } {
    const text = this.#type(this.#root, '  ', 0)
    const types: Types = new Map()
    // A map is walked with what is added meanwhile.
    for (const [name, schema] of this.#schemas) types.set(name, this.#type(schema, '', 0))
    return { text, types }
  }

  #spend(text: string): string {
    this.#room -= text.length
    return text
  }

  #type(schema: unknown, indent: string, depth: number): string {
    if (!isObject(schema) || this.#room <= 0) return this.#spend('unknown')
    const leaf = leafType(schema)
    if (leaf !== undefined) return this.#spend(leaf)
    if (depth >= this.#detail.levels) return this.#spend('unknown')
    const inner = (each: unknown) => this.#type(each, indent, depth + 1)
    const { $ref: ref, anyOf, oneOf, allOf, type, nullable } = schema
    const orNull = (text: string) => (nullable === true ? `${text} | null` : text)
    if (typeof ref === 'string') return this.#spend(this.#reference(ref))
    const choices = Array.isArray(anyOf) ? anyOf : oneOf
    if (Array.isArray(choices)) return orNull(union(this.#all(choices, inner)))
    if (Array.isArray(allOf)) return orNull(this.#all(allOf, inner).map(parenthesised).join(' & '))
    if (Array.isArray(type)) {
      const types = TYPES.filter((each) => type.includes(each))
      return union(types.map((each) => this.#type({ ...schema, type: each }, indent, depth)))
    }
    if (type === 'array') return orNull(this.#array(schema, inner))
    return orNull(this.#object(schema, indent, depth))
  }

  #all(schemas: readonly unknown[], print: (schema: unknown) => string): string[] {
    return schemas.slice(0, this.#detail.fields).map(print)
  }

  #array({ items, prefixItems }: JsonSchema, inner: (schema: unknown) => string): string {
    if (Array.isArray(prefixItems)) return `[${this.#all(prefixItems, inner).join(', ')}]`
    return `${parenthesised(inner(items))}[]`
  }

  #object({ properties, required, additionalProperties: rest }: JsonSchema, indent: string, depth: number): string {
    const names = new Set<unknown>(Array.isArray(required) ? required : [])
    const nested = `${indent}  `
    const entries = Object.entries(isObject(properties) ? properties : {})
    const fields: string[] = []
    for (const [name, field] of entries.slice(0, this.#detail.fields)) {
      if (this.#room <= 0) break
      const words = cut(isObject(field) ? field['description'] : undefined, this.#detail.comment)
      const start = this.#spend(`${comment(words, nested)}${nested}${keyOf(name)}${names.has(name) ? '' : '?'}: `)
      fields.push(`${start}${this.#type(field, nested, depth + 1)}`)
    }
    if (fields.length < entries.length) fields.push(`${nested}// and ${entries.length - fields.length} more`)
    if (isObject(rest)) fields.push(`${nested}[name: string]: ${this.#type(rest, nested, depth + 1)}`)
    if (fields.length === 0) return this.#spend(rest === false ? '{}' : 'Record<string, unknown>')
    return `{\n${fields.join('\n')}\n${indent}}`
  }

  #reference(ref: string): string {
    const earlier = this.#references.get(ref)
    if (earlier !== undefined) return earlier
    const schema = followRef(this.#root, ref)
    const leaf = isObject(schema) ? leafType(schema) : 'unknown'
    const isShort = leaf !== undefined && leaf.length <= MOST_INLINED
    const text = isShort ? leaf : this.#schemas.size < this.#detail.types ? this.#name(ref) : 'unknown'
    this.#references.set(ref, text)
    if (!isShort && text !== 'unknown') this.#schemas.set(text, schema)
    return text
  }

  /** Returns a name that no other type of this schema has. */
  #name(ref: string): string {
    const word = (ref === '#' ? 'Root' : (ref.split('/').at(-1) ?? '')).replace(/\W+/g, '_').slice(0, MOST_NAME)
    const base = /^[a-zA-Z]/.test(word) && !BUILT_IN.test(word) ? word : `T${word}`
    const name = `${base}${this.#suffix}`
    return this.#schemas.has(name) ? `${base}$${this.#schemas.size}${this.#suffix}` : name
  }
}

/** The most characters of a type that is written in place of a reference to it. */
const MOST_INLINED = 60
/** The most characters of the name of a type, without what makes it unique. */
const MOST_NAME = 40
/** Names that mean something else in a type. */
const BUILT_IN =
  /^(?:any|bigint|boolean|false|never|null|number|object|string|symbol|true|undefined|unknown|void|Promise|Record)$/

/** The types of JSON Schema; those of objects and arrays depend on the schema. */
const PRIMITIVES: Readonly<Partial<Record<string, string>>> = {
  string: 'string',
  number: 'number',
  integer: 'number',
  boolean: 'boolean',
  null: 'null',
}
const TYPES = [...Object.keys(PRIMITIVES), 'array', 'object']

/** Returns the type of a schema that has no others inside; undefined for any other schema. */
function leafType(schema: JsonSchema): string | undefined {
  const { enum: values, const: constant, anyOf, oneOf, allOf, type, properties, nullable } = schema
  const orNull = (text: string) => (nullable === true ? `${text} | null` : text)
  if ('$ref' in schema) return undefined
  if ('const' in schema) return JSON.stringify(constant)
  if (Array.isArray(values)) return orNull(union(values.map((value) => JSON.stringify(value))))
  if ([anyOf, oneOf, allOf, type].some(Array.isArray) || type === 'object' || type === 'array') return undefined
  const primitive = PRIMITIVES[String(type)]
  return primitive === undefined && isObject(properties) ? undefined : orNull(primitive ?? 'unknown')
}

function union(types: readonly string[]): string {
  return [...new Set(types)].join(' | ') || 'never'
}

function parenthesised(type: string): string {
  return type.includes(' | ') || type.includes(' & ') ? `(${type})` : type
}

function keyOf(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name)
}

function comment(text: string, indent: string): string {
  const words = text.replaceAll('*/', '* /').replace(/\s+/g, ' ').trim()
  return words === '' ? '' : `${indent}/** ${words} */\n`
}

function cut(text: unknown, most: number): string {
  if (typeof text !== 'string' || most === 0) return ''
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text
}
