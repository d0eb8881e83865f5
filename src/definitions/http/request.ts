import type { ToolRequest } from '../../contract/tool.ts'
import { received } from '../../schema/issue.ts'
import { HEADER_VALUE, type HttpCall } from './definition.ts'
import { isDots, parseEndpoint } from './endpoint.ts'
import { asText, type EncodedBody, encodeForm, fillJson, fillText, namesIn, valueOf, type Values } from './template.ts'

export interface HttpRequest {
  readonly url: string
  readonly method: HttpCall['method']
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The headers of every request, unless the definition says otherwise. A server that has neither is asked all the same. */
export const PLAIN_HEADERS = { accept: 'application/json, text/*;q=0.9, */*;q=0.1', 'user-agent': 'edgecall' }

/** The error for an argument that does not fit its place in the request. Its message is for the model. */
export class UnfitArgument extends Error {}

/**
 * Builds the request of an HTTP tool for a call, each argument encoded for its place. The query key, header or body key
 * of an optional argument that was left out is left out too; in query and headers null counts as left out. Secrets go
 * into headers and body alone. Throws an UnfitArgument for an argument that would reach beyond its place.
 */
export function buildRequest(http: HttpCall, { arguments: args, context }: ToolRequest, secrets: Values): HttpRequest {
  const { method } = http
  const all = Object.entries(args)
  const presentArguments = new Map(all.filter(([, value]) => value !== null))
  const bodyValue = fillJson(http.body, new Map([...all, ...secrets]))
  const body = bodyValue === undefined ? undefined : encodeBody(bodyValue, http.bodyType)
  const headers = {
    ...PLAIN_HEADERS,
    ...(method !== 'GET' && method !== 'HEAD' && { 'idempotency-key': context.idempotencyKey }),
    ...(body && { 'content-type': body.type }),
    ...(context.traceparent !== undefined && { traceparent: context.traceparent }),
    ...fillHeaders(http, new Map([...presentArguments, ...secrets])),
  }
  return { url: buildUrl(http, presentArguments), method, headers, ...(body && { body: body.text }) }
}

function encodeBody(body: unknown, kind: HttpCall['bodyType'] = 'json'): EncodedBody {
  return kind === 'json' ? { type: 'application/json', text: JSON.stringify(body) } : encodeForm(body, kind)
}

function buildUrl({ url: template, query = {} }: HttpCall, values: Values): string {
  const endpoint = parseEndpoint(template)
  if (typeof endpoint === 'string') throw new TypeError(`expected ${endpoint}`)
  const { base, segments, query: endpointQuery } = endpoint
  // Parsed as one text: a path that begins with two slashes, resolved by itself, would name another host.
  const url = new URL(`${base.origin}/${segments.map((segment) => fillSegment(segment, values)).join('/')}`)
  for (const [name, text] of [...endpointQuery, ...Object.entries(query)]) {
    const value = valueOf(text, values)
    // The key of a list is repeated for each item, which is how most servers read lists.
    for (const each of Array.isArray(value) ? value : [value]) {
      if (each !== undefined) url.searchParams.append(name, asText(each).toWellFormed())
    }
  }
  return url.href
}

/** Fills a path segment. Once its values are encoded, nothing but `.` and `..` can lead out of it. */
function fillSegment(segment: string, values: Values): string {
  const names = namesIn(segment)
  const text = fillText(segment, values, (value) => encodeURIComponent(value.toWellFormed()))
  if (names.length === 0) return segment
  const isOne = !namesIn(segment, 'unjoined').some((name) => typeof values.get(name) === 'object')
  if (isOne && text !== undefined && text !== '' && !isDots(text)) return text
  const listing = names.map((name) => `"${name}" = ${received(values.get(name))}`).join(', ')
  throw new UnfitArgument(`Expected one name or number for the path of the request, received ${listing}.`)
}

function fillHeaders({ headers = {} }: HttpCall, values: Values): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, text] of Object.entries(headers)) {
    const value = fillText(text, values)
    if (value === undefined) continue
    if (!HEADER_VALUE.test(value))
      throw new UnfitArgument(`Expected one line of Latin-1 text for the header "${name}".`)
    result[name.toLowerCase()] = value
  }
  return result
}
