import { toHex } from './bytes.ts'
import { type isExact, readExactly } from './exact-numbers.ts'

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
  return toHex(new Uint8Array(digest))
}

/** Parses JSON text that this code has written. Returns undefined, which no JSON text stands for, if the text is invalid. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** The deepest nesting of brackets accepted in JSON from outside; recursive code would overflow on deeper values. */
export const MOST_LEVELS = 100

/** Parses JSON text from outside as `readExactly` does, but also returns undefined for text that is nested too deeply. */
export function parseShallow(text: string, isKept?: typeof isExact): unknown {
  const value = readExactly(text, isKept)
  return isDeeper(value, MOST_LEVELS) ? undefined : value
}

/** The most characters of JSON that a schema of a tool may have: models read all of it. */
export const MOST_SCHEMA_CHARACTERS = 500_000

/** Whether the arrays and objects of a JSON value nest over `levels` deep. */
export function isDeeper(value: unknown, levels: number): boolean {
  if (typeof value !== 'object' || value === null) return false
  if (levels === 0) return true
  const children: readonly unknown[] = Array.isArray(value) ? value : Object.values(value)
  return children.some((child) => isDeeper(child, levels - 1))
}

/** Matches a JSON pointer (RFC 6901): empty for the whole value, else `/` before each key. */
export const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/

/** Returns the keys of a JSON pointer, from the root on. */
export function pointerKeys(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** Returns the part of a value at these keys, or undefined if there is none. Only own properties count. */
export function partAt(root: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((at, key) => {
    if (Array.isArray(at)) return INDEX.test(key) ? at[Number(key)] : undefined
    return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, root)
}

const INDEX = /^(?:0|[1-9]\d*)$/

/**
 * Returns the part of a document that a reference within it names by a JSON pointer, such as `#/$defs/tree`; undefined
 * for any other reference.
 */
export function followRef(root: unknown, ref: string): unknown {
  return /^#(?:\/|$)/.test(ref) ? partAt(root, pointerKeys(decodedFragment(ref.slice(1)))) : undefined
}

/** Returns the fragment of a reference without its escapes; as it is if these are broken. */
export function decodedFragment(fragment: string): string {
  try {
    return decodeURIComponent(fragment)
  } catch {
    return fragment
  }
}

/**
 * Returns an object without the members that are undefined. Hooks and tools may spread it over their own defaults, which
 * such a member would replace.
 */
export function withoutUndefined<Value extends object>(value: Value): Value
export function withoutUndefined(value: object): object {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}
