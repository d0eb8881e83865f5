import { isExact } from '../contract/exact-numbers.ts'

/** A number in code that JavaScript would round. */
export interface LongLiteral {
  readonly text: string
  /** Where it begins in the code. */
  readonly at: number
}

/** Matches all code with such a number, and little else. */
const MAY_HAVE = /[\d._]{16}|\d[._]?e|0x[\da-f_]{14}/i

/** One token, or blanks, or a comment; of a template, only its first character. */
const TOKEN =
  /\s+|\/\/.*|\/\*[^]*?(?:\*\/|$)|(["'])(?:\\[^]|(?!\1)[^\\\n\r])*\1?|[\p{ID_Start}$_#][\p{ID_Continue}$]*|(?:0[xob][\da-f_]+|(?:\d[\d_]*\.?[\d_]*|\.\d[\d_]*)(?:e[+-]?[\d_]+)?)n?|\+\+|--|[^]/iuy
const TEMPLATE = /(?:\\[^]|\$(?!\{)|[^\\`$])*(?:`|\$\{|$)/y
/** The repetitions are bounded, so that the time grows with the length of the code alone. */
const REGULAR_EXPRESSION = /\/(?![*/])(?:\\.|\[(?:\\.|[^\]\\\n]){0,500}\]|[^/\\[\n]){1,500}\/[a-z]*/y

/** Words after which an expression begins: a slash there begins a regular expression. */
const BEFORE_VALUE = /^(?:await|case|delete|do|else|in|instanceof|new|of|return|throw|typeof|void|yield)$/

/**
 * Returns the first number in code that JavaScript would round; undefined if it has none. Numbers in texts, comments and
 * regular expressions, and BigInts, are none. After `)` and a name, a slash divides; after `}`, it does not.
 */
export function findLongLiteral(code: string): LongLiteral | undefined {
  if (!MAY_HAVE.test(code)) return undefined
  /** The open braces in the expression of each template that is under way. */
  const braces: number[] = []
  let isAfterValue = false
  for (let [at, end] = [0, 0]; at < code.length; at = end) {
    const take = (pattern: RegExp, from = at): string => {
      pattern.lastIndex = from
      const [token = ''] = pattern.exec(code) ?? []
      end = from + token.length
      return token
    }
    const first = code[at] ?? ''
    const depth = braces.at(-1)
    if (first === '`' || (first === '}' && depth === 0)) {
      if (first === '}') braces.pop()
      isAfterValue = !take(TEMPLATE, at + 1).endsWith('${')
      if (!isAfterValue) braces.push(0)
      continue
    }
    if (first === '/' && !isAfterValue && take(REGULAR_EXPRESSION) !== '') {
      isAfterValue = true
      continue
    }
    const token = take(TOKEN)
    if (/^(?:\s|\/[/*]|\+\+|--)/.test(token)) continue
    if (/^\.?\d/.test(token) && isRounded(token)) return { text: token, at }
    if (depth !== undefined && /[{}]/.test(first)) braces.push((braces.pop() ?? 0) + (first === '{' ? 1 : -1))
    isAfterValue = /^[\p{ID_Start}$_#]/u.test(token) ? !BEFORE_VALUE.test(token) : /^["')\]\d]|^\.\d/.test(token)
  }
  return undefined
}

function isRounded(literal: string): boolean {
  if (literal.endsWith('n')) return false
  const digits = literal.replaceAll('_', '')
  const number = Number(digits)
  return /^0[xob]/i.test(digits) ? BigInt(digits) !== BigInt(number) : !isExact(number, digits)
}
