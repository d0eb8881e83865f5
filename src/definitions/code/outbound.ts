import { decodeText, readBody } from '../../contract/bytes.ts'
import { HEADER_VALUE } from '../http/definition.ts'
import { redactor } from '../http/result.ts'
import type { Origins } from './definition.ts'

/**
 * What code may do over the network: the origins that it may reach, and the secrets that replace its stand-ins on the
 * way out.
 */
export interface OutboundGrant {
  readonly origins: Origins
  readonly secrets: readonly GrantedSecret[]
}

export interface GrantedSecret {
  readonly name: string
  readonly value: string
  /** The text that the module has in place of the value. */
  readonly standIn: string
}

const MOST_BYTES = 1024 * 1024
const JSON_TYPE = /^application\/(?:[\w.+-]+\+)?json\b/i
const FORM_TYPE = /^application\/x-www-form-urlencoded\b/i
const TEXT_TYPE = /^(?:text\/|application\/(?:[\w.+-]+\+)?(?:json|xml|yaml|x-www-form-urlencoded)\b)/i

/**
 * Sends a request of code, if it goes to an origin that was granted. It follows no redirect: the dynamic Worker does,
 * and each step comes through here. Stand-ins in headers and in a text body are replaced by the secrets that may go to
 * this origin; nothing is sent if there is a stand-in of another secret, or any in the URL. Secrets are removed from a
 * text that comes back. Throws an Error without secrets, for the author of the code; `fetch` is the platform's unless a
 * test passes its own.
 */
export async function sendOutbound(
  request: Request,
  { origins, secrets }: OutboundGrant,
  fetch: (request: Request) => Promise<Response> = globalThis.fetch.bind(globalThis),
): Promise<Response> {
  const { origin, username, password, href } = new URL(request.url)
  const allowed = Object.hasOwn(origins, origin) ? origins[origin] : undefined
  if (!allowed) throw new Error(`This tool may not reach ${origin}: name the host in code.hosts.`)
  if (username !== '' || password !== '') throw new Error('A URL must not contain a user name; use a header.')
  if (secrets.some(({ standIn }) => href.includes(standIn))) {
    throw new Error('Put a secret in a header or the body: URLs end up in logs.')
  }
  const fill = (text: string, encode = (value: string) => value): string =>
    fillIn(text, secrets, { origin, allowed, encode })
  const headers = new Headers(request.headers)
  for (const [name, text] of request.headers) {
    const value = fill(text)
    if (value === text) continue
    if (!HEADER_VALUE.test(value)) throw new Error(`The value of the header "${name}" is not one line of Latin-1 text.`)
    headers.set(name, value)
  }
  const body = secrets.length === 0 ? undefined : await filledBody(request, fill)
  // A redirect must come through here too, and `cf` would let code control this Worker's own caches.
  const init = { headers, redirect: 'manual', cf: {}, body } as const
  const response = await fetch(new Request(request, init))
  return secrets.length === 0 ? response : withoutSecrets(response, secrets)
}

interface FillOptions {
  readonly origin: string
  readonly allowed: readonly string[]
  readonly encode: (value: string) => string
}

function fillIn(text: string, secrets: readonly GrantedSecret[], { origin, allowed, encode }: FillOptions): string {
  let result = text
  for (const { name, value, standIn } of secrets) {
    if (!text.includes(standIn)) continue
    if (!allowed.includes(name)) throw new Error(`${name} may not go to ${origin}.`)
    result = result.replaceAll(standIn, () => encode(value))
  }
  return result
}

/** Returns the body with its stand-ins replaced, encoded for its content type; undefined if it stays as it is. */
async function filledBody(
  request: Request,
  fill: (text: string, encode?: (value: string) => string) => string,
): Promise<string | undefined> {
  const type = request.headers.get('content-type') ?? ''
  if (!request.body || !TEXT_TYPE.test(type)) return undefined
  const { bytes, isComplete } = await readBody(request, MOST_BYTES)
  const text = decodeText(bytes)
  if (!isComplete) throw new Error(`A tool with secrets sends at most ${MOST_BYTES} bytes of text.`)
  if (JSON_TYPE.test(type)) return fill(text, (value) => JSON.stringify(value).slice(1, -1))
  return fill(text, FORM_TYPE.test(type) ? encodeURIComponent : undefined)
}

/** Removes secrets from a response, since servers may echo them in a text or in anything else. */
function withoutSecrets(response: Response, secrets: readonly GrantedSecret[]): Response {
  const redact = redactor(secrets.map(({ value }) => value))
  const { status } = response
  const headers = new Headers([...response.headers].map(([name, value]) => [name, redact.text(value)]))
  if (!response.body) return new Response(null, { status, headers })
  // They describe the body as it came.
  headers.delete('content-length')
  headers.delete('content-encoding')
  return new Response(redact.stream(response.body), { status, headers })
}
