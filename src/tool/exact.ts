/** Whether a number is the one that these digits spell. Where an exponent is written, a number near it was meant. */
export function isExact(number: number, digits: string): boolean {
  if (Number.isSafeInteger(number)) return true
  if (!/^[+-]?\d+$/.test(digits)) return Number.isFinite(number)
  return Number.isFinite(number) && BigInt(digits.replace('+', '')) === BigInt(number)
}

/** So many digits as may be more than a number holds, or an exponent. */
const LARGE = /\d{16}|\d[eE]/

/** The value of a JSON text, in which a number that JavaScript cannot hold is kept as its text. Throws for no JSON. */
export function parseExactly(text: string): unknown {
  // A reviver is dear, and most texts have no number that could be lost.
  if (!LARGE.test(text)) return JSON.parse(text)
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) =>
    typeof value === 'number' && !isExact(value, context?.source ?? '') ? context?.source : value,
  )
}
