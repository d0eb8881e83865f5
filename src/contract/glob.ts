/** Returns whether a name matches any of the globs, in which each `*` stands for any text, even none. */
export function matches(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => fits(glob, name))
}

function fits(glob: string, name: string): boolean {
  const [head = '', ...rest] = glob.split('*')
  const tail = rest.pop()
  if (tail === undefined) return head === name
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
  // The leftmost match of each piece leaves the most room for the next, so that no backtracking is needed.
  let at = head.length
  for (const piece of rest) {
    const found = name.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return at <= name.length - tail.length
}
