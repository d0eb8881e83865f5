import type { ToolText } from '../contract/tool.ts'
import { type Asked, type Entry, rank } from './keyword-rank.ts'
import { createTerms, type Term, type Terms } from './keyword-terms.ts'
import { createReader, type Reader, weigh } from './keyword-weights.ts'
import type { ToolIndex } from './tool-index.ts'
import { FILLERS, textWords } from './words.ts'

/**
 * Makes an index that finds tools by the words of their names, titles, tags, descriptions and parameters (BM25 over
 * weighted fields), in any language. Added tools are read by the next search.
 */
export function createKeywordIndex(): ToolIndex {
  const terms = createTerms()
  /** The tools by slot, the number by which terms refer to them. Free slots are reused. */
  const slots: (Entry | undefined)[] = []
  const slotOf = new Map<string, number>()
  const known = new Map<string, ToolText>()
  const waiting = new Map<string, ToolText>()

  const drop = (name: string, read = createReader(terms)) => {
    const [tool, slot] = [known.get(name), slotOf.get(name)]
    if (!tool || slot === undefined) return
    weigh(tool, terms, read, (term) => terms.forget(term, slot))
    slots[slot] = undefined
    slotOf.delete(name)
    known.delete(name)
  }
  const enter = (tool: ToolText, read: Reader) => {
    drop(tool.name, read)
    const unused = slotOf.size < slots.length ? slots.indexOf(undefined) : slots.length
    const named: Term[] = []
    weigh(tool, terms, read, (term, weight, isNamed) => {
      terms.note(term, unused, weight / (weight + SATURATION), isNamed)
      if (isNamed) named.push(term)
    })
    slots[unused] = { name: tool.name, terms: named }
    slotOf.set(tool.name, unused)
    known.set(tool.name, tool)
  }
  return {
    async add(tools) {
      for (const tool of tools) waiting.set(tool.name, tool)
    },
    async remove(names) {
      for (const name of names) {
        waiting.delete(name)
        drop(name)
      }
    },
    async search(text, limit) {
      if (waiting.size > 0) {
        const read = createReader(terms)
        for (const tool of waiting.values()) enter(tool, read)
        waiting.clear()
      }
      const asked = readQuestion(text.slice(0, MOST_CHARACTERS), terms)
      return rank(asked, slots, slotOf.size, limit).map(({ entry, score }) => ({ name: entry.name, score }))
    },
  }
}

/** BM25's k1: the lower, the sooner another occurrence of a word adds nothing more. */
const SATURATION = 1.6

const MOST_CHARACTERS = 1000
/** The most different words of a question that count, in their order. */
const MOST_WORDS = 64

/** Returns a question's words with the terms that each may mean. Fillers count only if there are no other words. */
function readQuestion(text: string, terms: Terms): readonly Asked[] {
  const said = new Map<string, number>()
  const joined = new Set<string>()
  const fillers = new Set<string>()
  let previous = ''
  for (const { word, weight: times, whole } of textWords(text.split(/\s+/).map(bare).join(' '))) {
    if (whole) {
      joined.add(word)
      continue
    }
    joined.add(previous + word)
    previous = word
    if (FILLERS.has(word)) {
      fillers.add(word)
      continue
    }
    if (said.size >= MOST_WORDS && !said.has(word)) continue
    const before = said.get(word)
    said.set(word, before === undefined ? times : before + times / 2)
  }
  if (said.size === 0) for (const word of fillers) said.set(word, 1)
  const asked = [...said].map(([word, weight]) => ({ weight, variants: terms.variants(word) }))
  for (const word of [...joined].slice(0, MOST_WORDS)) {
    const term = said.has(word) || FILLERS.has(word) ? undefined : terms.get(word)
    if (term) asked.push({ weight: 1, variants: [{ term, likeness: 1 }] })
  }
  return asked.filter(({ variants }) => variants.length > 0)
}

/** Cuts a URL or a path down to its host and file extension, and keeps an id in one piece: the rest names no tool. */
function bare(word: string): string {
  if (ID.test(word)) return word.toLowerCase()
  const path = PATH.exec(word)
  return path ? `${path[1] ?? ''} ${/\.[a-z\d]{1,5}(?=\W*$)/i.exec(word)?.[0] ?? ''}` : word
}

/** Matches an id, in which letters and digits alternate: `YgSC7KRZI`. */
const ID = /^\W*[a-z\d]*(?:[a-z]\d+[a-z]|\d[a-z]+\d)[a-z\d]*\W*$/i
const PATH = /^["'(]?(?:[a-z]+:\/\/([^/?#]*)|~?\.{0,2}\/|[a-z]:\\)/i
