import { canonicalJson } from '../../contract/json.ts'
import { addUsage, NO_USAGE, type Usage } from '../../contract/usage.ts'
import type { EvalAttempt } from './attempt.ts'
import type { CalledTool } from './match.ts'

/** The outcomes of several tries. */
export interface EvalTally {
  readonly tries: number
  /** How often exactly the expected tools were called. */
  readonly chosenCount: number
  /** How often they were also called with the expected arguments. */
  readonly passCount: number
  readonly usage: Usage
  /** All tries together, in milliseconds. */
  readonly durationMs: number
}

/** A set of calls, or a failure, and how often it occurred. */
export interface EvalOutcome {
  readonly times: number
  readonly isPassed: boolean
  readonly calls: readonly CalledTool[]
  readonly error?: string
}

/** Counts tries. */
export function tallyOf(attempts: readonly EvalAttempt[]): EvalTally {
  return {
    tries: attempts.length,
    chosenCount: attempts.filter(({ isChosen }) => isChosen).length,
    passCount: attempts.filter(({ isPassed }) => isPassed).length,
    usage: attempts.reduce((sum, { usage }) => addUsage(sum, usage), NO_USAGE),
    durationMs: attempts.reduce((sum, { durationMs }) => sum + durationMs, 0),
  }
}

/** Groups tries by their outcome, the most frequent first. */
export function outcomesOf(attempts: readonly EvalAttempt[]): readonly EvalOutcome[] {
  const groups = Map.groupBy(attempts, ({ calls, error = '' }) => canonicalJson({ calls, error }))
  const outcomes = [...groups.values()].flatMap(([first, ...others]) => {
    if (!first) return []
    const { calls, isPassed, error } = first
    return { times: others.length + 1, isPassed, calls, ...(error !== undefined && { error }) }
  })
  return outcomes.sort((a, b) => b.times - a.times)
}
