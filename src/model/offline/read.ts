/**
 * Takes a message apart: its time, places, numbers, quoted texts, arithmetic, and the remaining words as weighted
 * terms. A term is a concept of the vocabulary, the stem of a word with a concept (prefix `~`), or the stem of any
 * other word (prefix `=`). The text of a reminder (“remind me to …”) is not part of the question, so its words weigh
 * little.
 */
import { NUMBER, toDecimal } from './number.ts'
import { findPlaces, type Place } from './place.ts'
import { ADDRESS, isSending } from './send.ts'
import { findSum } from './sum.ts'
import { HAN, plain, simplify } from './text.ts'
import { type Action, type Word, wordsOf } from './vocabulary.ts'
import { findWhen, hasDay, type When } from './when.ts'

export interface Reading {
  readonly text: string
  readonly han: boolean
  /** The text with the words about time replaced by vertical tabs. */
  readonly timeless: string
  readonly when?: When
  readonly places: readonly Place[]
  /** The numbers, as decimal text. */
  readonly numbers: readonly string[]
  /** The number that is marked as an id: `#42`, `no. 42`, `customer 42`. */
  readonly id?: string | undefined
  /** Words that contain letters and digits, such as `a1`. */
  readonly codes: readonly string[]
  readonly quoted: readonly string[]
  readonly emails: readonly string[]
  readonly urls: readonly string[]
  /** Whether the message asks to send something to somebody. */
  readonly sends: boolean
  readonly sum?: string | undefined
  /** A later message that supplies only what this one lacks. */
  readonly reply?: string
  readonly terms: ReadonlyMap<string, number>
  /** The concepts that the message is surely about, or the family of each. */
  readonly topics: ReadonlySet<string>
  readonly actions: ReadonlySet<Action>
}

/** The beginning of a text that only asks for a reminder: `remind me to`, `a timer for`, `提醒我`. */
export const TELL = new RegExp(
  '^.*?(?:' +
    "\\bme(?:\\s+(?!how|what|whe|who|which|if|to\\b)[\\w'-]+){0,3}?\\s+" +
    "(?:to|so(?: that)?|that (?=it|i\\b|the|we)|it'?s(?= time)|i)(?=\\s)|" +
    '\\b(?:remind|ping|nudge|alert|notify|bug|poke)\\w*(?: me)?\\s+(?:about|of|that|to)(?=\\s)|' +
    '\\b(?:reminder|alarm|timer|alert|nudge|notification|countdown)\\s*(?:for me\\s+)?' +
    '(?:to|that|about|for|:|-|–)(?=\\s|$)|' +
    '(?:提醒|叫|通知|喊)(?:一下)?我(?:一下|一声)?)',
  'is',
)

const URLS = /\bhttps?:\/\/[^\s"<>]*[^\s"<>.,;:!?)\]]/gi
/** A UUID or another long word of letters and digits that is not a date; it contains no numbers or times to find. */
const KEY =
  /\b(?:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}|(?!\d{4}-\d\d-\d\dT)(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{16,})\b/gi

export function read(message: string): Reading {
  const text = plain(message)
  const quoted: string[] = []
  const emails: string[] = []
  const urls: string[] = []
  const keys: string[] = []
  const masked = simplify(text)
    .replace(/"([^"]+)"|(?<![\p{L}\d])'([^']+)'(?![\p{L}\d])/gu, (match: string, double?: string, single?: string) => {
      const words = double ?? single ?? ''
      // A quoted id counts as an id, not as a quoted text.
      if (words.replace(KEY, '') === '') keys.push(words)
      else quoted.push(words)
      return '\f'.repeat(match.length)
    })
    .replace(new RegExp(ADDRESS, 'g'), (match) => {
      emails.push(match)
      return '\f'.repeat(match.length)
    })
    .replace(URLS, (match) => {
      urls.push(match)
      return '\f'.repeat(match.length)
    })
    .replace(KEY, (match) => {
      keys.push(match)
      return '\f'.repeat(match.length)
    })
  const { when, rest: untimed } = findWhen(masked)
  const timeless = Array.from(text.split(''), (char, at) => (untimed[at] === '\v' ? '\v' : char)).join('')
  const isWord = (word: string): boolean => wordsOf(word).every(({ empty, senses }) => empty || senses.length > 0)
  const { places, rest } = findPlaces(untimed, isWord)
  const { numbers, id, wordy } = findNumbers(rest)
  const told = TELL.exec(timeless)?.[0].length ?? text.length
  const frame = wordsOf(wordy.slice(0, told))
  const isAbout = (concept: string): boolean => frame.some(({ senses }) => senses[0]?.[0] === concept)
  const [number] = numbers
  const sum = findSum(rest) ?? (isAbout('root') && number !== undefined ? `sqrt(${number})` : undefined)
  const sends = isSending(text.slice(0, told), emails)
  const tellsLater = when !== undefined && told < text.length
  return {
    text,
    han: HAN.test(text),
    timeless,
    ...(when && { when }),
    places,
    numbers,
    id: id ?? (isAbout('customer') && numbers.length === 1 ? number : undefined),
    codes: [...keys, ...(rest.match(/\b(?=[\w-]*\d)(?=[\w-]*[a-z])(?!\d+(?:st|nd|rd|th)\b)[\w-]+/gi) ?? [])],
    quoted,
    emails,
    urls,
    sends,
    sum,
    ...termsOf(frame, wordsOf(wordy.slice(told)), { when, sum, sends, tellsLater }),
    actions: new Set(frame.flatMap((word) => word.action ?? [])),
  }
}

const TAG = /(?:#|\b(?:id|no\.?|nr\.?|number)(?: is)?|编号|号)[ :=]*$/i

/** Returns the numbers of a text, the one that is marked as an id, and the text without numbers in words. */
function findNumbers(text: string): { numbers: readonly string[]; id: string | undefined; wordy: string } {
  const numbers: string[] = []
  let id: string | undefined
  const wordy = text.replace(new RegExp(NUMBER, 'gi'), (found, at: number) => {
    const [before, after = ''] = [text.slice(0, at), text[at + found.length]]
    if (/^(?:one|一)$/i.test(found) || /[a-z]$/i.test(before) || /[a-z]/i.test(after)) return found
    const number = (/(?:^|[\s(=])[-−]$/.test(before) ? '-' : '') + toDecimal(found)
    numbers.push(number)
    if (TAG.test(before) || after === '号') id ??= number
    return /[a-z]/i.test(found) ? '\f'.repeat(found.length) : found
  })
  return { numbers, id, wordy }
}

/** The family of concepts that belong together in a question. */
const FAMILY: Readonly<Record<string, string>> = { date: 'time', root: 'calc', square: 'calc' }

interface Hints {
  readonly when: When | undefined
  readonly sum: string | undefined
  readonly sends: boolean
  readonly tellsLater: boolean
}

function termsOf(frame: readonly Word[], told: readonly Word[], hints: Hints): Pick<Reading, 'terms' | 'topics'> {
  const { when, sum, sends, tellsLater } = hints
  const terms = new Map<string, number>()
  const raise = (term: string, weight: number): void => void terms.set(term, Math.max(weight, terms.get(term) ?? 0))
  for (const [words, share] of [
    [frame, 1],
    [told, 0.2],
  ] as const) {
    for (const { stem, senses, empty } of words) {
      for (const [concept, weight] of senses) raise(concept, weight * share)
      if (senses.length > 0) raise(`~${stem}`, 0.3)
      else if (!empty) raise(`=${stem}`, (HAN.test(stem) ? 0.25 : 0.6) * share)
    }
  }
  const isRoot = sum !== undefined && /^sqrt\([\d.]+\)$/.test(sum)
  if (sum !== undefined) raise('calc', isRoot ? 0.5 : 1.6)
  // A root within a larger expression is part of a calculation.
  if (sum !== undefined && !isRoot) for (const term of ['root', 'square']) terms.delete(term)
  if (terms.has('root') && !terms.has('cub')) raise('square', 0.5)
  if (sends) raise('email', 2)
  const topics = new Set([...terms].flatMap(([term, weight]) => (weight < 1 ? [] : (FAMILY[term] ?? term))))
  const isLater = when && (when.ms !== undefined || (when.clock !== undefined && hasDay(when)))
  if (isLater && tellsLater && [...topics].every((topic) => topic === 'time')) {
    raise('remind', 2)
    topics.add('remind')
  } else if (when && topics.size === 0) {
    if (isLater) raise('remind', 1)
    else if (when.part !== undefined && !hasDay(when)) raise('time', 1.3)
    else if (terms.size === 0 && hasDay(when)) raise('date', 1)
  }
  if (terms.has('date') || terms.has('time')) raise('now', 0.5)
  return { terms, topics }
}
