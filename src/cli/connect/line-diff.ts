/** Returns the lines that a text loses and gets, in order, each after `- ` or `+ `. Lines that stay are left out. */
export function lineDiff(before: string, after: string): string[] {
  const [old, next] = withoutCommonEnds(linesOf(before), linesOf(after))
  // lengths[i][j]: how many lines the rest of both have in common, from line i and line j on.
  const lengths = Array.from({ length: old.length + 1 }, () => new Uint32Array(next.length + 1))
  const length = (i: number, j: number): number => lengths[i]?.[j] ?? 0
  for (let i = old.length - 1; i >= 0; i -= 1) {
    const row = lengths[i] ?? new Uint32Array(0)
    for (let j = next.length - 1; j >= 0; j -= 1) {
      row[j] = old[i] === next[j] ? length(i + 1, j + 1) + 1 : Math.max(length(i + 1, j), length(i, j + 1))
    }
  }
  const diff: string[] = []
  let [i, j] = [0, 0]
  while (i < old.length || j < next.length) {
    if (i < old.length && old[i] === next[j]) [i, j] = [i + 1, j + 1]
    else if (j >= next.length || (i < old.length && length(i + 1, j) >= length(i, j + 1))) diff.push(`- ${old[i++]}`)
    else diff.push(`+ ${next[j++]}`)
  }
  return diff
}

/** Leaves out the lines with which both begin and end: files of applications are long, and little of them changes. */
function withoutCommonEnds(old: readonly string[], next: readonly string[]): [string[], string[]] {
  const shorter = Math.min(old.length, next.length)
  let start = 0
  while (start < shorter && old[start] === next[start]) start += 1
  let end = 0
  while (end < shorter - start && old[old.length - 1 - end] === next[next.length - 1 - end]) end += 1
  return [old.slice(start, old.length - end), next.slice(start, next.length - end)]
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.replace(/\r?\n$/, '').split(/\r?\n/)
}
