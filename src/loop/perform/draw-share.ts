import { amountsOf, limitedAmounts, type Measure, MEASURES } from '../../contract/budget.ts'
import type { Running } from '../running.ts'
import type { RunState } from '../state.ts'

/**
 * Whether the run needs another share of its key's budget before it continues: what is left of its own is less than a
 * step, or it has expired. A run that is about to end needs none.
 */
export function needsShare({ state, drawBudget, now }: Running): boolean {
  const { request, status, step, finished, limit } = state
  const { budget = request.budget } = state
  if (!drawBudget || !budget || status !== 'running' || finished || limit) return false
  if (step?.answer && step.calls.every((call) => call.status === 'settled')) return false
  return now() >= (budget.until ?? Infinity) || MEASURES.some((name) => isNearlyUsed(state, name))
}

/** Draws another share. If nothing is left, the run ends as at a limit. */
export async function drawShare({ state, drawBudget, flush }: Running): Promise<void> {
  flush()
  const { budget = state.request.budget ?? {} } = state
  const nearlyUsed = MEASURES.filter((name) => isNearlyUsed(state, name))
  const NOTHING = -1
  const rest = limitedAmounts(budget, (name, amount) =>
    nearlyUsed.length === 0 || nearlyUsed.includes(name) ? NOTHING : amount,
  )
  state.budget = (await drawBudget?.(state)) ?? rest
}

/** Whether less is left of the run's share than what its steps use on average. */
function isNearlyUsed({ request, budget = request.budget, usage, steps }: RunState, name: Measure): boolean {
  const used = amountsOf(usage)[name]
  return used + used / Math.max(1, steps) > (budget?.[name] ?? Infinity)
}
