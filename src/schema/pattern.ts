/** How many steps the regular-expression engine may still take in the check of one value. */
export interface Budget {
  steps: number
}

/** The budget for the check of one value: some tenths of a second. */
export const MOST_STEPS = 5e7

/**
 * Returns whether a pattern matches a text anywhere, or undefined if the pattern is not run.
 *
 * The author of a `pattern`, or of the text it is run on, may be hostile, and a backtracking engine can be kept busy
 * for hours. So the model is given a pattern as it is, but the pattern is run only if it is sure to be quick: it
 * compiles as ECMA-262 with the flag `u`, has at most 256 characters, no lookaround, no back-reference and no repeat of
 * a group that can itself match in several ways, and its choices are few for the length of the text and what is left of
 * the budget. `^[A-Z]{3}$` runs on texts of any practical length, `^\w+@\w+$` on some hundred characters, `^(a+)+$` and
 * the harmless `^[a-z]+(-[a-z]+)*$` never. A pattern that is not run refuses nothing.
 */
export type Matcher = (text: string, budget: Budget) => boolean | undefined

const MOST_CHARACTERS = 256

export function matcher(pattern: string): Matcher {
  const compiled = pattern.length <= MOST_CHARACTERS ? compile(pattern) : undefined
  return (text, budget) => {
    const steps = compiled ? mostSteps(pattern, text.length) : Infinity
    if (steps > budget.steps) return undefined
    budget.steps -= steps
    return compiled?.test(text)
  }
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
 * Returns an upper bound for the steps of a match. Each choice, and the start of the match, may be at any position of
 * the text; an exact repeat multiplies the steps by its count.
 */
function mostSteps(pattern: string, length: number): number {
  let shape = pattern.replace(CHARACTER, 'x')
  const counts = Array.from(shape.matchAll(/\{(\d+)/g), ([, count]) => Number(count) || 1)
  // Groups are replaced from the innermost on, until nothing changes any more.
  while (FIXED_GROUP.test(shape)) shape = shape.replace(FIXED_GROUP, 'x')
  if (UNSAFE.test(pattern) || /\)[*+{]/.test(shape)) return Infinity
  const choices = shape.replace(/\(\?/g, '(').match(/[*+?|]|\{\d+,/g) ?? []
  return counts.reduce((steps, count) => steps * count, (length + 2) ** (choices.length + 1))
}
