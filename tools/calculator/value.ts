/** Numbers that carry their precision, and arithmetic that keeps them within bounds. */
import { ToolError } from 'edgecall/tool'
import { decimalExponent, exactText, parseDecimal, roundedText, roundToDigits, toJsonValue } from './decimal.ts'
import {
  addRationals,
  bits,
  divideRationals,
  magnitude,
  multiplyRationals,
  negateRational,
  type Rational,
  rational,
  truncate,
} from './rational.ts'

/**
 * A number and its precision: an `exact` fraction; `rounded` to `WORKING_DIGITS`, as irrational roots are; or computed
 * as a `double`, as logarithms are. The result of an operation has the worst precision of its operands.
 */
export interface Value {
  readonly number: Rational
  readonly precision: Precision
}

export type Precision = 'exact' | 'rounded' | 'double'

/** The significant digits of a rounded number: enough for the digits shown to be right after further arithmetic. */
export const WORKING_DIGITS = 60
/** The significant digits of an answer that is not exact. */
const SHOWN_DIGITS = 34
/** Numbers must lie between about 10^-600 and 10^600. */
const MOST_EXPONENT = 600
/** The most bits of an exact numerator or denominator; longer fractions are rounded. Every integer in range fits. */
const MOST_BITS = 2048
/** The greatest length of an exponent in bits: with a longer one, rounding errors could reach the digits shown. */
const MOST_POWER_BITS = 40

/** Rounds a fraction that is too long. Throws a ToolError for a number that is too large or too small. */
export function settle(number: Rational, precision: Precision): Value {
  if (bits(number.numerator) <= MOST_BITS && bits(number.denominator) <= MOST_BITS) return { number, precision }
  if (Math.abs(decimalExponent(number)) > MOST_EXPONENT) throw outOfRange()
  return { number: roundToDigits(number, WORKING_DIGITS), precision: worst(precision, 'rounded') }
}

/** Parses a decimal literal. Throws a ToolError if its value is out of range. */
export function fromLiteral(text: string): Value {
  const exponent = /e([+-]?\d+)$/i.exec(text)?.[1] ?? '0'
  if (Math.abs(Number(exponent)) > 2 * MOST_EXPONENT) throw outOfRange()
  return settle(parseDecimal(text), 'exact')
}

/** Converts a double by way of its shortest decimal text. Throws a ToolError unless it is finite. */
export function fromDouble(double: number): Value {
  if (!Number.isFinite(double)) throw outOfRange()
  return { number: parseDecimal(String(double)), precision: 'double' }
}

export function toDouble({ number }: Value): number {
  return Number(roundedText(number, SHOWN_DIGITS))
}

export interface Answer {
  readonly value: number | string
  readonly exact: boolean
}

/** Formats a number as the answer of a tool. `exact` tells whether it has all digits. */
export function toAnswer(value: Value): Answer {
  const text = value.precision === 'exact' ? exactText(value.number) : undefined
  if (text !== undefined) return { value: toJsonValue(text), exact: true }
  const rounded = value.precision === 'double' ? String(toDouble(value)) : roundedText(value.number, SHOWN_DIGITS)
  return { value: toJsonValue(rounded), exact: false }
}

export function worst(...precisions: readonly Precision[]): Precision {
  if (precisions.includes('double')) return 'double'
  return precisions.includes('rounded') ? 'rounded' : 'exact'
}

export function add(a: Value, b: Value): Value {
  return settle(addRationals(a.number, b.number), worst(a.precision, b.precision))
}

export function negate({ number, precision }: Value): Value {
  return { number: negateRational(number), precision }
}

export function subtract(a: Value, b: Value): Value {
  return add(a, negate(b))
}

export function multiply(a: Value, b: Value): Value {
  return settle(multiplyRationals(a.number, b.number), worst(a.precision, b.precision))
}

export function divide(a: Value, b: Value): Value {
  return settle(quotient(a, b), worst(a.precision, b.precision))
}

/** Returns the remainder of `a / b`, with the sign of `a`. */
export function remainder(a: Value, b: Value): Value {
  const times = rational(truncate(quotient(a, b)))
  const rest = addRationals(a.number, negateRational(multiplyRationals(times, b.number)))
  return settle(rest, worst(a.precision, b.precision))
}

function quotient(a: Value, b: Value): Rational {
  if (b.number.numerator === 0n) throw new ToolError('Division by zero.', { code: 'division_by_zero' })
  return divideRationals(a.number, b.number)
}

/** Computes `base ^ exponent`: by multiplication for integer exponents, else with doubles. `0 ^ 0` is 1. */
export function power(base: Value, exponent: Value): Value {
  const { numerator, denominator } = exponent.number
  if (denominator !== 1n) return realPower(base, exponent)
  if (numerator < 0n) return power(divide(ONE, base), negate(exponent))
  return integerPower({ ...base, precision: worst(base.precision, exponent.precision) }, numerator)
}

function integerPower(base: Value, exponent: bigint): Value {
  const { numerator, denominator } = base.number
  const size = Math.max(bits(numerator), bits(denominator))
  const unit = denominator === 1n && magnitude(numerator) <= 1n
  // The power of a fraction in lowest terms is in lowest terms.
  if (unit || size * Number(exponent) <= MOST_BITS) {
    return { ...base, number: { numerator: numerator ** exponent, denominator: denominator ** exponent } }
  }
  if (bits(exponent) > MOST_POWER_BITS) throw outOfRange()
  let result: Value = { ...ONE, precision: base.precision }
  let square = base
  for (let rest = exponent; rest > 0n; rest /= 2n) {
    if (rest % 2n === 1n) result = multiply(result, square)
    // The last square is not needed, and might be out of range.
    if (rest > 1n) square = multiply(square, square)
  }
  return result
}

function realPower(base: Value, exponent: Value): Value {
  if (base.number.numerator < 0n) {
    throw new ToolError('A negative number has no real power with a fractional exponent.', { code: 'domain_error' })
  }
  if (base.number.numerator === 0n && exponent.number.numerator < 0n) return divide(ONE, base)
  return fromDouble(toDouble(base) ** toDouble(exponent))
}

const ONE: Value = { number: rational(1n), precision: 'exact' }

function outOfRange(): ToolError {
  return new ToolError(
    `A number on the way is out of range: numbers must stay between 10^-${MOST_EXPONENT} and 10^${MOST_EXPONENT}, and ` +
      'below 10^308 in ln, log, sin, cos, tan and powers with a fractional exponent.',
    { code: 'number_out_of_range' },
  )
}
