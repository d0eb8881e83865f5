/** True where a name is one of these, or fits a pattern in which each `*` stands for any text, even none. */
export function matches(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => fits(glob, name))
}

function fits(glob: string, name: string): boolean {
  const [head = '', ...rest] = glob.split('*')
  const tail = rest.pop()
  if (tail === undefined) return head === name
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
  // The leftmost place of each piece is always as good as a later one, so nothing is tried twice.
  let at = head.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return at <= name.length - tail.length
}
