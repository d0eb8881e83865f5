import { readFileSync } from 'node:fs'

/** Matches a member of a table or an interface in a source file: its comment and its name. */
const ENTRY = /^ {2}\/\*\*(?<comment>(?:(?!\*\/)[^])*)\*\/\n {2}(?:readonly )?(?<name>\w+)\??: /gm

/**
 * Returns the comments on the members of a declaration, such as `const LIMITS`, by name. The texts are read from the
 * source, so that no Worker bundle holds them. Throws if a key of `table` has no comment there.
 */
export function commentsOf(source: URL, declaration: string, table: object): Readonly<Record<string, string>> {
  const comments = new Map<string, string>()
  const [, declared = ''] = readFileSync(source.pathname, 'utf8').split(`export ${declaration} `)
  const [members = ''] = declared.split('\n}')
  for (const { groups } of members.matchAll(ENTRY)) {
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
