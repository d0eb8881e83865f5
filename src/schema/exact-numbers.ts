/** Returns whether a number equals the integer that the digits spell. With a point or exponent, any finite one does. */
export function isExact(number: number, digits: string): boolean {
  if (Number.isSafeInteger(number)) return true
  if (!/^[+-]?\d+$/.test(digits)) return Number.isFinite(number)
  return Number.isFinite(number) && BigInt(digits.replace('+', '')) === BigInt(number)
}

/** Matches a text with so many digits in a row that a number may not hold them, or with an exponent. */
const LARGE = /\d{16}|\d[eE]/

/** Parses a JSON text, in which a number that JavaScript cannot hold is kept as its text. Throws if it is not JSON. */
export function parseExactly(text: string): unknown {
  // A reviver is slow, and most texts have no number that could be lost.
  if (!LARGE.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && !isExact(value, context?.source ?? '') ? context?.source : value,
  )
}
