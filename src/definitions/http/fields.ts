import { isObject } from '../../contract/json.ts'
import { LongNumber } from './exact-json.ts'

/** A field of a form or a query. */
export type FormField = readonly [name: string, value: string]

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Whether a value is an object with fields of its own. */
export function isFields(value: unknown): value is Record<string, unknown> {
  return isObject(value) && !(value instanceof LongNumber)
}

/**
 * Returns the fields of a value in brackets, as PHP, Rails and most others read them: an object becomes `key[inner]`, a list
 * as `lists` says: `key[]` for each item, `key[0]`, the key repeated, or one text with commas. A list with objects always
 * has their numbers. Null is left out.
 */
export function formFields(
  name: string,
  value: unknown,
  lists: 'brackets' | 'indices' | 'repeated' | 'commas' = 'brackets',
): FormField[] {
  if (value === null || value === undefined) return []
  if (Array.isArray(value)) {
    const isPlain = !value.some((item) => typeof item === 'object' && !(item instanceof LongNumber))
    if (isPlain && lists === 'commas') return [[name, value.map(asText).join(',')]]
    const keyOf = (index: number) => {
      if (!isPlain || lists === 'indices') return `${name}[${index}]`
      return lists === 'brackets' ? `${name}[]` : name
    }
    return value.flatMap((item, index) => formFields(keyOf(index), item, lists))
  }
  if (!isFields(value)) return [[name, asText(value)]]
  return Object.entries(value).flatMap(([key, inner]) => formFields(`${name}[${key}]`, inner, lists))
}
