import { isObject } from '../../contract/json.ts'
import { asText, type FormField, formFields, isFields } from './fields.ts'
import { styleOf, type Styles, writePairs } from './style.ts'

/** A body as it is sent, with its content type. */
export interface EncodedBody {
  readonly type: string
  readonly text: string
}

/**
 * Encodes an object as the fields of a form. The key of a list is repeated for each item; an object within it becomes
 * `key[inner]`, a list within that `key[inner][]`, unless a field has a style. A key whose value is null is left out.
 */
export function encodeForm(body: unknown, kind: 'form' | 'multipart', styles: Styles): EncodedBody {
  const fields = Object.entries(isObject(body) ? body : {}).flatMap(([name, value]): Field[] => {
    const style = styleOf(styles, name)
    if (value === null) return []
    if (style?.style === 'json')
      return (style.explode && Array.isArray(value) ? value : [value]).map((each) => [
        name,
        asText(each),
        isFields(each) || Array.isArray(each) ? 'json' : undefined,
      ])
    if (style) return writePairs(name, value, style).map((pair) => splitPair(pair, kind))
    return Array.isArray(value)
      ? value.flatMap((item, index) => formFields(isFields(item) ? `${name}[${index}]` : name, item))
      : formFields(name, value)
  })
  if (kind === 'multipart') return encodeMultipart(fields)
  const pairs = fields.map(([name, value, kind]) =>
    kind === 'escaped'
      ? `${name}=${value}`
      : new URLSearchParams([[name.toWellFormed(), value.toWellFormed()]]).toString(),
  )
  return { type: 'application/x-www-form-urlencoded', text: pairs.join('&') }
}

/** A field whose value may be JSON, or be escaped with its name. */
type Field = readonly [...FormField, kind?: 'json' | 'escaped' | undefined]

function splitPair(pair: string, kind: 'form' | 'multipart'): Field {
  const [name = '', value = ''] = pair.split('=')
  return kind === 'form' ? [name, value, 'escaped'] : [decodeURIComponent(name), decodeURIComponent(value)]
}

/** Encodes fields as HTML does; the boundary is one that is in no field. */
function encodeMultipart(fields: readonly Field[]): EncodedBody {
  let boundary = 'edgecall-form'
  while (fields.some(([name, value]) => name.includes(boundary) || value.includes(boundary))) boundary += '-'
  const parts = fields.map(([name, value, kind]) => {
    const quoted = name.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
    const type = kind === 'json' ? '\r\ncontent-type: application/json' : ''
    return `--${boundary}\r\ncontent-disposition: form-data; name="${quoted}"${type}\r\n\r\n${value}\r\n`
  })
  return { type: `multipart/form-data; boundary=${boundary}`, text: `${parts.join('')}--${boundary}--\r\n` }
}

/** The values of placeholders, by name; a name that is not there is an argument that was left out. */
export type Values = ReadonlyMap<string, unknown>

/**
 * Matches `{name}`, and `{name|,}` with what the items of a list are joined by. A name may be of several words. Braces
 * with a space directly inside them, as JSON and GraphQL have, are plain text.
 */
const PLACEHOLDER = /\{([\p{L}_$@][\p{L}\p{M}\p{N}_$@.-]*(?: [\p{L}\p{M}\p{N}_$@.-]+)*)(?:\|([^{}]))?\}/gu

/** Returns the names of the placeholders in a text, or in all texts of a JSON value; `unjoined` those without `|`. */
export function namesIn(value: unknown, which: 'all' | 'unjoined' = 'all'): string[] {
  if (typeof value === 'string') {
    const placeholders = Array.from(value.matchAll(PLACEHOLDER))
    return placeholders.flatMap(([, name = '', joiner]) => (which === 'all' || joiner === undefined ? [name] : []))
  }
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap((each) => namesIn(each, which)) : []
}

/** Returns the name of the placeholder that a text consists of; undefined for any other value. */
export function nameAlone(text: unknown): string | undefined {
  const [name = ''] = typeof text === 'string' ? namesIn(text) : []
  return text === `{${name}}` ? name : undefined
}

/** Replaces every placeholder of a text by the same text. */
export function withoutNames(text: string, instead: string): string {
  return text.replace(PLACEHOLDER, instead)
}

/** How values and the text around them are encoded. Default: they are not. */
interface Encoding {
  readonly value?: (text: string) => string
  readonly text?: (text: string) => string
  /** Writes the value of a placeholder in full, if that has a style of its own. */
  readonly styled?: (name: string) => string | undefined
}

const same = (text: string) => text

/**
 * Fills in the placeholders of a text: texts as they are, other values as JSON. Returns undefined if one of them was
 * left out.
 */
export function fillText(
  text: string,
  values: Values,
  { value: encode = same, text: encodeText = same, styled = () => undefined }: Encoding = {},
): string | undefined {
  if (!namesIn(text).every((name) => values.has(name))) return undefined
  let filled = ''
  let end = 0
  for (const { 0: placeholder, 1: name = '', 2: joiner, index } of text.matchAll(PLACEHOLDER)) {
    filled += encodeText(text.slice(end, index)) + (styled(name) ?? joined(values.get(name), joiner, encode))
    end = index + placeholder.length
  }
  return filled + encodeText(text.slice(end))
}

/** The characters that a URL has between the items of a list as they are; within an item they are encoded. */
const JOINERS = /[,;.]/

function joined(value: unknown, joiner: string | undefined, encode: (text: string) => string): string {
  if (joiner === undefined || !Array.isArray(value)) return encode(asText(value))
  return value.map((item) => encode(asText(item))).join(JOINERS.test(joiner) ? joiner : encode(joiner))
}

/** Returns the value of a placeholder, of whatever type, if the text is just one; else the filled text. */
export function valueOf(text: string, values: Values): unknown {
  const name = nameAlone(text)
  return name === undefined ? fillText(text, values) : values.get(name)
}

/** Fills in the placeholders of a JSON value. Keys and items whose placeholders were left out are dropped. */
export function fillJson(value: unknown, values: Values): unknown {
  if (typeof value === 'string') return valueOf(value, values)
  if (Array.isArray(value)) return value.map((item) => fillJson(item, values)).filter((item) => item !== undefined)
  if (!isObject(value)) return value
  const entries = Object.entries(value).map(([key, inner]) => [key, fillJson(inner, values)] as const)
  return Object.fromEntries(entries.filter(([, inner]) => inner !== undefined))
}

/** The URL of an HTTP tool, in parts. Its origin is fixed; path and query may hold placeholders. */
export interface Endpoint {
  /** Scheme, host and port alone. */
  readonly base: URL
  /** The path's segments, each to be encoded by itself. */
  readonly segments: readonly string[]
  readonly query: readonly (readonly [name: string, value: string])[]
}

const PARTS = /^(https?:\/\/[^/?#{}@]+)(\/[^?#]*)?(?:\?([^#]*))?$/i

/** Parses the template of a URL; returns what was expected, as text, if it is not valid. */
export function parseEndpoint(template: string): Endpoint | string {
  // A URL parser drops tabs and line ends, and takes a backslash for a slash: neither may hide anything here.
  const [, origin = '', path = '/', query = ''] = (!/[\s\\]/.test(template) && PARTS.exec(template)) || []
  if (!URL.canParse(origin)) {
    return 'an absolute URL: https://, a fixed host, a path; no user name, fragment, space or backslash'
  }
  const segments = path.slice(1).split('/')
  const pairs = [...new URLSearchParams(query)]
  const texts = [...segments, ...pairs.map(([, value]) => value)].map((text) => withoutNames(text, 'x'))
  if ([...texts, ...pairs.map(([name]) => name)].some((text) => /[{}]/.test(text))) {
    return 'placeholders such as {city}, each within one path segment or query value'
  }
  if (texts.slice(0, segments.length).some(isDots)) return 'a path without the segments . and ..'
  return { base: new URL(origin), segments, query: pairs }
}

/** Returns whether a URL parser resolves a path segment away: `.` and `..`, also written as `%2e`. */
export function isDots(segment: string): boolean {
  return /^(?:\.|%2e){1,2}$/i.test(segment)
}
