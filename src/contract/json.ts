/**
 * contract/: the words that every room speaks. Types and tiny pure functions; imports nothing of ours.
 */

export type Json = null | boolean | number | string | readonly Json[] | { readonly [key: string]: Json }
export type JsonObject = Readonly<Record<string, unknown>>

/** A JSON Schema (2020-12, or draft-07) as plain data. */
export type JsonSchema = JsonObject

/** True for `{…}`: not null, not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/**
 * JSON with the keys of every object sorted, so that equal values have equal text (the idea of RFC 8785).
 * Keys whose value is undefined are left out, as JSON.stringify does.
 */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_key, child: unknown) =>
    isObject(child) ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1))) : child,
  )
}

/** Lower-case hex SHA-256 of a text's UTF-8 bytes. */
export async function sha256(text: string): Promise<string> {
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The value of a JSON text; undefined, which no JSON text stands for, where the text is none. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Brackets within brackets that a text of others may have: what is deeper makes those overflow who walk its value. */
export const MOST_LEVELS = 100

/** As `parseJson`, and undefined also for a text that is nested too deep. */
export function parseShallow(text: string): unknown {
  return depthOf(text) > MOST_LEVELS ? undefined : parseJson(text)
}

/** How deep brackets nest outside strings; text that is not JSON is the parser's to refuse. */
export function depthOf(text: string): number {
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
