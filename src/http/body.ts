import { depthOf, isObject, MOST_LEVELS } from '../contract/json.ts'
import { Problem } from './problem.ts'

/**
 * The JSON body of a request. Throws a Problem: 415 for another content type, 413 over `limit` bytes (counted as they
 * come, whatever the headers say), 400 for no body, text that is not UTF-8 or not JSON, or JSON that is too deep.
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
  const text = await readText(request, limit)
  if (text.trim() === '') throw malformed('There is no body; send a JSON object.')
  if (depthOf(text) > MOST_LEVELS) throw malformed(`The body is nested over ${MOST_LEVELS} levels deep.`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformed(`The body is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
}

/** The hash in a body `{ "hash": … }`, as `readJson`. Throws a Problem 422 for one without, that says of what it is. */
export async function readHash(request: Request, limit: number, what: string): Promise<string> {
  const body = await readJson(request, limit)
  const hash = isObject(body) ? body['hash'] : undefined
  if (typeof hash === 'string') return hash
  const message = `Send { "hash": … } with the hash of ${what}.`
  throw new Problem({ status: 422, code: 'invalid_request', message, param: 'hash' })
}

async function readText({ body }: Request, limit: number): Promise<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: false })
  let text = ''
  let size = 0

  function decode(chunk?: Uint8Array): string {
    try {
      return decoder.decode(chunk, { stream: chunk !== undefined })
    } catch {
      throw malformed('The body is not UTF-8 text.')
    }
  }

  for await (const chunk of body ?? []) {
    size += chunk.byteLength
    if (size > limit) {
      const message = `The body is over ${limit} bytes.`
      throw new Problem({ status: 413, code: 'body_too_large', message })
    }
    text += decode(chunk)
  }
  return text + decode()
}

function malformed(message: string): Problem {
  return new Problem({ status: 400, code: 'malformed_body', message })
}
