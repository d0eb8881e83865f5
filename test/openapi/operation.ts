import { followRef, isObject, type JsonSchema } from '../../src/contract/json.ts'
import type { Random } from './random.ts'
import type { SchemaCheck } from './schema-check.ts'
import { fits, sample, type Alphabet } from './sample.ts'
import { isCompound, Unreadable, type Parameter } from './read-request.ts'

export type Fields = Readonly<Record<string, unknown>>

/** An operation of a document, and the definition that the importer made of it. */
export interface Operation {
  readonly document: Fields
  readonly method: string
  readonly path: string
  readonly item: Fields
  readonly fields: Fields
  readonly definition: Definition
  readonly check: SchemaCheck
}

export interface Definition extends Fields {
  readonly name: string
  readonly inputSchema: JsonSchema
  readonly http: {
    readonly url: string
    readonly query?: Readonly<Record<string, string>>
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
    readonly bodyType?: string
  }
}

/** A part of the request, with the arguments that fill it: one, or one for each key of an object. */
export interface Part {
  readonly parameter: Parameter & Fields
  readonly argument?: string
  readonly keys?: Readonly<Record<string, string>>
}

export const PLACEHOLDER = /\{([^{}|]+)(?:\|[^{}])?\}/g
/** Headers that tools leave to the edge and the platform, and names that no header has. */
const NOT_SENT =
  /^(?:cookie|host|via|date|expect|te|connection|content-length|idempotency-key|forwarded|(?:x-forwarded|sec|proxy|cf)-.*|.*[^\w!#$%&'*+.^`|~-].*)$/i

export function deref(document: Fields, value: unknown): Fields {
  let at = value
  for (let hops = 0; isObject(at) && typeof at['$ref'] === 'string' && hops < 20; hops++)
    at = followRef(document, at['$ref'])
  return isObject(at) ? at : {}
}

/** The parameters of an operation that a tool sends: those of the operation win over those of its path. */
export function parametersOf({ document, path, item, fields }: Operation): (Parameter & Fields)[] {
  const all = new Map<string, Parameter & Fields>()
  for (const each of [item['parameters'], fields['parameters']].flatMap((list) => (Array.isArray(list) ? list : []))) {
    const parameter = deref(document, each)
    const [name, place] = [String(parameter['name']), String(parameter['in'])]
    if (place === 'cookie' || (place === 'path' && !path.includes(`{${name}}`))) continue
    if (place === 'header' && NOT_SENT.test(name)) continue
    if (place === 'header' && /^(?:accept|content-type|authorization)$/i.test(name)) continue
    all.set(`${place} ${name}`, {
      ...parameter,
      ...styleIn(parameter, place),
      ...shownIn({ document, fields }, parameter),
      name,
      in: place,
    })
  }
  return [...all.values()]
}

const QUERY_STYLES = new Set<unknown>(['form', 'spaceDelimited', 'pipeDelimited', 'deepObject'])

/** A style that a query does not have is read as `form`; like all but that, its default is not to explode. */
function styleIn({ style, explode = false, content }: Fields, place: string): Fields {
  const isKnown = style === undefined || QUERY_STYLES.has(style)
  return place === 'query' && !isKnown && content === undefined ? { style: 'form', explode } : {}
}

/** An object whose brackets the document shows, such as `sort_by[name]=asc`, is written with them. */
function shownIn(
  { document, fields: { description, summary } }: Pick<Operation, 'document' | 'fields'>,
  parameter: Fields,
): Fields {
  const { type } = deref(document, parameter['schema'])
  if (
    parameter['in'] !== 'query' ||
    parameter['content'] !== undefined ||
    (parameter['style'] ?? 'form') !== 'form' ||
    (type !== undefined && ![type].flat().includes('object'))
  )
    return {}
  const texts = decoded(JSON.stringify([parameter, description, summary]))
  return new RegExp(`\\b${escaped(String(parameter['name']))}\\[[\\w-]+\\][^\\s=]*=`).test(texts)
    ? { style: 'deepObject' }
    : {}
}

/** What kinds of parameters and body an operation has, for a choice with variety. */
export function kindsOf(operation: Operation): string[] {
  const { document, fields } = operation
  const kinds = parametersOf(operation).map((parameter) => {
    const { schema, content, style, explode, in: place } = parameter
    const { type, anyOf, oneOf, allOf, items } = deref(document, schema)
    const shape = content ? 'content' : (type ?? (anyOf || oneOf ? 'union' : allOf ? 'all' : 'any'))
    return [place, style, explode, shape, Object(items)['type']].map(String).join(' ')
  })
  const content = Object(deref(document, fields['requestBody'])['content'])
  return [
    ...kinds,
    ...Object.entries(content).map(
      ([type, media]) => `${type} ${Object.keys(Object(Object(media).encoding)).length > 0}`,
    ),
  ]
}

/** Finds the arguments of each parameter in the definition. Throws an Unreadable for one that has none. */
export function partsOf(operation: Operation): Part[] {
  const { path, definition } = operation
  const { url, query = {}, headers = {} } = definition.http
  const inUrl = [...url.matchAll(PLACEHOLDER)].map(([, name]) => name)
  const inPath = [...path.matchAll(/\{([^{}]+)\}/g)].map(([, name]) => name)
  const argumentIn = (text: string | undefined) => [...(text ?? '').matchAll(PLACEHOLDER)][0]?.[1]
  const names = new Set(parametersOf(operation).flatMap((each) => (each.in === 'query' ? [each.name] : [])))
  const claimed = new Set<string>()
  return parametersOf(operation).flatMap((parameter): Part | [] => {
    const { name, in: place } = parameter
    const found = (argument: string | undefined): Part => {
      if (argument === undefined) throw new Unreadable(`the ${place} parameter ${name} has no argument`)
      if (!argument.includes(name.replace(/[^\w.-]+/g, '_').slice(0, 20)))
        throw new Unreadable(`${name} is named ${argument}`)
      return { parameter, argument }
    }
    if (place === 'path') return found(inUrl[inPath.indexOf(name)])
    if (place === 'header')
      return found(argumentIn(Object.entries(headers).find(([key]) => key.toLowerCase() === name.toLowerCase())?.[1]))
    const own = query[name] ?? query[`${name}[]`]
    if (own !== undefined) return found(argumentIn(own))
    const taken = Object.keys(propertiesOf(operation, parameter.schema)).filter(
      (key) => names.has(key) || claimed.has(key),
    )
    const keys = Object.entries(query).flatMap(([key, text]): [string, string][] => {
      const argument = argumentIn(text) ?? ''
      const inner =
        parameter.style === 'deepObject'
          ? new RegExp(`^${escaped(name)}\\[([^\\]]*)\\](?:\\[\\])?$`).exec(key)?.[1]
          : undefined
      const isPart =
        parameter.style !== 'deepObject' &&
        !names.has(key) &&
        Object.hasOwn(propertiesOf(operation, parameter.schema), key)
      if (claimed.has(key)) return []
      if (isPart) claimed.add(key)
      return inner !== undefined ? [[inner, argument]] : isPart ? [[key, argument]] : []
    })
    // The document gives the keys of this object to other parameters.
    if (keys.length === 0 && taken.length > 0) return []
    if (keys.length === 0) return found(undefined)
    return { parameter, keys: Object.fromEntries(keys) }
  })
}

function propertiesOf({ document }: Operation, schema: unknown): Fields {
  const { properties, allOf } = deref(document, schema)
  const inherited = (Array.isArray(allOf) ? allOf : []).map((each) => Object(deref(document, each)['properties']))
  return Object.assign({}, ...inherited, properties)
}

/** Makes arguments: all of them, some, or those that are required. Undefined if a required one could not be made. */
export function argumentsFor(
  operation: Operation,
  parts: readonly Part[],
  options: { readonly share: number; readonly random: Random },
): Record<string, unknown> | undefined {
  const { inputSchema } = operation.definition
  const { random, share } = options
  const defs = Object(inputSchema['$defs'])
  const needed: readonly unknown[] = Array.isArray(inputSchema['required']) ? inputSchema['required'] : []
  const alphabets = new Map(
    parts.flatMap(({ parameter, argument, keys }) =>
      [...(argument === undefined ? [] : [argument]), ...Object.values(keys ?? {})].map(
        (each) => [each, alphabetOf(parameter, operation.path)] as const,
      ),
    ),
  )
  // A multipart form escapes nothing within a value.
  const isMultipart = operation.definition.http.bodyType === 'multipart'
  const examples = new Map(
    parts.flatMap(({ parameter, argument }) =>
      argument === undefined ? [] : [[argument, examplesOf(operation, parameter)] as const],
    ),
  )
  const args: Record<string, unknown> = {}
  for (const [name, schema] of Object.entries<JsonSchema>(Object(inputSchema['properties']))) {
    if (!needed.includes(name) && random() >= share) continue
    const alphabet = alphabets.get(name) ?? (isMultipart ? 'pipe' : 'any')
    const texts = (examples.get(name) ?? []).filter((each) => fits(schema, each, defs) && alphabet === 'any')
    const value =
      texts.length > 0 && random() < 0.3
        ? texts[Math.floor(random() * texts.length)]
        : sample(schema, { random, defs, alphabet })
    if (value === undefined && needed.includes(name)) return undefined
    // A path has no empty segments.
    if ((value === null || value === '' || value === '.' || value === '..') && needed.includes(name)) return undefined
    if (value !== undefined && value !== null) args[name] = value
  }
  return args
}

/** Returns why no server could read these arguments as the document has them written; undefined if it could. */
export function contradictionOf(parts: readonly Part[], args: Fields): string | undefined {
  const keys = parts.flatMap(({ parameter }) => (parameter.in === 'query' ? [parameter.name] : []))
  for (const { parameter, argument } of parts) {
    const value = argument === undefined ? undefined : args[argument]
    if (!isObject(value) || parameter.content !== undefined) continue
    if (parameter.in === 'header' && Object.values(value).some(isCompound))
      return 'a header has no style for nested values'
    if (parameter.in === 'query' && isLoose({ parameter })) keys.push(...Object.keys(value))
  }
  return new Set(keys).size < keys.length ? 'the document gives two parameters one key' : undefined
}

function examplesOf({ document }: Operation, { example, examples, schema }: Parameter & Fields): unknown[] {
  const named = Object.values(Object(examples)).map((each) => deref(document, each)['value'])
  const own = deref(document, schema)
  return [example, ...named, own['example'], ...(Array.isArray(own['examples']) ? own['examples'] : [])].filter(
    (each) => each !== undefined && !['null', '""', '[]', '{}'].includes(JSON.stringify(each)),
  )
}

function alphabetOf({ in: place, style, name }: Parameter, path: string): Alphabet {
  if (place === 'header') return 'header'
  if (style === 'spaceDelimited') return 'space'
  if (style === 'pipeDelimited') return 'pipe'
  if (place !== 'path') return 'any'
  const segment = path.split('/').find((each) => each.includes(`{${name}}`))
  if (segment !== `{${name}}`) return 'word'
  return style === 'label' ? 'label' : 'any'
}

/** Whether a parameter takes any key of the query that others leave. */
export const isLoose = ({ parameter: { style = 'form', explode = true, content } }: Part) =>
  style === 'form' && explode === true && content === undefined

export const decoded = (text: string) => text.replaceAll('%5B', '[').replaceAll('%5D', ']')

export function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&')
}
