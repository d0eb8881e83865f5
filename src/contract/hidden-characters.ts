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
