export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = Readonly<Record<string, unknown>>

/** A JSON Schema (2020-12, or draft-07) as plain data. */
export type JsonSchema = JsonObject

/** Whether a value is an object, neither null nor an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * Encodes a value as JSON with the keys of every object sorted, so that equal values have equal text (the idea of RFC
 * 8785). Leaves out keys whose value is undefined, as JSON.stringify does.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, child: unknown) =>
    isObject(child) ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1))) : child,
  )
}

/** Returns the SHA-256 of a text's UTF-8 bytes, in lower-case hex. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** Parses JSON text. Returns undefined, which no JSON text stands for, if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The deepest nesting of brackets accepted in JSON from outside; recursive code would overflow on deeper values. */
export const MOST_LEVELS = 100

/** Parses JSON text as `parseJson` does, but also returns undefined for text that is nested too deeply. */
export function parseShallow(text: string): unknown {
  return depthOf(text) > MOST_LEVELS ? undefined : parseJson(text)
}

/** Returns how deeply brackets nest outside strings. Invalid JSON is left to the parser to reject. */
export function depthOf(text: string): number {
  let depth = 0
  let deepest = 0
  for (let at = 0; at < text.length; at++) {
    const char = text.charCodeAt(at)
    if (char === QUOTE) at = endOfString(text, at)
    else if (char === BRACE || char === BRACKET) deepest = Math.max(deepest, ++depth)
    else if (char === BRACE + 2 || char === BRACKET + 2) depth -= 1
  }
  return deepest
}

/** Returns the place of the quote that ends the string which begins at `start`, or the end of the text. */
function endOfString(text: string, start: number): number {
  // Most of a large body is inside strings, which the engine searches faster than a loop over their characters.
  for (let end = text.indexOf('"', start + 1); end !== -1; end = text.indexOf('"', end + 1)) {
    let first = end
    while (text.charCodeAt(first - 1) === BACKSLASH) first -= 1
    // Each pair of backslashes stands for one: only an odd one escapes the quote.
    if ((end - first) % 2 === 0) return end
  }
  return text.length
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
/** The code of each closing bracket is that of the opening one plus 2. */
const BRACKET = 0x5b
const BRACE = 0x7b
