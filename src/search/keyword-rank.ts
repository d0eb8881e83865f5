import type { Term, Variant } from './keyword-terms.ts'

/** A word of a question: its weight, which grows with each occurrence, and the terms that it may mean. */
export interface QueryWord {
  readonly weight: number
  readonly variants: readonly Variant[]
}

/** A tool of an index, with the terms of its name. */
export interface Entry {
  readonly name: string
  readonly terms: readonly Term[]
}

export interface RankedEntry {
  readonly entry: Entry
  readonly score: number
}

/** A question with this many known words may ask for several things. */
const MANY = 10
/** How many tools are ranked with regard to those before them; the cost is their square times the number of words. */
const MOST_SPREAD = 50
/** The share by which the weight of a word falls once a tool that fully matches it has been chosen. */
const COVERED = 0.2

/**
 * Returns the best tools, best first, and by name if their scores are equal. A tool's score is multiplied by up to 2,
 * depending on how much of its name the question contains. If the question may ask for several things, a word counts
 * less for the next tools once a chosen tool matches it. This applies to the first 50; the others follow by score.
 */
export function rank(
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
  const several = shares.length >= MANY
  if (!several) return top(scores, slots, limit)
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
