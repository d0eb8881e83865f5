import type { ToolText } from '../contract/tool.ts'
import { type QueryWord, type Entry, rank } from './keyword-rank.ts'
import type { StoredTerms } from './stored-terms.ts'
import { createTerms, type Term, type Terms } from './keyword-terms.ts'
import { createReader, nameWords, type Reader, saturate, weigh } from './keyword-weights.ts'
import type { ToolIndex } from './tool-index.ts'
import { FILLERS, textWords } from './words.ts'

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

/** Makes such an index that has the tools of a stored one (`encodeTerms`), too. */
export function keywordIndex(stored?: StoredTerms): ToolIndex {
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
      const queryWords = readQuestion(text.slice(0, MOST_CHARACTERS), terms)
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

/**
 * Returns the words of a question, each with the terms that it may mean. Fillers count only if all words are fillers.
 */
function readQuestion(text: string, terms: Terms): readonly QueryWord[] {
  const weights = new Map<string, number>()
  const joinedWords = new Set<string>()
  const fillers = new Set<string>()
  let previous = ''
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
    if (weights.size >= MOST_WORDS && !weights.has(word)) continue
    const before = weights.get(word)
    weights.set(word, before === undefined ? times : before + times / 2)
  }
  if (weights.size === 0) for (const word of fillers) weights.set(word, 1)
  const queryWords = [...weights].map(([word, weight]) => ({ weight, variants: terms.variants(word) }))
  for (const word of [...joinedWords].slice(0, MOST_WORDS)) {
    const term = weights.has(word) || FILLERS.has(word) ? undefined : terms.get(word)
    if (term) queryWords.push({ weight: 1, variants: [{ term, likeness: 1 }] })
  }
  return queryWords.filter(({ variants }) => variants.length > 0)
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
