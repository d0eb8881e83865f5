import { isObject } from '../../src/contract/json.ts'

/**
 * Reads a request as the server of an OpenAPI document does: by the tables “Style Values” and “Style Examples” of OpenAPI
 * 3.1.1, RFC 6570 for path and query, and the Encoding Object for forms. It shares nothing with what writes requests.
 */

export interface SentRequest {
  readonly url: URL
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** A Parameter Object without references, or a field of a form, which is written as a query parameter is. */
export interface Parameter {
  readonly name: string
  readonly in: string
  readonly style?: unknown
  readonly explode?: unknown
  readonly content?: unknown
  readonly schema?: unknown
}

/** Thrown for what the server cannot read. */
export class Unreadable extends Error {}

export type Pair = readonly [key: string, rawValue: string]

const unescape = (text: string) => {
  try {
    return decodeURIComponent(text)
  } catch {
    throw new Unreadable(`${text} has a broken escape`)
  }
}
const same = (text: string) => text

/** Reads one value that is no part of a list: as JSON if a list or an object is wanted, which no style writes. */
export function readText(text: string, like: unknown): unknown {
  if (typeof like === 'string') return text
  if (like === undefined || like === null) return text
  try {
    return JSON.parse(text)
  } catch {
    throw new Unreadable(`${JSON.stringify(text)} is no ${Array.isArray(like) ? 'list' : typeof like}`)
  }
}

function readItems(texts: readonly string[], like: readonly unknown[], decode: (text: string) => string): unknown[] {
  return texts.map((text, index) => readText(decode(text), like[Math.min(index, like.length - 1)]))
}

function readEntries(pairs: readonly Pair[], like: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(pairs.map(([key, text]) => [key, readText(text, like[key])]))
}

/** The key and value of each `key=value`. */
function split(texts: readonly string[], decode: (text: string) => string): Pair[] {
  return texts.map((text) => {
    const at = text.indexOf('=')
    return at < 0 ? [decode(text), ''] : [decode(text.slice(0, at)), decode(text.slice(at + 1))]
  })
}

/** Takes a list of keys and values in turn. */
function inTurn(texts: readonly string[], decode: (text: string) => string): Pair[] {
  if (texts.length % 2 > 0) throw new Unreadable(`${texts.join(',')} is no list of keys and values`)
  return texts.flatMap((key, index) =>
    index % 2 === 0 ? [[decode(key), decode(texts[index + 1] ?? '')] as const] : [],
  )
}

/** Reads a parameter of the path or of a header from what stands in its place. `like` has the types that are wanted. */
export function readPlaced(raw: string, parameter: Parameter, like: unknown): unknown {
  const { name, in: place, style = 'simple', explode = false, content } = parameter
  const decode = place === 'header' ? same : unescape
  if (content !== undefined) return readContent(decode(raw), content, like)
  if (style === 'simple') return readSimple(raw, { separator: ',', explode, decode }, like)
  if (style === 'label') {
    if (!raw.startsWith('.')) throw new Unreadable(`${raw} is no label`)
    return readSimple(raw.slice(1), { separator: explode === true ? '.' : ',', explode, decode }, like)
  }
  if (style !== 'matrix') throw new Unreadable(`no style ${String(style)} in the ${place}`)
  if (!raw.startsWith(';')) throw new Unreadable(`${raw} is no matrix`)
  const pairs = raw
    .slice(1)
    .split(';')
    .map((text): Pair => {
      const at = text.indexOf('=')
      return at < 0 ? [decode(text), ''] : [decode(text.slice(0, at)), text.slice(at + 1)]
    })
  if (explode === true && isObject(like))
    return readEntries(
      pairs.map(([key, text]) => [key, decode(text)]),
      like,
    )
  if (pairs.some(([key]) => key !== name)) throw new Unreadable(`${raw} has another name than ${name}`)
  if (explode === true && Array.isArray(like))
    return readItems(
      pairs.map(([, text]) => text),
      like,
      decode,
    )
  if (pairs.length > 1) throw new Unreadable(`${raw} has several values`)
  return readSimple(pairs[0]?.[1] ?? '', { separator: ',', explode: false, decode }, like)
}

interface Notation {
  readonly separator: string
  readonly explode: unknown
  readonly decode: (text: string) => string
}

function readSimple(raw: string, { separator, explode, decode }: Notation, like: unknown): unknown {
  if (Array.isArray(like)) return readItems(raw.split(separator), like, decode)
  if (!isObject(like)) return readText(decode(raw), like)
  const texts = raw.split(separator)
  return readEntries(explode === true ? split(texts, decode) : inTurn(texts, decode), like)
}

function readContent(text: string, content: unknown, like: unknown): unknown {
  const [type = ''] = Object.keys(Object(content))
  return /json/i.test(type) ? readText(text, like === undefined ? undefined : Object(like)) : readText(text, like)
}

/** The pairs of a query or a URL-encoded form, the values still escaped. A plus sign is no space to all servers. */
export function pairsOf(text: string, plus: 'space' | 'refused'): Pair[] {
  if (plus === 'refused' && text.includes('+'))
    throw new Unreadable('a plus sign, which many servers do not read as a space')
  const escaped = text.replaceAll('+', '%20')
  return escaped === ''
    ? []
    : escaped.split('&').map((pair): Pair => {
        const at = pair.indexOf('=')
        return at < 0 ? [unescape(pair), ''] : [unescape(pair.slice(0, at)), pair.slice(at + 1)]
      })
}

/**
 * Reads a query parameter, or undefined if it is not there. Removes its pairs from `pairs`, so that what remains belongs to
 * no parameter. `texts` is how the document's own texts show lists of a `deepObject`.
 */
export function readQuery(pairs: Pair[], parameter: Parameter, like: unknown, texts = ''): unknown {
  const { name, style = 'form', explode = style === 'form', content } = parameter
  const take = (belongs: (key: string) => boolean) => {
    const own = pairs.filter(([key]) => belongs(key))
    pairs.splice(0, pairs.length, ...pairs.filter(([key]) => !belongs(key)))
    return own
  }
  if (content === undefined && style === 'deepObject') {
    return readDeep(
      take((key) => (key === name && !isObject(like)) || key.startsWith(`${name}[`)),
      name,
      { like, texts },
    )
  }
  if (content === undefined && explode === true && isObject(like)) {
    const own = take((key) => Object.hasOwn(like, key))
    return own.length === 0 ? undefined : readRepeated(own, like)
  }
  const own = take((key) => key === name)
  if (own.length === 0) return undefined
  if (content === undefined && explode === true && Array.isArray(like)) {
    return readItems(
      own.map(([, text]) => text),
      like,
      unescape,
    )
  }
  if (own.length > 1) throw new Unreadable(`${name} is there ${own.length} times`)
  const raw = own[0]?.[1] ?? ''
  if (content !== undefined) return readContent(unescape(raw), content, like)
  if (style !== 'form' && style !== 'spaceDelimited' && style !== 'pipeDelimited')
    throw new Unreadable(`no style ${String(style)} in the query`)
  const parts = raw.split(style === 'form' ? ',' : style === 'spaceDelimited' ? /%20/ : /%7C|\|/i)
  if (Array.isArray(like)) return readItems(parts, like, unescape)
  if (isObject(like)) return readEntries(inTurn(parts, unescape), like)
  return readText(unescape(raw), like)
}

function readRepeated(pairs: readonly Pair[], like: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const entries = Object.entries(like).map(([key, inner]) => {
    const texts = pairs.filter(([each]) => each === key).map(([, text]) => unescape(text))
    if (Array.isArray(inner)) return [key, readItems(texts, inner, same)]
    return [key, texts.length === 1 ? readText(texts[0] ?? '', inner) : texts.length === 0 ? undefined : texts]
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

/** Reads an object in brackets. Lists may be in any of the usual notations, unless the document shows one. */
function readDeep(pairs: readonly Pair[], name: string, { like, texts }: { like: unknown; texts: string }): unknown {
  if (pairs.length === 0) return undefined
  const own = pairs.filter(([key]) => key === name).map(([, text]) => unescape(text))
  const inner = pairs.filter(([key]) => key !== name)
  if (Array.isArray(like)) {
    const wanted = [`${name}[]=`, `${name}[0]`].find((each) => texts.includes(each))
    const indexed = Map.groupBy(inner, ([key]) => /^\[(\d*)\]/.exec(key.slice(name.length))?.[1])
    if (indexed.has(undefined)) throw new Unreadable(`${name} is an object and not a list`)
    if (wanted?.endsWith('[]=') && !indexed.has('') && !like.some(isObject))
      throw new Unreadable(`not as texts: ${wanted}`)
    if (wanted?.endsWith('[0]') && !indexed.has('0')) throw new Unreadable(`not as texts: ${wanted}`)
    const plain = [...own, ...(indexed.get('') ?? []).map(([, text]) => unescape(text))]
    if (plain.length > 0) return readItems(plain, like, same)
    return [...indexed.keys()].map((index, at) =>
      readDeep(indexed.get(index) ?? [], `${name}[${index}]`, { like: like[at], texts }),
    )
  }
  if (!isObject(like)) {
    if (inner.length > 0 || own.length !== 1) throw new Unreadable(`${name} is no plain value`)
    return readText(own[0] ?? '', like)
  }
  const keys = new Set(inner.map(([key]) => /^\[([^\]]*)\]/.exec(key.slice(name.length))?.[1] ?? ''))
  return Object.fromEntries(
    [...keys].map((key) => {
      const at = `${name}[${key}]`
      return [
        key,
        readDeep(
          inner.filter(([each]) => each.startsWith(at)),
          at,
          { like: like[key], texts },
        ),
      ]
    }),
  )
}

/** A part of a multipart form. */
interface FormPart {
  readonly name: string
  readonly type: string
  readonly text: string
}

export function readParts(body: string, type: string): FormPart[] {
  const boundary = /boundary=("?)([^";]+)\1/.exec(type)?.[2]
  if (boundary === undefined) throw new Unreadable('a multipart form without a boundary')
  const texts = body.split(`--${boundary}`)
  if (texts[0] !== '' || texts.at(-1) !== '--\r\n') throw new Unreadable('a multipart form without an end')
  return texts.slice(1, -1).map((each) => {
    const [head = '', ...rest] = each.split('\r\n\r\n')
    const name = /name="([^"]*)"/.exec(head)?.[1]
    const text = rest.join('\r\n\r\n')
    if (name === undefined || !text.endsWith('\r\n')) throw new Unreadable('a part without a name or an end')
    const partType = /^content-type: *(.*)$/im.exec(head)?.[1] ?? 'text/plain'
    return { name: name.replaceAll('%22', '"'), type: partType, text: text.slice(0, -2) }
  })
}

/** Reads a form: each field by its Encoding Object, or else as the table of default media types has it. */
export function readForm(
  sent: SentRequest,
  encoding: unknown,
  like: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const { 'content-type': type = '' } = sent.headers
  const isMultipart = type.startsWith('multipart/')
  const parts = isMultipart ? readParts(sent.body ?? '', type) : []
  const pairs = isMultipart
    ? parts.map(({ name, text }): Pair => [name, encodeURIComponent(text).replaceAll('%2C', ',')])
    : pairsOf(sent.body ?? '', 'space')
  const entries = Object.entries(like).map(([name, inner]) => {
    const { style, explode, contentType } = Object(Object(encoding)[name])
    if (style !== undefined || explode !== undefined) {
      return [name, readQuery(pairs, { name, in: 'query', style, explode }, inner)]
    }
    const texts = pairs.filter(([key]) => key === name).map(([, text]) => unescape(text))
    const own = parts.filter((part) => part.name === name)
    pairs.splice(0, pairs.length, ...pairs.filter(([key]) => key !== name))
    const items = Array.isArray(inner) && contentType === undefined ? inner : [inner]
    if (own.some((part, index) => isCompound(items[index]) && !/json/.test(part.type)))
      throw new Unreadable(`the part ${name} is an object without a JSON type`)
    if (Array.isArray(inner) && contentType === undefined) return [name, readItems(texts, inner, same)]
    if (texts.length > 1) throw new Unreadable(`the field ${name} is there ${texts.length} times`)
    return [name, texts.length === 0 ? undefined : readText(texts[0] ?? '', inner)]
  })
  if (pairs.length > 0) throw new Unreadable(`fields of no property: ${pairs.map(([key]) => key).join(', ')}`)
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

export function isCompound(value: unknown): boolean {
  return typeof value === 'object' && value !== null
}
