import { begunEscape, escapeView, unescaped } from './escape-view.ts'
import { isObject } from './json.ts'
import { encodedForms, LEAST_PIECE, plainForms, wideForms } from './secret-forms.ts'

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

interface FilterOptions {
  /** Shorter secrets are not looked for: they may be words, such as those of a test. Default: 12 characters. */
  readonly least?: number
  /** Whether texts are bytes, one character each, which may be UTF-16. */
  readonly bytes?: boolean
}

const REDACTED = '[redacted]'

/**
 * Makes a filter that finds each secret as it is; with any of its characters escaped as in JSON, URLs and HTML, once or
 * several times; in hexadecimal; in base64, also inside a longer encoded text and over several lines; and in base64 or
 * hexadecimal of any of these. Undefined if there is no secret of that length.
 */
export function secretFilter(
  secrets: readonly string[],
  { least = 12, bytes = false }: FilterOptions = {},
): SecretFilter | undefined {
  const wanted = [...new Set(secrets)].filter(({ length }) => length >= least)
  if (wanted.length === 0) return undefined
  const needles = makeNeedles(wanted, bytes)
  const isSlashed = wanted.some((secret) => secret.endsWith('\\'))
  const text = (value: string): string => {
    if (value.length < needles.shortest) return value
    const clean = cut(value, needles.in(value))
    const view = unescaped(clean)
    if (view === clean || needles.in(view).length === 0) return clean
    const { text: viewText, starts, ends } = escapeView(clean)
    const ranges = needles.in(viewText).map(([from, to]): Range => {
      const end = ends[to - 1] ?? clean.length
      return [starts[from] ?? 0, isSlashed ? end + escapedBackslashes(clean, end) : end]
    })
    return cut(clean, ranges)
  }
  function json<Value>(value: Value): Value
  function json(value: unknown): unknown {
    if (typeof value === 'string') return text(value)
    if (typeof value === 'number') return wanted.includes(String(value)) ? REDACTED : value
    if (Array.isArray(value)) {
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
    const { text: view, starts } = escapeView(value.slice(from))
    const escapeAt = begunEscape(view)
    const at = Math.min(needles.beginIn(view), needles.beginIn(view.slice(0, escapeAt)), escapeAt)
    return at < view.length ? from + (starts[at] ?? 0) : value.length
  }
  const pieces = (): TextPieces => {
    let tail = ''
    return {
      add: (piece) => {
        const value = text(tail + piece)
        const end = endOfSafe(value)
        tail = value.slice(end)
        return value.slice(0, end)
      },
      rest: () => {
        const value = tail
        tail = ''
        return value
      },
    }
  }
  return { text, json, pieces }
}

/** How many characters of a text escape one of a secret, for the end of a text that comes in pieces. */
const MOST_ESCAPED = 12

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
function makeNeedles(secrets: readonly string[], bytes: boolean): Needles {
  const withViews = (forms: readonly string[]) =>
    [...new Set(forms.flatMap((form) => [form, unescaped(form)]))].filter((form) => form !== '')
  const plain = withViews(secrets.flatMap((secret) => [...plainForms(secret), ...(bytes ? wideForms(secret) : [])]))
  const shortest = Math.min(...plain.map(({ length }) => length))
  const encodedRun = new RegExp(`[\\w+/-]{${Math.max(LEAST_PIECE, shortest)}}`)
  const encoded = once(() => [...new Set(secrets.flatMap(encodedForms))])
  const byFirst = once(() => Map.groupBy([...plain, ...encoded()], (form) => form.charCodeAt(0)))
  const longest = once(() => [...plain, ...encoded()].reduce((most, { length }) => Math.max(most, length), 0))
  return {
    longest,
    shortest,
    in: (text) =>
      (encodedRun.test(text) ? [...plain, ...encoded()] : plain).flatMap((form) => {
        const ranges: Range[] = []
        for (let at = text.indexOf(form); at >= 0; at = text.indexOf(form, at + 1)) ranges.push([at, at + form.length])
        return ranges
      }),
    beginIn: (text) => {
      for (let at = Math.max(0, text.length - longest() + 1); at < text.length; at++) {
        const end = text.slice(at)
        if (
          byFirst()
            .get(text.charCodeAt(at))
            ?.some((form) => form.length > end.length && form.startsWith(end))
        )
          return at
      }
      return text.length
    },
  }
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
