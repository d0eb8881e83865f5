import { binaryOf, toBase64, toHex } from './bytes.ts'
import { isObject } from './json.ts'

/** Removes known secrets from texts and JSON values. What contains none is returned as it is. */
export interface SecretFilter {
  readonly text: (text: string) => string
  /**
   * Returns a value of the same shape, in which texts and keys are clean, and numbers that are a secret are texts. It
   * recurses: bound the depth first.
   */
  readonly json: <Value>(value: Value) => Value
  /** Returns a filter for a text that comes in pieces. It finds a secret wherever the pieces cut it. */
  readonly pieces: () => TextPieces
}

export interface TextPieces {
  /** Takes the next piece. Returns what can be passed on: all but an end in which a secret may begin. */
  readonly add: (piece: string) => string
  /** Returns what was held back, at the end of the text. */
  readonly rest: () => string
}

export interface FilterOptions {
  /** Shorter secrets are not looked for: they may be words, such as those of a test. Default: 12 characters. */
  readonly least?: number
}

const REDACTED = '[redacted]'

/**
 * Makes a filter that finds each secret as it is, also in UTF-16; with any of its characters escaped as in JSON,
 * JavaScript, URLs and HTML, once or several times, or as in mails; in hexadecimal; as a list of bytes; in base64, also
 * inside a longer encoded text and over several lines; and in base64 or hexadecimal of any of these. Undefined if there is
 * no secret of that length.
 */
export function secretFilter(secrets: readonly string[], { least = 12 }: FilterOptions = {}): SecretFilter | undefined {
  const wanted = [...new Set(secrets)].filter(({ length }) => length >= least)
  if (wanted.length === 0) return undefined
  const needles = makeNeedles(wanted)
  const isSlashed = wanted.some((secret) => secret.endsWith('\\'))
  const text = (value: string): string => {
    if (value.length < needles.shortest) return value
    return withoutEscaped(withoutEscaped(cut(value, needles.in(value)), false), true)
  }
  const withoutEscaped = (value: string, isQuoted: boolean): string => {
    const view = unescaped(value, isQuoted)
    if (view === value || needles.in(view).length === 0) return value
    const { text: viewText, starts, ends } = escapeView(`${value}\n`, isQuoted)
    const ranges = needles.in(viewText).map(([from, to]): Range => {
      const end = ends[to - 1] ?? value.length
      return [starts[from] ?? 0, isSlashed ? end + escapedBackslashes(value, end) : end]
    })
    return cut(value, ranges)
  }
  function json<Value>(value: Value): Value
  function json(value: unknown): unknown {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return wanted.includes(String(value)) ? REDACTED : value
    if (Array.isArray(value)) {
      // The bytes of a secret, as a Buffer is written as JSON.
      if (typeof value[0] === 'number' && needles.in(value.join(',')).length > 0) return [REDACTED]
      const items = value.map((item: unknown) => json(item))
      return items.some((item, index) => item !== value[index]) ? items : value
    }
    if (!isObject(value)) return value
    const entries = Object.entries(value)
    const clean = entries.map(([key, inner]) => [text(key), json(inner)] as const)
    const isChanged = clean.some(([key, inner], index) => key !== entries[index]?.[0] || inner !== entries[index]?.[1])
    return isChanged ? Object.fromEntries(clean) : value
  }
  /** Returns where the end of a text begins that may be the beginning of a secret. */
  const endOfSafe = (value: string): number => {
    const from = Math.max(0, value.length - needles.longest() * MOST_ESCAPED)
    const end = value.slice(from)
    const safe = (isQuoted: boolean): number => {
      const { text: view, starts } = escapeView(end, isQuoted)
      const escapeAt = begunEscape(view)
      const at = Math.min(needles.beginIn(view), needles.beginIn(view.slice(0, escapeAt)), escapeAt)
      return at < view.length ? from + (starts[at] ?? 0) : value.length
    }
    return SIGN_OF_QUOTED.test(end) ? Math.min(safe(false), safe(true)) : safe(false)
  }
  const pieces = (): TextPieces => {
    let tail = ''
    let readLength = 0
    return {
      add: (piece) => {
        tail += piece
        // A long end that is kept back is read again once it has grown by an eighth, not with each piece.
        if (tail.length < readLength * 1.125) return ''
        const value = text(tail)
        const end = endOfSafe(value)
        tail = value.slice(end)
        readLength = tail.length
        return value.slice(0, end)
      },
      rest: () => {
        const value = text(tail)
        tail = ''
        readLength = 0
        return value
      },
    }
  }
  return { text, json, pieces }
}

/** How many characters of a text escape one of a secret, for the end of a text that comes in pieces. */
const MOST_ESCAPED = 28

type Range = readonly [from: number, to: number]

interface Needles {
  /** The length of the longest form. */
  readonly longest: () => number
  readonly shortest: number
  /** Returns where a text contains a form of a secret. */
  readonly in: (text: string) => Range[]
  /** Returns the first place from which a text is the beginning of a form; its length if there is none. */
  readonly beginIn: (text: string) => number
}

/** Prepares the forms of secrets. Those that are encoded are made for the first text that could contain one. */
function makeNeedles(secrets: readonly string[]): Needles {
  const withViews = (forms: readonly string[]) =>
    [...new Set(forms.flatMap((form) => [form, unescaped(form), unescaped(JSON.stringify(form).slice(1, -1))]))].filter(
      (form) => form !== '',
    )
  const plain = withViews(secrets.flatMap((secret) => [...plainForms(secret), ...printedBytes(secret)]))
  const shortest = Math.min(...plain.map(({ length }) => length))
  const encodedRun = new RegExp(`[\\w+/-]{${Math.max(LEAST_PIECE, shortest)}}`)
  const base64 = once(() => [...new Set(secrets.flatMap(base64OfForms))])
  const hex = once(() => [...new Set(secrets.flatMap(hexOfForms))])
  const byFirst = once(() => Map.groupBy([...plain, ...base64()], (form) => form.charCodeAt(0)))
  const hexByFirst = once(() => Map.groupBy(hex(), (form) => form.charCodeAt(0)))
  const longest = once(() => [...plain, ...base64(), ...hex()].reduce((most, { length }) => Math.max(most, length), 0))
  const isBegun = (forms: ReadonlyMap<number, readonly string[]>, text: string, at: number) => {
    const candidates = forms.get(text.charCodeAt(at))
    if (!candidates) return false
    const end = text.slice(at)
    return candidates.some((form) => form.length > end.length && form.startsWith(end))
  }
  return {
    longest,
    shortest,
    in: (text) => [
      ...rangesOf(encodedRun.test(text) ? [...plain, ...base64()] : plain, text),
      ...(HEX_RUN.test(text) ? rangesOf(hex(), withLowerHex(text)) : []),
    ],
    beginIn: (text) => {
      const lower = withLowerHex(text)
      for (let at = Math.max(0, text.length - longest() + 1); at < text.length; at++) {
        if (isBegun(byFirst(), text, at) || isBegun(hexByFirst(), lower, at)) return at
      }
      return text.length
    },
  }
}

function rangesOf(forms: readonly string[], text: string): Range[] {
  return forms.flatMap((form) => {
    const ranges: Range[] = []
    for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) ranges.push([at, at + form.length])
    return ranges
  })
}

const HEX_RUN = /(?:[\da-f]{2}[: ]?){3}/i

/** A text whose hexadecimal digits are in lower case, of the same length. */
function withLowerHex(text: string): string {
  return text.replace(/[A-F]+/g, (digits) => digits.toLowerCase())
}

/** Returns how many of the backslashes at a place of a text escape each other, and not what follows them. */
function escapedBackslashes(text: string, at: number): number {
  const count = /^\\*/.exec(text.slice(at, at + 64))?.[0].length ?? 0
  return count - (count % 2)
}

/** Replaces the ranges of a text, those that overlap by one mark. */
function cut(text: string, ranges: readonly Range[]): string {
  let clean = ''
  let at = 0
  for (const [from, to] of ranges.toSorted(([a], [b]) => a - b)) {
    if (from >= at) clean += text.slice(at, from) + REDACTED
    at = Math.max(at, to)
  }
  return ranges.length === 0 ? text : clean + text.slice(at)
}

function once<Value>(make: () => Value): () => Value {
  let memo: { readonly value: Value } | undefined
  return () => (memo ??= { value: make() }).value
}

/** A shorter piece of base64 says too little of a secret, and is found everywhere. */
const LEAST_PIECE = 6

/** Returns a secret as texts have it once their escapes are undone (`escape-view.ts`). */
function plainForms(secret: string): string[] {
  const bytes = binaryOf(new TextEncoder().encode(secret))
  // A backslash at the end may be taken for the escape of what follows the secret.
  const trimmed = [secret, bytes].map((text) => text.replace(/\\+$/, ''))
  return [...new Set([secret, bytes, ...trimmed, secret.replaceAll(' ', '+')])]
}

/** Returns a secret in base64, also as it is inside a longer encoded text, and its encoded and escaped forms in base64. */
function base64OfForms(secret: string): string[] {
  const bytes = [utf8(secret), ...wideBytes(secret), ...encodedTexts(secret).map(utf8)]
  return bytes.flatMap(base64Forms).filter((form) => form.length >= LEAST_PIECE)
}

/** Returns a secret, and its encoded and escaped forms, in hexadecimal, in lower case; its bytes also apart. */
function hexOfForms(secret: string): string[] {
  const bytes = [utf8(secret), ...wideBytes(secret)]
  const apart = bytes.flatMap((each) => {
    const pairs = toHex(each).match(/../g) ?? []
    return [pairs.join(':'), pairs.join(' ')]
  })
  const forms = [...bytes, ...encodedTexts(secret).map(utf8)].map(toHex)
  return [...forms, ...apart].filter((form) => form.length >= LEAST_PIECE)
}

/** The texts of a secret that may be encoded once more. */
function encodedTexts(secret: string): string[] {
  const hex = toHex(utf8(secret))
  const texts = [...base64Forms(utf8(secret)), hex, hex.toUpperCase(), ...escapesOf(secret)]
  return [...new Set(texts)].filter((text) => text !== secret && text.length >= LEAST_PIECE)
}

/** The bytes of a text in UTF-16, in both orders. */
function wideBytes(text: string): Uint8Array[] {
  const units = text.split('').map((unit) => unit.charCodeAt(0))
  return [0, 8].map((first) =>
    Uint8Array.from(units.flatMap((unit) => [(unit >> first) & 255, (unit >> (8 - first)) & 255])),
  )
}

const NAMES: Readonly<Record<string, string>> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot', "'": 'apos' }

/** The ways in which a text is commonly escaped before it is encoded. */
function escapesOf(secret: string): string[] {
  const url = encodeURIComponent(secret.toWellFormed())
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = (of: RegExp) => secret.replace(of, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const entities = (of: (char: string) => string) => secret.replace(/[&<>"']/g, of)
  return [
    url,
    url.replace(/%../g, (code) => code.toLowerCase()),
    json,
    json.replaceAll('/', '\\/'),
    ascii(/[^ -~]/g),
    ascii(/[^\w]/g),
    ascii(/[^]/g),
    [...utf8(secret)].map((byte) => `%${toHex(Uint8Array.of(byte))}`).join(''),
    entities((char) => `&#${char.charCodeAt(0)};`),
    entities((char) => `&${NAMES[char]};`),
    entities((char) => (char === "'" ? '&#39;' : `&${NAMES[char]};`)),
  ]
}

/** The base64 of a text in both alphabets, alone and wherever it stands in a longer text. */
function base64Forms(bytes: Uint8Array): string[] {
  const pieces = [0, 1, 2].map((shift) => {
    const shifted = binaryOf(new Uint8Array([...new Uint8Array(shift), ...bytes]))
    const from = Math.ceil((shift * 8) / 6)
    return btoa(shifted).slice(from, Math.floor((shifted.length * 8) / 6))
  })
  const full = toBase64(bytes)
  const forms = [...pieces, full.replace(/=+$/, ''), full]
  return [...forms, ...forms.map((piece) => piece.replaceAll('+', '-').replaceAll('/', '_'))]
}

/** A text in UTF-16, as the characters that its bytes are, and its bytes as JSON and lists print them. */
function printedBytes(text: string): string[] {
  const bytes = utf8(text)
  return [...wideBytes(text).map(binaryOf), ...(bytes.length < LEAST_PIECE ? [] : [bytes.join(','), bytes.join(', ')])]
}

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** A text without its escapes and line breaks, with the part of the source that each of its characters comes from. */
interface EscapeView {
  readonly text: string
  /** Where in the source each character begins, and where it ends. */
  readonly starts: readonly number[]
  readonly ends: readonly number[]
}

/**
 * Matches escapes of JSON, JavaScript, URLs and HTML, where a number may have zeros in front.
 * Backslashes in a row count as one, however often they were escaped.
 */
const ESCAPE =
  /\\+(?:u[0-9a-f]{4}|u\{0{0,8}[0-9a-f]{1,6}\}|x[0-9a-f]{2}|[0-3][0-7]{2}|["'/nrtbf])?|%u[0-9a-f]{4}|%[0-9a-f]{2}|&#x0{0,16}[0-9a-f]{1,6}(?:;|(?=[^\da-f;]))|&#0{0,16}\d{1,7}(?:;|(?=[^\d;]))|&(?:amp|lt|gt|quot|apos|sol|bsol|plus|equals|percnt|colon|lowbar|num|excl|commat|dollar|ast|quest);/gi

/**
 * Matches escapes of quoted-printable. They are undone in a view of their own, since `=` often stands before other text.
 */
const QUOTED = /=(?:[0-9a-f]{2}|\r?\n)/gi
const SIGN_OF_QUOTED = /=(?:[0-9a-f]{2}|\\*[\rrn\n])/i
const SIGN_OF_ESCAPE = /[\\%&\r\n]/
/** How often a text is read again for escapes of escapes. */
const ROUNDS = 5
const LINE_BREAK = /[\r\n]+[ \t]*/g
/** Matches an end of a text that an escape may begin with. */
const ESCAPE_AT_END =
  /(?:\\+(?:u(?:[0-9a-f]{0,3}|\{[0-9a-f]{0,14})|x[0-9a-f]?|[0-3][0-7]?)?|%(?:u[0-9a-f]{0,3}|[0-9a-f])?|=[0-9a-f\r]?|&(?:#(?:\d{0,23}|x[0-9a-f]{0,22})|[a-z]{0,6})?)$/i

const LETTERS: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f' }
const ENTITIES: Readonly<Record<string, string>> = {
  ...{ amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", sol: '/', bsol: '\\', plus: '+', equals: '=', percnt: '%' },
  ...{ colon: ':', lowbar: '_', num: '#', excl: '!', commat: '@', dollar: '$', ast: '*', quest: '?' },
}

/** Undoes the escapes of JSON, URLs and HTML in a text, those of escapes too, and removes line breaks. */
function unescaped(text: string, isQuoted = false): string {
  if (!(isQuoted ? SIGN_OF_QUOTED : SIGN_OF_ESCAPE).test(text)) return text
  // A line break ends an entity at the end of the text.
  let view = `${text}\n`
  for (let round = 0; round < ROUNDS; round++) {
    const next = view.replace(ESCAPE, decodeEscape)
    if (next === view) break
    view = next
  }
  return (isQuoted ? view.replace(QUOTED, decodeEscape) : view).replace(LINE_BREAK, '')
}

/** Does as `unescaped`, and keeps where each character comes from. */
function escapeView(text: string, isQuoted: boolean): EscapeView {
  let view: EscapeView = {
    text,
    starts: Array.from({ length: text.length }, (_, at) => at),
    ends: Array.from({ length: text.length }, (_, at) => at + 1),
  }
  for (let round = 0; round < ROUNDS; round++) {
    const next = replaceIn(view, ESCAPE, decodeEscape)
    if (next.text === view.text) break
    view = next
  }
  return replaceIn(isQuoted ? replaceIn(view, QUOTED, decodeEscape) : view, LINE_BREAK, () => '')
}

/** Returns where the end of a text begins that may be the beginning of an escape; its length if there is none. */
function begunEscape(text: string): number {
  return ESCAPE_AT_END.exec(text)?.index ?? text.length
}

function decodeEscape(escape: string): string {
  const [, hex] = /^(?:%u?|=|&#x|\\+[ux]\{?)([0-9a-f]+)[;}]?$/i.exec(escape) ?? []
  const [, octal] = /^\\+(\d+)$/.exec(escape) ?? []
  const [, decimal] = /^&#(\d+);?$/.exec(escape) ?? []
  const digits = hex ?? octal ?? decimal
  if (digits !== undefined) {
    const code = parseInt(digits, hex === undefined ? (octal === undefined ? 10 : 8) : 16)
    return code <= 0x10ffff ? String.fromCodePoint(code) : escape
  }
  if (escape.startsWith('=')) return ''
  if (escape.startsWith('&')) return ENTITIES[escape.slice(1, -1).toLowerCase()] ?? escape
  const end = escape.replace(/^\\+/, '')
  return end === '' ? '\\' : (LETTERS[end] ?? end)
}

function replaceIn(view: EscapeView, pattern: RegExp, replace: (match: string) => string): EscapeView {
  const starts: number[] = []
  const ends: number[] = []
  let text = ''
  let at = 0
  const copyTo = (end: number) => {
    text += view.text.slice(at, end)
    for (; at < end; at++) {
      starts.push(view.starts[at] ?? 0)
      ends.push(view.ends[at] ?? 0)
    }
  }
  for (const match of view.text.matchAll(pattern)) {
    copyTo(match.index)
    const [start, end] = [view.starts[at] ?? 0, view.ends[at + match[0].length - 1] ?? 0]
    const replacement = replace(match[0])
    text += replacement
    for (let unit = 0; unit < replacement.length; unit++) {
      starts.push(start)
      ends.push(end)
    }
    at += match[0].length
  }
  copyTo(view.text.length)
  return { text, starts, ends }
}
