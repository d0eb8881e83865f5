const IDENTIFIER = String.raw`\p{ID_Continue}$\u200c\u200d`

/**
 * Matches each form of an import, and texts in strings and comments that look like one. No import
 * hides from it: a keyword has no escapes, and the platform runs no text as code. The repetitions are bounded, so that the
 * time grows with the length of the text alone.
 */
const IMPORT = new RegExp(
  [
    // `object.import(…)` is a call of a method, `[...import(…)]` an import.
    String.raw`(?<![${IDENTIFIER}])(?<!(?:^|[^.])\.)import(?:`,
    [
      String.raw`\s*['"({/]`,
      // `* as all`, but not the end of a comment.
      String.raw`\s*\*(?!\/(?![*/]))`,
      // `import.source(…)`. What `import.meta` has is harmless.
      String.raw`\s*\.\s*[a-z]+\s*[(/]`,
      String.raw`\s[${IDENTIFIER}\\,\s]{1,400}?(?:[{*/]|from\s*['"/])`,
      String.raw`\s[${IDENTIFIER}\\,\s]{400}`,
    ].join('|'),
    ')|',
    String.raw`(?<![${IDENTIFIER}])export\s*(?:\*(?!\/(?![*/]))|\{[^}/'"]{0,4000}(?:['"/]|\}\s*(?:from|\/))|\{[^}/'"]{4000})`,
  ].join(''),
  'u',
)

/** Returns the beginning of the first import of a module; undefined if it imports nothing. */
export function importOf(module: string): string | undefined {
  const match = IMPORT.exec(module)
  return match
    ? module
        .slice(match.index, match.index + 40)
        .replace(/\s+/g, ' ')
        .trim()
    : undefined
}
