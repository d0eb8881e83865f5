/**
 * Converts arithmetic in words and signs to an expression of digits, `+ - * / ^`, parentheses and `sqrt()`: `17 times
 * 23` to `17 * 23`, `15% of 80` to `15 / 100 * 80`, `multiply 6 by 7` to `6 * 7`. Nothing is computed here.
 */
import { NUMBER, toDecimal } from './number.ts'

const N = '(\\d+(?:\\.\\d+)?)'
const rewrite = (from: string, to: string): readonly [RegExp, string] => [new RegExp(from, 'g'), to]

/** Rewrites of words to signs, applied in order. Numbers are plain digits at that point. */
const REWRITES = [
  rewrite('(?:√|根号|sqrt|square[ -]?root)(?: (?:of|for))? *', ' sqrt'),
  rewrite(`sqrt(?: *\\( *)?${N}\\)?`, 'sqrt($1)'),
  rewrite(`${N} *的?(?:平方根|开平?方)`, 'sqrt($1)'),
  rewrite(`(?:add|sum of|total of) ${N}(?:,? and|,? to) ${N}`, '$1 + $2'),
  rewrite(`(?:multiply|product of) ${N} (?:by|and) ${N}`, '$1 * $2'),
  rewrite(`(?:subtract|take) ${N} from ${N}`, '$2 - $1'),
  rewrite(`difference between ${N} and ${N}`, '$1 - $2'),
  rewrite(`divide ${N} by ${N}`, '$1 / $2'),
  rewrite(`${N} *(?:%|percent|per cent) (?:of|off) ${N}`, '$1 / 100 * $2'),
  rewrite(`${N}的${N} *%`, '$1 * $2 / 100'),
  rewrite(`half of ${N}`, '$1 / 2'),
  rewrite('(?:1 |a )?half', '0.5'),
  rewrite(`${N}(?: squared|²|的平方)`, '$1 ^ 2'),
  rewrite(`${N}(?: cubed|³|的立方)`, '$1 ^ 3'),
  rewrite(`${N}的${N}次方`, '$1 ^ $2'),
  rewrite('\\*\\*|(?:raised )?to the (?:power of)?', ' ^ '),
  rewrite(`${N} *\\^ *(?:0?\\.5|\\(1 ?/ ?2\\))`, 'sqrt($1)'),
  rewrite('(?<=\\d\\)? *)(?:times|multiplied by|乘以?|[x×])(?= *[(\\d])', ' * '),
  rewrite('divided by|over|÷|除以', ' / '),
  rewrite('plus|加上?', ' + '),
  rewrite('minus|减去?|−', ' - '),
]
const TERM = '(?:sqrt\\(|[-(] *)*\\d+(?:\\.\\d+)?\\)*'
const SUM = new RegExp(`${TERM}(?: *[-+*/^] *${TERM})+|sqrt\\(\\d+(?:\\.\\d+)?\\)`, 'g')

/** Returns the longest expression in a text, or undefined. */
export function findSum(text: string): string | undefined {
  const digits = text.toLowerCase().replace(new RegExp(NUMBER, 'gi'), toDecimal)
  const signs = REWRITES.reduce((said, [from, to]) => said.replace(from, to), digits)
  const sums = (signs.match(SUM) ?? []).filter((sum) => sum.split('(').length === sum.split(')').length)
  return sums.map((sum) => sum.replace(/(?<=[\d)]) *([-+*/^]) */g, ' $1 ')).sort((a, b) => b.length - a.length)[0]
}
