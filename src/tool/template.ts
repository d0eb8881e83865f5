import { isObject } from '../contract/json.ts'

/** Text with placeholders: what is written is a string, what is to be filled in has a name. */
export type Template = readonly (string | { readonly name: string })[]

/** What placeholders stand for; a name that is not there is an argument that was left out. */
export type Values = ReadonlyMap<string, unknown>

/** Braces without a name right inside them, as JSON and GraphQL have, are plain text. */
const PLACEHOLDER = /\{([A-Za-z_$@][\w$@.-]*)\}/

/** Splits a text at its placeholders, `{name}`. */
export function parseTemplate(text: string): Template {
  // A captured group makes every other piece a name.
  const pieces = text.split(PLACEHOLDER)
  return pieces.map((piece, index) => (index % 2 === 0 ? piece : { name: piece })).filter((piece) => piece !== '')
}

/** The names of the placeholders in a text, or in all texts of a JSON value. */
export function namesIn(value: unknown): string[] {
  if (typeof value === 'string') {
    return parseTemplate(value).flatMap((piece) => (typeof piece === 'string' ? [] : [piece.name]))
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(namesIn) : []
}

/**
 * The text with its placeholders filled in: texts as they are, other values as JSON. Undefined where one of them was
 * left out. `encode` is put around each value, never around what is written.
 */
export function fillText(template: Template, values: Values, encode = (text: string) => text): string | undefined {
  let text = ''
  for (const piece of template) {
    if (typeof piece === 'string') text += piece
    else if (values.has(piece.name)) text += encode(asText(values.get(piece.name)))
    else return undefined
  }
  return text
}

/**
 * The JSON value with its placeholders filled in. A text that is one placeholder becomes its value, of whatever type;
 * keys and items whose placeholders were left out go. Undefined where the whole was left out.
 */
export function fillJson(value: unknown, values: Values): unknown {
  if (typeof value === 'string') {
    const template = parseTemplate(value)
    const [only] = template
    if (template.length === 1 && typeof only === 'object') return values.get(only.name)
    return fillText(template, values)
  }
  if (Array.isArray(value)) return value.map((item) => fillJson(item, values)).filter((item) => item !== undefined)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, fillJson(inner, values)] as const)
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined))
}

export function asText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}
