/** Counts the edits (insert, delete, replace) between two texts. */
export function editDistance(first: string, second: string): number {
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
