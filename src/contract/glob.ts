/** Returns whether a name matches any of the globs, in which each `*` stands for any text, even none. */
export function matches(globs: readonly string[], name: string): boolean {
  return globs.some((glob) => matchesGlob(glob, name))
}

function matchesGlob(glob: string, name: string): boolean {
  const [head = '', ...rest] = glob.split('*')
  const tail = rest.pop()
  if (tail === undefined) return head === name
  if (name.length < head.length + tail.length || !name.startsWith(head) || !name.endsWith(tail)) return false
  // The leftmost match of each piece leaves the most room for the next, so that no backtracking is needed.
  let at = head.length
  for (const piece of rest) {
    const index = name.indexOf(piece, at)
    if (index === -1) return false
    at = index + piece.length
  }
  return at <= name.length - tail.length
}
