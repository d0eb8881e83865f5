import type { ToolText } from '../contract/tool.ts'
import { type QueryWord, type Entry, rank } from './keyword-rank.ts'
import { createTerms, type Term, type Terms } from './keyword-terms.ts'
import { createReader, type Reader, weigh } from './keyword-weights.ts'
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
  const terms = createTerms()
  /** The tools by slot, the number by which terms refer to them. Free slots are reused. */
  const slots: (Entry | undefined)[] = []
  const slotOf = new Map<string, number>()
  const indexed = new Map<string, ToolText>()
  const pending = new Map<string, ToolText>()

  const removeTool = (name: string, reader = createReader(terms)) => {
    const [tool, slot] = [indexed.get(name), slotOf.get(name)]
    if (!tool || slot === undefined) return
    weigh(tool, terms, reader, (term) => terms.forget(term, slot))
    slots[slot] = undefined
    slotOf.delete(name)
    indexed.delete(name)
  }
  const addTool = (tool: ToolText, reader: Reader) => {
    removeTool(tool.name, reader)
    const unused = slotOf.size < slots.length ? slots.indexOf(undefined) : slots.length
    const nameTerms: Term[] = []
    weigh(tool, terms, reader, (term, weight, isNamed) => {
      terms.note(term, unused, weight / (weight + SATURATION), isNamed)
      if (isNamed) nameTerms.push(term)
    })
    slots[unused] = { name: tool.name, terms: nameTerms }
    slotOf.set(tool.name, unused)
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
      return rank(queryWords, slots, slotOf.size, limit).map(({ entry, score }) => ({ name: entry.name, score }))
    },
  }
}

/** BM25's k1: the lower, the sooner another occurrence of a word adds nothing more. */
const SATURATION = 1

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
