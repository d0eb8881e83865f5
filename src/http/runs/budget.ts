import {
  type Budget,
  type BudgetRemainder,
  type Period,
  periodOf,
  spendOf,
  type SpendTotals,
} from '../../contract/budget.ts'
import type { Usage } from '../../contract/usage.ts'
import { termsOfCaller } from '../middleware/auth.ts'
import type { EdgeContext } from '../request-context.ts'
import { Problem } from '../problem.ts'

interface BudgetUsage extends SpendTotals {
  readonly budget: Budget
  readonly period: Period
}

/**
 * Returns the rest of the budget of the caller's key; undefined if it has none. Throws a Problem 429 if the budget is
 * used up, unless `isKnown` resolves to true: then the request starts nothing new.
 */
export async function remainingBudget(
  context: EdgeContext,
  isKnown?: () => Promise<boolean>,
): Promise<BudgetRemainder | undefined> {
  const budgetUsage = await budgetUsageOf(context)
  if (!budgetUsage) return undefined
  const { budget, period, ...totals } = budgetUsage
  const which = (['tokens', 'cost'] as const).find((name) => totals[name] >= (budget[name] ?? Infinity))
  if (which && !(await isKnown?.()))
    throw new Problem({
      status: 429,
      code: 'budget_exhausted',
      message: `This key has used up its ${which} of the ${budget.per}.`,
      retryAfterMs: Date.parse(period.to) - Date.now(),
      mayRetry: false,
      extra: { which },
    })
  const { tokens, cost } = budget
  return { tokens: tokens && tokens - totals.tokens, cost: cost && cost - totals.cost }
}

/** Returns the usage of the caller's key in the period of its budget; undefined if it has none. */
export async function budgetUsageOf({ setup, caller }: EdgeContext): Promise<BudgetUsage | undefined> {
  const budget = termsOfCaller(setup.config, caller)?.budget
  if (!budget) return undefined
  const period = periodOf(budget.per, Date.now())
  const { tenant, key = '' } = caller
  return { period, ...(await setup.directories.getByName(tenant).spendTotals(key, period.from)), budget }
}

/** Counts a run's usage for its caller's key. Never rejects: usage that is not counted is reported to operators. */
export async function countSpend(
  { setup, caller: { tenant, key = '' } }: EdgeContext,
  run: string,
  usage: Usage,
): Promise<void> {
  const spend = spendOf(key, run, usage, Date.now())
  try {
    await setup.directories.getByName(tenant).count(spend)
  } catch (error) {
    setup.report({ event: 'spend.lost', ...spend, detail: String(error) })
  }
}
