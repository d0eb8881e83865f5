/** Takes a sentence apart: its time, names, numbers, quoted texts, arithmetic, and the words that are left. */
import { findExpression } from './expression.ts'
import { findNames, type Proper } from './place.ts'
import { NUMBER, toDecimal } from './number.ts'
import { HAN, plain } from './text.ts'
import { type Action, KINDS, type Word, wordsOf } from './vocabulary.ts'
import { findWhen, hasDay, type When } from './when.ts'

/** A number of the text, as decimal text. `unit` is the word after it, `tag` the word before it. */
export interface Quantity {
  readonly value: string
  readonly unit: string
  readonly tag: string
}

export interface Reading {
  readonly text: string
  readonly isHan: boolean
  readonly when: When | undefined
  /** The zone of the place whose clock the time is read from: that of London in `3 pm in London`. */
  readonly clockPlace: Proper | undefined
  readonly names: readonly Proper[]
  readonly numbers: readonly Quantity[]
  /** Words of letters and digits, such as `B-12345`. */
  readonly codes: readonly string[]
  readonly quotes: readonly string[]
  readonly emails: readonly string[]
  readonly urls: readonly string[]
  readonly expression: string | undefined
  /** The words, without those of the values above. */
  readonly words: readonly Word[]
  /** The text with time, addresses and quotations blanked out by vertical tabs; names and numbers are left. */
  readonly prose: string
  /** The concepts that a tool must speak of to answer this kind of question. */
  readonly kinds: readonly string[]
  readonly action: Action
}

const ADDRESS = /\bhttps?:\/\/[^\s"<>]*[^\s"<>.,;:!?)\]]/gi
const EMAIL = /[\w.+-]+@[\w-]+(?:\.[\w-]+)+/g
const QUOTE = /"[^"]+"|(?<![\p{L}\d])'[^']+'(?![\p{L}\d])/gu
const CODE = /\b(?!\d+(?:st|nd|rd|th|[smhdx]|[ap]m)\b)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{2,}\b/gi
const ASKS =
  /^\W*(?:what|which|who|when|where|how|is|are|do|does|did|was|were|(?:tell|show) me (?!to\b)|list)\b|有(?:哪些|什么)|[吗呢]/i

export function read(message: string): Reading {
  const text = plain(message).trim()
  const [urls, emails, quotes, codes]: [string[], string[], string[], string[]] = [[], [], [], []]
  const take = (pattern: RegExp, from: string, into: string[]): string =>
    from.replace(pattern, (match) => {
      into.push(match)
      return '\v'.repeat(match.length)
    })
  const quoted = take(QUOTE, take(EMAIL, take(ADDRESS, text, urls), emails), quotes)
  const { when, rest: prose } = findWhen(quoted)
  const { names, rest: coded } = findNames(take(CODE, prose, codes))
  const numbers: Quantity[] = []
  const wordy = coded.replace(new RegExp(NUMBER, 'gi'), (match, at: number) => {
    const [before, after] = [coded.slice(0, at), coded.slice(at + match.length)]
    if (/^(?:one|一)$/i.test(match) || /\p{L}$/u.test(before) || /^[a-z]/i.test(after)) return match
    const sign = /(?:^|[\s(=])[-−]$/.test(before) ? '-' : ''
    const unit = /^ ?([a-z]+)/i.exec(after)?.[1] ?? ''
    const tag = /([a-z]+|#|号)[ .:=#]*$/i.exec(before)?.[1] ?? ''
    numbers.push({ value: sign + toDecimal(match), unit, tag })
    return '\v'.repeat(match.length)
  })
  const hasClock = when?.clock !== undefined && !hasDay(when)
  const clockPlace = names.find(({ zone, at }) => hasClock && zone && /\v (?:in )?$/.test(coded.slice(0, at)))
  const words = wordsOf(wordy)
  return {
    text,
    isHan: HAN.test(text),
    when,
    clockPlace,
    names,
    numbers,
    codes,
    quotes: quotes.map((quote) => quote.slice(1, -1)),
    emails,
    urls,
    expression: findExpression(coded),
    words,
    prose,
    kinds: KINDS.filter(([, pattern]) => pattern.test(prose)).map(([concept]) => concept),
    action: actionOf(words, text, when),
  }
}

/** Returns what is to be done: the first verb of a request counts; a question asks, whatever its verbs. */
function actionOf(words: readonly Word[], text: string, when: When | undefined): Action {
  if (ASKS.test(text) && !/\b(?:can|could|would|will) you\b/i.test(text)) return 'read'
  const verbs = words.flatMap(({ action }) => action ?? [])
  const strongest = (['remove', 'change', 'create'] as const).find((action) => verbs.includes(action))
  const isPlan = when !== undefined && words.some(({ concepts }) => concepts.includes('remind'))
  return strongest ?? (isPlan ? 'create' : 'read')
}
