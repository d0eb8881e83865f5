import type { DefinitionIssue } from '../contract/definition.ts'
import { isObject, type JsonSchema } from '../contract/json.ts'
import { documentOf } from './document.ts'
import { longestMatched } from './pattern.ts'

/** The length of a long argument. There is no warning if only longer texts are not checked. */
const LONG = 1000

/**
 * Returns the patterns of a sound schema that are never checked, or only on short texts, because they might take too
 * long on others (`pattern.ts`). The model still sees them, but values that they would reject are accepted.
 */
export function uncheckedPatterns(schema: JsonSchema): DefinitionIssue[] {
  return documentOf(schema).places.flatMap(({ schema: place, path }) => {
    if (!isObject(place)) return []
    const { pattern, patternProperties } = place
    const patterns = Object.keys(isObject(patternProperties) ? patternProperties : {})
    return [
      ...(typeof pattern === 'string' ? warningOf([...path, 'pattern'], pattern) : []),
      ...patterns.flatMap((each) => warningOf([...path, 'patternProperties', each], each)),
    ]
  })
}

function warningOf(path: readonly string[], pattern: string): DefinitionIssue[] {
  const longest = longestMatched(pattern)
  if (longest >= LONG) return []
  const message =
    longest === 0
      ? 'this pattern is never checked: it does not compile, or might take too long on some text'
      : `this pattern is only checked on texts of up to ${longest} characters: it might take too long on others`
  return [{ path: path.join('.'), message }]
}
