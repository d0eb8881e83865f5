import { withoutLongLimits } from '../wire/schema.ts'
import { isObject, type JsonSchema } from '../contract/json.ts'
import { parseStored } from '../definitions/definition.ts'
import { wireName } from '../contract/tool-names.ts'
import { Failure } from './failure.ts'
import { requestArguments } from './openapi-arguments.ts'
import { operationSelector, type OperationFilter } from './openapi-filter.ts'
import type { SecretHeader } from './secret-header.ts'
import { resolveRef, SchemaReader, SchemaSizes, UnsupportedError } from './openapi-schema.ts'

export interface OpenApiOptions {
  /** The host of the API, such as `api.example.com` or `http://127.0.0.1:8080`. Default: the document's server. */
  readonly host?: string | undefined
  /** The name of the secret to send as the document's security schemes require, such as `SECRET_PETS`. */
  readonly secret?: string | undefined
  /** Headers that every call sends, with the secrets in them. Default: none. */
  readonly headers?: readonly SecretHeader[]
  /** Which operations are read. Default: all. */
  readonly filter?: OperationFilter
}

export interface ImportedTool {
  readonly name: string
  readonly definition: Readonly<Record<string, unknown>>
  /** Whether the document requires credentials for the operation. */
  readonly wantsKey: boolean
}

/** The definitions made of a document's operations, and the operations left out, with the reason. */
export interface ImportedTools {
  readonly tools: readonly ImportedTool[]
  /** How many operations the document has, and how many of them the filter selects, those beyond its limit too. */
  readonly total: number
  readonly selected: number
  readonly skipped: readonly { readonly operation: string; readonly reason: string }[]
}

type Fields = Readonly<Record<string, unknown>>

/** An operation, with its method, its path and its path item. */
interface Operation {
  readonly method: string
  readonly path: string
  readonly item: Fields
  readonly fields: Fields
}

const METHODS = ['get', 'head', 'post', 'put', 'patch', 'delete']
const OTHERS = ['options', 'trace']

/**
 * Reads an OpenAPI 3 document: each operation becomes one `http` definition, checked as an edge checks it. Throws a
 * Failure if it is not such a document, or if neither the document nor `host` names the API's host.
 */
export function readOpenApi(document: unknown, options: OpenApiOptions = {}): ImportedTools {
  const { openapi, swagger, paths } = isObject(document) ? document : {}
  if (!isObject(document) || typeof openapi !== 'string' || !openapi.startsWith('3.')) {
    const version = typeof swagger === 'string' ? `Swagger ${swagger}` : 'something else'
    throw new Failure(`Expected an OpenAPI 3 document, received ${version}.`, 'Convert it to OpenAPI 3 first.')
  }
  const { filter } = options
  const select = filter && operationSelector(filter)
  const names = new Set<string>()
  const reading: Reading = { document, options, names, sizes: new SchemaSizes(document) }
  const tools: ImportedTool[] = []
  const skipped: { operation: string; reason: string }[] = []
  let [total, selected] = [0, 0]
  for (const [path, item] of Object.entries(isObject(paths) ? paths : {})) {
    const attempt = (what: string, make: () => void) => {
      try {
        make()
      } catch (error) {
        if (!(error instanceof UnsupportedError)) throw error
        skipped.push({ operation: what, reason: error.message })
      }
    }
    attempt(path, () => {
      for (const operation of operationsOf(document, path, item)) {
        attempt(`${operation.method.toUpperCase()} ${path}`, () => {
          total += 1
          const fields = fieldsOf(document, operation)
          if (select && !select.isSelected({ ...operation, fields })) return
          selected += 1
          if (tools.length >= (filter?.limit ?? Infinity)) return
          const tool = toTool({ ...operation, fields }, reading)
          names.add(tool.name)
          tools.push(tool)
        })
      }
    })
  }
  select?.checkAll()
  return { tools, skipped, total, selected }
}

function operationsOf(document: Fields, path: string, item: unknown): Operation[] {
  const pathItem = resolveRef(document, item)
  if (!isObject(pathItem)) return []
  return [...METHODS, ...OTHERS].flatMap((method) => {
    const fields = pathItem[method]
    return isObject(fields) ? [{ method, path, item: pathItem, fields }] : []
  })
}

/** Returns an operation's own fields, from where its reference leads if it is one. */
function fieldsOf(document: Fields, { fields }: Operation): Fields {
  const operation = resolveRef(document, fields)
  if (!isObject(operation)) throw new UnsupportedError(`the reference ${String(fields['$ref'])} leads to no operation`)
  return operation
}

/** What stays the same while the operations of a document are read. */
interface Reading {
  readonly document: Fields
  readonly options: OpenApiOptions
  /** The names of the tools so far. */
  readonly names: Set<string>
  readonly sizes: SchemaSizes
}

function toTool(operation: Operation, reading: Reading): ImportedTool {
  const { document, names, sizes } = reading
  const { method } = operation
  const schemas = (inline: boolean) => new SchemaReader(document, inline, sizes)
  if (OTHERS.includes(method)) throw new UnsupportedError(`no tool sends ${method.toUpperCase()}`)
  const name = nameOf(operation, names)
  const base = { name, ...saidOf(operation), annotations: annotationsOf(method) }
  const [way] = waysOf(document, operation.fields)
  const wantsKey = way !== undefined && way.length > 0
  const reasons: string[] = []
  // If the definition is too large with its references inlined, the one with `$defs` is taken.
  for (const inline of [true, false]) {
    try {
      const { inputSchema, http } = requestOf(operation, schemas(inline), reading)
      const definition = visible({ ...base, inputSchema: withoutLongLimits(inputSchema), http })
      const parsed = parseStored(definition)
      if (parsed.ok) return { name, definition, wantsKey }
      const [issue] = parsed.issues
      if (issue) reasons.push(`${issue.path}: ${issue.message}`)
    } catch (error) {
      if (!(error instanceof UnsupportedError)) throw error
      reasons.push(error.message)
    }
  }
  throw new UnsupportedError(reasons.at(-1) ?? 'it is not a valid definition')
}

const MOST_NAME = 64

/**
 * Returns a unique name of letters, digits, hyphens and `_`: the operation's id, or else its method and path. The
 * characters that providers refuse become `_`, and names that are taken are numbered.
 */
function nameOf({ fields: { operationId }, method, path }: Operation, names: ReadonlySet<string>): string {
  const words = `${method} ${path}`.replaceAll('-', '_')
  const wanted = plainName(typeof operationId === 'string' ? operationId : '') || plainName(words)
  for (let count = 1; ; count++) {
    const ending = count === 1 ? '' : `_${count}`
    const name = wireName(`${wanted.slice(0, MOST_NAME - ending.length)}${ending}`)
    if (!names.has(name)) return name
  }
}

function plainName(text: string): string {
  const name = text.replace(/[^A-Za-z0-9_-]+/g, '_').replace(/^[_-]+|[_-]+$/g, '')
  return /^\d/.test(name) ? `_${name}` : name
}

const MOST_TITLE = 128
const MOST_DESCRIPTION = 1024
const MOST_TAG = 64
const MOST_TAGS = 32

function saidOf({ fields, method, path }: Operation): Fields {
  const { summary = '', description: details = '', tags } = fields
  const [title, text] = [String(summary).trim(), String(details).trim()]
  const description =
    text === '' || text === title ? title : title === '' ? text : `${title.replace(/\.$/, '')}. ${text}`
  const labels = Array.isArray(tags) ? tags.map((tag) => cut(String(tag), MOST_TAG)).filter((tag) => tag !== '') : []
  return {
    ...(title !== '' && { title: cut(title, MOST_TITLE) }),
    description: cut(description === '' ? `${method.toUpperCase()} ${path}` : description, MOST_DESCRIPTION),
    ...(labels.length > 0 && { tags: labels.slice(0, MOST_TAGS) }),
  }
}

function cut(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most - 1).toWellFormed()}…` : text
}

/** Returns the annotations that follow from the semantics of an HTTP method. */
function annotationsOf(method: string): Fields {
  const isRead = method === 'get' || method === 'head'
  return {
    ...(isRead && { readOnly: true }),
    ...((isRead || method === 'put' || method === 'delete') && { idempotent: true }),
    ...(method === 'delete' && { destructive: true }),
    openWorld: true,
  }
}

function requestOf(
  operation: Operation,
  schemas: SchemaReader,
  { document, options }: Reading,
): { readonly inputSchema: JsonSchema; readonly http: Fields } {
  const { method, fields } = operation
  const { properties, required, path, query, styles, headers, body, bodyType } = requestArguments(
    document,
    operation,
    schemas,
  )
  const own = options.headers ?? []
  const secret = securityOf(document, fields, own.length > 0 ? {} : options)
  const all = { ...headers, ...secret?.headers, ...Object.fromEntries(own.map(({ name, value }) => [name, value])) }
  const secrets = [...new Set([...(secret?.names ?? []), ...own.flatMap((header) => header.secrets)])]
  return {
    inputSchema: {
      type: 'object',
      properties,
      ...(required.length > 0 && { required }),
      additionalProperties: false,
      ...(Object.keys(schemas.defs).length > 0 && { $defs: schemas.defs }),
    },
    http: {
      method: method.toUpperCase(),
      url: baseOf(document, operation, options.host) + path,
      ...(Object.keys(all).length > 0 && { headers: all }),
      ...(Object.keys(query).length > 0 && { query }),
      ...(Object.keys(styles).length > 0 && { styles }),
      ...(body !== undefined && { body }),
      ...(bodyType !== undefined && { bodyType }),
      ...(secrets.length > 0 && { secrets }),
    },
  }
}

/**
 * Returns the server's URL without a slash at the end. `host` replaces its origin, and also its path if `host` has one.
 */
function baseOf(document: Fields, { item, fields }: Operation, host: string | undefined): string {
  const [server] = [fields['servers'], item['servers'], document['servers']].find(Array.isArray) ?? []
  const { url = '/', variables } = isObject(server) ? server : {}
  const filled = String(url).replace(/\{([^{}]+)\}/g, (_, name: string) => {
    const variable = isObject(variables) ? variables[name] : undefined
    return isObject(variable) ? String(variable['default']) : ''
  })
  const origin = host === undefined ? undefined : host.includes('://') ? host : `https://${host}`
  const base = URL.parse(filled, origin)
  if (!base) throw new Failure('The document does not say where its API answers.', 'Say so: --host api.example.com')
  const address = origin === undefined ? base : URL.parse(origin)
  if (!address) throw new Failure(`--host ${host} is not a host.`)
  const path = address.pathname === '/' ? base.pathname : address.pathname
  return `${address.origin}${path.replace(/\/+$/, '')}`
}

interface Security {
  readonly names: readonly string[]
  readonly headers: Readonly<Record<string, string>>
}

/** Returns the ways to be allowed an operation, each with the schemes that it requires together; none: no credentials. */
function waysOf(document: Fields, fields: Fields): (readonly string[])[] {
  const wanted = fields['security'] ?? document['security']
  return (Array.isArray(wanted) ? wanted : []).map((way) => Object.keys(isObject(way) ? way : {}))
}

/**
 * Returns the headers for the operation's credentials, of the first way whose keys all go into headers. A way with
 * several keys needs a secret for each: `SECRET_PETS_APP_KEY` for the scheme `app-key`. Undefined if the operation
 * requires none, or there is no secret for it.
 */
function securityOf(document: Fields, fields: Fields, { secret }: OpenApiOptions): Security | undefined {
  if (secret === undefined) return undefined
  const { components } = document
  const schemes = isObject(components) ? components['securitySchemes'] : undefined
  const ways = waysOf(document, fields).filter((way) => way.length > 0)
  const hidden: string[] = []
  for (const way of ways) {
    const keys = way.map((scheme) => {
      const name = way.length === 1 ? secret : `${secret}_${scheme.toUpperCase().replace(/[^A-Z0-9]+/g, '_')}`
      return { name, ...headerOf(Object(resolveRef(document, Object(schemes)[scheme])), name) }
    })
    const unsent = keys.find(({ place }) => place !== 'header')
    if (!unsent) {
      const headers = keys.map(({ header, value }) => [header, value] as const)
      if (new Set(headers.map(([header]) => header.toLowerCase())).size === headers.length) {
        return { names: keys.map(({ name }) => name), headers: Object.fromEntries(headers) }
      }
    }
    hidden.push(unsent?.place ?? 'header')
  }
  if (hidden.length === 0 || waysOf(document, fields).some((way) => way.length === 0)) return undefined
  const reason =
    hidden[0] === 'header'
      ? 'its keys go into one header'
      : `its key goes into the ${hidden[0]}, where a secret must not`
  throw new UnsupportedError(reason)
}

/** Returns where a security scheme puts its key: the place, the header's name, and its value for a secret. */
function headerOf(
  scheme: Fields,
  secret: string,
): { readonly place: string; readonly header: string; readonly value: string } {
  const { type, name, in: place, scheme: kind } = scheme
  if (type === 'apiKey') return { place: String(place), header: String(name), value: `{${secret}}` }
  const prefix = String(kind).toLowerCase() === 'basic' ? 'Basic' : 'Bearer'
  return { place: 'header', header: 'authorization', value: `${prefix} {${secret}}` }
}

/** Removes invisible characters from all texts, because an edge refuses definitions with such characters. */
function visible(definition: Fields): Fields {
  // In JSON, the first 32 control characters are escapes.
  if (!/[\u007f-\u009f\u2028\u2029\p{Cf}]|\\u00[01]/u.test(JSON.stringify(definition))) return definition
  const text = JSON.stringify(definition, (_key, value: unknown) =>
    typeof value === 'string'
      ? value
          .replace(/[\u2028\u2029]/g, '\n')
          .replace(/[\p{Cc}\p{Cf}]/gu, (each) => (HARMLESS_CONTROLS.has(each) ? each : ''))
      : value,
  )
  const value: unknown = JSON.parse(text)
  return isObject(value) ? value : {}
}

/** The characters to keep: tab, line ends, and the joiners that some scripts and emoji need. */
const HARMLESS_CONTROLS = new Set('\t\n\r\u200c\u200d')
