import { isObject } from './json.ts'

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
