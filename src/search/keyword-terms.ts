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

export interface Word {
  readonly word: string
  /** 1 or 0.5. */
  readonly weight: number
  /** Whether this is a name of several words in one piece. */
  readonly isJoined: boolean
}

/** Returns the words of a text, in lower case and without accents. */
export function textWords(text: string): readonly Word[] {
  return chunksOf(text).flatMap(wordsOf)
}

/** Returns the runs of letters and digits in a text, without accents. */
export function chunksOf(text: string): readonly string[] {
  // oxlint-disable-next-line no-control-regex
  const isPlain = !/[^\0-\x7f]/.test(text)
  return (isPlain ? text.match(PLAIN_CHUNK) : withoutAccents(text).match(CHUNK)) ?? []
}

function withoutAccents(text: string): string {
  return text.normalize('NFKD').replace(ACCENTS, '').normalize('NFKC')
}

/**
 * Returns the words of a run of letters and digits, in lower case. A name is split at case and digits, and also
 * returned in one piece as `whole` (`github` beside `git` and `hub`). Scripts without spaces give pairs of characters
 * without particles, and single characters of Chinese. Single characters and whole names have half the weight. Numbers of
 * one or two digits are dropped: they say too little.
 */
export function wordsOf(chunk: string): readonly Word[] {
  if (isDense(chunk)) return pairsOf(chunk)
  const word = chunk.toLowerCase()
  const parts = /.[A-Z\d]/.test(chunk) ? (chunk.match(PART) ?? []) : []
  if (parts.length < 2) return word.length > 2 || !SMALL.test(word) ? [{ word, weight: 1, isJoined: false }] : []
  const words: Word[] = parts
    .filter((part) => part.length > 1 && !SMALL.test(part))
    .map((part) => ({ word: part.toLowerCase(), weight: 1, isJoined: false }))
  return [...words, { word, weight: 0.5, isJoined: true }]
}

/** Whether a text begins in a script without spaces, in which each character gives up to two words. */
export function isDense(text: string): boolean {
  return text.charCodeAt(0) >= FIRST_DENSE && DENSE.test(text)
}

function pairsOf(chunk: string): readonly Word[] {
  const words: Word[] = []
  for (let at = 0; at < chunk.length; at++) {
    const [single, next] = [chunk.charAt(at), chunk.charAt(at + 1)]
    if (next !== '' && !CHINESE_PARTICLES.includes(single) && !CHINESE_PARTICLES.includes(next))
      words.push({ word: single + next, weight: 1, isJoined: false })
    if (chunk.length === 1 || (single >= '\u3400' && single <= '\u9fff')) {
      words.push({ word: single, weight: 0.5, isJoined: false })
    }
  }
  return words
}

const ACCENTS = /[\u0300-\u036f]/g
/** The first character of the scripts that are read in pairs: Thai to Burmese, Khmer, kana, Han, Hangul. */
const FIRST_DENSE = 0xe00
const DENSE = /^[\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]/
const PLAIN_CHUNK = /[A-Za-z\d]+/g
const CHUNK =
  /[a-z\d\u00aa-\u0dff\u10a0-\u16ff\u1800-\u1fff]+|[\u0e00-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af]+/gi
/** Matches a part of a name: an acronym with its plural `s`, a word, or a number. */
const PART = /[A-Z]+s?(?![a-z])|[A-Z]?[a-z\u00aa-\u1fff]+|\d+/g
const SMALL = /^\d\d?$/

/** Removes the ending of an English plural or verb form: `cities` and `city` have one stem. */
function lightStem(word: string): string {
  if (word.length < 4 || word.length > LONGEST) return word
  const singular = word.replace(/(?<=..)ies$/, 'y').replace(/(?<=ss|x|ch|sh|z)es$|(?<![sui])s$/, '')
  const verb = /^(.*[aeiouy].*?)(?:ing|ed)$/.exec(singular)?.[1] ?? ''
  const bare = verb.length > 2 ? verb.replace(/([bdfgmnprt])\1$/, '$1') : singular
  return bare.length > 4 ? bare.replace(/[eyi]$/, '') : bare
}

/** The longest word that is stemmed, in characters; longer ones are not words of a language. */
const LONGEST = 40

/** Returns the stem of a family of words: `translate`, `translation`, `translator`. Coarser than `lightStem`. */
function deepStem(word: string): string {
  const light = lightStem(word)
  const root = /^(.{4,}?)(?:[ai]tion|ator|ativ|at|ion|or|er|ment|nes|l|anc|enc|it|al|iv|abl)$/.exec(light)?.[1]
  return root === undefined || light.length < 6 ? light : root.replace(/[eyi]$/, '')
}

/** Characters of Chinese that are hardly ever part of what a tool does: particles, pronouns, and “please help me”. */
const CHINESE_PARTICLES = '的了是在我你他她它们和与或请帮要想把被给吗呢吧啊哪什么怎样这那有从都也很还不'
/** Single characters that questions have whatever they are about; in pairs, some of them are parts of words. */
const CHINESE_FILLERS = `${CHINESE_PARTICLES}会能可以个一下为对到就`

/** Words that questions have whatever they are about. Of a tool's texts only the name is indexed by them. */
export const FILLERS: ReadonlySet<string> = new Set([
  ...CHINESE_FILLERS.split(''),
  ...(
    'a an the of to in on at by for from with and or but if is are was were be been am do does did has have had i me my we ' +
    'us our you your he she it its they them their this that these those there here what which who whom whose when where ' +
    'why how can could will would shall should may might must not no so as than then too very just also any some such ' +
    'about into over out up please help want need like know tell let get give show find hi hello hey thanks ve ll re whats'
  ).split(' '),
])
