import type { ToolText } from '../../contract/tool.ts'
import { type Asked, type Entry, rank } from './keyword-rank.ts'
import { createTerms, type Term, type Terms } from './keyword-terms.ts'
import { createReader, type Reader, weigh } from './keyword-weights.ts'
import type { ToolIndex } from './tool-index.ts'
import { FILLERS, textWords } from './words.ts'

/**
 * Finds tools by the words of their names, titles, tags, descriptions and parameters (BM25 over weighted fields), in any
 * language. Nothing is read before the first search.
 */
export function createKeywordIndex(): ToolIndex {
  const terms = createTerms()
  /** Terms know tools by their slots; free ones are taken again. */
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

/** BM25's: how soon another occurrence of a word adds nothing more. */
const SATURATION = 1.6

const MOST_CHARACTERS = 1000

/** The words of a question with what they may mean. Fillers count only where there is nothing else. */
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
    const before = said.get(word)
    said.set(word, before === undefined ? times : before + times / 2)
  }
  if (said.size === 0) for (const word of fillers) said.set(word, 1)
  const asked = [...said].map(([word, weight]) => ({ weight, variants: terms.variants(word) }))
  for (const word of joined) {
    const term = said.has(word) || FILLERS.has(word) ? undefined : terms.get(word)
    if (term) asked.push({ weight: 1, variants: [{ term, likeness: 1 }] })
  }
  return asked.filter(({ variants }) => variants.length > 0)
}

/** Of an address or a path only the host and the ending say what a tool is for, and of an id nothing but the whole. */
function bare(word: string): string {
  if (ID.test(word)) return word.toLowerCase()
  const path = PATH.exec(word)
  return path ? `${path[1] ?? ''} ${/\.[a-z\d]{1,5}(?=\W*$)/i.exec(word)?.[0] ?? ''}` : word
}

/** Letters and digits by turns: `YgSC7KRZI`. */
const ID = /^\W*[a-z\d]*(?:[a-z]\d+[a-z]|\d[a-z]+\d)[a-z\d]*\W*$/i
const PATH = /^["'(]?(?:[a-z]+:\/\/([^/?#]*)|~?\.{0,2}\/|[a-z]:\\)/i
