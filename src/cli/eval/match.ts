import { matches } from '../../contract/glob.ts'
import { isObject } from '../../contract/json.ts'
import type { ExpectedCall } from './cases.ts'

/** A call that a model asked for. */
export interface CalledTool {
  readonly tool: string
  /** Parsed; the text itself if it is not JSON. */
  readonly arguments: unknown
}

export interface CallMatch {
  /** Whether exactly the expected tools were called. */
  readonly isChosen: boolean
  /** Whether they were also called with the expected arguments. */
  readonly isPassed: boolean
  /** Whether further calls could still lead to a pass: all so far were expected, and some are missing. */
  readonly isOpen: boolean
}

/** Compares the calls of a model with those that should follow, in any order. */
export function match(calls: readonly CalledTool[], expected: readonly ExpectedCall[]): CallMatch {
  const missing = [...expected]
  const take = (isTaken: (each: ExpectedCall) => boolean): boolean => {
    const index = missing.findIndex(isTaken)
    if (index >= 0) missing.splice(index, 1)
    return index >= 0
  }
  // Calls that fit are matched first, so that one with other arguments does not take the place of one that fits.
  const others = calls.filter(
    (call) => !take((each) => each.tool === call.tool && fits(call.arguments, each.arguments ?? {})),
  )
  const strangers = others.filter((call) => !take((each) => each.tool === call.tool))
  return {
    isChosen: strangers.length === 0 && missing.length === 0,
    isPassed: others.length === 0 && missing.length === 0,
    isOpen: others.length === 0 && missing.length > 0,
  }
}

/** Returns whether a value has all that is expected: members of objects, items of arrays, texts with `*` for any text. */
function fits(value: unknown, expected: unknown): boolean {
  if (typeof expected === 'string') return typeof value === 'string' && matches([expected], value)
  if (Array.isArray(expected)) {
    return (
      Array.isArray(value) && value.length === expected.length && expected.every((each, at) => fits(value[at], each))
    )
  }
  if (!isObject(expected)) return value === expected
  return isObject(value) && Object.entries(expected).every(([name, each]) => fits(value[name], each))
}
