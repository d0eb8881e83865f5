import { isObject } from '../contract/json.ts'

/** The members of what may be an object; none where it is something else. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** A member that is a text, or ''. */
export function textAt(value: unknown, name: string): string {
  const text = fieldsOf(value)[name]
  return typeof text === 'string' ? text : ''
}

/** A text as it is, nothing as '', anything else as JSON. */
export function textOrJson(value: unknown): string {
  return typeof value === 'string' ? value : value ? JSON.stringify(value) : ''
}

/** A member that is a number, or 0. */
export function countAt(value: unknown, name: string): number {
  const count = fieldsOf(value)[name]
  return typeof count === 'number' && Number.isFinite(count) ? count : 0
}

/** The objects of what may be a list. */
export function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}
