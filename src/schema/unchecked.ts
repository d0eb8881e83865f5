import type { DefinitionIssue } from '../contract/definition.ts'
import type { JsonSchema } from '../contract/json.ts'
import { documentOf, patternsOf } from './document.ts'
import { longestMatched } from './pattern.ts'

/** The length of a long argument. There is no warning if only longer texts are not checked. */
const LONG = 1000

/**
 * Returns the patterns of a sound schema that are never checked, or only on short texts, because they might take too
 * long on others (`pattern.ts`). The model still sees them, but values that they would reject are accepted.
 */
export function uncheckedPatterns(schema: JsonSchema): DefinitionIssue[] {
  const document = documentOf(schema)
  return document.places.flatMap(({ schema: place, path }) =>
    patternsOf(place).flatMap(({ path: inner, pattern }) => {
      const longest = document.mayRun(pattern) ? longestMatched(pattern) : 0
      return longest >= LONG ? [] : [warning([...path, ...inner], longest)]
    }),
  )
}

function warning(path: readonly string[], longest: number): DefinitionIssue {
  const message =
    longest === 0
      ? 'this pattern is never checked: it does not compile, might take too long on some text, or the schema names too many Unicode properties'
      : `this pattern is only checked on texts of up to ${longest} characters: it might take too long on others`
  return { path: path.join('.'), message }
}
