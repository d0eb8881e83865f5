import { fromBase64, type HmacHash, hmac, isEqualText, toBase64 } from '../contract/bytes.ts'
import { parseShallow } from '../contract/json.ts'

/** How far the time of a signature may be from now, in milliseconds. */
const MOST_AGE_MS = 5 * 60_000

/** A request of another service, whose signature is to be checked. */
export interface SignedRequest {
  readonly method: string
  /** The URL with its query, as the service knows it: of the edge's public address, if `EDGE_URL` names it. */
  readonly url: string
  readonly headers: Headers
  /** The body as text. */
  readonly body: string
  /** The body as it was sent, which is what services sign. */
  readonly bytes: Uint8Array<ArrayBuffer>
  /** Epoch milliseconds. */
  readonly now: number
}

/** How a service signs its requests. */
export interface WebhookScheme {
  /** The variable that has the secret, or a list of which any counts, as while it is replaced. */
  readonly secret: string
  /**
   * Returns what identifies the delivery, the same for one that is sent again; undefined unless one of the secrets has
   * signed it lately. A Response answers a request that only asks whether this is the right address, and starts nothing.
   */
  readonly verify: (
    request: SignedRequest,
    secrets: readonly string[],
    env: Readonly<Record<string, unknown>>,
  ) => Promise<string | Response | undefined>
  /**
   * Answers a delivery that was accepted, or that starts nothing, where the trigger has no answer of its own. Default: 202
   * with the run, or 204.
   */
  readonly acknowledge?: (request: SignedRequest) => Response
  /**
   * Reads the body of a delivery that was accepted. Undefined for one that cannot be what the service has sent: it is
   * refused. Default: its JSON, or the fields of a form.
   */
  readonly content?: (request: SignedRequest, env: Readonly<Record<string, unknown>>) => Promise<unknown>
}

const encoder = new TextEncoder()

/** Returns the keys that are secrets as they stand. An empty one would be everybody's. */
export function textKeys(secrets: readonly string[]): Uint8Array<ArrayBuffer>[] {
  return secrets.filter((secret) => secret !== '').map((secret) => Uint8Array.from(encoder.encode(secret)))
}

/**
 * Returns the keys that secrets of Standard Webhooks may stand for. Services give them in base64, with `whsec_` before it or
 * without; a secret without may also be text, as `WEBHOOK_SECRET` of an edge may be.
 */
export function standardKeys(secrets: readonly string[]): Uint8Array<ArrayBuffer>[] {
  const decoded = secrets.flatMap((secret) => fromBase64(secret.replace(/^whsec_/, '')) ?? [])
  return [...decoded.filter((key) => key.length > 0), ...textKeys(secrets.filter((each) => !each.startsWith('whsec_')))]
}

/** Returns what is signed: a text, and the body as it was sent after it. */
export function joinMessage(start: string, bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const head = encoder.encode(start)
  const message = new Uint8Array(head.length + bytes.length)
  message.set(head)
  message.set(bytes, head.length)
  return message
}

/** Whether a time in epoch seconds is at most five minutes from now. */
export function isRecent(seconds: string, now: number): boolean {
  return /^\d{1,12}$/.test(seconds) && Math.abs(now - Number(seconds) * 1000) <= MOST_AGE_MS
}

/**
 * Whether one of the signatures is the HMAC of a message with one of the keys, written as `encode` does. Compares them as
 * texts, in constant time: of one HMAC there is one text alone. However many signatures there are, each HMAC of the
 * message, which may be large, is computed once.
 */
export async function isSigned(
  keys: readonly Uint8Array<ArrayBuffer>[],
  signatures: readonly string[],
  message: string | Uint8Array<ArrayBuffer>,
  { encode, hash = 'SHA-256' }: { readonly encode: (bytes: Uint8Array) => string; readonly hash?: HmacHash },
): Promise<boolean> {
  if (signatures.length === 0) return false
  for (const key of keys) {
    const expected = encode(await hmac(key, message, hash))
    if (signatures.some((signature) => isEqualText(expected, signature))) return true
  }
  return false
}

/** Whether the owner of one of the public keys has signed a message (Ed25519, RFC 8032). Keys of other lengths count for nothing. */
export async function isSignedByOwner(
  keys: readonly Uint8Array<ArrayBuffer>[],
  signature: Uint8Array<ArrayBuffer>,
  message: Uint8Array<ArrayBuffer>,
): Promise<boolean> {
  for (const bytes of keys.filter(({ length }) => length === 32)) {
    const key = await crypto.subtle.importKey('raw', bytes, { name: 'Ed25519' }, false, ['verify'])
    if (await crypto.subtle.verify({ name: 'Ed25519' }, key, signature, message)) return true
  }
  return false
}

/** Returns the bytes of base64 that is written as this edge writes it, so that a change of one character changes them. */
export function strictBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  const bytes = fromBase64(text)
  return bytes && toBase64(bytes) === text ? bytes : undefined
}

/**
 * Returns the content of a body: JSON, in which numbers that JavaScript cannot hold are their digits (`parseExactly`), or the
 * fields of a form by their names. A form whose one field `payload` is JSON stands for that, as Slack and GitHub send it.
 * Undefined for any other body.
 */
export async function readBodyContent({
  headers,
  bytes,
  body,
}: Pick<SignedRequest, 'headers' | 'bytes' | 'body'>): Promise<unknown> {
  const type = headers.get('content-type') ?? ''
  if (isForm(headers)) return fieldsOf([...new URLSearchParams(body)])
  if (!/^multipart\/form-data\s*;/i.test(type)) return parseShallow(body)
  const form = await new Response(bytes, { headers: { 'content-type': type } }).formData().catch(() => undefined)
  return form && fieldsOf(await Promise.all(Array.from(form, readField)))
}

/** Whether a body is said to be a form of plain fields. */
export function isForm(headers: Headers): boolean {
  return /^application\/x-www-form-urlencoded\s*(?:;|$)/i.test(headers.get('content-type') ?? '')
}

type Field = readonly [name: string, value: unknown]

async function readField([name, value]: readonly [string, string | File]): Promise<Field> {
  if (typeof value === 'string') return [name, value]
  const data = toBase64(new Uint8Array(await value.arrayBuffer()))
  return [name, { name: value.name, mediaType: value.type, data }]
}

/** Returns fields as an object: one that came several times is a list. */
function fieldsOf(fields: readonly Field[]): unknown {
  const [first] = fields
  const payload = fields.length === 1 && first?.[0] === 'payload' ? parseShallow(String(first[1])) : undefined
  if (payload !== undefined) return payload
  const byName = Map.groupBy(fields, ([name]) => name)
  return Object.fromEntries(
    Array.from(byName, ([name, all]) => [name, all.length === 1 ? all[0]?.[1] : all.map(([, value]) => value)]),
  )
}
