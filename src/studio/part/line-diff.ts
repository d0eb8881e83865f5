/** A line of a comparison: in both texts, or only in the one before or after. */
export interface DiffLine {
  readonly kind: 'same' | 'added' | 'removed'
  readonly text: string
}

/** More cells than this would make the page wait; such texts are shown one after the other. */
const MOST_CELLS = 4_000_000

/** Compares two texts line by line, by their longest common subsequence. */
export function diffLines(before: string, after: string): DiffLine[] {
  const [a, b] = [before.split('\n'), after.split('\n')]
  let [start, endA, endB] = [0, a.length, b.length]
  while (start < endA && start < endB && a[start] === b[start]) start++
  while (endA > start && endB > start && a[endA - 1] === b[endB - 1]) [endA, endB] = [endA - 1, endB - 1]
  const middle = diffMiddle(a.slice(start, endA), b.slice(start, endB))
  return [...lines('same', a.slice(0, start)), ...middle, ...lines('same', a.slice(endA))]
}

function diffMiddle(a: readonly string[], b: readonly string[]): DiffLine[] {
  if (a.length * b.length > MOST_CELLS) return [...lines('removed', a), ...lines('added', b)]
  const width = b.length + 1
  // The length of the longest common subsequence of what follows each pair of lines.
  const common = new Uint32Array((a.length + 1) * width)
  const at = (i: number, j: number): number => common[i * width + j] ?? 0
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  const diff: DiffLine[] = []
  let [i, j] = [0, 0]
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) [diff[diff.length], i, j] = [line('same', a[i]), i + 1, j + 1]
    else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) diff.push(line('removed', a[i++]))
    else diff.push(line('added', b[j++]))
  }
  return diff
}

function line(kind: DiffLine['kind'], text = ''): DiffLine {
  return { kind, text }
}

function lines(kind: DiffLine['kind'], texts: readonly string[]): DiffLine[] {
  return texts.map((text) => line(kind, text))
}
