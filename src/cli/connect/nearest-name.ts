/** Returns the name that somebody may have meant: one that has the word in it, or that is a few letters away. */
export function nearestName(word: string, names: readonly string[]): string | undefined {
  const lower = word.toLowerCase()
  const part = names.find((name) => name.includes(lower) || lower.includes(name))
  if (part !== undefined && lower.length > 1) return part
  const [nearest] = names
    .map((name) => ({ name, distance: distanceOf(lower, name) }))
    .filter(({ distance }) => distance <= Math.min(3, word.length / 2))
    .sort((a, b) => a.distance - b.distance)
  return nearest?.name
}

/** How many letters must be added, removed or replaced to make one word of the other. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, at) => at)
  for (const [i, letter] of from.split('').entries()) {
    const next = [i + 1]
    for (const [j, other] of to.split('').entries()) {
      next.push(Math.min((next[j] ?? 0) + 1, (row[j + 1] ?? 0) + 1, (row[j] ?? 0) + (letter === other ? 0 : 1)))
    }
    row = next
  }
  return row[to.length] ?? 0
}
