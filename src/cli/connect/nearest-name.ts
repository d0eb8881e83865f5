import { editDistance } from '../../contract/edit-distance.ts'

/** Returns the name that somebody may have meant: one that has the word in it, or that is a few letters away. */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  const part = names.find((name) => name.includes(lower) || lower.includes(name))
  if (part !== undefined && lower.length > 1) return part
  const [nearest] = names
    .map((name) => ({ name, distance: editDistance(lower, name) }))
    .filter(({ distance }) => distance <= Math.min(3, word.length / 2))
    .sort((a, b) => a.distance - b.distance)
  return nearest?.name
}
