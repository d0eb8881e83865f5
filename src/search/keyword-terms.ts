import { deepStem, lightStem } from './words.ts'

/** Where a word occurs: the slots of the tools that have it, its weight in each, and the slots of tools named by it. */
export interface Postings {
  readonly slots: number[]
  readonly weights: number[]
  readonly nameSlots: number[]
}

/** The postings of a word in a stored index. */
interface StoredPostings {
  /** The number of tools that have the word. */
  readonly count: number
  read(): Postings
}

/** A word of the index. That of a stored index is read when its postings are first needed. */
export class Term implements Postings {
  readonly word: string
  /** The weight so far in the tool that is being read, else 0. */
  sum = 0
  readonly #stored: StoredPostings | undefined
  #postings: Postings | undefined

  constructor(word: string, stored?: StoredPostings) {
    this.word = word
    this.#stored = stored
    if (!stored) this.#postings = { slots: [], weights: [], nameSlots: [] }
  }

  /** The number of tools that have the word. */
  get count(): number {
    return this.#postings?.slots.length ?? this.#stored?.count ?? 0
  }

  get slots(): number[] {
    return this.#read().slots
  }

  get weights(): number[] {
    return this.#read().weights
  }

  get nameSlots(): number[] {
    return this.#read().nameSlots
  }

  #read(): Postings {
    return (this.#postings ??= this.#stored?.read() ?? { slots: [], weights: [], nameSlots: [] })
  }
}

/** A term that a word of a question may mean, and how likely, up to 1 for the word itself. */
export interface Variant {
  readonly term: Term
  readonly likeness: number
}

export interface Terms {
  /** Returns the term of a word that at least one tool has. */
  get(word: string): Term | undefined
  /** Returns the term of a word, made if there is none. */
  of(word: string): Term
  /** Records that the tool of a slot has a word. */
  note(term: Term, slot: number, weight: number, isInName: boolean): void
  forget(term: Term, slot: number): void
  /** Returns the terms that a word may mean, the word itself first. Misspellings count only if nothing else fits. */
  variants(word: string): readonly Variant[]
}

/**
 * Makes the vocabulary of an index. Variants of a word are searched among words with the same first two characters. `stored`
 * returns those of a stored index.
 */
export function createTerms(stored: (start: string) => readonly Term[] = () => []): Terms {
  const terms = new Map<string, Term>()
  const neighbours = new Map<string, Neighbour[]>()
  const registeredTerms = new Set<Term>()
  const neighboursOf = (word: string): Neighbour[] => {
    const start = word.slice(0, 2)
    let candidates = neighbours.get(start)
    if (!candidates) {
      neighbours.set(start, (candidates = []))
      for (const term of stored(start)) {
        terms.set(term.word, term)
        registeredTerms.add(term)
        candidates.push({ term })
      }
    }
    return candidates
  }
  const find = (word: string) => {
    neighboursOf(word)
    return terms.get(word)
  }
  return {
    get(word) {
      const term = find(word)
      return term?.count ? term : undefined
    },
    of(word) {
      let term = find(word)
      if (!term) terms.set(word, (term = new Term(word)))
      return term
    },
    note(term, slot, weight, isInName) {
      if (!registeredTerms.has(term)) neighboursOf(term.word).push({ term })
      registeredTerms.add(term)
      term.slots.push(slot)
      term.weights.push(weight)
      if (isInName) term.nameSlots.push(slot)
    },
    forget(term, slot) {
      const at = term.slots.indexOf(slot)
      term.slots.splice(at, 1)
      term.weights.splice(at, 1)
      const index = term.nameSlots.indexOf(slot)
      if (index >= 0) term.nameSlots.splice(index, 1)
    },
    variants(word) {
      const candidates = neighboursOf(word)
      const stems = stemsOf(word)
      const variants: Variant[] = []
      const addVariant = (term: Term, likeness: number) => {
        if (likeness > 0 && term.count > 0) variants.push({ term, likeness })
      }
      for (const neighbour of candidates) addVariant(neighbour.term, likenessOf(word, stems, neighbour))
      if (variants.length === 0 && word.length > 4 && !/\d/.test(word)) {
        for (const { term } of candidates) addVariant(term, oneEdit(word, term.word) ? 0.5 : 0)
      }
      return variants.sort((a, b) => b.likeness - a.likeness)
    },
  }
}

interface Stems {
  readonly light: string
  readonly deep: string
}

/** A term with its stems, which are computed when a question first needs them: most words never need theirs. */
interface Neighbour {
  readonly term: Term
  stems?: Stems
}

function stemsOf(word: string): Stems {
  return { light: lightStem(word), deep: deepStem(word) }
}

function likenessOf(queryWord: string, stems: Stems, neighbour: Neighbour): number {
  const { word } = neighbour.term
  if (word === queryWord) return 1
  const { light, deep } = (neighbour.stems ??= stemsOf(word))
  if (light === stems.light) return 0.9
  if (deep === stems.deep) return 0.6
  const [short, long] = word.length < queryWord.length ? [word, queryWord] : [queryWord, word]
  const isRelated = short.length > 3 && long.length - short.length < LONGER && long.startsWith(short)
  return isRelated ? (0.8 * short.length) / long.length : 0
}

/** A word that begins with another one is related to it if it is less than this many characters longer. */
const LONGER = 12

/** Returns whether two words differ by one inserted, deleted or replaced character, or by two that are swapped. */
function oneEdit(a: string, b: string): boolean {
  if (a.length > b.length) return oneEdit(b, a)
  if (b.length - a.length > 1) return false
  let at = 0
  while (at < a.length && a[at] === b[at]) at += 1
  if (a.length < b.length) return a.slice(at) === b.slice(at + 1)
  if (a.slice(at + 1) === b.slice(at + 1)) return true
  return a[at] === b[at + 1] && a[at + 1] === b[at] && a.slice(at + 2) === b.slice(at + 2)
}
