import type { ToolAnnotations } from '../../contract/tool-definition.ts'
import { messageOf } from '../../contract/thrown.ts'
import { controlSignal, OutOfTime, withTimeLimit } from '../../contract/time-limit.ts'
import { failure, type Tool, type ToolFailure, type ToolRequest } from '../../contract/tool.ts'
import { checkHosts, grantedSecrets, HEADER_VALUE, type HttpCall, type HttpToolHosts } from './definition.ts'
import { LongNumber } from './exact-json.ts'
import { readHttpResult, redactor, type Redactor } from './result.ts'
import { timedOut } from '../outcome.ts'
import { received } from '../../schema/issue.ts'
import { asText } from './fields.ts'
import { encodeName, encodePart, styleOf, type Styles, writePairs, writeStyled } from './style.ts'
import {
  type EncodedBody,
  encodeForm,
  fillJson,
  fillText,
  isDots,
  nameAlone,
  namesIn,
  parseEndpoint,
  type Values,
} from './template.ts'

export interface HttpOptions {
  readonly hosts: HttpToolHosts
  /** Returns the value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  readonly now?: () => number
  /** Whether calls may change something. Default: unless the method is GET or HEAD. */
  readonly hasEffect?: boolean
}

const MOST_REDIRECTS = 3
/** How long before its deadline, at the most, a call says what it knows, in milliseconds. */
const LAST_WORD_MS = 1000

/**
 * Returns the function that calls an HTTP tool. It sends a request to a host that the deployment allows, and follows at
 * most three redirects, as far as `redirected` allows. A call ends when the edge gives it up, and at the deadline.
 * Secrets are looked up here and nowhere else, and are in no outcome. Expects arguments that fit the schema.
 */
export function callHttp(name: string, http: HttpCall, options: HttpOptions): Tool['call'] {
  const { fetch = globalThis.fetch.bind(globalThis), now = Date.now, hasEffect = mayChange(http) } = options
  return async (request, control) => {
    const secrets = new Map((http.secrets ?? []).map((secret) => [secret, options.secret(secret) ?? '']))
    const faults = [
      ...checkHosts(http, options.hosts).map(({ message }) => message),
      ...[...secrets].flatMap(([secret, value]) => (value === '' ? [`${secret} has no value`] : [])),
    ]
    if (faults.length > 0) return failure('tool_misconfigured', `The tool "${name}" is not set up.`, faults.join('\n'))
    // A call whose time is up already must not have an effect.
    const leftMs = request.context.deadline - now()
    if (leftMs <= 0)
      return failure('timeout', `The tool "${name}" was not called: the deadline of the call had passed.`)
    const redact = redactor([...secrets.values()])
    const end = new AbortController()
    const perform = async (limit: AbortSignal) => {
      const signal = AbortSignal.any([limit, end.signal])
      const send = ({ url, ...init }: HttpRequest) => fetch(url, { ...init, redirect: 'manual', signal })
      let next = buildRequest(http, request, secrets)
      let response = await send(next)
      const { status } = response
      for (let followed = 0; followed < MOST_REDIRECTS; followed++) {
        const on = redirectedRequest(next, response, { hosts: options.hosts, redact })
        if (!on) break
        await response.body?.cancel()
        next = on
        response = await send(next)
      }
      const remainingMs = request.context.deadline - now()
      const bodyMs = remainingMs - Math.min(remainingMs / 10, LAST_WORD_MS)
      const outcome = await readHttpResult(response, {
        tool: name,
        url: next.url,
        pointer: http.result ?? '',
        redact,
        hasEffect,
        bodyMs,
      })
      return !outcome.ok && hasEffect && (status === 302 || status === 303) ? inDoubt(outcome, status) : outcome
    }
    try {
      return await withTimeLimit(leftMs, perform, controlSignal(control))
    } catch (error) {
      if (error instanceof UnfitArgument) {
        return failure('invalid_arguments', `The arguments of "${name}" do not fit: ${error.message}`)
      }
      if (error instanceof OutOfTime) return timedOut(name)
      const cause = error instanceof Error && error.cause !== undefined ? ` (${messageOf(error.cause)})` : ''
      const detail = redact.text(messageOf(error) + cause)
      const doubt = hasEffect ? ', or broke off before it answered; whether the call took effect is unknown' : ''
      const message = `The service of "${name}" could not be reached${doubt}.`
      return { ok: false, error: { code: 'http_unreachable', message, detail, retryable: true } }
    } finally {
      // A body that is not read to its end would keep its connection.
      end.abort()
    }
  }
}

/** Services answer so what they have done, and what they have not: a page of it, or one to sign in. */
function inDoubt({ error: first }: ToolFailure, status: number): ToolFailure {
  const { retryable: _, ...error } = first
  const message = `${error.message} The request itself was answered ${status}: whether the call took effect is unknown.`
  return { ok: false, error: { ...error, message } }
}

interface RedirectOptions {
  readonly hosts: HttpToolHosts
  readonly redact: Redactor
}

const STATUSES = new Set([301, 302, 303, 307, 308])
const OF_EFFECTS = new Set(['content-type', 'idempotency-key'])

/**
 * Returns the request by which a redirect is followed, checked as the first request was. Undefined for a response that
 * is not a redirect, or that may not be followed: to an origin that is not allowed, with a user name or a secret in the
 * URL, or by repeating a request that may have an effect. Another origin gets no header of the definition.
 */
function redirectedRequest(
  { url, method, headers }: HttpRequest,
  response: Response,
  { hosts, redact }: RedirectOptions,
): HttpRequest | undefined {
  const { status } = response
  const location = response.headers.get('location')
  if (location === null || !STATUSES.has(status) || !(isRead(method) || status === 303)) return undefined
  const next = URL.parse(location, url)
  if (!next || next.username !== '' || next.password !== '' || !grantedSecrets(next, hosts)) return undefined
  if ([location, next.href].some((text) => redact.text(text) !== text)) return undefined
  const isHere = next.origin === new URL(url).origin
  const sameOriginHeaders = Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_EFFECTS.has(name)))
  return {
    url: next.href,
    method: isRead(method) ? method : 'GET',
    headers: isHere ? sameOriginHeaders : PLAIN_HEADERS,
  }
}

/** Whether a call may change something: as its definition says, else by its method. */
export function mayChange({ method }: Pick<HttpCall, 'method'>, { readOnly }: ToolAnnotations = {}): boolean {
  return !(readOnly ?? isRead(method))
}

/** Whether a method asks for nothing to be changed (RFC 9110, section 9.2.1). */
function isRead(method: HttpCall['method']): boolean {
  return method === 'GET' || method === 'HEAD'
}

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
function buildRequest(http: HttpCall, { arguments: args, context }: ToolRequest, secrets: Values): HttpRequest {
  const { method } = http
  const all = Object.entries(args)
  const presentArguments = new Map(all.filter(([, value]) => value !== null))
  const bodyValue = fillJson(http.body, new Map([...all, ...secrets]))
  const body = bodyValue === undefined ? undefined : encodeBody(bodyValue, http)
  const headers = {
    ...PLAIN_HEADERS,
    ...(!isRead(method) && { 'idempotency-key': context.idempotencyKey }),
    ...(body && { 'content-type': body.type }),
    ...(context.traceparent !== undefined && { traceparent: context.traceparent }),
    ...fillHeaders(http, new Map([...presentArguments, ...secrets])),
  }
  return { url: buildUrl(http, presentArguments), method, headers, ...(body && { body: body.text }) }
}

function encodeBody(body: unknown, { body: template, bodyType = 'json', styles = {} }: HttpCall): EncodedBody {
  if (bodyType === 'json') return { type: 'application/json', text: JSON.stringify(body) }
  const own = Object.entries(Object(template)).flatMap(([field, text]) => {
    const style = styleOf(styles, nameAlone(text) ?? '')
    return style ? [[field, style] as const] : []
  })
  return encodeForm(body, bodyType, Object.fromEntries(own))
}

function buildUrl({ url: template, query = {}, styles = {} }: HttpCall, values: Values): string {
  const endpoint = parseEndpoint(template)
  if (typeof endpoint === 'string') throw new TypeError(`expected ${endpoint}`)
  const { base, segments, query: endpointQuery } = endpoint
  // Parsed as one text: a path that begins with two slashes, resolved by itself, would name another host.
  const url = new URL(`${base.origin}/${segments.map((segment) => fillSegment(segment, values, styles)).join('/')}`)
  const pairs = [...endpointQuery, ...Object.entries(query)].flatMap(([name, text]) =>
    fillPair(name, text, values, styles),
  )
  // A space is %20, which all servers read; some take the plus sign of forms for one.
  url.search = pairs.join('&')
  return url.href
}

/** Fills in a part of the query: the pairs of one key. The key of a list is repeated, unless a style says otherwise. */
function fillPair(name: string, text: string, values: Values, styles: Styles): string[] {
  const pair = (value: string) => `${encodeName(name)}=${value}`
  const [argument = ''] = namesIn(text)
  if (text !== `{${argument}}`) {
    const filled = fillText(text, values, { value: encodePart, text: encodePart })
    return filled === undefined ? [] : [pair(filled)]
  }
  if (!values.has(argument)) return []
  const value = values.get(argument)
  const style = styleOf(styles, argument)
  if (style) return writePairs(name, value, style)
  return (Array.isArray(value) ? value : [value]).map((each) => pair(encodePart(asText(each))))
}

/** Fills a path segment. Once its values are encoded, nothing but `.` and `..` can lead out of it. */
function fillSegment(segment: string, values: Values, styles: Styles): string {
  const names = namesIn(segment)
  const text = fillText(segment, values, {
    value: encodePart,
    styled: (name) => writeStyled(styles, name, values),
  })
  if (names.length === 0) return segment
  const isOne = !namesIn(segment, 'unjoined').some((name) => isCompound(values.get(name)) && !styleOf(styles, name))
  if (isOne && text !== undefined && text !== '' && !isDots(text)) return text
  const listing = names.map((name) => `"${name}" = ${received(values.get(name))}`).join(', ')
  throw new UnfitArgument(`Expected one name or number for the path of the request, received ${listing}.`)
}

function isCompound(value: unknown): boolean {
  return typeof value === 'object' && !(value instanceof LongNumber)
}

function fillHeaders({ headers = {}, styles = {} }: HttpCall, values: Values): Record<string, string> {
  const result: Record<string, string> = {}
  for (const [name, text] of Object.entries(headers)) {
    const value = fillText(text, values, {
      styled: (name) => writeStyled(styles, name, values, (each) => each),
    })
    if (value === undefined) continue
    if (!HEADER_VALUE.test(value))
      throw new UnfitArgument(`Expected one line of Latin-1 text for the header "${name}".`)
    result[name.toLowerCase()] = value
  }
  return result
}
