import { grantedSecrets, type HttpToolHosts } from './hosts.ts'
import type { Redactor } from './redact.ts'
import { type HttpRequest, PLAIN_HEADERS } from './request.ts'

export interface RedirectOptions {
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
export function redirectedRequest(
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
