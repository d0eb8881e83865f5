import { describe, expect, test } from 'vitest'
import { calculate, squareRoot } from './tools.ts'
import { runContext } from '../../test/fixtures/run-context.ts'

const context = runContext(undefined)

async function answerOf(tool: typeof calculate, input: Record<string, unknown>): Promise<unknown> {
  const outcome = await tool.call(input, context)
  return outcome.ok ? outcome.structured : outcome.error
}

const valueOf = (expression: string) => answerOf(calculate, { expression })

describe('calculate', () => {
  test('repeats the expression with its value', async () => {
    expect(await valueOf('0.1 + 0.2')).toEqual({ expression: '0.1 + 0.2', value: 0.3, exact: true })
  })

  test.each([
    ['1 + 2 * 3', 7],
    ['(1 + 2) * 3', 9],
    ['8 / 4 / 2', 1],
    ['10 - 4 - 3', 3],
    ['2 ^ 3 ^ 2', 512],
    ['2 ** 10', 1024],
    ['-2 ^ 2', -4],
    ['(-2) ^ 2', 4],
    ['2 ^ -2', 0.25],
    ['2 * -3', -6],
    ['+5 - -5', 10],
    ['7 % 3', 1],
    ['-7 % 3', -1],
    ['7.5 % -2', 1.5],
    ['.5 + 5.', 5.5],
    ['1.5e3 - 1E-1', 1499.9],
    ['2 ^ 200', '1606938044258990275541962092341162602522202993782792835301376'],
    ['1.000000001 ^ 2', '1.000000002000000001'],
    ['9007199254740993 - 1', 9007199254740992],
    ['1 / 1024', 0.0009765625],
    ['1 / 3 * 3', 1],
    ['0 ^ 0', 1],
    ['1 ^ 1e300', 1],
    ['abs(-2.5) + floor(-2.5) + ceil(-2.5)', -2.5],
    ['round(2.5) + round(-2.5) + round(0.4)', 0],
    ['round(19.99 * 1.19, 2)', 23.79],
    ['round(1234, -2)', 1200],
    ['min(3, 1 / 3, 2) * max(1, 3)', 1],
    ['sqrt(2.25) + SQRT(16)', 5.5],
    ['10 ^ 500 / 10 ^ 490', 10000000000],
  ])('%s is exactly %j', async (expression, value) => {
    expect(await valueOf(expression)).toEqual({ expression, value, exact: true })
  })

  test.each([
    ['1 / 3', '0.3333333333333333333333333333333333'],
    ['2 / 3', '0.6666666666666666666666666666666667'],
    ['sqrt(2)', '1.414213562373095048801688724209698'],
    ['sqrt(2) ^ 2', 2],
    ['sqrt((1 + 5e-34) ^ 2 + 1e-80)', '1.000000000000000000000000000000001'],
    ['sqrt((1 + 5e-34) ^ 2 - 1e-80)', 1],
    ['pi', '3.141592653589793238462643383279503'],
    ['2 * e', '5.436563656918090470720574942705325'],
    ['(1 + 0.05 / 365) ^ 3650', '1.64866481376547183021399942119683'],
    ['ln(e)', 1],
    ['log(1000)', 3],
    ['sin(pi / 6)', 0.5],
    ['cos(0) + tan(0)', 1],
    ['2 ^ 0.5', Math.SQRT2],
    ['max(ln(2), 1)', 1],
  ])('%s is %j, rounded', async (expression, value) => {
    expect(await valueOf(expression)).toEqual({ expression, value, exact: false })
  })

  test.each([
    ['1 / 0', 'division_by_zero', 'Division by zero.'],
    ['1 % (2 - 2)', 'division_by_zero', 'Division by zero.'],
    ['0 ^ -1', 'division_by_zero', 'Division by zero.'],
    ['0 ^ -0.5', 'division_by_zero', 'Division by zero.'],
    ['sqrt(-1)', 'domain_error', 'A negative number has no real square root.'],
    ['(-8) ^ 0.5', 'domain_error', 'A negative number has no real power with a fractional exponent.'],
    ['ln(0)', 'domain_error', 'ln is defined only for numbers above zero.'],
    ['round(1, 0.5)', 'domain_error', 'round takes a whole number of places, from -100 to 100.'],
    ['2 + * 3', 'invalid_expression', 'Expected a number, a name or "(" at position 5, but found "*".'],
    ['(1 + 2', 'invalid_expression', 'Expected an operator or ")" at position 7, but found the end.'],
    ['2 pi', 'invalid_expression', 'Expected an operator at position 3, but found "pi".'],
    ['1,234 + 1', 'invalid_expression', 'Expected an operator at position 2, but found ",".'],
    ['max(1,000)', 'invalid_expression', '"000" at position 7: a number may not begin with 0, and has no separators.'],
    [
      '2 × 3',
      'invalid_expression',
      '"×" at position 3 means nothing here: use digits, + - * / % ^ ( ) , and the names of functions and constants.',
    ],
    ['sin', 'invalid_expression', '"sin" is a function: write sin(…).'],
    ['x + 1', 'invalid_expression', 'There is no constant "x". There are pi and e.'],
    [
      'exec(1)',
      'invalid_expression',
      'There is no function "exec". There are sqrt, abs, round, floor, ceil, min, max, ln, log, sin, cos, tan.',
    ],
    ['round(1, 2, 3)', 'invalid_expression', 'round takes 1 to 2 numbers, not 3.'],
    ['sqrt(1, 2)', 'invalid_expression', 'sqrt takes one number, not 2.'],
    [' ', 'invalid_expression', 'Expected a number, a name or "(" at position 2, but found the end.'],
  ])('%s fails as %s', async (expression, code, message) => {
    expect(await valueOf(expression)).toEqual({ code, message })
  })

  test.each([
    '9 ^ 9 ^ 9',
    '10 ^ 1000',
    '1e999999999999',
    '1e-5000',
    '2 ^ 2 ^ 2 ^ 2 ^ 2 ^ 2',
    '1.0000001 ^ 1e15',
    'ln(1e400)',
  ])('%s is out of range', async (expression) => {
    expect(await valueOf(expression)).toMatchObject({ code: 'number_out_of_range' })
  })

  test.each(['', '1' + '+1'.repeat(500)])('refuses an expression of length 0 or over 1000', async (expression) => {
    expect(await valueOf(expression)).toMatchObject({ code: 'invalid_arguments' })
  })

  test('evaluates the deepest and most costly expressions that fit', async () => {
    expect(await valueOf('('.repeat(499) + '1' + ')'.repeat(499))).toMatchObject({ value: 1 })
    expect(await valueOf('-'.repeat(998) + '1')).toMatchObject({ value: 1 })
    const primes = '1/3^1250+1/7^700+1/11^590+1/13^550+'.repeat(28)
    expect(await valueOf(`${primes}1`)).toMatchObject({ value: 1, exact: false })
  })
})

describe('squareRoot', () => {
  test.each([
    [475695037565, '689706.4865324959374939443998156379', false],
    [16, 4, true],
    [2.25, 1.5, true],
    [0, 0, true],
    [1e-10, 0.00001, true],
    ['152415787532388367501905199875019052100', '12345678901234567890', true],
    ['152415787532388367501905199875019052101', '12345678901234567890', false],
    ['1e301', '3.162277660168379331998893544432719e150', false],
  ])('of %j is %j', async (number, value, exact) => {
    expect(await answerOf(squareRoot, { number })).toEqual({ number, value, exact })
  })

  test.each([
    [-4, 'domain_error'],
    ['1e999999', 'number_out_of_range'],
    ['four', 'invalid_arguments'],
    ['1,000', 'invalid_arguments'],
    [Infinity, 'domain_error'],
  ])('refuses %j as %s', async (number, code) => {
    expect(await answerOf(squareRoot, { number })).toMatchObject({ code })
  })
})
