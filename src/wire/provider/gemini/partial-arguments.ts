import { isObject } from '../../../contract/json.ts'
import type { Fields } from '../model-answer.ts'

const VALUES = ['stringValue', 'numberValue', 'boolValue', 'nullValue'] as const

/**
 * Adds a part of a call's arguments to what came before, and returns them together. The part is a `PartialArg` of Vertex AI:
 * a `jsonPath` such as `$.items[0].name`, and a value there. A text continues from the text at the same path.
 */
export function addArgument(target: unknown, part: Fields): unknown {
  const field = VALUES.find((name) => name in part)
  const keys = [...String(part.jsonPath).matchAll(/\.([^.[\]]+)|\[(\d+)\]|\['([^']*)'\]|\["([^"]*)"\]/g)].map(
    ([, name, index, single, double]) => (index === undefined ? (name ?? single ?? double ?? '') : Number(index)),
  )
  return field === undefined ? target : withValue(target, keys, field === 'nullValue' ? null : part[field])
}

/** Returns a copy of a value with another one at a path. What is missing on the way is made. */
function withValue(target: unknown, [key, ...rest]: readonly (string | number)[], value: unknown): unknown {
  if (key === undefined) return typeof target === 'string' && typeof value === 'string' ? target + value : value
  if (typeof key === 'number') {
    const list: unknown[] = Array.isArray(target) ? [...target] : []
    list[Math.min(key, list.length)] = withValue(list[key], rest, value)
    return list
  }
  const object = isObject(target) ? target : {}
  return { ...object, [key]: withValue(Object.hasOwn(object, key) ? object[key] : undefined, rest, value) }
}
