import { begunEscape, escapeView, SIGN_OF_ANY, SIGN_OF_QUOTED, unescaped } from './escape-view.ts'
import { isObject } from './json.ts'
import { base64OfForms, hexOfForms, plainForms, printedBytes } from './secret-forms.ts'

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
  /**
   * Takes the next piece. Returns what can be passed on: all but an end in which a secret may begin. Of a secret in base64
   * or hexadecimal, whose first characters are found everywhere, the first two may be passed on.
   */
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
    const from = Math.max(0, value.length - needles.longest * MOST_ESCAPED)
    const end = value.slice(from)
    if (!SIGN_OF_ANY.test(end)) return from + needles.beginIn(end)
    const safe = (isQuoted: boolean): number => {
      const { text: view, starts } = escapeView(end, isQuoted)
      const escapeAt = begunEscape(view)
      const at = Math.min(needles.beginIn(view), needles.beginIn(view.slice(0, escapeAt)), escapeAt)
      return at < view.length ? from + (starts[at] ?? 0) : value.length
    }
    return SIGN_OF_QUOTED.test(end) ? Math.min(safe(false), safe(true)) : safe(false)
  }
  const pieces = (): TextPieces => {
    // The end of what was passed on, in which an encoded secret may begin.
    let before = ''
    let tail = ''
    let readLength = 0
    const take = (endOf: (value: string) => number): string => {
      const value = text(before + tail)
      // A secret that begins in what was passed on is marked behind it.
      const from = value.startsWith(before) ? before.length : commonLength(value, before)
      const end = Math.max(from, endOf(value))
      before = value.slice(Math.max(0, end - MOST_PASSED_ON), end)
      tail = value.slice(end)
      readLength = tail.length
      return value.slice(from, end)
    }
    return {
      add: (piece) => {
        tail += piece
        // A long end that is kept back is read again once it has grown by an eighth, not with each piece.
        return tail.length < readLength * 1.125 ? '' : take(endOfSafe)
      },
      rest: () => take((value) => value.length),
    }
  }
  return { text, json, pieces }
}

/** How many characters of a text escape one of a secret, for the end of a text that comes in pieces. */
const MOST_ESCAPED = 28

type Range = readonly [from: number, to: number]

interface Needles {
  /** No form of a secret is longer. */
  readonly longest: number
  readonly shortest: number
  /** Returns where a text contains a form of a secret. */
  readonly in: (text: string) => Range[]
  /** Returns the first place from which a text is the beginning of a form; its length if there is none. */
  readonly beginIn: (text: string) => number
}

/** How many characters of an encoded secret may be passed on before it is known that they are of one. */
const MOST_PASSED_ON = 2

/**
 * Prepares the forms of secrets. Of the encoded ones only the beginnings are made, which tell texts without secrets from
 * others; whole ones are made for the first text that contains a beginning.
 */
function makeNeedles(secrets: readonly string[]): Needles {
  const withViews = (forms: readonly string[]) =>
    [...new Set(forms.flatMap((form) => [form, unescaped(form), unescaped(JSON.stringify(form).slice(1, -1))]))].filter(
      (form) => form !== '',
    )
  const plain = withViews(secrets.flatMap((secret) => [...plainForms(secret), ...printedBytes(secret)]))
  const lengths = plain.map(({ length }) => length)
  const wholeForms = new FormTable(plain, 1)
  const base64 = encodedForms(secrets, base64OfForms)
  const hex = encodedForms(secrets, hexOfForms)
  return {
    // An encoded form of a character has 18 characters at most: the hexadecimal of `%e2%82%ac`.
    longest: Math.max(...lengths, ...secrets.map(({ length }) => 18 * length + 16)),
    shortest: Math.min(...lengths),
    in: (text) => [...wholeForms.in(text), ...base64.in(text), ...hex.in(withLowerHex(text))],
    beginIn: (text) => Math.min(wholeForms.beginIn(text), base64.beginIn(text), hex.beginIn(withLowerHex(text))),
  }
}

/** Of a longer secret, the beginnings of its encoded forms are made of this many characters. */
const HEAD_LENGTH = 24
/** How many characters at the end of an encoded form depend on what follows in the secret. */
const OPEN_END = 12

/** Finds encoded forms: first their beginnings, and whole ones where a text contains a beginning. */
function encodedForms(
  secrets: readonly string[],
  formsOf: (secret: string) => string[],
): Pick<Needles, 'in' | 'beginIn'> {
  const heads = once(
    () =>
      new FormTable(
        secrets.flatMap((secret) => headsOf(secret, formsOf)),
        MOST_PASSED_ON + 1,
      ),
  )
  const wholeForms = once(() => new FormTable(secrets.flatMap(formsOf), MOST_PASSED_ON + 1))
  return {
    in: (text) => (heads().in(text).length > 0 ? wholeForms().in(text) : []),
    beginIn: (text) => {
      const at = heads().beginIn(text)
      return heads().in(text).length > 0 ? Math.min(at, wholeForms().beginIn(text)) : at
    },
  }
}

function headsOf(secret: string, formsOf: (secret: string) => string[]): string[] {
  if (secret.length <= 2 * HEAD_LENGTH) return formsOf(secret)
  // A character of two units is not cut.
  const length = /[\ud800-\udbff]/.test(secret.charAt(HEAD_LENGTH - 1)) ? HEAD_LENGTH + 1 : HEAD_LENGTH
  return formsOf(secret.slice(0, length)).map((form) => form.slice(0, -OPEN_END))
}

/** Texts to find, by their first two characters. */
class FormTable {
  /** A text that begins with two characters of a form has a 1 at their place. */
  readonly #pairs = new Uint8Array(1 << 14)
  readonly #byPair = new Map<number, string[]>()
  readonly #single: readonly string[]
  readonly #firsts: ReadonlySet<number>
  readonly #shortest: number
  readonly #longest: number
  /** The least length of an end that counts as a beginning. */
  readonly #least: number

  constructor(forms: readonly string[], least: number) {
    const unique = [...new Set(forms)]
    this.#least = least
    this.#single = unique.filter(({ length }) => length === 1)
    this.#firsts = new Set(unique.filter(({ length }) => length > 1).map((form) => form.charCodeAt(0)))
    this.#shortest = unique.reduce((fewest, { length }) => Math.min(fewest, length), Infinity)
    this.#longest = unique.reduce((most, { length }) => Math.max(most, length), 0)
    for (const form of unique) {
      if (form.length === 1) continue
      const pair = pairAt(form, 0)
      this.#pairs[pair] = 1
      const others = this.#byPair.get(pair)
      if (others) others.push(form)
      else this.#byPair.set(pair, [form])
    }
  }

  in(text: string): Range[] {
    if (text.length < this.#shortest) return []
    const ranges = rangesOf(this.#single, text)
    for (let at = 0; at < text.length - 1; at++) {
      const pair = pairAt(text, at)
      if (this.#pairs[pair] === 0) continue
      for (const form of this.#byPair.get(pair) ?? []) {
        if (text.startsWith(form, at)) ranges.push([at, at + form.length])
      }
    }
    return ranges
  }

  beginIn(text: string): number {
    for (let at = Math.max(0, text.length - this.#longest + 1); at <= text.length - this.#least; at++) {
      if (at === text.length - 1) return this.#firsts.has(text.charCodeAt(at)) ? at : text.length
      const pair = pairAt(text, at)
      if (this.#pairs[pair] === 0) continue
      const end = text.slice(at)
      if (this.#byPair.get(pair)?.some((form) => form.length > end.length && form.startsWith(end))) return at
    }
    return text.length
  }
}

/** Returns a number for two characters: another for each two of ASCII. */
function pairAt(text: string, at: number): number {
  return ((text.charCodeAt(at) << 7) ^ text.charCodeAt(at + 1)) & 0x3fff
}

function rangesOf(forms: readonly string[], text: string): Range[] {
  return forms.flatMap((form) => {
    const ranges: Range[] = []
    for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) ranges.push([at, at + form.length])
    return ranges
  })
}

/** Returns how many characters two texts begin with alike. */
function commonLength(one: string, other: string): number {
  let length = 0
  while (length < one.length && one[length] === other[length]) length += 1
  return length
}

/** A text whose hexadecimal digits are in lower case, of the same length. */
function withLowerHex(text: string): string {
  return /[A-F]/.test(text) ? text.replace(/[A-F]+/g, (digits) => digits.toLowerCase()) : text
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
