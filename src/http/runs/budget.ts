import { type BudgetRemainder, MEASURES, spendOf, type SpendTotals } from '../../contract/budget.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Usage } from '../../contract/usage.ts'
import type { EdgeContext } from '../request-context.ts'
import { Problem } from '../problem.ts'
import { type BudgetTerm, budgetTerm, chargeRun, drawLease, expectRun, leasedTotals } from './budget-lease.ts'

type BudgetUsage = BudgetTerm & SpendTotals

/**
 * Returns the rest of the budget of the caller's key; undefined if it has none. Throws a Problem 429 if the budget is
 * used up, unless `isKnown` resolves to true: then the request starts nothing new. The ledger is asked only if this
 * isolate has no lease of the budget, or has used it.
 */
export async function remainingBudget(
  context: EdgeContext,
  isKnown?: () => Promise<boolean>,
): Promise<BudgetRemainder | undefined> {
  const term = budgetTerm(context)
  if (!term) return undefined
  const { budget, period } = term
  // Such a budget only counts.
  if (MEASURES.every((name) => budget[name] === undefined)) return {}
  const totals = leasedTotals(context, term) ?? (await drawLease(context, term))
  const which = MEASURES.find((name) => totals[name] >= (budget[name] ?? Infinity))
  if (which && !(await isKnown?.())) {
    reportExhausted(context, which, period.from)
    throw new Problem({
      status: 429,
      code: 'budget_exhausted',
      message: `This key has used up its ${which} of the ${budget.per}.`,
      retryAfterMs: Date.parse(period.to) - Date.now(),
      mayRetry: false,
      extra: { which },
    })
  }
  expectRun(context, term)
  const { tokens, cost } = budget
  return { tokens: tokens && tokens - totals.tokens, cost: cost && cost - totals.cost }
}

/** The keys whose used-up budgets were logged: a client may try again and again. */
const exhaustedKeys = new RecentMap<string, true>({ most: 1000, maxAgeMs: 60_000 })

function reportExhausted({ setup, caller: { tenant, key } }: EdgeContext, which: string, from: string): void {
  const id = JSON.stringify([tenant, key, from])
  if (exhaustedKeys.get(id)) return
  exhaustedKeys.set(id, true)
  setup.report({ event: 'budget.exhausted', tenant, key, which, from })
}

/** Returns the usage of the caller's key in the period of its budget, as it is counted; undefined if it has none. */
export async function budgetUsageOf(context: EdgeContext): Promise<BudgetUsage | undefined> {
  const term = budgetTerm(context)
  if (!term) return undefined
  const { tenant, key = '' } = context.caller
  const totals = await context.setup.directories.getByName(tenant).spendTotals(key, term.period.from)
  return { period: term.period, ...totals, budget: term.budget }
}

/** Counts a run's usage for its caller's key. Never rejects: usage that is not counted is reported to operators. */
export async function countSpend(context: EdgeContext, run: string, usage: Usage): Promise<void> {
  const { setup, caller } = context
  const { tenant, key = '' } = caller
  const spend = spendOf(key, run, usage, Date.now())
  chargeRun(context, spend)
  try {
    await setup.directories.getByName(tenant).count(spend)
  } catch (error) {
    setup.report({ event: 'spend.lost', ...spend, detail: String(error) })
  }
}
