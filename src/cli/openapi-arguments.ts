import { isObject, type JsonSchema } from '../contract/json.ts'
import { resolveRef, type SchemaReader, UnsupportedError } from './openapi-schema.ts'

/** An operation's parameters and body as the arguments of a tool, and the part of the request that each one fills. */
export interface RequestArguments {
  readonly properties: Readonly<Record<string, JsonSchema>>
  readonly required: readonly string[]
  /** The path with a placeholder for each of its parameters. */
  readonly path: string
  readonly query: Readonly<Record<string, string>>
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
}

const PLACES = new Set<unknown>(['path', 'query', 'header'])

/** Reads the arguments of an operation. Throws an UnsupportedError if a definition cannot express what it needs. */
export function requestArguments(document: Fields, source: Source, schemas: SchemaReader): RequestArguments {
  const all = new Arguments()
  const query: Record<string, string> = {}
  const headers: Record<string, string> = {}
  const inPath = new Map<string, string>()
  for (const parameter of parametersOf(document, source)) {
    const { name: parameterName, in: place, required } = parameter
    const name = String(parameterName)
    const isRequired = required === true || place === 'path'
    // OpenAPI ignores header parameters with these names: other parts of the document define them.
    if (place === 'header' && /^(?:accept|content-type|authorization)$/i.test(name)) continue
    if (parameterName === undefined) throw new UnsupportedError('one of its parameters has no name')
    if (place === 'cookie') {
      if (isRequired) throw new UnsupportedError(`it needs the cookie ${name}, and tools send none`)
      continue
    }
    if (!PLACES.has(place))
      throw new UnsupportedError(`its parameter ${name} goes into the ${String(place)}, where tools put no parameters`)
    const schema = schemaOf(parameter, schemas)
    if (place === 'query') addQuery({ all, query }, { ...parameter, name, isRequired }, schema)
    else if (!isOf(schema, 'object')) {
      const plain = all.add(name, String(place), schema, isRequired)
      const placeholder = isOf(schema, 'array') ? joined(plain, ',') : plain
      if (place === 'path') inPath.set(name, styled(parameter, placeholder))
      else headers[name] = placeholder
    } else if (isRequired)
      throw new UnsupportedError(
        `its parameter ${name} is an object in the ${String(place)}, and tools send none there`,
      )
  }
  const path = source.path.replace(
    /\{([^{}]+)\}/g,
    (_, name: string) => inPath.get(name) ?? all.add(name, 'path', { type: 'string' }, true),
  )
  const media = mediaOf(document, source)
  const body = media && bodyOf(document, media, schemas, all)
  // Servers may refuse a patch or a JSON:API document that is sent as plain JSON.
  if (media && !media.form && !PLAIN_JSON.test(media.type)) headers['content-type'] = media.type
  const { properties, required } = all
  return {
    ...{ properties, required, path, query, headers },
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

function schemaOf({ schema, content, description }: Fields, schemas: SchemaReader): JsonSchema {
  const [media] = Object.values(isObject(content) ? content : {})
  const read = schemas.read(schema ?? (isObject(media) ? media['schema'] : undefined))
  const isSaid = typeof description !== 'string' || description === '' || read['description'] !== undefined
  return isSaid ? read : { ...read, description }
}

/** Returns whether all values of a schema are of a type, or null. */
function isOf({ type }: JsonSchema, wanted: string): boolean {
  const types = [type].flat()
  return types.includes(wanted) && types.every((each) => each === wanted || each === 'null')
}

/** Returns the placeholder of a list whose items are joined. */
function joined(placeholder: string, joiner: string): string {
  return placeholder.replace('}', `|${joiner}}`)
}

/** Returns what stands in the path for a parameter. */
function styled({ name, style = 'simple' }: Fields, placeholder: string): string {
  if (style === 'simple') return placeholder
  throw new UnsupportedError(
    `its parameter ${String(name)} is written into the path in the style ${String(style)}, which tools do not know`,
  )
}

interface QueryParameter extends Fields {
  readonly name: string
  readonly isRequired: boolean
}

/**
 * Adds a query parameter. For a list, a definition can only repeat the key, so other list styles become a string
 * argument. An object becomes one argument for each of its properties.
 */
function addQuery(
  { all, query }: { all: Arguments; query: Record<string, string> },
  { name, isRequired, explode, style = 'form', content }: QueryParameter,
  schema: JsonSchema,
): void {
  const { properties, required, description = '' } = schema
  if (isOf(schema, 'object') && content === undefined) {
    const parts = Object.entries(isObject(properties) ? properties : {})
    if (parts.length === 0 || (style === 'form' && explode === false)) {
      if (isRequired)
        throw new UnsupportedError(`the query parameter ${name} is an object of a form that tools do not send`)
      return
    }
    for (const [key, inner] of parts) {
      const isNeeded = isRequired && Array.isArray(required) && required.includes(key)
      query[style === 'deepObject' ? `${name}[${key}]` : key] = all.add(
        key,
        name,
        isObject(inner) ? inner : {},
        isNeeded,
      )
    }
    return
  }
  const isList = isOf(schema, 'array')
  const asJson = { type: 'string', description: `${String(description)} A list, as JSON.`.trim() }
  const placeholder = all.add(name, 'query', isList && content !== undefined ? asJson : schema, isRequired)
  const joiner = style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ','
  const isJoined = isList && content === undefined && (explode === false || joiner !== ',')
  query[name] = isJoined ? joined(placeholder, joiner) : placeholder
}

const PLAIN_JSON = /^(?:application\/json(?:;.*)?|application\/\*|\*\/\*)$/i
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:;.*)?$/i
/** The keywords of a body schema whose properties can become separate arguments without a loss. */
const PLAIN = new Set(['type', 'properties', 'required', 'additionalProperties', 'title', 'description'])

const FORMS = [
  ['form', /^application\/x-www-form-urlencoded(?:;.*)?$/i],
  ['multipart', /^multipart\/form-data(?:;.*)?$/i],
] as const

interface Media {
  readonly type: string
  readonly schema: unknown
  readonly isRequired: boolean
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
  const isRequired = required === true
  const types = Object.entries(isObject(content) ? content : {})
  for (const form of [PLAIN_JSON, JSON_TYPE]) {
    const [type, media] = types.find(([each, inner]) => form.test(each) && isObject(inner)) ?? []
    if (type !== undefined && isObject(media)) return { type, schema: media['schema'], isRequired }
  }
  for (const [form, pattern] of FORMS) {
    const [type, media] = types.find(([each, inner]) => pattern.test(each) && isObject(inner)) ?? []
    if (type === undefined || !isObject(media)) continue
    // Forms without fields are common in documents that name a type for every operation.
    if (!hasFields(document, media['schema'])) {
      if (isRequired) throw new UnsupportedError(`its body is ${type} with fields that the document does not name`)
      return undefined
    }
    return { type, schema: media['schema'], isRequired: required !== false, form, encoding: media['encoding'] }
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
  const { isRequired, form } = media
  // A reference at the root is always resolved, so that the body's own properties are seen.
  const schema = schemas.read(resolveRef(document, media.schema))
  const { type, properties, additionalProperties, required: needed } = schema
  const isPlain = Object.keys(schema).every((keyword) => PLAIN.has(keyword)) && !isObject(additionalProperties)
  const parts = Object.entries(isObject(properties) ? properties : {})
  const isNeeded = (key: string) => isRequired && Array.isArray(needed) && needed.includes(key)
  if (form) return formOf(media, parts, { all, isNeeded })
  if (type !== 'object' || !isPlain || additionalProperties === true || parts.length === 0) {
    return all.add('body', 'json', schema, isRequired)
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
    if (isFile(schema)) {
      if (isNeeded(key)) throw new UnsupportedError(`its field ${key} is a file, and tools send none`)
      return []
    }
    const { style, explode } = Object(Object(encoding)[key])
    const placeholder = all.add(key, 'body', schema, isNeeded(key))
    if (!isOf(schema, 'array')) return [[key, placeholder]]
    if (style === 'deepObject') return [[`${key}[]`, placeholder]]
    const joiner = style === 'spaceDelimited' ? ' ' : style === 'pipeDelimited' ? '|' : ','
    return [[key, explode === false ? joined(placeholder, joiner) : placeholder]]
  })
  return Object.fromEntries(fields)
}

function isFile(schema: JsonSchema): boolean {
  const { format, items, contentMediaType } = schema
  return format === 'binary' || contentMediaType !== undefined || (isObject(items) && isFile(items))
}
