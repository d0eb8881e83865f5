import { isObject } from '../../contract/json.ts'
import { base64Pieces, byteHex, hexOf } from '../../contract/secrets.ts'

/** Removes known secrets from what a server sent back, in every form in which servers echo what they were sent. */
export interface Redactor {
  /** The length of the longest text it looks for: that much of the end of a cut text may be a part of a secret. */
  readonly longest: number
  readonly text: (text: string) => string
  /** Redacts the texts and keys of a JSON value, and numbers that are a secret. It recurses: bound the depth first. */
  readonly json: (value: unknown) => unknown
  /** Redacts a stream of bytes, text or not. A secret is found wherever the chunks cut it. */
  readonly stream: (body: ReadableStream<Uint8Array>) => ReadableStream<Uint8Array>
}

const REDACTED = '[redacted]'
/** A shorter piece of base64 says too little of a secret, and is found everywhere. */
const LEAST_PIECE = 6

/**
 * Makes a redactor that finds each secret as it is; with any of its characters escaped as in JSON, URLs and HTML, once
 * or several times; in hexadecimal; in base64, also inside a longer encoded text; and in base64 or hexadecimal of any
 * of these.
 */
export function redactor(secrets: readonly string[]): Redactor {
  const wanted = secrets.filter((secret) => secret !== '')
  const texts = patternOf(wanted)
  // The bytes of a stream are read as one character each.
  const wide = wanted.flatMap(wideOf).map(escaped)
  const bytes = {
    pattern: new RegExp([latinOf(texts.pattern.source), ...wide].join('|'), 'g'),
    longest: texts.longest * 3,
  }
  const text = (value: string): string => (wanted.length === 0 ? value : value.replace(texts.pattern, REDACTED))
  const json = (value: unknown): unknown => {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return wanted.includes(String(value)) ? REDACTED : value
    if (Array.isArray(value)) return value.map(json)
    return isObject(value)
      ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [text(key), json(inner)]))
      : value
  }
  return {
    longest: texts.longest,
    text,
    json,
    stream: (body) => (wanted.length === 0 ? body : body.pipeThrough(redactBytes(bytes))),
  }
}

interface Pattern {
  readonly pattern: RegExp
  readonly longest: number
}

function redactBytes({ pattern, longest }: Pattern): TransformStream<Uint8Array, Uint8Array> {
  let pending = ''
  /** Redacts what is pending, but for an end in which a secret may begin. */
  const take = (isLast: boolean): Uint8Array => {
    const safe = isLast ? pending.length : Math.max(0, pending.length - longest)
    let done = ''
    let at = 0
    for (const match of pending.matchAll(pattern)) {
      if (match.index >= safe) break
      done += pending.slice(at, match.index) + REDACTED
      at = match.index + match[0].length
    }
    const end = Math.max(at, safe)
    done += pending.slice(at, end)
    pending = pending.slice(end)
    return Uint8Array.from(done, (char) => char.charCodeAt(0))
  }
  const send = (controller: TransformStreamDefaultController<Uint8Array>, piece: Uint8Array) => {
    if (piece.byteLength > 0) controller.enqueue(piece)
  }
  return new TransformStream({
    transform: (chunk, controller) => {
      pending += binaryOf(chunk)
      if (pending.length > 2 * longest) send(controller, take(false))
    },
    flush: (controller) => send(controller, take(true)),
  })
}

/** Makes the pattern of all forms of these secrets. */
function patternOf(secrets: readonly string[]): Pattern {
  const forms = secrets.flatMap(formsOf)
  // A longer form may contain a shorter one, of which it would leave the rest.
  forms.sort((a, b) => b.longest - a.longest)
  return {
    pattern: new RegExp(forms.map(({ source }) => source).join('|') || '(?!)', 'g'),
    longest: forms[0]?.longest ?? 0,
  }
}

interface Form {
  readonly source: string
  /** The length of the longest text that it matches. */
  readonly longest: number
}

function formsOf(secret: string): Form[] {
  const url = encodeURIComponent(secret.toWellFormed())
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = (of: RegExp) => secret.replace(of, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const entities = (of: (char: string) => string) => secret.replace(/[&<>"']/g, of)
  const escapes = [
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    json,
    json.replaceAll('/', '\\/'),
    ascii(/[^ -~]/g),
    ascii(/[^\w]/g),
    entities((char) => `&#${char.charCodeAt(0)};`),
    entities((char) => `&${NAMES[char]};`),
    entities((char) => (char === "'" ? '&#39;' : `&${NAMES[char]};`)),
  ]
  const inner = [...base64Pieces(secret), base64Of(secret), hexOf(secret), hexOf(secret).toUpperCase()]
  const secondForms = [...inner, ...escapes].filter((text) => text !== secret && text.length >= LEAST_PIECE)
  const forms = [looseForm(secret), ...encodedForms(secret), ...[...new Set(secondForms)].flatMap(encodedForms)]
  return forms.filter(({ source }) => source !== '')
}

/** Hexadecimal and base64 of a text. */
function encodedForms(text: string): Form[] {
  const hex = anyCase(hexOf(text))
  const pieces = base64Pieces(text).filter((piece) => piece.length >= LEAST_PIECE)
  return [
    ...(text.length * 2 >= LEAST_PIECE ? [{ source: hex, longest: text.length * 8 }] : []),
    ...[...new Set([...pieces, base64Of(text)])].map(base64Form),
  ]
}

/** A piece of base64 in both alphabets, its signs as they are or escaped for JSON or a URL. */
function base64Form(piece: string): Form {
  const signs: Readonly<Record<string, string>> = {
    '+': '(?:[+-]|%(?:25){0,2}2[bB])',
    '/': '(?:\\\\{0,2}[/_]|%(?:25){0,2}2[fF])',
    '=': '(?:=|%(?:25){0,2}3[dD])?',
  }
  return { source: piece.replace(/[+/=]/g, (sign) => signs[sign] ?? sign), longest: piece.length * 7 }
}

/** The signs that begin or end an escape, each as it is or escaped itself. */
const BACKSLASH = String.raw`(?:(?:\\|%(?:25){0,3}5[cC]|\\{1,2}u005[cC]|&(?:amp;)?#(?:92|[xX]5[cC]);)(?:u005[cC])?)`
const PERCENT = String.raw`(?:%(?:25){0,3}|\\{1,2}u0025|&(?:amp;)?#(?:37|[xX]25);)`
const AMPERSAND = String.raw`(?:&(?:amp;){0,2}|%(?:25){0,2}26(?:amp(?:;|%3[bB]))?|\\{1,2}u0026(?:amp(?:;|\\u003[bB]))?|&#(?:38|[xX]26);)`
const HASH = String.raw`(?:#|%(?:25){0,2}23|\\{1,2}u0023|&#(?:35|[xX]23);)`
const SEMICOLON = String.raw`(?:;|%(?:25){0,2}3[bB]|\\{1,2}u003[bB]|&#(?:59|[xX]3[bB]);)`

/** The text, each of its characters as it is or escaped: `\u0026`, `%26`, `&amp;`, `&#38;`, `%2526`, and so on. */
function looseForm(secret: string): Form {
  // Backslashes in a row are one unit: patterns of each would match them in too many ways.
  const characters = (secret.match(/\\+|[^]/gu) ?? []).map((char) => {
    if (char.startsWith('\\')) return `${BACKSLASH}{${char.length},${char.length * 8}}`
    const units = char.split('')
    const unicode = units.map(
      (unit) => `${BACKSLASH}{1,3}u${anyCase(unit.charCodeAt(0).toString(16).padStart(4, '0'))}`,
    )
    const percent = [...new TextEncoder().encode(char)].map((byte) => `${PERCENT}${anyCase(byteHex(byte))}`)
    const code = char.codePointAt(0) ?? 0
    const number = `${HASH}(?:0{0,4}${code}|[xX]0{0,4}${anyCase(code.toString(16))})`
    const entity = `${AMPERSAND}(?:${number}${namedEntity(char)})${SEMICOLON}`
    const slashed = SLASHED.get(char)
    const plain =
      slashed === undefined
        ? escaped(char)
        : `${escaped(char)}|${BACKSLASH}{1,3}(?:${escaped(slashed)}|${percent.join('')}|${entity}|${unicode.join('')})`
    return `(?:${plain}|${unicode.join('')}|${percent.join('')}|${entity}${char === ' ' ? '|\\+' : ''})`
  })
  return { source: characters.join(''), longest: secret.length * 24 }
}

/** The characters that JSON escapes by a backslash, with what follows it. */
const SLASHED = new Map<string, string>([
  ...(['"', '/'] as const).map((char) => [char, char] as const),
  ...([
    ['\n', 'n'],
    ['\r', 'r'],
    ['\t', 't'],
    ['\b', 'b'],
    ['\f', 'f'],
  ] as const),
])

const NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

function namedEntity(char: string): string {
  const name = NAMES[char]
  return name === undefined ? '' : `|${name}`
}

function anyCase(hex: string): string {
  return hex.replace(/[a-f]/g, (digit) => `[${digit}${digit.toUpperCase()}]`)
}

function escaped(text: string): string {
  return text.replace(/[\\^$.*+?()[\]{}|/-]/g, (char) => `\\${char}`)
}

function base64Of(text: string): string {
  return btoa(latinOf(text))
}

/** The UTF-8 bytes of a text, as one character each. */
function latinOf(text: string): string {
  return binaryOf(new TextEncoder().encode(text))
}

/** The bytes of a text in UTF-16, in both orders, as one character each. */
function wideOf(text: string): string[] {
  const units = text.split('').map((unit) => unit.charCodeAt(0))
  return [0, 8].map((first) =>
    units.map((unit) => String.fromCharCode((unit >> first) & 255, (unit >> (8 - first)) & 255)).join(''),
  )
}

function binaryOf(bytes: Uint8Array): string {
  let text = ''
  for (let at = 0; at < bytes.length; at += 8192) text += String.fromCharCode(...bytes.subarray(at, at + 8192))
  return text
}
