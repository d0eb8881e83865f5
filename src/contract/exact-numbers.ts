/**
 * Numbers are exact or refused. A JavaScript number has some 16 digits, and JSON has no such limit: `JSON.parse` makes
 * another number of `9007199254740993`, of `0.1234567890123456789` and of `1e400`. What comes from outside is therefore
 * parsed by `parseExactly`, and a number that would become another one is carried as a string of its digits. A tool that takes
 * a string gets it as it was written, and one that takes a number refuses it.
 */

/**
 * Returns whether a number has the value of the JSON number in `digits`, and is written with the same value again: 2 ** 64
 * is an integer that JavaScript holds, but it is written as 18446744073709552000. Of a fraction JavaScript holds the nearest
 * one, which is exact if it is written alike.
 */
export function isExact(number: number, digits: string): boolean {
  if (SHORT.test(digits)) return true
  if (!isWrittenAlike(number, digits)) return false
  return !INTEGER.test(digits) || BigInt(digits.replace('+', '')) === BigInt(number)
}

/** Returns whether a number is written in JSON with the same value as `digits`, for what is only passed on as JSON. */
export function isWrittenAlike(number: number, digits: string): boolean {
  return SHORT.test(digits) || (Number.isFinite(number) && normalize(digits) === normalize(String(number)))
}

const SHORT = /^[+-]?\d{1,15}$/
const INTEGER = /^[+-]?\d+$/
const DECIMAL = /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/

/** Returns one text for all decimals of the same value: `1.50e1` and `15` are `15e0`. Empty for any other text. */
function normalize(decimal: string): string {
  const [, sign, units = '', fraction = '', exponent = '0'] = DECIMAL.exec(decimal) ?? []
  if (sign === undefined) return ''
  const digits = (units + fraction).replace(/^0+/, '')
  if (digits === '') return '0'
  const significant = withoutZeros(digits)
  const power = Number(exponent) + digits.length - significant.length - fraction.length
  return `${sign === '-' ? '-' : ''}${significant}e${power}`
}

/** Removes the zeros at the end; a regular expression would try at each of them. */
function withoutZeros(digits: string): string {
  let end = digits.length
  while (digits[end - 1] === '0') end -= 1
  return digits.slice(0, end)
}

/** Finds a JSON number that may have more digits than a JavaScript number is sure to hold, or has an exponent. */
const LONG = /(?:^|[:,[\s])-?(?:[\d.]{16}|\d[\d.]*[eE])/

/** Whether a JSON text may have such a number, by a quick look: most texts have none. */
export function mayHaveLong(text: string): boolean {
  return LONG.test(text)
}

/**
 * Parses a JSON text; a number that JavaScript cannot hold becomes a string of its digits, as it was written. Throws if
 * it is not JSON. One that is nested over some thousand levels deep may throw a RangeError.
 */
export function parseExactly(text: string, isKept: typeof isExact = isExact): unknown {
  // A reviver is slow.
  if (!mayHaveLong(text)) return JSON.parse(text)
  return JSON.parse(text, digitKeeper(isKept))
}

/** Makes the function for `JSON.parse` that puts the digits in the place of a number that is not kept. */
export function digitKeeper(isKept: typeof isExact = isExact) {
  return (_key: string, value: unknown, context?: { readonly source?: string }): unknown =>
    typeof value === 'number' && !isKept(value, context?.source ?? '') ? context?.source : value
}

/** Encodes a value as JSON. A bigint is a number, or its digits as a text if JavaScript cannot hold it as a number. */
export function encodeExactly(value: unknown): string {
  return JSON.stringify(value, (_key, child: unknown) => {
    if (typeof child !== 'bigint') return child
    const digits = String(child)
    return isExact(Number(child), digits) ? Number(child) : digits
  })
}

/** Parses JSON from outside as `parseExactly` does. Returns undefined, which no JSON text stands for, for any other text. */
export function readExactly(text: string, isKept?: typeof isExact): unknown {
  try {
    return parseExactly(text, isKept)
  } catch {
    return undefined
  }
}

/** Whether a text is the digits of a JSON number that JavaScript cannot hold, as `parseExactly` makes them. */
export function isLongNumber(value: unknown): value is string {
  return typeof value === 'string' && JSON_NUMBER.test(value) && !isExact(Number(value), value)
}

const JSON_NUMBER = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/

/** Compares decimals as they are written: 0.3 is a multiple of 0.1, though it is not in binary. */
export function isMultiple(value: number, divisor: number): boolean {
  if (Number.isInteger(value) && Number.isInteger(divisor)) return value % divisor === 0
  return Number.isInteger(Number((value / divisor).toPrecision(15)))
}
