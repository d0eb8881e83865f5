/**
 * Returns whether a number equals the integer in `digits`. For digits with a point or an exponent, any finite number
 * does.
 */
export function isExact(number: number, digits: string): boolean {
  if (Number.isSafeInteger(number)) return true
  if (!/^[+-]?\d+$/.test(digits)) return Number.isFinite(number)
  return Number.isFinite(number) && BigInt(digits.replace('+', '')) === BigInt(number)
}

/** Matches a text with more digits in a row than a JavaScript number is sure to hold, or with an exponent. */
const LARGE = /\d{16}|\d[eE]/

/**
 * Parses a JSON text; a number that JavaScript cannot hold becomes a string of its digits. Throws if it is not JSON.
 */
export function parseExactly(text: string): unknown {
  // A reviver is slow, and most texts have no such number.
  if (!LARGE.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && !isExact(value, context?.source ?? '') ? context?.source : value,
  )
}

/** Compares decimals as they are written: 0.3 is a multiple of 0.1, though it is not in binary. */
export function isMultiple(value: number, divisor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0
  return Number.isInteger(Number((value / divisor).toPrecision(15)))
}
