/** Returns the names that have these words in them, in any case. Throws an error that lists all of them if none has. */
export function namesWith(words: string, names: readonly string[]): readonly string[] {
  const matches = names.filter((name) => name.toLowerCase().includes(words.toLowerCase()))
  if (matches.length === 0) throw new Error(`No part has "${words}" in its name:\n${names.join('\n')}`)
  return matches
}
