import type { ToolText } from '../contract/tool.ts'
import { createTerms, FILLERS, isDense, type Term, type Terms, textWords, type Variant } from './keyword-terms.ts'
import { createReader, nameWords, type Reader, saturate, weigh } from './keyword-weights.ts'
import type { StoredTerms } from './stored-terms.ts'
import type { ToolIndex } from './tool-index.ts'

/**
 * Makes an index that finds tools by the words of their names, titles, tags, groups, descriptions and parameters (BM25
 * over weighted fields), in any language. Added tools are read by the next search.
 *
 * @example
 * toolSearch({ index: createKeywordIndex })
 */
export function createKeywordIndex(): ToolIndex {
  return keywordIndex()
}

/** Returns further words by which a question may find tools: a list for each meaning, of which the best word counts. */
export type Translate = (question: string) => readonly (readonly string[])[]

export interface KeywordOptions {
  /**
   * Translates questions, such as `toolWords`: a tool that is described in English is then found in other languages, too.
   * Default: nothing is translated.
   */
  readonly translate?: Translate | undefined
}

/** Makes such an index that translates questions, and has the tools of a stored one (`encodeTerms`), too. */
export function keywordIndex(stored?: StoredTerms, { translate }: KeywordOptions = {}): ToolIndex {
  const terms = createTerms(stored && ((start) => stored.startingWith(start)))
  const storedNames = stored?.names ?? []
  /** The tools by slot, the number by which terms refer to them. */
  const slots: (Entry | undefined)[] = storedNames.map((name) => new StoredEntry(name, terms))
  /** Slots that no term refers to any more. */
  const freeSlots: number[] = []
  const slotOf = new Map<string, number>()
  const indexed = new Map<string, ToolText>()
  const pending = new Map<string, ToolText>()
  let storedCount = storedNames.length

  /** Terms still refer to the slot of a tool of the stored index, so it is not used again. */
  const removeStored = (name: string) => {
    const slot = placeOf(storedNames, name)
    if (slot === undefined || !slots[slot]) return
    slots[slot] = undefined
    storedCount -= 1
  }
  const removeTool = (name: string, reader = createReader(terms)) => {
    removeStored(name)
    const [tool, slot] = [indexed.get(name), slotOf.get(name)]
    if (!tool || slot === undefined) return
    weigh(tool, terms, reader, (term) => terms.forget(term, slot))
    slots[slot] = undefined
    freeSlots.push(slot)
    slotOf.delete(name)
    indexed.delete(name)
  }
  const addTool = (tool: ToolText, reader: Reader) => {
    removeTool(tool.name, reader)
    const slot = freeSlots.pop() ?? slots.length
    const nameTerms: Term[] = []
    weigh(tool, terms, reader, (term, weight, isNamed) => {
      terms.note(term, slot, saturate(weight), isNamed)
      if (isNamed) nameTerms.push(term)
    })
    slots[slot] = { name: tool.name, terms: nameTerms }
    slotOf.set(tool.name, slot)
    indexed.set(tool.name, tool)
  }
  return {
    async add(tools) {
      for (const tool of tools) pending.set(tool.name, tool)
    },
    async remove(names) {
      for (const name of names) {
        pending.delete(name)
        removeTool(name)
      }
    },
    async search(text, limit) {
      if (pending.size > 0) {
        const reader = createReader(terms)
        for (const tool of pending.values()) addTool(tool, reader)
        pending.clear()
      }
      const question = text.slice(0, MOST_CHARACTERS)
      const queryWords = readQuestion(question, terms)
      for (const words of translate?.(question).slice(0, MOST_WORDS) ?? []) {
        const variants = words.flatMap((word) => terms.variants(word))
        if (variants.length > 0) queryWords.push({ weight: TRANSLATED, size: 1, variants })
      }
      const ranked = rank(queryWords, slots, storedCount + slotOf.size, limit)
      return ranked.map(({ entry, score }) => ({ name: entry.name, score }))
    },
  }
}

/** A tool of a stored index. Few of them match a question, so the terms of their names are sought when they do. */
class StoredEntry implements Entry {
  readonly name: string
  readonly #terms: Terms
  #nameTerms: readonly Term[] | undefined

  constructor(name: string, terms: Terms) {
    this.name = name
    this.#terms = terms
  }

  get terms(): readonly Term[] {
    return (this.#nameTerms ??= Array.from(nameWords(this.name)).flatMap((word) => this.#terms.get(word) ?? []))
  }
}

/** Returns the place of a name among sorted ones, by binary search. */
function placeOf(names: readonly string[], name: string): number | undefined {
  let [low, high] = [0, names.length]
  while (low < high) {
    const at = (low + high) >> 1
    if ((names[at] ?? '') < name) low = at + 1
    else high = at
  }
  return names[low] === name ? low : undefined
}

const MOST_CHARACTERS = 1000
/** Only the first so many different words of a question count. */
const MOST_WORDS = 64
/** The weight of a meaning that a translation adds, beside 1 of a word of the question. */
const TRANSLATED = 0.7
/** How many words of a script without spaces stand for one word of another. */
const DENSITY = 3

/**
 * Returns the words of a question, each with the terms that it may mean. Fillers count only if all words are fillers.
 */
function readQuestion(text: string, terms: Terms): QueryWord[] {
  const weights = new Map<string, number>()
  const joinedWords = new Set<string>()
  const fillers = new Set<string>()
  let previous = ''
  let length = 0
  for (const { word, weight: times, isJoined } of textWords(text.split(/\s+/).map(simplifyToken).join(' '))) {
    if (isJoined) {
      joinedWords.add(word)
      continue
    }
    joinedWords.add(previous + word)
    previous = word
    if (FILLERS.has(word)) {
      fillers.add(word)
      continue
    }
    const before = weights.get(word)
    if (before === undefined) {
      if (length >= MOST_WORDS) continue
      length += sizeOf(word)
    }
    weights.set(word, before === undefined ? times : before + times / 2)
  }
  if (weights.size === 0) for (const word of fillers) weights.set(word, 1)
  const queryWords = [...weights].map(([word, weight]) => {
    return { weight, size: sizeOf(word), variants: terms.variants(word) }
  })
  for (const word of [...joinedWords].slice(0, MOST_WORDS)) {
    const term = weights.has(word) || FILLERS.has(word) ? undefined : terms.get(word)
    if (term) queryWords.push({ weight: 1, size: 1, variants: [{ term, likeness: 1 }] })
  }
  return queryWords.filter(({ variants }) => variants.length > 0)
}

/** Returns how much a word adds to the length of a question. */
function sizeOf(word: string): number {
  return isDense(word) ? 1 / DENSITY : 1
}

/**
 * Reduces a URL or a path to its host and file extension, and keeps ids in one piece: their parts do not name tools.
 */
function simplifyToken(word: string): string {
  if (ID.test(word)) return word.toLowerCase()
  const path = PATH.exec(word)
  return path ? `${path[1] ?? ''} ${/\.[a-z\d]{1,5}(?=\W*$)/i.exec(word)?.[0] ?? ''}` : word
}

/** Matches an id, in which letters and digits alternate: `YgSC7KRZI`. */
const ID = /^\W*[a-z\d]*(?:[a-z]\d+[a-z]|\d[a-z]+\d)[a-z\d]*\W*$/i
const PATH = /^["'(]?(?:[a-z]+:\/\/([^/?#]*)|~?\.{0,2}\/|[a-z]:\\)/i

/** A word of a question: its weight, which grows with each occurrence, and the terms that it may mean. */
interface QueryWord {
  readonly weight: number
  readonly size: number
  readonly variants: readonly Variant[]
}

/** A tool of an index, with the terms of its name. */
interface Entry {
  readonly name: string
  readonly terms: readonly Term[]
}

interface RankedEntry {
  readonly entry: Entry
  readonly score: number
}

/** A question with this many known words may ask for several things. */
const MANY = 20
/** How many tools are ranked with regard to those before them; the cost is their square times the number of words. */
const MOST_SPREAD = 50
/** The share by which the weight of a word falls once a tool that fully matches it has been chosen. */
const COVERED = 0.2

/**
 * Returns the best tools, best first, and by name if their scores are equal. A tool's score is multiplied by up to 2,
 * depending on how much of its name the question contains. If the question may ask for several things, a word counts
 * less for the next tools once a chosen tool matches it. This applies to the first 50; the others follow by score.
 */
function rank(
  queryWords: readonly QueryWord[],
  slots: readonly (Entry | undefined)[],
  count: number,
  limit: number,
): readonly RankedEntry[] {
  const rarity = (term: Term) => Math.log(1 + (count - term.count + 0.5) / (term.count + 0.5))
  const scores = new Float64Array(slots.length)
  const shares = queryWords.map((word) => shareOf(word, rarity, scores))
  const nameMatches = new Float64Array(slots.length)
  const bestLikeness = new Map<Term, number>()
  for (const { term, likeness } of queryWords.flatMap(({ variants }) => variants)) {
    bestLikeness.set(term, Math.max(likeness, bestLikeness.get(term) ?? 0))
  }
  for (const [term, likeness] of bestLikeness) {
    for (const slot of term.nameSlots) nameMatches[slot] = likeness * rarity(term) + (nameMatches[slot] ?? 0)
  }
  slots.forEach((entry, slot) => {
    const part = nameMatches[slot]
    if (entry && part) {
      const total = entry.terms.reduce((sum, term) => sum + rarity(term), 0)
      scores[slot] = (scores[slot] ?? 0) * (1 + (part / total) ** 1.5)
    }
  })
  const length = queryWords.reduce((sum, { size }) => sum + size, 0)
  if (length < MANY) return top(scores, slots, limit)
  const spreadLimit = Math.min(limit, MOST_SPREAD)
  const best = top(scores, slots, Math.max(limit, spreadLimit * 4, 40))
  const first = diversify(best.slice(0, Math.max(spreadLimit * 4, 40)), shares, spreadLimit)
  const names = new Set(first.map(({ entry }) => entry.name))
  return [...first, ...best.filter(({ entry }) => !names.has(entry.name))].slice(0, limit)
}

/** Returns the tools of the highest scores, without sorting all of them. */
function top(scores: Float64Array, slots: readonly (Entry | undefined)[], limit: number): readonly Place[] {
  const best: Place[] = []
  slots.forEach((entry, slot) => {
    const score = scores[slot]
    if (!entry || !score) return
    let at = best.length
    for (let above = best[at - 1]; above; above = best[at - 1]) {
      if (above.score > score || (above.score === score && above.entry.name < entry.name)) break
      at -= 1
    }
    if (at >= limit) return
    best.splice(at, 0, { entry, slot, score })
    if (best.length > limit) best.pop()
  })
  return best
}

interface Place extends RankedEntry {
  readonly slot: number
}

/** What one word of a question adds to the scores of tools. Of its variants in a tool, only the best one counts. */
interface Share {
  /** What the word adds to each tool, by slot. */
  readonly gains: Float64Array
  /** What the word would add to a tool that has no other word. */
  readonly most: number
}

function shareOf({ weight, variants }: QueryWord, rarity: (term: Term) => number, scores: Float64Array): Share {
  const gains = new Float64Array(scores.length)
  const [first] = variants
  // If the index has the word itself, a variant of it does not count as rarer than the word.
  const cap = first?.likeness === 1 ? Math.max(rarity(first.term), 1) : Infinity
  let most = 0
  for (const { term, likeness } of variants) {
    const factor = weight * likeness * Math.min(rarity(term), cap)
    most = Math.max(most, factor)
    term.slots.forEach((slot, at) => {
      const gain = factor * (term.weights[at] ?? 0)
      const increase = gain - (gains[slot] ?? 0)
      if (increase <= 0) return
      gains[slot] = gain
      scores[slot] = (scores[slot] ?? 0) + increase
    })
  }
  return { gains, most }
}

function diversify(places: readonly Place[], shares: readonly Share[], limit: number): readonly RankedEntry[] {
  const openShares = shares.map(() => 1)
  const remaining = new Map(places.map((place) => [place.slot, place]))
  const ranked: RankedEntry[] = []
  while (remaining.size > 0 && ranked.length < limit) {
    let next: Place | undefined
    for (const place of remaining.values()) {
      let [total, part] = [0, 0]
      for (const [word, { gains }] of shares.entries()) {
        const gain = gains[place.slot] ?? 0
        total += gain
        part += gain * (openShares[word] ?? 0)
      }
      const score = (place.score * part) / total
      if (!next || score > next.score) next = { ...place, score }
    }
    if (!next) break
    const { slot } = next
    remaining.delete(slot)
    ranked.push(next)
    for (const [word, { gains, most }] of shares.entries()) {
      openShares[word] = (openShares[word] ?? 0) * (1 - (COVERED * (gains[slot] ?? 0)) / most)
    }
  }
  return ranked
}
