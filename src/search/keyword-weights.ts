import type { ToolText } from '../contract/tool.ts'
import { textsOf } from './source-texts.ts'
import { chunksOf, FILLERS, type Term, type Terms, textWords, type Word, wordsOf } from './keyword-terms.ts'

/** BM25's b: how much the length of a field counts. */
const LENGTH = 0.5

/** The weight of each field, and its usual number of words; in a longer field each word counts less. */
const FIELDS = {
  name: [3, 4],
  title: [2, 4],
  tags: [2, 4],
  group: [1, 2],
  description: [1, 20],
  parameters: [1, 40],
} as const

/** A word with its term, so that the term is looked up once. */
interface ReadWord extends Word {
  readonly term: Term
  readonly filler: boolean
}

/** Splits a text into words. */
export type Reader = (text: string) => readonly ReadWord[]

/**
 * Makes a reader of tools that caches what it has read, since tools share many parameters and words. Its cache only
 * grows, so use one reader for each batch of tools.
 */
export function createReader(terms: Terms): Reader {
  const wordsByText = new Map<string, readonly ReadWord[]>()
  const chunks = new Map<string, readonly ReadWord[]>()
  const readChunk = (chunk: string) => {
    let words = chunks.get(chunk)
    if (!words) {
      words = wordsOf(chunk).map(({ word, weight, isJoined }) => {
        return { word, weight, isJoined, term: terms.of(word), filler: FILLERS.has(word) }
      })
      chunks.set(chunk, words)
    }
    return words
  }
  return (text) => {
    let words = wordsByText.get(text)
    if (!words) {
      const textWords: ReadWord[] = []
      for (const chunk of chunksOf(text)) for (const word of readChunk(chunk)) textWords.push(word)
      wordsByText.set(text, (words = textWords))
    }
    return words
  }
}

/**
 * The terms of one field, of full and of half weight. The arrays are reused, since allocation is the main cost of
 * indexing.
 */
const words: Term[] = []
const halves: Term[] = []

/** BM25's k1: the lower, the sooner another occurrence of a word adds nothing more. */
const SATURATION = 1
/** Weights are rounded, as in a stored index: three digits of 64. */
const LEVELS = 64 ** 3 - 1

/** Returns the weight of a term in a tool, from 0 to 1, for the sum of the weights of its occurrences. */
export function saturate(sum: number): number {
  return Math.round((LEVELS * sum) / (sum + SATURATION)) / LEVELS
}

/** Returns the words by which a tool is named, without fillers, each once. */
export function nameWords(name: string): ReadonlySet<string> {
  const ofName = textWords(name).filter(({ word, isJoined }) => !isJoined && !FILLERS.has(word))
  return new Set(ofName.map(({ word }) => word))
}

/**
 * Calls `visit` for each term of a tool, with its weight and whether it is a word of the tool's name and not a filler.
 */
export function weigh(
  tool: ToolText,
  terms: Terms,
  reader: Reader,
  visit: (term: Term, weight: number, isInName: boolean) => void,
): void {
  const toolTerms: Term[] = []
  const name = new Set<Term>()
  weighField('name', [tool.name])
  const texts = textsOf(tool)
  weighField('title', texts.title)
  weighField('tags', texts.tags)
  weighField('group', texts.group)
  weighField('description', texts.description)
  weighField('parameters', texts.parameters)
  for (const term of toolTerms) {
    visit(term, term.sum, name.has(term))
    term.sum = 0
  }

  function weighField(field: keyof typeof FIELDS, texts: readonly string[]): void {
    words.length = 0
    halves.length = 0
    const length = field === 'name' ? readName(texts, terms, reader, name) : readTexts(texts, reader)
    const [weight, usual] = FIELDS[field]
    const factor = weight / (1 - LENGTH + (LENGTH * length) / usual)
    for (const term of words) add(term, factor)
    for (const term of halves) add(term, factor / 2)
  }
  function add(term: Term, weight: number): void {
    if (term.sum === 0) toolTerms.push(term)
    term.sum += weight
  }
}

/** Adds the terms of texts to `words` and `halves`, and returns the number of words. */
function readTexts(texts: readonly string[], reader: Reader): number {
  let length = 0
  for (const text of texts) {
    for (const { term, weight, isJoined, filler } of reader(text)) {
      if (filler) continue
      if (weight < 1) halves.push(term)
      else words.push(term)
      if (!isJoined) length += weight
    }
  }
  return length
}

/** Does the same for a name, and adds the words that are not fillers to `telling`. */
function readName(texts: readonly string[], terms: Terms, reader: Reader, nameTerms: Set<Term>): number {
  let length = 0
  let previous = ''
  for (const { word, term, weight, isJoined, filler } of texts.flatMap(reader)) {
    if (weight < 1) halves.push(term)
    else words.push(term)
    if (isJoined) continue
    length += weight
    if (!filler) nameTerms.add(term)
    // Two adjacent words also count as one word, as in questions.
    if (previous !== '') halves.push(terms.of(previous + word))
    previous = word
  }
  return length
}
