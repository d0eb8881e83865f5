import type { ToolText } from '../contract/tool.ts'
import { createTerms, type Postings, Term } from './keyword-terms.ts'
import { createReader, saturate, weigh } from './keyword-weights.ts'

/**
 * The search index of many tools as one text, so that an isolate reads what a search needs instead of all tools. A line
 * has the names of the tools, sorted. The next says where the words begin that have the same first two characters: `<two
 * characters> <offset> …`. Then each word has a line, sorted: `<word> <tools> <names> <numbers>`. The numbers have three
 * digits of 64 each: the tools that have the word, its weight in each, and the tools named by it.
 */
export interface StoredTerms {
  readonly names: readonly string[]
  /** Returns the terms of all words that have these first two characters. */
  startingWith(start: string): readonly Term[]
}

/** Encodes the index of tools, which are sorted by name. */
export function encodeTerms(tools: Iterable<ToolText>): string {
  const terms = createTerms()
  let reader = createReader(terms)
  const names: string[] = []
  const words = new Set<Term>()
  for (const tool of tools) {
    if (names.length % TOOLS_A_READER === 0) reader = createReader(terms)
    weigh(tool, terms, reader, (term, weight, isNamed) => {
      terms.note(term, names.length, saturate(weight), isNamed)
      words.add(term)
    })
    names.push(tool.name)
  }
  const starts = new Map<string, number>()
  let lines = ''
  for (const term of [...words].sort((a, b) => (a.word < b.word ? -1 : 1))) {
    const start = term.word.slice(0, 2)
    if (!starts.has(start)) starts.set(start, lines.length)
    lines += lineOf(term)
  }
  return `${names.join(' ')}\n${[...starts].flat().join(' ')}\n${lines}`
}

function lineOf({ word, slots, weights, nameSlots }: Term): string {
  const numbers = [...slots, ...weights.map((weight) => Math.round(weight * MOST)), ...nameSlots]
  return `${word} ${slots.length} ${nameSlots.length} ${numbers.map(encode).join('')}\n`
}

/** Reads an index. Of the words nothing is read before a search asks for it. */
export function readTerms(text: string): StoredTerms {
  const [namesEnd, startsEnd] = [text.indexOf('\n'), text.indexOf('\n', text.indexOf('\n') + 1)]
  const offsets = text.slice(namesEnd + 1, startsEnd).split(' ')
  const starts = new Map<string, number>()
  for (let at = 0; at < offsets.length; at += 2) starts.set(offsets[at] ?? '', startsEnd + 1 + Number(offsets[at + 1]))
  return {
    names: text.slice(0, namesEnd).split(' ').filter(Boolean),
    startingWith: (start) => {
      const terms: Term[] = []
      for (let at = starts.get(start) ?? text.length; at < text.length; at = text.indexOf('\n', at) + 1) {
        const word = text.slice(at, text.indexOf(' ', at))
        if (word.slice(0, 2) !== start) break
        terms.push(new Term(word, new StoredPostings(text, at + word.length + 1)))
      }
      return terms
    },
  }
}

/** What follows a word in its line. */
class StoredPostings {
  readonly #text: string
  readonly #at: number

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  get count(): number {
    return Number.parseInt(this.#text.slice(this.#at, this.#at + MOST_COUNT), 10)
  }

  read(): Postings {
    const { count } = this
    const namesAt = this.#text.indexOf(' ', this.#at) + 1
    const begin = this.#text.indexOf(' ', namesAt) + 1
    const read = (from: number, length: number) => {
      const numbers: number[] = []
      for (let at = from; at < from + length; at++) numbers.push(decode(this.#text, begin + at * DIGITS))
      return numbers
    }
    return {
      slots: read(0, count),
      weights: read(count, count).map((weight) => weight / MOST),
      nameSlots: read(2 * count, Number(this.#text.slice(namesAt, begin - 1))),
    }
  }
}

/** For how many tools a reader caches what it has read. */
const TOOLS_A_READER = 500

const DIGITS = 3
/** The largest number of three digits. */
const MOST = 64 ** DIGITS - 1
/** The most characters of a count. */
const MOST_COUNT = 8
/** The character of the digit 0; the others follow it. */
const ZERO = 48

function encode(number: number): string {
  return String.fromCharCode(ZERO + (number >> 12), ZERO + ((number >> 6) & 63), ZERO + (number & 63))
}

function decode(text: string, at: number): number {
  return (
    ((text.charCodeAt(at) - ZERO) << 12) | ((text.charCodeAt(at + 1) - ZERO) << 6) | (text.charCodeAt(at + 2) - ZERO)
  )
}
