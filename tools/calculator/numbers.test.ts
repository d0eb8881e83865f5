import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { exactText, parseDecimal, roundedText, toJsonValue } from './decimal.ts'
import { evaluate } from './evaluate.ts'
import { rootOf } from './functions.ts'
import { compare, floor, rational, round, truncate } from './rational.ts'
import { toAnswer } from './value.ts'

const integers = fc.bigInt({ min: -(10n ** 30n), max: 10n ** 30n })
const positives = fc.bigInt({ min: 1n, max: 10n ** 30n })
const exact = (source: string) => evaluate(source).number
const fractions = fc.tuple(integers, positives).map(([above, below]) => rational(above, below))

describe('rational', () => {
  test('keeps lowest terms and a positive denominator', () => {
    expect(rational(6n, -4n)).toEqual({ numerator: -3n, denominator: 2n })
    expect(rational(0n, -7n)).toEqual({ numerator: 0n, denominator: 1n })
  })

  test('rounds down, towards zero, and halves away from zero', () => {
    const halves = [-3n, -1n, 1n, 3n].map((above) => rational(above, 2n))
    expect(halves.map(floor)).toEqual([-2n, -1n, 0n, 1n])
    expect(halves.map(truncate)).toEqual([-1n, 0n, 0n, 1n])
    expect(halves.map(round)).toEqual([-2n, -1n, 1n, 2n])
  })
})

describe('decimal text', () => {
  test.each([
    ['1/8', rational(1n, 8n), '0.125'],
    ['-1/1024', rational(-1n, 1024n), '-0.0009765625'],
    ['10^20', rational(10n ** 20n), '100000000000000000000'],
    ['10^21', rational(10n ** 21n), '1e21'],
    ['15 * 10^40', rational(15n * 10n ** 40n), '1.5e41'],
    ['10^-21', rational(1n, 10n ** 21n), '0.000000000000000000001'],
    ['10^-22', rational(1n, 10n ** 22n), '1e-22'],
    ['2^200', rational(2n ** 200n), '1606938044258990275541962092341162602522202993782792835301376'],
  ])('writes %s exactly', (_, value, text) => {
    expect(exactText(value)).toBe(text)
  })

  test('recognizes fractions that never end', () => {
    expect([rational(1n, 3n), rational(7n, 12n)].map(exactText)).toEqual([undefined, undefined])
  })

  test.each([
    ['1/3', rational(1n, 3n), 5, '0.33333'],
    ['2/3', rational(2n, 3n), 5, '0.66667'],
    ['a half below an even digit', rational(12345n, 10n), 4, '1234'],
    ['a half below an odd digit', rational(12355n, 10n), 4, '1236'],
    ['a carry into a new digit', rational(99996n, 10n), 4, '10000'],
    ['-10^30/7', rational(-(10n ** 30n), 7n), 6, '-1.42857e29'],
    ['a number with nothing to round', rational(1n, 4n), 5, '0.25'],
  ])('rounds %s', (_, value, digits, text) => {
    expect(roundedText(value, digits)).toBe(text)
  })

  test('is read back as the same value', () => {
    fc.assert(
      fc.property(integers, fc.integer({ min: -60, max: 60 }), (coefficient, exponent) => {
        const value = parseDecimal(`${coefficient}e${exponent}`)
        expect(parseDecimal(exactText(value)!)).toEqual(value)
      }),
    )
  })

  test('agrees with doubles on reading and writing', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (double) => {
        expect(Number(exactText(parseDecimal(String(double))))).toBe(double === 0 ? 0 : double)
      }),
    )
  })

  test.each([
    ['0.3', 0.3],
    ['1e21', 1e21],
    ['9007199254740991', 9007199254740991],
    ['9007199254740993', '9007199254740993'],
    ['0.1000000000000000055', '0.1000000000000000055'],
    ['1e400', '1e400'],
  ])('%s is the JSON value %j', (text, value) => {
    expect(toJsonValue(text)).toBe(value)
  })
})

describe('squareRoot', () => {
  test('is exact for the square of any fraction', () => {
    fc.assert(
      fc.property(fractions, (root) => {
        const number = rational(root.numerator ** 2n, root.denominator ** 2n)
        const answer = rootOf({ number, precision: 'exact' })
        expect([answer.precision, compare(answer.number, root) ** 2]).toEqual(['exact', root.numerator < 0n ? 1 : 0])
      }),
    )
  })

  test('returns a root whose square has the number’s first 55 digits', () => {
    fc.assert(
      fc.property(positives, positives, (above, below) => {
        const number = rational(above, below)
        const root = rootOf({ number, precision: 'exact' }).number
        // |root² / number - 1| < 10^-55, without a division.
        const squaredNumerator = root.numerator ** 2n * number.denominator
        const right = number.numerator * root.denominator ** 2n
        const error = squaredNumerator > right ? squaredNumerator - right : right - squaredNumerator
        expect(error * 10n ** 55n < right).toBe(true)
      }),
    )
  })
})

describe('evaluate', () => {
  /** Fractions as an expression writes them. */
  const sources = fractions.map(({ numerator, denominator }) => `(${numerator}/${denominator})`)

  test('obeys the laws of arithmetic exactly', () => {
    fc.assert(
      fc.property(sources, sources, sources, (a, b, c) => {
        expect(exact(`${a} + ${b}`)).toEqual(exact(`${b} + ${a}`))
        expect(exact(`(${a} + ${b}) * ${c}`)).toEqual(exact(`${a} * ${c} + ${b} * ${c}`))
        expect(exact(`${a} - ${b} + ${b}`)).toEqual(exact(a))
        expect(exact(`${a} ^ 3`)).toEqual(exact(`${a} * ${a} * ${a}`))
        expect(exact(`-${a} ^ 2`)).toEqual(exact(`-(${a} * ${a})`))
      }),
    )
  })

  test('agrees with BigInt on integers of any length', () => {
    fc.assert(
      fc.property(integers, integers, positives, (a, b, c) => {
        expect(evaluate(`${a} * ${b} - ${c} + ${a} % ${c}`).number).toEqual(rational(a * b - c + (a % c)))
      }),
    )
  })

  test('agrees with doubles to 12 digits within their precision', () => {
    const small = fc.integer({ min: -1e9, max: 1e9 }).map((thousands) => thousands / 1000)
    fc.assert(
      fc.property(small, small, (a, b) => {
        const { value } = toAnswer(evaluate(`sin(${a}) + (${a}) * (${b})`))
        const expected = Math.sin(a) + a * b
        expect(Math.abs(Number(value) - expected)).toBeLessThanOrEqual(Math.abs(expected) * 1e-12 + 1e-12)
      }),
    )
  })

  test('either returns a value or says why not', () => {
    const words = fc.constantFrom(
      '1',
      '2.5',
      '1e9',
      '(',
      ')',
      '+',
      '-',
      '*',
      '/',
      '%',
      '^',
      ',',
      'sqrt(',
      'pi',
      'e',
      ' ',
    )
    fc.assert(
      fc.property(fc.array(words, { maxLength: 12 }), (parts) => {
        try {
          expect(toAnswer(evaluate(parts.join(''))).value).toBeDefined()
        } catch (error) {
          expect(error).toMatchObject({ name: 'ToolError' })
        }
      }),
      { numRuns: 2000 },
    )
  })
})
