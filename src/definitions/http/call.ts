import { messageOf } from '../../contract/thrown.ts'
import { OutOfTime, withTimeLimit } from '../../contract/time-limit.ts'
import { failure, type Tool } from '../../contract/tool.ts'
import type { HttpCall } from './definition.ts'
import { checkHosts, grantedSecrets, type HttpToolHosts } from './hosts.ts'
import { buildRequest, type HttpRequest, PLAIN_HEADERS, UnfitArgument } from './request.ts'
import { readHttpResult, redactor, type Redactor } from './result.ts'
import { timedOut } from '../outcome.ts'
import { controlSignal } from '../../contract/time-limit.ts'

export interface HttpOptions {
  readonly hosts: HttpToolHosts
  /** Returns the value of a secret, such as `SECRET_WEATHER`. */
  readonly secret: (name: string) => string | undefined
  readonly fetch?: (url: string, init: RequestInit) => Promise<Response>
  readonly now?: () => number
}

const MOST_REDIRECTS = 3

/**
 * Returns the function that calls an HTTP tool. It sends a request to a host that the deployment allows, and follows at
 * most three redirects, as far as `redirected` allows. A call ends when the edge gives it up, and at the deadline.
 * Secrets are looked up here and nowhere else, and are in no outcome. Expects arguments that fit the schema.
 */
export function callHttp(name: string, http: HttpCall, options: HttpOptions): Tool['call'] {
  const { fetch = globalThis.fetch.bind(globalThis), now = Date.now } = options
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
    const perform = async (signal: AbortSignal) => {
      const send = ({ url, ...init }: HttpRequest) => fetch(url, { ...init, redirect: 'manual', signal })
      let next = buildRequest(http, request, secrets)
      let response = await send(next)
      for (let followed = 0; followed < MOST_REDIRECTS; followed++) {
        const on = redirectedRequest(next, response, { hosts: options.hosts, redact })
        if (!on) break
        await response.body?.cancel()
        next = on
        response = await send(next)
      }
      return readHttpResult(name, response, http.result ?? '', redact)
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
      const message = `The service of "${name}" could not be reached.`
      return { ok: false, error: { code: 'http_unreachable', message, detail, retryable: true } }
    }
  }
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
  const isRead = method === 'GET' || method === 'HEAD'
  if (location === null || !STATUSES.has(status) || !(isRead || status === 303)) return undefined
  const next = URL.parse(location, url)
  if (!next || next.username !== '' || next.password !== '' || !grantedSecrets(next, hosts)) return undefined
  if ([location, next.href].some((text) => redact.text(text) !== text)) return undefined
  const isHere = next.origin === new URL(url).origin
  const sameOriginHeaders = Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_EFFECTS.has(name)))
  return { url: next.href, method: isRead ? method : 'GET', headers: isHere ? sameOriginHeaders : PLAIN_HEADERS }
}
