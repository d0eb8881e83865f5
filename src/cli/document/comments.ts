import { readFileSync } from 'node:fs'

/** Matches an entry of a table in a source file: its comment, its name and what follows up to the end of the line. */
const ENTRY = /^ {2}\/\*\*(?<comment>(?:(?!\*\/)[^])*)\*\/\n {2}(?<name>\w+): \{/gm

/**
 * Returns the comments on the entries of a table, such as `LIMITS`, by name. The texts are read from the source, so
 * that no Worker bundle holds them. Throws if an entry of the table has no comment.
 */
export function commentsOf(source: URL, table: object): Readonly<Record<string, string>> {
  const comments = new Map<string, string>()
  for (const { groups } of readFileSync(source.pathname, 'utf8').matchAll(ENTRY)) {
    const { name = '', comment = '' } = groups ?? {}
    comments.set(name, comment.replaceAll(/\s*\n\s*\*\s?/g, ' ').trim())
  }
  const texts = Object.keys(table).map((name): readonly [string, string] => {
    const comment = comments.get(name)
    if (comment === undefined) throw new Error(`${source.pathname} has no comment on ${name}`)
    return [name, comment]
  })
  return Object.fromEntries(texts)
}
