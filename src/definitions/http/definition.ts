import * as v from 'valibot'
import { isObject, type JsonSchema, POINTER } from '../../contract/json.ts'
import type { DefinitionIssue } from '../../contract/definition.ts'
import { byName } from '../../wire/schema.ts'
import { nameAlone, namesIn, parseEndpoint } from './template.ts'
import { stylePlaces, STYLES } from './style.ts'
import { isPrivate } from '../../contract/private-host.ts'

const texts = byName(v.string(), v.string())

/** The prefix of a placeholder that stands for a secret, by its name in the environment. */
const SECRET = 'SECRET_'

export const HTTP_CALL = v.strictObject({
  method: v.picklist(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']),
  url: v.pipe(v.string(), v.maxLength(2048)),
  headers: v.exactOptional(texts),
  query: v.exactOptional(texts),
  styles: v.exactOptional(STYLES),
  body: v.exactOptional(v.unknown()),
  bodyType: v.exactOptional(v.picklist(['json', 'form', 'multipart'])),
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
 * The request of a stored HTTP tool. URL path, query and header values, and all texts of the body may hold
 * placeholders, `{argument}`, or `{argument|,}` for a list that is joined by commas (or by another character). The body
 * is sent as JSON, or with `bodyType` as a form: `form` is URL-encoded, `multipart` is `multipart/form-data` without
 * files. Header values and body also `{SECRET_…}`, once `secrets` lists it. `styles` says how arguments are written that
 * are lists or objects, or whose style is not the usual one.
 */
export type HttpCall = Readonly<v.InferOutput<typeof HTTP_CALL>>

const HEADER_NAME = /^[\w!#$%&'*+.^`|~-]+$/
/** Matches a header value that HTTP allows and every server reads alike. */
export const HEADER_VALUE = /^[\t\u0020-\u007e\u00a0-\u00ff]*$/
/** Matches headers that a tool may not send: of the connection, of cookies, of proxies, and those set by the host. */
const RESERVED =
  /^(?:connection|content-length|(?:set-)?cookie2?|date|expect|forwarded|host|idempotency-key|keep-alive|te|trailer|transfer-encoding|upgrade|via|(?:proxy|sec|cf|x-forwarded)-.*)$/
/** Matches the media types of JSON. */
export const JSON_TYPE = /^(?:application|text)\/(?:[\w.-]+\+)?json(?:;.*)?$/i

/**
 * Returns what is wrong with a request, hosts aside: its URL, a header that a tool may not send, a placeholder that
 * names no argument, a path that needs an optional argument, a secret in the URL, which ends up in logs.
 */
export function checkHttpCall(http: HttpCall, inputSchema: JsonSchema): DefinitionIssue[] {
  const faults = [
    ...urlFaults(http, inputSchema),
    ...headerFaults(http),
    ...placeholderFaults(http, inputSchema),
    ...styleFaults(http),
  ]
  return faults.map(([path, expected]) => ({ path, message: `expected ${expected}` }))
}

type Fault = readonly [path: string, expected: string]

function urlFaults({ url, method, body, bodyType = 'json' }: HttpCall, { required }: JsonSchema): Fault[] {
  const endpoint = parseEndpoint(url)
  if (typeof endpoint === 'string') return [['http.url', endpoint]]
  const requiredNames: readonly unknown[] = Array.isArray(required) ? required : []
  const optional = namesIn(endpoint.segments).filter(
    (name) => !name.startsWith(SECRET) && !requiredNames.includes(name),
  )
  const faults = optional.map((name): Fault => ['http.url', `"${name}" to be required: the path needs it`])
  const isBare = method === 'GET' || method === 'HEAD'
  if (isBare && body !== undefined) faults.push(['http.body', `no body with ${method}`])
  if (bodyType !== 'json' && !isObject(body)) faults.push(['http.body', 'an object with the fields of the form'])
  return faults
}

/** A style belongs to the places where its argument stands by itself. */
function styleFaults({ url, query = {}, headers = {}, styles = {}, body, bodyType }: HttpCall): Fault[] {
  const endpoint = parseEndpoint(url)
  if (typeof endpoint === 'string') return []
  const pairs = [...endpoint.query.map(([, text]) => text), ...Object.values(query)]
  const inPlaces = {
    path: namesIn(endpoint.segments),
    query: pairs.map(nameAlone),
    header: namesIn(headers),
    form: bodyType === 'form' || bodyType === 'multipart' ? Object.values(Object(body)).map(nameAlone) : [],
  }
  return Object.entries(styles).flatMap(([argument, style]): Fault[] => {
    const places = stylePlaces(style)
    return places.some((place) => inPlaces[place].includes(argument))
      ? []
      : [[`http.styles.${argument}`, `{${argument}} by itself in the ${places.join(' or a ')}`]]
  })
}

function headerFaults({ headers = {}, bodyType = 'json' }: HttpCall): Fault[] {
  const headerNames = new Set<string>()
  return Object.entries(headers).flatMap(([headerName, value]): Fault[] => {
    const name = headerName.toLowerCase()
    const isForm = name === 'content-type' && bodyType !== 'json'
    const expected = headerNames.has(name)
      ? 'each header once'
      : isForm
        ? `no such header: "bodyType" says what is sent`
        : headerFault(name, value)
    headerNames.add(name)
    return expected === undefined ? [] : [[`http.headers.${headerName}`, expected]]
  })
}

/** Whether a tool may send a header of this name. */
export function maySend(name: string): boolean {
  return HEADER_NAME.test(name) && !RESERVED.test(name.toLowerCase())
}

function headerFault(name: string, value: string): string | undefined {
  if (!HEADER_NAME.test(name)) return 'a header name'
  if (RESERVED.test(name)) return 'another header: this one is not for a tool to send'
  if (!HEADER_VALUE.test(value)) return 'one line of Latin-1 text'
  const isUntrue = name === 'content-type' && !JSON_TYPE.test(value)
  return isUntrue ? 'a JSON type, since the body is sent as JSON' : undefined
}

function placeholderFaults(http: HttpCall, { properties }: JsonSchema): Fault[] {
  const { url, query = {}, headers = {}, body, secrets = [] } = http
  const parameterNames = Object.keys(Object(properties))
  // Servers and proxies keep URLs in logs and history, but not headers and bodies.
  const texts = Object.entries({ url, ...prefixKeys('query', query) })
  const hidden = Object.entries({ ...prefixKeys('headers', headers), body })
  const faultOf = (name: string, isSeen: boolean): string | undefined => {
    if (!name.startsWith(SECRET)) {
      return parameterNames.includes(name)
        ? undefined
        : `{${name}} to be a property of inputSchema; braces of plain text need a space inside`
    }
    if (isSeen) return `{${name}} in a header or the body: URLs end up in logs`
    return secrets.includes(name) ? undefined : `${name} to be listed in http.secrets`
  }
  return [
    ...parameterNames
      .filter((name) => name.startsWith(SECRET))
      .map((name): Fault => [`inputSchema.properties.${name}`, 'a name that no secret has']),
    ...[...texts, ...hidden].flatMap(([path, value], index) =>
      namesIn(value).flatMap((name): Fault[] => {
        const expected = faultOf(name, index < texts.length)
        return expected === undefined ? [] : [[`http.${path}`, expected]]
      }),
    ),
  ]
}

function prefixKeys(outer: string, texts: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [`${outer}.${name}`, text]))
}

/**
 * The hosts that stored HTTP tools may reach, each with the names of the secrets that may go there (`HTTP_TOOL_HOSTS`).
 * A key is a host (`api.example.com`: https, port 443), a host with its port, or a whole origin
 * (`http://127.0.0.1:8080`). Plain http, IP addresses and hosts of a private network take a whole origin. This is part
 * of a deployment's configuration, which authors of definitions cannot change.
 */
export type HttpToolHosts = Readonly<Record<string, readonly string[]>>

/** Returns why this deployment does not send a request: its origin, or a secret that may not go there. */
export function checkHosts({ url, secrets = [] }: HttpCall, hosts: HttpToolHosts): DefinitionIssue[] {
  const endpoint = parseEndpoint(url)
  if (typeof endpoint === 'string') return [{ path: 'http.url', message: `expected ${endpoint}` }]
  const { origin } = endpoint.base
  const secretNames = grantedSecrets(endpoint.base, hosts)
  if (!secretNames) {
    return [{ path: 'http.url', message: `expected an origin that HTTP_TOOL_HOSTS allows, received ${origin}` }]
  }
  return secrets.flatMap((secret, index) => {
    if (secretNames.includes(secret)) return []
    const message = `expected a secret that HTTP_TOOL_HOSTS allows for ${origin}, received ${secret}`
    return [{ path: `http.secrets.${index}`, message }]
  })
}

/** Returns the names of the secrets that may go to an origin, or undefined if no request may. */
export function grantedSecrets(base: URL, hosts: HttpToolHosts): readonly string[] | undefined {
  const matchingHosts = Object.entries(hosts).filter(([key]) => grants(key, base))
  return matchingHosts.length === 0 ? undefined : matchingHosts.flatMap(([, names]) => names)
}

function grants(key: string, { origin, protocol, hostname, host }: URL): boolean {
  if (key.includes('://')) return URL.canParse(key) && new URL(key).href === `${origin}/`
  if (protocol !== 'https:' || isPrivate(hostname)) return false
  // A key that has more than a host and a port grants nothing.
  return URL.canParse(`https://${key}`) && /^[^/?#@\\]+$/.test(key) && new URL(`https://${key}`).host === host
}
