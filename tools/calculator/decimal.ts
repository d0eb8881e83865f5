/** Converts between fractions and decimal text. */
import { compare, magnitude, multiplyRationals, powerOfTen, type Rational, rational } from './rational.ts'

/** `coefficient × 10^exponent`. */
interface Decimal {
  readonly coefficient: bigint
  readonly exponent: number
}

export const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/

/** The number of zeros that plain notation may add; numbers that need more are written like `1.5e30`. */
const MOST_PADDING = 20

/**
 * Parses a decimal literal such as `-12.5e-3`. Contract: the text matches `DECIMAL`, and its exponent is small enough
 * for the power of ten to be computed.
 */
export function parseDecimal(text: string): Rational {
  const [mantissa = '', exponent = '0'] = text.toLowerCase().split('e')
  const [integer = '', fraction = ''] = mantissa.split('.')
  return multiplyRationals(rational(BigInt(`${integer}${fraction}`)), powerOfTen(Number(exponent) - fraction.length))
}

/** Returns all digits of a fraction, or undefined if its decimal expansion does not end, as that of 1/3. */
export function exactText(value: Rational): string | undefined {
  const [twos, odd] = divideOut(value.denominator, 2n)
  const [fives, rest] = divideOut(odd, 5n)
  if (rest !== 1n) return undefined
  const places = Math.max(twos, fives)
  const { numerator } = multiplyRationals(value, powerOfTen(places))
  return layOut({ coefficient: numerator, exponent: -places })
}

/** Rounds a fraction to `digits` significant digits, half to even, and returns the decimal text. */
export function roundedText(value: Rational, digits: number): string {
  return layOut(roundTo(value, digits))
}

/** Rounds a fraction to `digits` significant decimal digits, half to even. */
export function roundToDigits(value: Rational, digits: number): Rational {
  const { coefficient, exponent } = roundTo(value, digits)
  return multiplyRationals(rational(coefficient), powerOfTen(exponent))
}

/** Returns the exponent of a fraction in scientific notation: 2 for 123.4. The exponent of zero is 0. */
export function decimalExponent({ numerator, denominator }: Rational): number {
  const size = magnitude(numerator)
  if (size === 0n) return 0
  const guess = String(size).length - String(denominator).length
  return compareToPower(size, denominator, guess) < 0n ? guess - 1 : guess
}

/** Returns a number with the sign of `size / denominator - 10^exponent`. */
function compareToPower(size: bigint, denominator: bigint, exponent: number): bigint {
  const power = powerOfTen(exponent)
  return size * power.denominator - denominator * power.numerator
}

function roundTo(value: Rational, digits: number): Decimal {
  const exponent = decimalExponent(value) - digits + 1
  const { numerator, denominator } = multiplyRationals(value, powerOfTen(-exponent))
  const size = magnitude(numerator)
  const [quotient, twice] = [size / denominator, 2n * (size % denominator)]
  const up = twice > denominator || (twice === denominator && quotient % 2n === 1n)
  const coefficient = up ? quotient + 1n : quotient
  return { coefficient: numerator < 0n ? -coefficient : coefficient, exponent }
}

/** Returns how many times `factor` divides a number, and the number without these factors. */
function divideOut(value: bigint, factor: bigint): [times: number, rest: bigint] {
  let times = 0
  while (value % factor === 0n) {
    value /= factor
    times++
  }
  return [times, value]
}

/** Writes a number as JSON does: in plain notation, or with an exponent if that would need too many zeros. */
function layOut({ coefficient, exponent }: Decimal): string {
  if (coefficient === 0n) return '0'
  const sign = coefficient < 0n ? '-' : ''
  const all = String(magnitude(coefficient))
  const digits = all.replace(/0+$/, '')
  /** The position of the decimal point, counted from the first digit. */
  const point = all.length + exponent
  if (point >= digits.length && point - digits.length <= MOST_PADDING) return sign + digits.padEnd(point, '0')
  if (point > 0 && point < digits.length) return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`
  if (point <= 0 && -point <= MOST_PADDING) return `${sign}0.${'0'.repeat(-point)}${digits}`
  return `${sign}${digits.slice(0, 1)}${digits.length > 1 ? `.${digits.slice(1)}` : ''}e${point - 1}`
}

/** Returns a number if double precision preserves the decimal exactly, else the text itself. */
export function toJsonValue(text: string): number | string {
  const number = Number(text)
  const same = Number.isFinite(number) && compare(parseDecimal(String(number)), parseDecimal(text)) === 0
  return same ? number : text
}
