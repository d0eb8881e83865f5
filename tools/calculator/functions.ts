/** The functions and constants that an expression may use. */
import { ToolError } from 'edgecall/tool'
import { decimalExponent } from './decimal.ts'
import { compare, floor, magnitude, multiplyRationals, powerOfTen, rational, round } from './rational.ts'
import { fromDouble, fromLiteral, negate, settle, toDouble, type Value, WORKING_DIGITS, worst } from './value.ts'

interface MathFunction {
  readonly arity: readonly [least: number, most: number]
  readonly apply: (first: Value, ...rest: readonly Value[]) => Value
}

export const FUNCTIONS: ReadonlyMap<string, MathFunction> = new Map<string, MathFunction>([
  ['sqrt', unary(rootOf)],
  ['abs', unary((value) => (value.number.numerator < 0n ? negate(value) : value))],
  ['round', { arity: [1, 2], apply: roundTo }],
  ['floor', unary((value) => ({ ...value, number: rational(floor(value.number)) }))],
  ['ceil', unary((value) => ({ ...value, number: rational(-floor(negate(value).number)) }))],
  ['min', { arity: [1, Infinity], apply: (...values) => extreme(values, -1) }],
  ['max', { arity: [1, Infinity], apply: (...values) => extreme(values, 1) }],
  ['ln', unary((value) => fromDouble(Math.log(toDouble(positive('ln', value)))))],
  ['log', unary((value) => fromDouble(Math.log10(toDouble(positive('log', value)))))],
  ['sin', unary((value) => fromDouble(Math.sin(toDouble(value))))],
  ['cos', unary((value) => fromDouble(Math.cos(toDouble(value))))],
  ['tan', unary((value) => fromDouble(Math.tan(toDouble(value))))],
])

export const CONSTANTS: ReadonlyMap<string, Value> = new Map([
  ['pi', constant('3.14159265358979323846264338327950288419716939937510582097494459')],
  ['e', constant('2.71828182845904523536028747135266249775724709369995957496696763')],
])

/** Returns the root: exact if the number is the square of a fraction, else rounded. Throws a ToolError below zero. */
export function rootOf({ number, precision }: Value): Value {
  if (number.numerator < 0n) {
    throw new ToolError('A negative number has no real square root.', { code: 'domain_error' })
  }
  const exact = rational(integerRoot(number.numerator), integerRoot(number.denominator))
  if (compare(multiplyRationals(exact, exact), number) === 0) return { number: exact, precision }
  // With this many decimal places, the integer root below has more than WORKING_DIGITS digits.
  const places = WORKING_DIGITS - Math.floor(decimalExponent(number) / 2)
  const digits = integerRoot(floor(multiplyRationals(number, powerOfTen(2 * places))))
  // The digits are truncated, so the true root lies above them; a 1 appended keeps a later rounding from seeing a tie.
  const root = multiplyRationals(rational(10n * digits + 1n), powerOfTen(-places - 1))
  return settle(root, worst(precision, 'rounded'))
}

/** Returns the largest integer whose square is at most `square` (Newton's method, from above). */
function integerRoot(square: bigint): bigint {
  if (square < 2n) return square
  let root = 1n << BigInt(Math.ceil(square.toString(2).length / 2))
  for (;;) {
    const next = (root + square / root) / 2n
    if (next >= root) return root
    root = next
  }
}

const MOST_PLACES = 100

/** Rounds to an integer, or to a number of decimal places; halves go away from zero. */
function roundTo(value: Value, places?: Value): Value {
  const { numerator, denominator } = places?.number ?? rational(0n)
  if (denominator !== 1n || magnitude(numerator) > MOST_PLACES) {
    throw new ToolError(`round takes a whole number of places, from -${MOST_PLACES} to ${MOST_PLACES}.`, {
      code: 'domain_error',
    })
  }
  const rounded = round(multiplyRationals(value.number, powerOfTen(Number(numerator))))
  return settle(multiplyRationals(rational(rounded), powerOfTen(-Number(numerator))), value.precision)
}

/** Returns the least (`-1`) or greatest (`1`) value, with the worst precision of all, since any might have been it. */
function extreme(values: readonly Value[], sign: 1 | -1): Value {
  const numbers = values.map((value) => value.number)
  const number = numbers.reduce((best, next) => (compare(next, best) * sign > 0 ? next : best))
  return { number, precision: worst(...values.map((value) => value.precision)) }
}

function positive(name: string, value: Value): Value {
  if (value.number.numerator > 0n) return value
  throw new ToolError(`${name} is defined only for numbers above zero.`, { code: 'domain_error' })
}

function unary(apply: (value: Value) => Value): MathFunction {
  return { arity: [1, 1], apply }
}

function constant(digits: string): Value {
  return { number: fromLiteral(digits).number, precision: 'rounded' }
}
