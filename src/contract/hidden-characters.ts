/**
 * Matches characters that hide text from a person who reads along: controls except tab and line ends, zero-width
 * spaces, direction marks and overrides, invisible operators, and tags. Zero-width joiners stay: scripts and emoji need
 * them.
 */
const HIDDEN =
  // oxlint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu

export function hasHidden(text: string): boolean {
  return text.search(HIDDEN) !== -1
}

/** Removes invisible characters from a text: controls except tab and line ends, zero-width and bidirectional marks. */
export function withoutHidden(text: string): string {
  return text.replace(HIDDEN, '')
}

/** Letters and marks that have no width: fillers, selectors of variants, and the like. */
const BLANK = String.raw`\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\uffa0\u{e0100}-\u{e01ef}`
const INVISIBLE = new RegExp(String.raw`(?![\n\t\u200c\u200d])[\p{C}\p{Zl}\p{Zp}${BLANK}]`, 'gu')

/**
 * Writes characters that do not show, that turn text around, or that a terminal obeys, as JSON escapes: nobody should
 * approve what they cannot see. JSON text stays equal.
 */
export function visible(text: string): string {
  return text.replace(INVISIBLE, (character) =>
    Array.from({ length: character.length }, (_, at) => {
      return `\\u${character.charCodeAt(at).toString(16).padStart(4, '0')}`
    }).join(''),
  )
}
