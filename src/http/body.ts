import { Problem } from './problem.ts'

/** Brackets within brackets that a body may have; what is deeper makes parsers and validators overflow. */
const MOST_DEPTH = 100

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
  if (depthOf(text) > MOST_DEPTH) throw malformed(`The body is nested over ${MOST_DEPTH} levels deep.`)
  try {
    return JSON.parse(text)
  } catch (error) {
    throw malformed(`The body is not JSON: ${error instanceof Error ? error.message : String(error)}`)
  }
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

/** How deep brackets nest outside strings; text that is not JSON is the parser's to refuse. */
function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  let inString = false
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (inString) {
      if (char === BACKSLASH) at += 1
      else if (char === QUOTE) inString = false
    } else if (char === QUOTE) inString = true
    else if (char === BRACE || char === BRACKET) deepest = Math.max(deepest, ++depth)
    else if (char === BRACE + 2 || char === BRACKET + 2) depth -= 1
  }
  return deepest
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** The closing ones stand two places on. */
const BRACKET = 0x5b
const BRACE = 0x7b

function malformed(message: string): Problem {
  return new Problem({ status: 400, code: 'malformed_body', message })
}
