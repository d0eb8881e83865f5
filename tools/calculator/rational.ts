/** Exact fractions of BigInts. */

/** A fraction in lowest terms, with a positive denominator. */
export interface Rational {
  readonly numerator: bigint
  readonly denominator: bigint
}

/** Reduces `numerator / denominator` to lowest terms. Contract: the denominator is not zero. */
export function rational(numerator: bigint, denominator = 1n): Rational {
  const divisor = greatestCommonDivisor(numerator, denominator) * (denominator < 0n ? -1n : 1n)
  return { numerator: numerator / divisor, denominator: denominator / divisor }
}

export function addRationals(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator)
}

export function negateRational({ numerator, denominator }: Rational): Rational {
  return { numerator: -numerator, denominator }
}

export function multiplyRationals(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.numerator, a.denominator * b.denominator)
}

/** Divides `a` by `b`. Contract: `b` is not zero. */
export function divideRationals(a: Rational, b: Rational): Rational {
  return rational(a.numerator * b.denominator, a.denominator * b.numerator)
}

/** Returns -1, 0 or 1 if `a` is less than, equal to or greater than `b`. */
export function compare(a: Rational, b: Rational): number {
  const difference = a.numerator * b.denominator - b.numerator * a.denominator
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

export function floor({ numerator, denominator }: Rational): bigint {
  const quotient = numerator / denominator
  return numerator % denominator < 0n ? quotient - 1n : quotient
}

/** Rounds towards zero. */
export function truncate({ numerator, denominator }: Rational): bigint {
  return numerator / denominator
}

/** Rounds to the nearest integer, halves away from zero. */
export function round({ numerator, denominator }: Rational): bigint {
  const nearest = (2n * magnitude(numerator) + denominator) / (2n * denominator)
  return numerator < 0n ? -nearest : nearest
}

/** Returns `10^exponent`; the exponent may be negative. */
export function powerOfTen(exponent: number): Rational {
  const power = 10n ** BigInt(Math.abs(exponent))
  return exponent < 0 ? { numerator: 1n, denominator: power } : { numerator: power, denominator: 1n }
}

export function magnitude(value: bigint): bigint {
  return value < 0n ? -value : value
}

/** Returns the length of a number's magnitude in bits, rounded up to a multiple of four. */
export function bits(value: bigint): number {
  return magnitude(value).toString(16).length * 4
}

function greatestCommonDivisor(a: bigint, b: bigint): bigint {
  let [divisor, rest] = [magnitude(a), magnitude(b)]
  while (rest > 0n) [divisor, rest] = [rest, divisor % rest]
  return divisor
}
