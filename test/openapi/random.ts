export type Random = () => number

/** A source of the same numbers for the same text. */
export function seeded(text: string): Random {
  let state = Array.from(text).reduce((sum, each) => (Math.imul(sum, 31) + (each.codePointAt(0) ?? 0)) | 0, 7)
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296
  }
}
