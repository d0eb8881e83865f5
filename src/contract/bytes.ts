/** Bytes as text, signatures of texts, and bodies. All of it also runs where `Uint8Array` has no such methods, as in Node 22. */

/** The bytes passed to one call of `String.fromCharCode`, since engines limit the arguments of a call. */
const CHUNK = 8192

/** Returns a text with one character for each byte. */
export function binaryOf(bytes: Uint8Array): string {
  let binary = ''
  for (let at = 0; at < bytes.length; at += CHUNK) binary += String.fromCharCode(...bytes.subarray(at, at + CHUNK))
  return binary
}

/** Returns bytes in base64 (RFC 4648, section 4). */
export function toBase64(bytes: Uint8Array): string {
  return btoa(binaryOf(bytes))
}

/** Returns the bytes of a text in base64, with or without padding; undefined for any other text. */
export function fromBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    return Uint8Array.from(atob(text), (char) => char.charCodeAt(0))
  } catch {
    return undefined
  }
}

/** Returns bytes in base64url without padding (RFC 4648, section 5). */
export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '')
}

/** Returns the bytes of a text in base64url; undefined for any other text. */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> | undefined {
  return fromBase64(text.replaceAll('-', '+').replaceAll('_', '/'))
}

/** Returns bytes in lower-case hex. */
export function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Returns the bytes of a text in hex. */
export function fromHex(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from({ length: text.length / 2 }, (_, at) => Number.parseInt(text.slice(at * 2, at * 2 + 2), 16))
}

/** The hash of an HMAC. */
export type HmacHash = 'SHA-256' | 'SHA-1'

/** Returns the HMAC of bytes, or of a text in UTF-8. */
export async function hmac(
  secret: BufferSource,
  message: string | Uint8Array<ArrayBuffer>,
  hash: HmacHash = 'SHA-256',
): Promise<Uint8Array> {
  const key = await crypto.subtle.importKey('raw', secret, { name: 'HMAC', hash }, false, ['sign'])
  const bytes = typeof message === 'string' ? new TextEncoder().encode(message) : message
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, bytes))
}

/** Whether two texts are equal, in a time that depends on their lengths alone. */
export function isEqualText(a: string, b: string): boolean {
  let difference = a.length ^ b.length
  for (let at = 0; at < a.length; at++) difference |= a.charCodeAt(at) ^ b.charCodeAt(at)
  return difference === 0
}

/**
 * Returns the bytes of a secret of Standard Webhooks: what follows `whsec_` is base64, any other secret is text. Undefined
 * if that is not base64.
 */
export function webhookSecret(secret: string): Uint8Array<ArrayBuffer> | undefined {
  return secret.startsWith('whsec_')
    ? fromBase64(secret.slice('whsec_'.length))
    : Uint8Array.from(new TextEncoder().encode(secret))
}

/** The first bytes of a body. `isComplete` tells whether they are all of it; the rest is not read. */
export interface BodyStart {
  readonly bytes: Uint8Array<ArrayBuffer>
  readonly isComplete: boolean
}

/**
 * Reads at most `most` bytes of the body of a request or a response, whatever length its headers claim, counted after
 * decompression. Rejects if the body breaks off.
 *
 * @example
 * const { bytes } = await readBody(await fetch(url), 1_000_000)
 */
export async function readBody(message: Pick<Response, 'body'>, most: number): Promise<BodyStart> {
  const chunks: Uint8Array[] = []
  let size = 0
  for await (const chunk of message.body ?? []) {
    chunks.push(chunk.subarray(0, most - size))
    size += chunk.byteLength
    // Leaving the loop cancels the stream.
    if (size > most) break
  }
  const bytes = new Uint8Array(Math.min(size, most))
  let at = 0
  for (const chunk of chunks) {
    bytes.set(chunk, at)
    at += chunk.byteLength
  }
  return { bytes, isComplete: size <= most }
}

/** Decodes bytes as text, in UTF-8 if the charset is unknown. */
export function decodeText(bytes: Uint8Array, charset = 'utf-8'): string {
  return makeDecoder(charset).decode(bytes)
}

/** Decodes bytes as text; undefined if the charset is unknown, or has no such bytes. `isCut`: more would follow. */
export function decodeStrictly(
  bytes: Uint8Array,
  charset = 'utf-8',
  { isCut = false }: { readonly isCut?: boolean } = {},
): string | undefined {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: false }).decode(bytes, { stream: isCut })
  } catch {
    return undefined
  }
}

function makeDecoder(charset: string): TextDecoder {
  try {
    return new TextDecoder(charset)
  } catch {
    return new TextDecoder()
  }
}
