import { isObject } from '../../contract/json.ts'

/** What placeholders stand for; a name that is not there is an argument that was left out. */
export type Values = ReadonlyMap<string, unknown>

/** `{name}`. Braces without a name right inside them, as JSON and GraphQL have, are plain text. */
const PLACEHOLDER = /\{([A-Za-z_$@][\w$@.-]*)\}/g

/** The names of the placeholders in a text, or in all texts of a JSON value. */
export function namesIn(value: unknown): string[] {
  if (typeof value === 'string') return Array.from(value.matchAll(PLACEHOLDER), ([, name = '']) => name)
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(namesIn) : []
}

/** The text with the same in place of every placeholder. */
export function withoutNames(text: string, instead: string): string {
  return text.replace(PLACEHOLDER, instead)
}

/**
 * The text with its placeholders filled in: texts as they are, other values as JSON. Undefined where one of them was
 * left out. `encode` is put around each value, never around what is written.
 */
export function fillText(text: string, values: Values, encode = (value: string) => value): string | undefined {
  if (!namesIn(text).every((name) => values.has(name))) return undefined
  return text.replace(PLACEHOLDER, (_, name: string) => encode(asText(values.get(name))))
}

/** What a text stands for: if it is one placeholder, its value, of whatever type. Undefined where that was left out. */
export function valueOf(text: string, values: Values): unknown {
  const [name = ''] = namesIn(text)
  return text === `{${name}}` ? values.get(name) : fillText(text, values)
}

/** The JSON value with its placeholders filled in. Keys and items whose placeholders were left out go. */
export function fillJson(value: unknown, values: Values): unknown {
  if (typeof value === 'string') return valueOf(value, values)
  if (Array.isArray(value)) return value.map((item) => fillJson(item, values)).filter((item) => item !== undefined)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, fillJson(inner, values)] as const)
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined))
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
