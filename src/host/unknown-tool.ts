import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

const MAX_SUGGESTIONS = 3

/** Returns the result of a call to a tool that is not on offer: it says so, and suggests the nearest names. */
export function unknownTool(name: string, names: readonly string[]): ToolFailure {
  const fault = name === '' ? 'The call names no tool' : `There is no tool "${name}"`
  if (names.length === 0) return failure('unknown_tool', `${fault}: no tools are on offer.`)
  const suggestions = names
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, MAX_SUGGESTIONS)
    .map(({ candidate }) => `"${candidate}"`)
  return failure('unknown_tool', `${fault}. Call one that is on offer, such as ${suggestions.join(', ')}.`)
}

/** Counts the edits (insert, delete, replace) between two names, of which the first 64 characters count. */
function distance(a: string, b: string): number {
  const [first, second] = [a.slice(0, 64), b.slice(0, 64)]
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
