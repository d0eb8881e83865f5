import { hasExponentialLoop, loopsOf, type Part } from './automaton.ts'

const MOST_CHARACTERS = 256
const MOST_PLACES = 256

/**
 * Why a pattern must not be run on text from outside, or undefined where it may: it does not compile as ECMA-262 with
 * the flag `u`, is longer than 256 characters, refers back to a group, or can match one text in exponentially many
 * ways, as `(a+)+` and `(a|a)*` can, so that a short text holds a backtracking engine for hours. Nested repeats that
 * can match in one way alone, as `[a-z]+(-[a-z]+)*`, are fine.
 */
export function patternFault(pattern: string): string | undefined {
  if (pattern.length > MOST_CHARACTERS) return `expected at most ${MOST_CHARACTERS} characters`
  const fault = syntaxFault(pattern)
  if (fault !== undefined) return `expected a regular expression of the flag u: ${fault}`
  const roots = parse(pattern)
  if (roots === undefined) return 'expected no reference back to a group'
  const ambiguous = roots.some((root) => {
    const loops = loopsOf(root, MOST_PLACES)
    return loops === undefined || hasExponentialLoop(loops)
  })
  return ambiguous ? 'expected no repeat that can match one text in many ways, such as (a+)+' : undefined
}

function syntaxFault(pattern: string): string | undefined {
  try {
    return void new RegExp(pattern, 'u')
  } catch (error) {
    return error instanceof Error ? error.message : String(error)
  }
}

const ATOM = /\\(?:u\{[0-9a-f]+\}|u[0-9a-f]{4}|x[0-9a-f]{2}|p\{[^}]*\}|c[a-z]|[^])|\[(?:\\[^]|[^\]\\])*\]|[^]/iuy
const GROUP = /\((?:\?(?:<?[=!]|:|<[^>=!]+>|[a-z-]*:))?/iuy
const REPEAT = /(?:([*+?])|\{(\d+)(?:(,)(\d*))?\})\??/uy

/**
 * The shape of a pattern that compiles, and after it those of its lookarounds, each a search of its own; undefined for
 * one with a reference back to a group.
 */
function parse(pattern: string): Part[] | undefined {
  const lookarounds: Part[] = []
  let at = 0
  let refersBack = false
  const take = (token: RegExp): RegExpExecArray | null => {
    token.lastIndex = at
    const match = token.exec(pattern)
    if (match) at = token.lastIndex
    return match
  }
  const choice = (): Part => {
    const rows: Part[] = [row()]
    while (pattern[at] === '|') {
      at += 1
      rows.push(row())
    }
    return rows.length === 1 && rows[0] ? rows[0] : { is: 'choice', parts: rows }
  }
  const row = (): Part => {
    const parts: Part[] = []
    while (at < pattern.length && pattern[at] !== '|' && pattern[at] !== ')') parts.push(repeat(item()))
    return { is: 'row', parts }
  }
  const item = (): Part => {
    const group = pattern[at] === '(' ? take(GROUP)?.[0] : undefined
    if (group !== undefined) {
      const inner = choice()
      at += 1
      if (!/[=!]$/u.test(group)) return inner
      lookarounds.push(inner)
      return NOTHING
    }
    const source = take(ATOM)?.[0] ?? ''
    if (/^\\[1-9k]/u.test(source)) refersBack = true
    return /^(?:[\^$]|\\b)$/iu.test(source) ? NOTHING : { is: 'character', source }
  }
  const repeat = (part: Part): Part => {
    const match = take(REPEAT)
    if (!match) return part
    const [, sign, least, comma, most] = match
    const min = sign === undefined ? Number(least) : sign === '+' ? 1 : 0
    const max =
      sign === undefined ? (comma === undefined ? min : Number(most || Infinity)) : sign === '?' ? 1 : Infinity
    return { is: 'repeat', part, min, max }
  }
  const root = choice()
  return refersBack ? undefined : [root, ...lookarounds]
}

/** What matches between characters: anchors, word boundaries, lookarounds. */
const NOTHING: Part = { is: 'row', parts: [] }
