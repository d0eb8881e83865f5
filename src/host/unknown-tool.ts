import type { ToolFailure } from '../contract/tool.ts'
import { failure } from '../contract/tool.ts'

const NEAR = 3

/** Returns the result of a call to a tool that is not on offer: it says so, and suggests the nearest names. */
export function unknownTool(name: string, known: readonly string[]): ToolFailure {
  if (known.length === 0) return failure('unknown_tool', `There is no tool "${name}": no tools are on offer.`)
  const near = known
    .map((candidate) => ({ candidate, distance: distance(name.toLowerCase(), candidate.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance)
    .slice(0, NEAR)
    .map(({ candidate }) => `"${candidate}"`)
  return failure('unknown_tool', `There is no tool "${name}". Call one that is on offer, such as ${near.join(', ')}.`)
}

/** Counts the edits (insert, delete, replace) between two names, of which the first 64 characters count. */
function distance(a: string, b: string): number {
  const [left, right] = [a.slice(0, 64), b.slice(0, 64)]
  let row = Array.from({ length: right.length + 1 }, (_, column) => column)
  for (let i = 0; i < left.length; i++) {
    const next = [i + 1]
    for (let j = 0; j < right.length; j++) {
      const replaced = (row[j] ?? 0) + (left[i] === right[j] ? 0 : 1)
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1))
    }
    row = next
  }
  return row.at(-1) ?? 0
}
