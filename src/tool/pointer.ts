import { isObject } from '../contract/json.ts'

/** A JSON pointer (RFC 6901) to a part: empty for the whole, else `/` before each key. */
export const POINTER = /^(?:\/(?:[^~/]|~[01])*)*$/

/** The keys of a JSON pointer, from the root on. */
export function keysOf(pointer: string): string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** The part of a value that these keys lead to, or undefined where they lead nowhere. Own properties alone count. */
export function partAt(root: unknown, keys: readonly string[]): unknown {
  return keys.reduce<unknown>((at, key) => {
    if (Array.isArray(at)) return INDEX.test(key) ? at[Number(key)] : undefined
    return isObject(at) && Object.hasOwn(at, key) ? at[key] : undefined
  }, root)
}

const INDEX = /^(?:0|[1-9]\d*)$/
