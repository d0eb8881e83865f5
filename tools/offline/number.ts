/**
 * Parses numbers as people write them: digits with separators (`475,695,037,565`), words (`twenty-five`, `4.7 million`)
 * and Chinese numerals (`二十五`, `3万`).
 */

const WORDS = (
  'zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen ' +
  'eighteen nineteen twenty thirty forty fifty sixty seventy eighty ninety'
).split(' ')
const SCALES = ['hundred', 'thousand', 'million', 'billion', 'trillion']
const HAN_DIGITS = '零一二三四五六七八九'
const HAN_SCALES: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000, 万: 1e4, 亿: 1e8 }

const SCALE = SCALES.join('|')
// The longer word first, so that `seventeen` is not `seven`.
const WORD = WORDS.toReversed().join('|')

/** The regular expression source of one number. */
export const NUMBER =
  `(?:(?:\\d{1,3}(?:[, ]\\d{3})+(?!\\d)|\\d+)(?:\\.\\d+)?(?: ?(?:${SCALE}|[万亿]))?|` +
  `\\b(?:${WORD}|a (?=${SCALE}))(?:[ -]*(?:and )?(?:${WORD}|${SCALE}))*\\b|[${HAN_DIGITS}两十百千万亿]+)`

/** Returns the value of a text that matches `NUMBER`. */
export function parseNumber(text: string): number {
  let [total, section, digit] = [0, 0, 0]
  for (const [part] of text.toLowerCase().matchAll(/\d[\d, .]*|[a-z]+|\p{Script=Han}/gu)) {
    const size =
      HAN_SCALES[part] ?? (part === 'hundred' ? 100 : SCALES.includes(part) ? 1000 ** SCALES.indexOf(part) : 0)
    const word = WORDS.indexOf(part)
    if (size > 1000 || part === 'thousand') {
      total += (section + digit || 1) * size
      section = digit = 0
    } else if (size > 0) {
      section += (digit || 1) * size
      digit = 0
    } else if (/\d/.test(part)) digit += Number(part.replace(/[, ]|\.$/g, ''))
    else if (word >= 0) digit += word < 20 ? word : word * 10 - 180
    else digit = digit * 10 + (part === '两' ? 2 : Math.max(0, HAN_DIGITS.indexOf(part)))
  }
  return total + section + digit
}

/** Converts a text that matches `NUMBER` to decimal text, with all digits that were written. */
export function toDecimal(text: string): string {
  return /^[\d, ]+(?:\.\d+)?$/.test(text) ? text.replace(/[, ]/g, '') : String(parseNumber(text))
}
