import { parseExactly } from '../contract/exact-numbers.ts'
import { isDeeper, isObject, MOST_LEVELS } from '../contract/json.ts'
import { readBody } from '../contract/bytes.ts'
import { messageOf } from '../contract/thrown.ts'
import { Problem } from './problem.ts'

/**
 * Reads the JSON body of a request; a number that JavaScript cannot hold is its text (`parseExactly`). Throws a
 * Problem: 415 for another content type or charset, or a compressed body; 413 for more than `limit` bytes, whether announced
 * or received; 400 for no body, text that is not UTF-8 or not JSON, or JSON nested too deeply.
 */
export async function readJson(request: Request, limit: number): Promise<unknown> {
  const type = request.headers.get('content-type') ?? ''
  if (!/^application\/(?:[\w.+-]+\+)?json\s*(?:;|$)/i.test(type)) {
    throw new Problem({
      status: 415,
      code: 'unsupported_media_type',
      message: 'Send JSON: content-type: application/json',
    })
  }
  const [, charset = 'utf-8'] = /;\s*charset\s*=\s*"?([^\s";]+)/i.exec(type) ?? []
  if (!/^(?:utf-?8|us-ascii)$/i.test(charset)) {
    const message = `JSON is sent as UTF-8, not as "${charset}".`
    throw new Problem({ status: 415, code: 'unsupported_charset', message })
  }
  refuseCompression(request)
  const text = await readText(request, limit)
  if (text.trim() === '') throw malformedBody('There is no body; send a JSON object.')
  const value = parseText(text)
  if (isDeeper(value, MOST_LEVELS)) throw malformedBody(`The body is nested over ${MOST_LEVELS} levels deep.`)
  return value
}

/** Throws a Problem for a body that is sent with a compression. */
export function refuseCompression({ headers }: Request): void {
  const encoding = headers.get('content-encoding') ?? 'identity'
  if (encoding.toLowerCase() === 'identity') return
  const message = `Send the body without compression, not as "${encoding}".`
  throw new Problem({ status: 415, code: 'unsupported_encoding', message })
}

function parseText(text: string): unknown {
  try {
    return parseExactly(withoutHalfCharacters(text))
  } catch (error) {
    throw malformedBody(`The body is not JSON: ${messageOf(error)}`)
  }
}

/** Reads the hash of `what` from a body `{ "hash": … }`, as `readJson` does. Throws a Problem 422 if it is missing. */
export async function readHash(request: Request, limit: number, subject: string): Promise<string> {
  const body = await readJson(request, limit)
  const hash = isObject(body) ? body['hash'] : undefined
  if (typeof hash === 'string') return hash
  const message = `Send { "hash": … } with the hash of ${subject}.`
  throw new Problem({ status: 422, code: 'invalid_request', message, param: 'hash' })
}

/** A JSON escape of a surrogate, which may lack its other half. */
const SURROGATE_ESCAPE = /\\ud[89a-f][\da-f]{2}/gi
const ESCAPE_LENGTH = '\\ud800'.length

/**
 * Replaces escapes of lone surrogates in a JSON text by U+FFFD: providers refuse every request that has one in its
 * history. A reviver would cost twenty times as much as to parse the text.
 */
function withoutHalfCharacters(text: string): string {
  // The quick search comes first: most bodies have no escape of this kind.
  if (!text.includes('\\ud') && !text.includes('\\uD')) return text
  let result = ''
  let end = 0
  let paired = -1
  for (const { index } of text.matchAll(SURROGATE_ESCAPE)) {
    if (index === paired || isEscaped(text, index)) continue
    const next = index + ESCAPE_LENGTH
    if (isHigh(text, index) && /^\\ud[c-f]/i.test(text.slice(next, next + 4))) {
      paired = next
    } else {
      result += `${text.slice(end, index)}\\ufffd`
      end = next
    }
  }
  return result + text.slice(end)
}

function isHigh(text: string, index: number): boolean {
  return '89abAB'.includes(text.charAt(index + 3))
}

/** Whether the backslash at an index is itself escaped. */
function isEscaped(text: string, index: number): boolean {
  let first = index
  while (text[first - 1] === '\\') first -= 1
  return (index - first) % 2 === 1
}

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })

async function readText(request: Request, limit: number): Promise<string> {
  const announcedBytes = Number(request.headers.get('content-length') ?? NaN)
  if (announcedBytes > limit) throw bodyTooLarge(limit)
  // A body of an announced, allowed length is read at once: reading in pieces is a good part of a short run's cost.
  const { bytes, isComplete } =
    announcedBytes <= limit ? { bytes: await request.arrayBuffer(), isComplete: true } : await readBody(request, limit)
  if (!isComplete || bytes.byteLength > limit) throw bodyTooLarge(limit)
  try {
    return UTF8.decode(bytes)
  } catch {
    throw malformedBody('The body is not UTF-8 text.')
  }
}

export function bodyTooLarge(limit: number): Problem {
  return new Problem({ status: 413, code: 'body_too_large', message: `The body is over ${limit} bytes.` })
}

function malformedBody(message: string): Problem {
  return new Problem({ status: 400, code: 'malformed_body', message })
}
