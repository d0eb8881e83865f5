/** Steps of the engine that one look at a value may still take with its patterns. */
export interface Budget {
  steps: number
}

/** What is left at first: some tenths of a second. */
export const MOST_STEPS = 5e7

/**
 * Whether a pattern matches a text anywhere; undefined where it is not run.
 *
 * Whoever writes a `pattern`, and whoever writes the text it is run on, may mean harm, and a backtracking engine can be
 * held for hours. So a pattern is told to the model as it is, but run only where it is plainly quick: it compiles as
 * ECMA-262 with the flag `u`, has at most 256 characters, no lookaround, no reference back to a group and no repeat of a
 * group that can itself match in several ways, and its choices are few for the length of the text and what is left of
 * the budget. `^[A-Z]{3}$` runs on texts of any use, `^\w+@\w+$` on some hundred characters, `^(a+)+$` and the harmless
 * `^[a-z]+(-[a-z]+)*$` never. What is not run refuses nothing.
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
/** Escapes and classes: one character each, whatever they hold. */
const CHARACTER = /\\(?:[pu]\{\w+\}|.)|\[(?:\\.|[^\]\\])*\]/gsu
/** A group with neither choice nor repeat in it, but for repeats that are exact. */
const FIXED_GROUP = /\((?:\?:|\?<\w+>)?(?:[^()|*+?{]|\{\d+\})*\)/

/** Every choice may part the text anywhere, and so may the first place to try; exact repeats are as long as they say. */
function mostSteps(pattern: string, length: number): number {
  let shape = pattern.replace(CHARACTER, 'x')
  const counts = Array.from(shape.matchAll(/\{(\d+)/g), ([, count]) => Number(count) || 1)
  // From the innermost groups on, until nothing changes any more.
  while (FIXED_GROUP.test(shape)) shape = shape.replace(FIXED_GROUP, 'x')
  if (UNSAFE.test(pattern) || /\)[*+{]/.test(shape)) return Infinity
  const choices = shape.replace(/\(\?/g, '(').match(/[*+?|]|\{\d+,/g) ?? []
  return counts.reduce((steps, count) => steps * count, (length + 2) ** (choices.length + 1))
}
