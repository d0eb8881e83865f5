import * as v from 'valibot'
import { isObject, type JsonSchema } from '../contract/json.ts'
import type { DefinitionIssue } from '../contract/setup.ts'
import { parseEndpoint } from './endpoint.ts'
import { POINTER } from './pointer.ts'
import { namesIn } from './template.ts'

const texts = v.record(v.string(), v.string())

/** A placeholder that begins so stands for a secret, by its name in the environment. */
const SECRET = 'SECRET_'

export const HTTP_CALL = v.strictObject({
  method: v.picklist(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: v.pipe(v.string(), v.maxLength(2048)),
  headers: v.exactOptional(texts),
  query: v.exactOptional(texts),
  body: v.exactOptional(v.unknown()),
  result: v.exactOptional(
    v.pipe(
      v.string(),
      v.check(
        (result) => result === 'text' || POINTER.test(result),
        'expected "text" or a JSON pointer such as /data/0',
      ),
    ),
  ),
  secrets: v.exactOptional(v.array(v.pipe(v.string(), v.regex(/^SECRET_[A-Z0-9_]+$/)))),
})

/**
 * The request of a stored HTTP tool. URL path, query and header values, and all texts of the JSON body may hold
 * placeholders, `{argument}`; header values and body also `{SECRET_…}`, once `secrets` lists it.
 */
export type HttpCall = Readonly<v.InferOutput<typeof HTTP_CALL>>

/**
 * What is wrong with a request, hosts aside: its URL, headers that are not a tool's to send, placeholders that name no
 * argument, a path that needs an argument which may be left out, a secret where it would be seen.
 */
export function checkHttpCall(http: HttpCall, inputSchema: JsonSchema): DefinitionIssue[] {
  return [...urlIssues(http, inputSchema), ...headerIssues(http), ...bodyIssues(http), ...nameIssues(http, inputSchema)]
}

function urlIssues({ url }: HttpCall, { required }: JsonSchema): DefinitionIssue[] {
  const endpoint = parseEndpoint(url)
  if (typeof endpoint === 'string') return [{ path: 'http.url', message: endpoint }]
  const names = endpoint.segments.flat().flatMap((piece) => (typeof piece === 'string' ? [] : [piece.name]))
  const optional = names.filter(
    (name) => !name.startsWith(SECRET) && !(Array.isArray(required) && required.includes(name)),
  )
  return optional.map((name) => ({ path: 'http.url', message: `expected "${name}" to be required: the path needs it` }))
}

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** What HTTP allows in a header's value and every server reads alike. */
export const HEADER_VALUE = /^[\t\u0020-\u007e\u00a0-\u00ff]*$/

/** Headers of the connection, of cookies, of proxies, and those that the host sets itself. */
const RESERVED = new Set([
  'connection',
  'content-length',
  'cookie',
  'cookie2',
  'date',
  'expect',
  'forwarded',
  'host',
  'idempotency-key',
  'keep-alive',
  'set-cookie',
  'set-cookie2',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'via',
])
const RESERVED_PREFIX = /^(?:proxy-|sec-|cf-|x-forwarded-)/
const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json(?:;.*)?$/i

function headerIssues({ headers = {} }: HttpCall): DefinitionIssue[] {
  const seen = new Set<string>()
  return Object.entries(headers).flatMap(([name, value]) => {
    const path = `http.headers.${name}`
    const header = name.toLowerCase()
    const twice = seen.has(header)
    seen.add(header)
    if (!HEADER_NAME.test(name)) return [{ path, message: 'expected a header name' }]
    if (twice) return [{ path, message: 'expected each header once' }]
    if (RESERVED.has(header) || RESERVED_PREFIX.test(header)) {
      return [{ path, message: 'expected another header: this one is not for a tool to send' }]
    }
    if (!HEADER_VALUE.test(value)) return [{ path, message: 'expected one line of Latin-1 text' }]
    if (header !== 'content-type' || JSON_TYPE.test(value)) return []
    return [{ path, message: 'expected a JSON type, since the body is sent as JSON' }]
  })
}

function bodyIssues({ body, method }: HttpCall): DefinitionIssue[] {
  if (body === undefined || (method !== 'GET' && method !== 'HEAD')) return []
  return [{ path: 'http.body', message: `expected no body with ${method}` }]
}

function nameIssues(http: HttpCall, { properties }: JsonSchema): DefinitionIssue[] {
  const known = isObject(properties) ? properties : {}
  const maskers = Object.keys(known).filter((name) => name.startsWith(SECRET))
  return [
    ...maskers.map((name) => ({
      path: `inputSchema.properties.${name}`,
      message: 'expected a name that is no secret’s',
    })),
    ...placesOf(http).flatMap(({ path, value, hidden }) =>
      namesIn(value).flatMap((name) => {
        const message = name.startsWith(SECRET) ? secretFault(name, http, hidden) : argumentFault(name, known)
        return message === undefined ? [] : [{ path, message }]
      }),
    ),
  ]
}

interface Place {
  readonly path: string
  readonly value: unknown
  /** Kept out of logs and of history by servers and proxies, as URLs are not. */
  readonly hidden: boolean
}

function placesOf({ url, query = {}, headers = {}, body }: HttpCall): Place[] {
  return [
    { path: 'http.url', value: url, hidden: false },
    ...Object.entries(query).map(([name, value]) => ({ path: `http.query.${name}`, value, hidden: false })),
    ...Object.entries(headers).map(([name, value]) => ({ path: `http.headers.${name}`, value, hidden: true })),
    { path: 'http.body', value: body, hidden: true },
  ]
}

function secretFault(name: string, { secrets = [] }: HttpCall, hidden: boolean): string | undefined {
  if (!hidden) return `expected {${name}} in a header or the body: URLs end up in logs`
  return secrets.includes(name) ? undefined : `expected ${name} to be listed in http.secrets`
}

function argumentFault(name: string, known: Readonly<Record<string, unknown>>): string | undefined {
  if (Object.hasOwn(known, name)) return undefined
  return `expected {${name}} to be a property of inputSchema; braces of plain text need a space inside`
}
