/** The steps that cost one unit of work. */
const STEPS = 500
/** The units of work that it costs to compile a pattern, and each of its characters. */
const COMPILATION = 200
const COMPILED_CHARACTER = 2

/**
 * Returns whether a pattern matches a text anywhere, or undefined if the pattern is not run.
 *
 * The author of a `pattern`, or of the text that it is run on, may be hostile, and a backtracking engine can be kept
 * busy for hours. The model sees every pattern, but a pattern is run only if it is certain to be quick: it compiles as
 * ECMA-262 with the flag `u`; it has at most 256 characters, no lookaround, no back-reference and no repeat of a group
 * that can itself match in several ways; and the number of its choices, for the length of the text, is within the
 * remaining budget. `^[A-Z]{3}$` runs on texts of any practical length, `^\w+@\w+$` on some thousand characters,
 * `^(a+)+$` and the harmless `^[a-z]+(-[a-z]+)*$` never. A pattern that is not run rejects nothing.
 */
export type Matcher = (text: string, work: Work) => boolean | undefined

const MOST_CHARACTERS = 256

/**
 * Returns how many Unicode properties a pattern names, such as `\\p{L}`. To compile one takes as long as a hundred
 * plain patterns.
 */
export function propertiesIn(pattern: string): number {
  return pattern.match(/\\p\{/gi)?.length ?? 0
}

export function matcher(pattern: string): Matcher {
  const compiled = pattern.length <= MOST_CHARACTERS ? compile(pattern) : undefined
  const stepsFor = compiled ? stepsOf(pattern) : () => Infinity
  return (text, work) => {
    const steps = stepsFor(text.length)
    if (steps > work.steps) return undefined
    work.steps -= steps
    if (!work.patterns.has(pattern)) spend(work, COMPILATION + COMPILED_CHARACTER * pattern.length)
    work.patterns.add(pattern)
    spend(work, 3 + Math.min(steps / STEPS, text.length / 64))
    return compiled?.test(text)
  }
}

/** Returns the length of the longest text that a pattern is run on: `Infinity` for every length, 0 for none. */
export function longestMatched(pattern: string): number {
  const stepsFor = pattern.length <= MOST_CHARACTERS && compile(pattern) ? stepsOf(pattern) : () => Infinity
  let [longest, tooLong] = [0, 2 ** 24]
  if (stepsFor(1) > MOST_STEPS) return 0
  if (stepsFor(tooLong) <= MOST_STEPS) return Infinity
  while (tooLong - longest > 1) {
    const middle = Math.floor((longest + tooLong) / 2)
    if (stepsFor(middle) > MOST_STEPS) tooLong = middle
    else longest = middle
  }
  return longest
}

function compile(pattern: string): RegExp | undefined {
  try {
    return new RegExp(pattern, 'u')
  } catch {
    return undefined
  }
}

const UNSAFE = /\\[1-9k]|\(\?(?!:|<\w)/
/** Matches an escape or a character class, each of which stands for one character. */
const CHARACTER = /\\(?:[pu]\{\w+\}|.)|\[(?:\\.|[^\]\\])*\]/gsu
/** Matches a group without choices, and without repeats other than exact ones. */
const FIXED_GROUP = /\((?:\?:|\?<\w+>)?(?:[^()|*+?{]|\{\d+\})*\)/

/**
 * Returns a function from the length of a text to an upper bound of the steps of a match. Each choice may be made at
 * any position of the text, and so may the start of the match unless the pattern begins with `^`; an exact repeat
 * multiplies the steps by its count.
 */
function stepsOf(pattern: string): (length: number) => number {
  let shape = pattern.replace(CHARACTER, 'x')
  const counts = Array.from(shape.matchAll(/\{(\d+)/g), ([, count]) => Number(count) || 1)
  // Groups are replaced from the innermost on, until nothing changes any more.
  while (FIXED_GROUP.test(shape)) shape = shape.replace(FIXED_GROUP, 'x')
  if (UNSAFE.test(pattern) || /\)[*+{]/.test(shape)) return () => Infinity
  const choices = shape.replace(/\(\?/g, '(').match(/[*+?|]|\{\d+,/g) ?? []
  const isAnchored = shape.startsWith('^') && !shape.includes('|')
  const exponent = choices.length + (isAnchored ? 0 : 1)
  const factor = counts.reduce((steps, count) => steps * count, 1)
  return (length) => factor * (length + 2) ** exponent
}

/** The work that the check of a value may still take, and the results that it reuses. */
export interface Work {
  /** How many units are left. A unit is about the check of one keyword on one small value. */
  unitsLeft: number
  /** How many steps the regular-expression engine may still take. */
  steps: number
  /** The canonical texts of objects and arrays that were compared with others. */
  readonly texts: Map<object, string>
  /** The patterns that were run: the first run of a pattern compiles it. */
  readonly patterns: Set<string>
}

export function startWork(unitsLeft = MOST_WORK): Work {
  return { unitsLeft, steps: MOST_STEPS, texts: new Map(), patterns: new Set() }
}

/** The steps that the regular-expression engine may take in the check of one value: some hundredths of a second. */
const MOST_STEPS = 1e7

/** The units that the check of a value may take; the pass that collects reasons may take as many again. */
export const MOST_WORK = 200_000

/** The reason given for a value that is refused because its check would take too long. It never changes. */
export const TOO_MUCH_WORK = 'the schema and the value together take too much work'

/** Thrown when a check has used up its work. */
export class WorkError extends RangeError {
  constructor() {
    super(TOO_MUCH_WORK)
  }
}

export function spend(work: Work, units: number): void {
  if ((work.unitsLeft -= units) < 0) throw new WorkError()
}

/** How many characters of a text are read for one unit of work. */
const CHARACTERS = 32

/** Accounts for work that reads all of a text. */
export function spendText(work: Work, text: string): void {
  spend(work, 1 + text.length / CHARACTERS)
}
