import { isObject } from '../contract/json.ts'

/** Returns an object as it is, and an empty object for any other value. */
export function fieldsOf(value: unknown): Readonly<Record<string, unknown>> {
  return isObject(value) ? value : {}
}

/** Returns a member if it is a text, else ''. */
export function textAt(value: unknown, name: string): string {
  const text = fieldsOf(value)[name]
  return typeof text === 'string' ? text : ''
}

/** Returns a text as it is, '' for null and undefined, and any other value as JSON. */
export function textOrJson(value: unknown): string {
  return typeof value === 'string' ? value : value ? JSON.stringify(value) : ''
}

/** Returns a member as a count, or 0 if it cannot be one: servers have sent negative numbers and 1e308. */
export function countAt(value: unknown, name: string): number {
  const count = fieldsOf(value)[name]
  return typeof count === 'number' && count >= 0 && count <= Number.MAX_SAFE_INTEGER ? count : 0
}

/** Returns the objects in a list, or none if the value is not a list. */
export function objectsOf(value: unknown): readonly Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isObject) : []
}

/** Cuts a text to at most `most` characters; an ellipsis stands for what was cut off. */
export function brief(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most)}…` : text
}
