import { isObject } from '../../contract/json.ts'
import * as v from 'valibot'
import { byName } from '../../wire/schema.ts'
import { asText, formFields, isFields } from './fields.ts'

const STYLE = v.strictObject({
  style: v.picklist(['simple', 'label', 'matrix', 'form', 'spaceDelimited', 'pipeDelimited', 'deepObject', 'json']),
  explode: v.exactOptional(v.boolean()),
  name: v.exactOptional(v.string()),
  lists: v.exactOptional(v.picklist(['brackets', 'indices', 'repeated', 'commas'])),
})

/**
 * How the value of an argument is written in the path, the query, a header or a field of a form: the `style` and `explode`
 * of OpenAPI 3.1 (Parameter Object, Style Values), whose default is `explode: true` for `form` alone; or `json`, of whose
 * list `explode` writes each item by itself. `name`: the name that `matrix`
 * writes, by default the argument's. `lists`: how `deepObject` writes lists, which OpenAPI does not say: `key[]=a`
 * (default), `key[0]=a`, `key=a&key=b` or `key=a,b`.
 */
export type ArgumentStyle = Readonly<v.InferOutput<typeof STYLE>>

/** The styles of a request's arguments, by their names. */
export const STYLES = byName(v.string(), STYLE)
export type Styles = Readonly<Record<string, ArgumentStyle>>

export function styleOf(styles: Styles, argument: string): ArgumentStyle | undefined {
  return Object.hasOwn(styles, argument) ? styles[argument] : undefined
}

/** Returns the places of a request whose values a style writes. */
export function stylePlaces({ style }: ArgumentStyle): readonly ('path' | 'query' | 'header' | 'form')[] {
  if (style === 'simple') return ['path', 'header']
  if (style === 'json') return ['path', 'query', 'header', 'form']
  return style === 'label' || style === 'matrix' ? ['path'] : ['query', 'form']
}

/** Encodes what stands between the reserved characters of a URL. */
export function encodePart(text: string): string {
  return encodeURIComponent(text.toWellFormed())
}

/** Encodes a name of a query. `$`, as OData has it, stays as it is: every server reads it, and some read nothing else. */
export function encodeName(text: string): string {
  return encodePart(text).replaceAll('%24', '$')
}

/**
 * Writes the value of an argument into a path, or with another `encode` into a header. Returns undefined if it has no style
 * of its own.
 */
export function writeStyled(
  styles: Styles,
  argument: string,
  values: ReadonlyMap<string, unknown>,
  encode = encodePart,
): string | undefined {
  const own = styleOf(styles, argument)
  if (!own) return undefined
  const value = values.get(argument)
  const { style, explode = false, name = argument } = own
  if (style === 'json') return encode(JSON.stringify(value))
  const [prefix, separator] = style === 'label' ? ['.', '.'] : style === 'matrix' ? [';', ';'] : ['', ',']
  const text = (each: unknown) => encode(asText(each))
  const withName = (key: string, each: string) => (each === '' ? encode(key) : `${encode(key)}=${each}`)
  const isNamed = style === 'matrix'
  if (Array.isArray(value) && explode) {
    return prefix + value.map((each) => (isNamed ? withName(name, text(each)) : text(each))).join(separator)
  }
  if (isFields(value) && explode) {
    return (
      prefix +
      entriesOf(value)
        .map(([key, each]) => `${encode(key)}=${text(each)}`)
        .join(separator)
    )
  }
  const joined = partsOf(value).map(text).join(',')
  return prefix + (isNamed ? withName(name, joined) : joined)
}

/** Writes a value as pairs of a query, each of which is encoded. */
export function writePairs(
  key: string,
  value: unknown,
  { style, explode = style === 'form', lists = 'brackets' }: ArgumentStyle,
): string[] {
  const pair = ([name, text]: readonly [string, string]) => `${encodeName(name)}=${encodePart(text)}`
  if (style === 'json') return [pair([key, JSON.stringify(value)])]
  if (style === 'deepObject') return formFields(key, value, lists).map(pair)
  if (explode && Array.isArray(value)) return value.map((each) => pair([key, asText(each)]))
  if (explode && isFields(value))
    return entriesOf(value).flatMap(([name, each]) => listOf(each).map((item) => pair([name, asText(item)])))
  const separator = style === 'spaceDelimited' ? '%20' : style === 'pipeDelimited' ? '%7C' : ','
  return [
    `${encodeName(key)}=${partsOf(value)
      .map((each) => encodePart(asText(each)))
      .join(separator)}`,
  ]
}

/** Returns what is written of a value that is not exploded: the items of a list, the keys and values of an object. */
function partsOf(value: unknown): readonly unknown[] {
  return isFields(value) ? entriesOf(value).flat() : listOf(value)
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [value]
}

function entriesOf(value: unknown): [string, unknown][] {
  return Object.entries(isObject(value) ? value : {}).filter(([, each]) => each !== null && each !== undefined)
}
