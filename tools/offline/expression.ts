/**
 * Turns arithmetic in words and signs into an expression of digits, `+ - * / ^`, parentheses and `sqrt()`: `17 times 23`
 * into `17 * 23`, `15% of 80` into `15 / 100 * 80`, `cube root of 27` into `27 ^ (1 / 3)`. Nothing is computed here.
 */
import { NUMBER, toDecimal } from './number.ts'

const N = '(\\d+(?:\\.\\d+)?)'
const ORDINALS = ['cube', 'fourth', 'fifth', 'sixth', 'seventh', 'eighth', 'ninth', 'tenth']
const DEGREE = `(${ORDINALS.join('|')}|\\d+(?:st|nd|rd|th))`
const rewrite = (from: string, to: string): readonly [RegExp, string] => [new RegExp(from, 'g'), to]

/** Applied in order; numbers are plain digits by then. */
const REWRITES = [
  rewrite(`(?:√|(?:sqrt|square[ -]?root|root)(?: of)?) *(?:\\( *)?${N}\\)?`, 'sqrt($1)'),
  rewrite(`${N} *的?(?:平方根|开平?方)|根号 *${N}`, 'sqrt($1$2)'),
  rewrite(`${N} *的?立方根`, '$1 ^ (1 / 3)'),
  rewrite(`(?:add|sum of) ${N}(?:,? and|,? to) ${N}`, '$1 + $2'),
  rewrite(`(?:multiply|product of) ${N} (?:by|and) ${N}`, '$1 * $2'),
  rewrite(`divide ${N} by ${N}`, '$1 / $2'),
  rewrite(`${N} *(?:%|percent|per cent) of ${N}`, '$1 / 100 * $2'),
  rewrite(`${N}(?: squared|²|的平方)`, '$1 ^ 2'),
  rewrite(`${N}(?: cubed|³|的立方)`, '$1 ^ 3'),
  rewrite(`${N}的${N}次方`, '$1 ^ $2'),
  rewrite('\\*\\*|(?:raised )?to the (?:power(?: of)?)?', ' ^ '),
  rewrite('(?<=\\d\\)? *)(?:times|multiplied by|乘以?|[x×])(?= *[(\\d])', ' * '),
  rewrite('divided by|over|÷|除以', ' / '),
  rewrite('plus|加上?', ' + '),
  rewrite('minus|减去?|−', ' - '),
]
const TERM = '(?:sqrt\\(|[-(] *)*\\d+(?:\\.\\d+)?\\)*'
const EXPRESSION = new RegExp(`${TERM}(?: *[-+*/^] *${TERM})+|sqrt\\(\\d+(?:\\.\\d+)?\\)`, 'g')

/** Returns the longest expression in a text, or undefined. A root that no rule knows is not an expression. */
export function findExpression(text: string): string | undefined {
  const digits = text
    .toLowerCase()
    .replace(new RegExp(`(?<![a-z])${NUMBER}(?!th\\b|rd\\b|nd\\b|st\\b)`, 'gi'), toDecimal)
  const rooted = digits.replace(new RegExp(`${DEGREE} root of ${N}`, 'g'), (_, degree: string, number: string) => {
    const ordinal = ORDINALS.indexOf(degree)
    return `${number} ^ (1 / ${ordinal < 0 ? parseInt(degree, 10) : ordinal + 3})`
  })
  if (/(?<!square[ -])\broot\b/.test(rooted) && !/^\W*root (?:of )?\d/.test(rooted)) return undefined
  const signs = REWRITES.reduce((done, [from, to]) => done.replace(from, to), rooted)
  const all = (signs.match(EXPRESSION) ?? []).filter(
    (candidate) => candidate.split('(').length === candidate.split(')').length,
  )
  const longest = all.sort((a, b) => b.length - a.length)[0]
  return longest?.replace(/(?<=[\d)]) *([-+*/^]) */g, ' $1 ')
}
