import { isObject, type JsonSchema } from '../contract/json.ts'
import type { ArgumentStyle, Styles } from '../definitions/http/style.ts'
import { JSON_TYPE, maySend } from '../definitions/http/definition.ts'
import { listNotation, showsBrackets } from './openapi-lists.ts'
import { resolveRef, type SchemaReader, UnsupportedError } from './openapi-schema.ts'
import { isFile, isOf, isPlain, isPlainList, knownParts, mayBeList, mayBeObject } from './openapi-shape.ts'

/** An operation's parameters and body as the arguments of a tool, and the part of the request that each one fills. */
export interface RequestArguments {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
  /** The path with a placeholder for each of its parameters. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
  /** How arguments are written that are not written as usual. */
  readonly styles: Styles
  readonly headers: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly bodyType?: 'form' | 'multipart'
}

type Fields = Readonly<Record<string, unknown>>

interface Source {
  readonly method: string
  readonly path: string
  readonly item: Fields
  readonly fields: Fields
}

/** Collects arguments. Each gets a unique name that is valid in a placeholder and for every provider. */
class Arguments {
  readonly properties: Record<string, JsonSchema> = {}
  readonly required: string[] = []
  readonly styles: Record<string, ArgumentStyle> = {}
  readonly #schemas: SchemaReader

  constructor(schemas: SchemaReader) {
    this.#schemas = schemas
  }

  /** Returns a schema without references, to see what kind of value it takes. */
  shape(schema: JsonSchema): JsonSchema {
    return this.#schemas.unfold(schema)
  }

  /** Adds an argument and returns its placeholder. */
  add(name: string, place: string, schema: JsonSchema, isRequired: boolean): string {
    if (name === '__proto__')
      throw new UnsupportedError('it has a part of the name __proto__, and definitions have none')
    const plain = name.replace(/[^\w.-]+/g, '_').replace(/^(?![A-Za-z_])|^(?=SECRET_)/, '_')
    const names = [plain, `${place}_${plain}`].map((each) => each.slice(0, 60))
    let free = names.find((each) => !Object.hasOwn(this.properties, each))
    for (let count = 2; free === undefined; count++) {
      const next = `${names[1]}_${count}`
      if (!Object.hasOwn(this.properties, next)) free = next
    }
    this.properties[free] = schema
    if (isRequired) this.required.push(free)
    return `{${free}}`
  }

  /** Says how the argument of a placeholder is written. */
  style(placeholder: string, { name, ...style }: ArgumentStyle): string {
    const argument = placeholder.slice(1, -1)
    this.styles[argument] = { ...style, ...(name !== undefined && name !== argument && { name }) }
    return placeholder
  }
}

const PLACES = new Set<unknown>(['path', 'query', 'header'])
/** Headers that each request has without an argument for them. */
const ALWAYS = /^(?:idempotency-key|content-length|host)$/i

/** Reads the arguments of an operation. Throws an UnsupportedError if a definition cannot express what it needs. */
export function requestArguments(document: Fields, source: Source, schemas: SchemaReader): RequestArguments {
  const all = new Arguments(schemas)
  const query: Record<string, string> = {}
  const headers: Record<string, string> = {}
  const inPath = new Map<string, string>()
  // Some documents tell operations of one path apart by a fragment, which no request has.
  const [template = ''] = source.path.split('#')
  const parameters = parametersOf(document, source)
  const keys = new Set(parameters.flatMap((each) => (each['in'] === 'query' ? [each['name']] : [])))
  for (const parameter of parameters) {
    const { name: parameterName, in: place, required } = parameter
    const name = String(parameterName)
    const isRequired = required === true || place === 'path'
    // OpenAPI ignores header parameters with these names: other parts of the document define them.
    if (place === 'header' && /^(?:accept|content-type|authorization)$/i.test(name)) continue
    if (parameterName === undefined) throw new UnsupportedError('one of its parameters has no name')
    if (place === 'header' && !maySend(name) && (!isRequired || ALWAYS.test(name))) continue
    if (place === 'cookie') {
      if (isRequired) throw new UnsupportedError(`it needs the cookie ${name}, and tools send none`)
      continue
    }
    if (!PLACES.has(place))
      throw new UnsupportedError(`its parameter ${name} goes into the ${String(place)}, where tools put no parameters`)
    // Some documents name parameters that the path has no place for.
    if (place === 'path' && !template.includes(`{${name}}`)) continue
    const schema = schemaOf(parameter, schemas)
    if (place === 'query')
      addQuery(
        { all, query, keys, texts: textsOf(parameter, source.fields) },
        { ...parameter, name, isRequired },
        schema,
      )
    else {
      const placeholder = placed(all, { ...parameter, name, isRequired }, schema)
      if (place === 'path') inPath.set(name, placeholder)
      else headers[name] = placeholder
    }
  }
  const path = template
    .replace(/^(?!\/)/, '/')
    .replace(/\{([^{}]+)\}/g, (_, name: string) => inPath.get(name) ?? all.add(name, 'path', { type: 'string' }, true))
  const media = mediaOf(document, source)
  const body = media && bodyOf(document, media, schemas, all)
  // Servers may refuse a patch or a JSON:API document that is sent as plain JSON.
  if (media && !media.form && !PLAIN_JSON.test(media.type)) headers['content-type'] = media.type
  const { properties, required, styles } = all
  return {
    ...{ properties, required, path, query, styles, headers },
    ...(body !== undefined && { body }),
    ...(media?.form && body !== undefined && { bodyType: media.form }),
  }
}

/** Returns the parameters of the path and of the operation; the operation's win over equal ones of the path. */
function parametersOf(document: Fields, { item, fields }: Source): Fields[] {
  const parameters = new Map<string, Fields>()
  for (const parameter of [item['parameters'], fields['parameters']].flatMap((list) =>
    Array.isArray(list) ? list : [],
  )) {
    const each = resolveRef(document, parameter)
    if (isObject(each)) parameters.set(`${String(each['in'])} ${String(each['name'])}`, each)
  }
  return [...parameters.values()]
}

/** Whether a parameter is written as JSON, of whatever type it is. */
function isJson(content: unknown): boolean {
  return JSON_TYPE.test(Object.keys(Object(content))[0] ?? '')
}

function schemaOf({ schema, content, description }: Fields, schemas: SchemaReader): JsonSchema {
  const [media] = Object.values(isObject(content) ? content : {})
  const read = schemas.read(schema ?? (isObject(media) ? media['schema'] : undefined))
  const isSaid = typeof description !== 'string' || description === '' || read['description'] !== undefined
  return isSaid ? read : { ...read, description }
}

/** Returns the placeholder of a list whose items are joined. */
function joined(placeholder: string, joiner: string): string {
  return placeholder.replace('}', `|${joiner}}`)
}

/** Adds a parameter of the path or of a header, and returns what stands there for it. */
function placed(
  all: Arguments,
  { name, in: place, style = 'simple', explode, content, isRequired }: Parameter,
  schema: JsonSchema,
): string {
  const placeholder = all.add(name, String(place), schema, isRequired)
  if (content !== undefined) return isJson(content) ? all.style(placeholder, { style: 'json' }) : placeholder
  if (style !== 'simple' && style !== 'label' && style !== 'matrix')
    throw new UnsupportedError(
      `its parameter ${name} has the style ${String(style)}, which is none of the ${String(place)}`,
    )
  const shape = all.shape(schema)
  if (style === 'simple' && !mayBeObject(shape)) return mayBeList(shape) ? joined(placeholder, ',') : placeholder
  return all.style(placeholder, { style, ...(explode === true && { explode }), ...(style === 'matrix' && { name }) })
}

interface Parameter extends Fields {
  readonly name: string
  readonly isRequired: boolean
}

/** A part of a request to which parameters are added. */
interface QueryPart {
  readonly all: Arguments
  readonly query: Record<string, string>
  /** The names of all query parameters, each of which is the key of its own. */
  readonly keys: ReadonlySet<unknown>
  /** What the document says of the parameter, where its own examples may be. */
  readonly texts: readonly string[]
}

/**
 * Adds a query parameter. An object whose properties are all known becomes one argument for each of them, any other value
 * one argument.
 */
function addQuery(
  { all, query, keys, texts }: QueryPart,
  { name, isRequired, content, style = 'form', explode = style === 'form' }: Parameter,
  schema: JsonSchema,
): void {
  const add = (key: string, placeholder: string) => {
    query[key] = placeholder
  }
  if (content !== undefined) {
    const placeholder = all.add(name, 'query', schema, isRequired)
    return add(name, isJson(content) ? all.style(placeholder, { style: 'json' }) : placeholder)
  }
  const shape = all.shape(schema)
  const isDeep = style === 'deepObject' || (style === 'form' && mayBeObject(shape) && showsBrackets(name, texts))
  const addPart = (key: string, placeholder: string, part: JsonSchema) => {
    if (!isDeep || isPlain(all.shape(part))) return add(key, placeholder)
    const lists = listNotation(key, texts)
    if (lists === 'brackets' && isPlainList(all.shape(part))) return add(`${key}[]`, placeholder)
    return add(key, all.style(placeholder, { style: 'deepObject', ...(lists !== 'brackets' && { lists }) }))
  }
  const parts = knownParts(schema)
  const needed: readonly unknown[] = Array.isArray(schema['required']) ? schema['required'] : []
  // An object that may be left out, but not in part, is one argument.
  if (parts && (isDeep || explode === true) && (isRequired || needed.length === 0)) {
    for (const [key, part] of parts) {
      const isNeeded = needed.includes(key)
      const fullKey = isDeep ? `${name}[${key}]` : key
      // One key has one value: that of the parameter of its name, or of the first object with such a property.
      if (keys.has(fullKey) || Object.hasOwn(query, fullKey)) continue
      addPart(fullKey, all.add(key, name, part, isNeeded), part)
    }
    return
  }
  const placeholder = all.add(name, 'query', schema, isRequired)
  if (isDeep) return addPart(name, placeholder, schema)
  const own = pairStyle(style, explode)
  if (mayBeObject(shape)) return add(name, all.style(placeholder, own))
  const joiner = own.style === 'form' ? ',' : own.style === 'spaceDelimited' ? ' ' : '|'
  add(name, mayBeList(shape) && explode !== true ? joined(placeholder, joiner) : placeholder)
}

/** Returns how a list or an object is written in a query or a form; a style that these do not have is taken for `form`. */
function pairStyle(style: unknown, explode: unknown): ArgumentStyle {
  if (explode !== true && (style === 'spaceDelimited' || style === 'pipeDelimited')) return { style }
  return { style: 'form', ...(explode !== true && { explode: false }) }
}

/** Returns all texts in which a document may show how a parameter is written. */
function textsOf(parameter: Fields, { description, summary }: Fields): string[] {
  const texts: string[] = []
  const visit = (value: unknown, levels: number): void => {
    if (typeof value === 'string') texts.push(value)
    else if (typeof value === 'object' && value !== null && levels > 0)
      for (const inner of Object.values(value)) visit(inner, levels - 1)
  }
  visit([parameter, description, summary], MOST_TEXT_LEVELS)
  return texts
}

const MOST_TEXT_LEVELS = 6

const PLAIN_JSON = /^(?:application\/json(?:[;,].*)?|application\/\*|\*\/\*)$/i
/** The keywords of a body schema whose properties can become separate arguments without a loss. */
const PLAIN = new Set(['type', 'properties', 'required', 'additionalProperties', 'title', 'description'])

const FORMS = [
  ['form', /^application\/x-www-form-urlencoded(?:;.*)?$/i],
  ['multipart', /^multipart\/form-data(?:;.*)?$/i],
] as const

interface Media {
  readonly type: string
  readonly schema: unknown
  /** Whether the document says that the body is required, or that it is not. */
  readonly required: unknown
  /** How the fields are sent, if not as JSON. */
  readonly form?: 'form' | 'multipart'
  /** How each field of a form is written (OpenAPI's Encoding Object). */
  readonly encoding?: unknown
}

/**
 * Returns the body that an operation takes: plain JSON first, then another JSON type, then a form. Undefined if it has
 * none, or says that it may be left out and is of another type.
 */
function mediaOf(document: Fields, { method, fields }: Source): Media | undefined {
  const requestBody = resolveRef(document, fields['requestBody'])
  if (!isObject(requestBody) || method === 'get' || method === 'head') return undefined
  const { required, content } = requestBody
  const types = Object.entries(isObject(content) ? content : {})
  for (const form of [PLAIN_JSON, JSON_TYPE]) {
    const [type, media] = types.find(([each, inner]) => form.test(each) && isObject(inner)) ?? []
    if (type !== undefined && isObject(media)) return { type, schema: media['schema'], required }
  }
  for (const [form, pattern] of FORMS) {
    const [type, media] = types.find(([each, inner]) => pattern.test(each) && isObject(inner)) ?? []
    if (type === undefined || !isObject(media)) continue
    // Forms without fields are common in documents that name a type for every operation.
    if (!hasFields(document, media['schema'])) {
      if (required === true)
        throw new UnsupportedError(`its body is ${type} with fields that the document does not name`)
      return undefined
    }
    return { type, schema: media['schema'], required, form, encoding: media['encoding'] }
  }
  if (required === false || types.length === 0) return undefined
  throw new UnsupportedError(`its body is ${types.map(([type]) => type).join(' or ')}, and tools send JSON and forms`)
}

function hasFields(document: Fields, schema: unknown): boolean {
  const target = resolveRef(document, schema)
  if (!isObject(target)) return false
  const { properties, ...others } = target
  return Object.keys(Object(properties)).length > 0 || ['allOf', 'anyOf', 'oneOf'].some((keyword) => keyword in others)
}

/** Returns the template of the body: one argument for each of its properties, or one for all of a JSON body. */
function bodyOf(document: Fields, media: Media, schemas: SchemaReader, all: Arguments): unknown {
  // A reference at the root is always resolved, so that the body's own properties are seen.
  const schema = schemas.read(resolveRef(document, media.schema))
  const { type, properties, additionalProperties, required: needed } = schema
  const isPlain = Object.keys(schema).every((keyword) => PLAIN.has(keyword)) && !isObject(additionalProperties)
  const parts = Object.entries(isObject(properties) ? properties : {})
  const neededNames: readonly unknown[] = Array.isArray(needed) ? needed : []
  const isNeeded = (key: string) => neededNames.includes(key)
  if (media.form) return formOf(media, parts, { all, isNeeded })
  // Few documents say that a body is required. If one says that it is not, it is whole or not there.
  const isWhole = media.required === false && neededNames.length > 0
  if (type !== 'object' || !isPlain || isWhole || additionalProperties === true || parts.length === 0) {
    return all.add('body', 'json', schema, media.required === true)
  }
  return Object.fromEntries(
    parts.map(([key, inner]) => [key, all.add(key, 'body', isObject(inner) ? inner : {}, isNeeded(key))]),
  )
}

interface FormArguments {
  readonly all: Arguments
  readonly isNeeded: (key: string) => boolean
}

/** Returns the fields of a form, each with its argument. An optional file is left out, since tools send none. */
function formOf({ encoding }: Media, parts: readonly [string, unknown][], form: FormArguments): unknown {
  const { all, isNeeded } = form
  if (parts.length === 0) throw new UnsupportedError('its form is of several schemas, and tools send the fields of one')
  const fields = parts.flatMap(([key, inner]) => {
    const schema = isObject(inner) ? inner : {}
    const shape = all.shape(schema)
    if (isFile(shape)) {
      if (isNeeded(key)) throw new UnsupportedError(`its field ${key} is a file, and tools send none`)
      return []
    }
    const { style, explode, contentType } = Object(Object(encoding)[key])
    const placeholder = all.add(key, 'body', schema, isNeeded(key))
    if (style === undefined && explode === undefined) {
      // Without a style, a value is of the media type of its kind, which is JSON for objects.
      const isOneText = mayBeObject(shape) || JSON_TYPE.test(String(contentType))
      const { items } = shape
      const isList = isOf(shape, 'array') && isObject(items) && (mayBeObject(items) || mayBeList(items))
      return [
        [
          key,
          isOneText || isList
            ? all.style(placeholder, { style: 'json', ...(!isOneText && { explode: true }) })
            : placeholder,
        ],
      ]
    }
    if (style === 'deepObject') return [[isOf(shape, 'array') ? `${key}[]` : key, placeholder]]
    const isExploded = explode ?? (style ?? 'form') === 'form'
    const isStyled = mayBeObject(shape) || (mayBeList(shape) && isExploded !== true)
    return [[key, isStyled ? all.style(placeholder, pairStyle(style, isExploded)) : placeholder]]
  })
  return Object.fromEntries(fields)
}
