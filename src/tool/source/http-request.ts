import { type Endpoint, isDots, parseEndpoint } from '../endpoint.ts'
import { HEADER_VALUE, type HttpCall } from '../http-call.ts'
import { asText, fillJson, fillText, parseTemplate, type Template, type Values } from '../template.ts'
import { received } from '../wording.ts'

export interface HttpRequest {
  readonly url: string
  readonly method: HttpCall['method']
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** Arguments that a place of the request cannot hold. Its message is for the model. */
export class UnfitArgument extends Error {}

/**
 * The request of an HTTP tool for these arguments, each encoded for its place. Optional arguments that were left out
 * take their query key, header, or key of the body with them; in query and headers null counts as left out. Secrets
 * go into headers and body alone. Throws an UnfitArgument where an argument would reach beyond its place.
 */
export function buildRequest(http: HttpCall, args: Values, secrets: Values): HttpRequest {
  const endpoint = parseEndpoint(http.url)
  if (typeof endpoint === 'string') throw new TypeError(endpoint)
  const given = new Map([...args].filter(([, value]) => value !== null))
  const url = buildUrl(endpoint, given)
  const query = Object.entries(http.query ?? {}).map(([name, value]) => [name, parseTemplate(value)] as const)
  for (const [name, template] of [...endpoint.query, ...query]) {
    for (const value of queryValues(template, given)) url.searchParams.append(name, value.toWellFormed())
  }
  const body = fillJson(http.body, new Map([...args, ...secrets]))
  const headers = buildHeaders(http, new Map([...given, ...secrets]))
  if (body === undefined) return { url: url.href, method: http.method, headers }
  const typed = { 'content-type': 'application/json', ...headers }
  return { url: url.href, method: http.method, headers: typed, body: JSON.stringify(body) }
}

function buildUrl({ base, segments }: Endpoint, values: Values): URL {
  const path = segments.map((segment) => fillSegment(segment, values))
  const url = new URL(`/${path.join('/')}`, base)
  // Encoding has made sure of this; it is looked at again because so much hangs on it.
  const fixed = segments.findIndex((segment) => !isFixed(segment))
  const prefix = new URL(`/${path.slice(0, fixed === -1 ? path.length : fixed).join('/')}`, base).pathname
  const isWithin = url.origin === base.origin && url.pathname.startsWith(prefix)
  if (isWithin && url.pathname.split('/').length === path.length + 1) return url
  throw new UnfitArgument('These arguments lead outside the path of the tool.')
}

function isFixed(template: Template): boolean {
  return template.every((piece) => typeof piece === 'string')
}

function fillSegment(segment: Template, values: Values): string {
  if (isFixed(segment)) return fillText(segment, values) ?? ''
  const names = segment.flatMap((piece) => (typeof piece === 'string' ? [] : [piece.name]))
  const text = names.some((name) => typeof values.get(name) === 'object')
    ? undefined
    : fillText(segment, values, (value) => encodeURIComponent(value.toWellFormed()))
  if (text !== undefined && text !== '' && !isDots(text)) return text
  const came = names.map((name) => `"${name}" = ${received(values.get(name))}`).join(', ')
  throw new UnfitArgument(`Expected one name or number for the path of the request, received ${came}.`)
}

/** A list alone in its place gives its key once for each item, as most servers read lists. */
function queryValues(template: Template, values: Values): string[] {
  const [only] = template
  const value = template.length === 1 && typeof only === 'object' ? values.get(only.name) : undefined
  if (Array.isArray(value)) return value.map(asText)
  return [fillText(template, values)].filter((text) => text !== undefined)
}

function buildHeaders({ headers = {} }: HttpCall, values: Values): Record<string, string> {
  const built: Record<string, string> = { accept: 'application/json, text/*;q=0.9', 'user-agent': 'edgecall' }
  for (const [name, text] of Object.entries(headers)) {
    const value = fillText(parseTemplate(text), values)
    if (value === undefined) continue
    if (!HEADER_VALUE.test(value))
      throw new UnfitArgument(`Expected one line of Latin-1 text for the header "${name}".`)
    built[name.toLowerCase()] = value
  }
  return built
}
