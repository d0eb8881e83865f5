import * as v from 'valibot'
import { defineTool, ToolError } from 'edgecall/tool'
import { DECIMAL } from './decimal.ts'
import { evaluate } from './evaluate.ts'
import { rootOf } from './functions.ts'
import { fromLiteral, toAnswer } from './value.ts'

const MOST_CHARACTERS = 1000

const answer = {
  value: v.pipe(
    v.union([v.number(), v.string()]),
    v.description('The result: a number where JSON keeps every digit of it, else the same as decimal text.'),
  ),
  exact: v.pipe(v.boolean(), v.description('Whether `value` is the whole result; false where it was rounded.')),
}

/** Computes an arithmetic expression. */
export const calculate = defineTool({
  name: 'calculate',
  title: 'Calculate',
  description:
    'Computes an arithmetic expression. Use it for every calculation beyond the trivial, however long the numbers, ' +
    'instead of working it out yourself. + - * / % and integer powers are exact on decimals of any length ' +
    '(0.1 + 0.2 is 0.3, 2^200 has all its digits); a result that has no end, such as 1/3, and square roots, pi and e ' +
    'are rounded to 34 significant digits, half to even; ln, log, sin, cos, tan and fractional powers have double ' +
    'precision (about 15 digits). Answers the value, and whether it is exact.',
  input: v.strictObject({
    expression: v.pipe(
      v.string(),
      v.minLength(1),
      v.maxLength(MOST_CHARACTERS),
      v.description(
        'Such as "(12.5 + 3) * 2^10" or "round(19.99 * 1.19, 2)". Numbers: 12, 0.5, 1.5e-3, without separators or ' +
          'units. Operators: + - * / % (remainder, with the sign of the left side) and ^ or ** (power, groups to the ' +
          'right, before a sign: -2^2 is -4); every multiplication is written out. Functions: sqrt, abs, ' +
          'round(x, places), floor, ceil, min, max, ln (base e), log (base 10), sin, cos, tan (in radians). ' +
          'Constants: pi, e.',
      ),
    ),
  }),
  output: v.object({ expression: v.string(), ...answer }),
  annotations: { readOnly: true, idempotent: true, openWorld: false },
  run: ({ expression }) => ({ expression, ...toAnswer(evaluate(expression)) }),
})

/** Computes the square root of one number. */
export const squareRoot = defineTool({
  name: 'squareRoot',
  title: 'Square root',
  description:
    'Computes the square root of a number. Exact for the squares of whole numbers and fractions of any length, else ' +
    'rounded to 34 significant digits. Answers the value, and whether it is exact.',
  input: v.strictObject({
    number: v.pipe(
      v.union([v.number(), v.pipe(v.string(), v.maxLength(MOST_CHARACTERS), v.regex(DECIMAL))]),
      v.description(
        'The number, zero or above. Send one of more than 15 digits as text, such as "152415787532388367501905199875019".',
      ),
    ),
  }),
  output: v.object({ number: v.union([v.number(), v.string()]), ...answer }),
  annotations: { readOnly: true, idempotent: true, openWorld: false },
  run: ({ number }) => {
    const text = String(number)
    if (!DECIMAL.test(text)) throw new ToolError('Send a finite number.', { code: 'domain_error' })
    return { number, ...toAnswer(rootOf(fromLiteral(text))) }
  },
})
