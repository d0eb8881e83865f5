import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

const MAX_SUGGESTIONS = 3

/** Returns the result of a call to a tool that is not on offer: it says so, and suggests the nearest names. */
export function unknownTool(name: string, names: readonly string[]): ToolFailure {
  const fault = name === '' ? 'The call names no tool' : `There is no tool "${name}"`
  if (names.length === 0) return failure('unknown_tool', `${fault}: no tools are on offer.`)
  const suggestions = nearest(name, names).map((candidate) => `"${candidate}"`)
  return failure('unknown_tool', `${fault}. Call one that is on offer, such as ${suggestions.join(', ')}.`)
}

/** The most characters of a name that count. */
const MOST_CHARACTERS = 64
/** The most pairs of characters that are compared: those of some 50 pairs of long names. */
const MOST_PAIRS = 200_000

/** Returns the names with the fewest edits from a name. Of many long ones, those that differ least in length count. */
function nearest(name: string, names: readonly string[]): string[] {
  const length = Math.min(name.length, MOST_CHARACTERS)
  const lengthOf = (candidate: string) => Math.min(candidate.length, MOST_CHARACTERS)
  const text = name.slice(0, MOST_CHARACTERS).toLowerCase()
  const candidates = names
    .map((candidate) => ({ candidate, least: Math.abs(lengthOf(candidate) - length) }))
    .sort((a, b) => a.least - b.least)
  let pairsLeft = MOST_PAIRS
  const compared = candidates.flatMap(({ candidate }) => {
    pairsLeft -= (length + 1) * (lengthOf(candidate) + 1)
    if (pairsLeft < 0) return []
    return [{ candidate, distance: distance(text, candidate.slice(0, MOST_CHARACTERS).toLowerCase()) }]
  })
  return compared
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ candidate }) => candidate)
}

/** Counts the edits (insert, delete, replace) between two texts. */
function distance(first: string, second: string): number {
  let row = Array.from({ length: second.length + 1 }, (_, column) => column)
  for (let i = 0; i < first.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < second.length; j++) {
      const replaced = (row[j] ?? 0) + (first[i] === second[j] ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
