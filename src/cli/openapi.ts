import { isObject, type JsonSchema } from '../contract/json.ts'
import { parseStored } from '../definitions/definition.ts'
import { wireName } from '../contract/wire-name.ts'
import { Failure } from './failure.ts'
import { requestArguments } from './openapi-arguments.ts'
import { resolveRef, SchemaReader, UnsupportedError } from './openapi-schema.ts'

export interface OpenApiOptions {
  /** The host of the API, such as `api.example.com` or `http://127.0.0.1:8080`. Default: the document's server. */
  readonly host?: string | undefined
  /** The name of the secret to send as the document's security schemes require, such as `SECRET_PETS`. */
  readonly secret?: string | undefined
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
  const names = new Set<string>()
  const tools: ImportedTool[] = []
  const skipped: { operation: string; reason: string }[] = []
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
          const tool = toTool(document, { ...operation, fields: fieldsOf(document, operation) }, options, names)
          names.add(tool.name)
          tools.push(tool)
        })
      }
    })
  }
  return { tools, skipped }
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

function toTool(document: Fields, operation: Operation, options: OpenApiOptions, names: Set<string>): ImportedTool {
  const { method } = operation
  if (OTHERS.includes(method)) throw new UnsupportedError(`no tool sends ${method.toUpperCase()}`)
  const name = nameOf(operation, names)
  const base = { name, ...saidOf(operation), annotations: annotationsOf(method) }
  const definitions = [true, false].map((inline) => {
    const { inputSchema, http } = requestOf(document, operation, options, inline)
    return visible({ ...base, inputSchema, http })
  })
  // If the definition is too large with its references inlined, the one with `$defs` is taken.
  const checked = definitions.map((definition) => ({ definition, parsed: parseStored(definition) }))
  const sound = checked.find(({ parsed }) => parsed.ok)
  const [way] = waysOf(document, operation.fields)
  const wantsKey = way !== undefined && way.length > 0
  if (sound) return { name, definition: sound.definition, wantsKey }
  const issues = checked.flatMap(({ parsed }) => (parsed.ok ? [] : parsed.issues))
  throw new UnsupportedError(
    issues.map(({ path, message }) => `${path}: ${message}`)[0] ?? 'it is not a valid definition',
  )
}

/** Returns a unique name: the operation's id, or else its method and path. */
function nameOf({ fields: { operationId }, method, path }: Operation, names: ReadonlySet<string>): string {
  const words = `${method} ${path}`.replace(/[^A-Za-z0-9]+/g, '_').replace(/^_+|_+$/g, '')
  const wanted = typeof operationId === 'string' && operationId.trim() !== '' ? operationId.trim() : words
  for (let count = 1; ; count++) {
    const name = wireName(count === 1 ? wanted : `${wanted}_${count}`)
    if (!names.has(name)) return name
  }
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
  document: Fields,
  operation: Operation,
  options: OpenApiOptions,
  inline: boolean,
): { readonly inputSchema: JsonSchema; readonly http: Fields } {
  const { method, fields } = operation
  const schemas = new SchemaReader(document, inline)
  const { properties, required, path, query, headers, body, bodyType } = requestArguments(document, operation, schemas)
  const secret = securityOf(document, fields, options)
  const all = { ...headers, ...secret?.headers }
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
      ...(body !== undefined && { body }),
      ...(bodyType !== undefined && { bodyType }),
      ...(secret && { secrets: secret.names }),
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
