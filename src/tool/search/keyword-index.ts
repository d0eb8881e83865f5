import type { ToolText } from '../../contract/tool.ts'
import { textsOf } from './definition-texts.ts'
import { type Asked, type Entry, rank } from './keyword-rank.ts'
import { createTerms, type Terms } from './keyword-terms.ts'
import type { ToolIndex } from './tool-index.ts'
import { eachWord, FILLERS } from './words.ts'

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

  const drop = (name: string) => {
    const [tool, slot] = [known.get(name), slotOf.get(name)]
    if (!tool || slot === undefined) return
    for (const word of weigh(tool).weights.keys()) terms.forget(word, slot)
    slots[slot] = undefined
    slotOf.delete(name)
    known.delete(name)
  }
  const enter = (tool: ToolText) => {
    drop(tool.name)
    const unused = slotOf.size < slots.length ? slots.indexOf(undefined) : slots.length
    const { weights, name } = weigh(tool)
    for (const [word, weight] of weights) terms.note(word, unused, weight / (weight + SATURATION), name.has(word))
    slots[unused] = { name: tool.name, terms: [...name].flatMap((word) => terms.get(word) ?? []) }
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
      waiting.forEach(enter)
      waiting.clear()
      const asked = readQuestion(text.slice(0, MOST_CHARACTERS), terms)
      return rank(asked, slots, slotOf.size, limit).map(({ entry, score }) => ({ name: entry.name, score }))
    },
  }
}

/** BM25's: how soon another occurrence of a word adds nothing more, and how much length counts. */
const SATURATION = 1.6
const LENGTH = 0.5

/** How much a field counts, and how many words are usual in it: in a longer one each counts less. */
const FIELDS = {
  name: [3, 4],
  title: [2, 4],
  tags: [2, 4],
  description: [1, 20],
  parameters: [0.7, 40],
} as const

interface Weighed {
  readonly weights: ReadonlyMap<string, number>
  /** The telling words of the name. */
  readonly name: ReadonlySet<string>
}

/** What stands in one field: taken again for the next, since what indexing costs is garbage. */
const words: string[] = []
const halves: string[] = []

function weigh(tool: ToolText): Weighed {
  const weights = new Map<string, number>()
  const name = new Set<string>()
  weighField(weights, 'name', [tool.name], name)
  const texts = textsOf(tool)
  weighField(weights, 'title', texts.title)
  weighField(weights, 'tags', texts.tags)
  weighField(weights, 'description', texts.description)
  weighField(weights, 'parameters', texts.parameters)
  return { weights, name }
}

/** Adds what the words of a field weigh; of the name's, also those that tell. */
function weighField(
  weights: Map<string, number>,
  field: keyof typeof FIELDS,
  texts: readonly string[],
  name?: Set<string>,
): void {
  words.length = 0
  halves.length = 0
  let length = 0
  let previous = ''
  const visit = (word: string, times: number, whole: boolean) => {
    if (!name && FILLERS.has(word)) return
    if (times < 1) halves.push(word)
    else words.push(word)
    if (whole) return
    length += times
    if (!name) return
    if (!FILLERS.has(word)) name.add(word)
    // Two words of a name that stand together in the question too.
    if (previous !== '') halves.push(previous + word)
    previous = word
  }
  for (const text of texts) eachWord(text, visit)
  const [weight, usual] = FIELDS[field]
  const factor = weight / (1 - LENGTH + (LENGTH * length) / usual)
  for (const word of words) weights.set(word, (weights.get(word) ?? 0) + factor)
  for (const word of halves) weights.set(word, (weights.get(word) ?? 0) + factor / 2)
}

const MOST_CHARACTERS = 1000

/** The words of a question with what they may mean. Fillers count only where there is nothing else. */
function readQuestion(text: string, terms: Terms): readonly Asked[] {
  const said = new Map<string, number>()
  const joined = new Set<string>()
  const fillers = new Set<string>()
  let previous = ''
  eachWord(text.split(/\s+/).map(bare).join(' '), (word, times, whole) => {
    if (whole) return joined.add(word)
    joined.add(previous + word)
    previous = word
    if (FILLERS.has(word)) return fillers.add(word)
    const before = said.get(word)
    said.set(word, before === undefined ? times : before + times / 2)
  })
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
