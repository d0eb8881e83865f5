import { limitedAmounts, MEASURES, type RunBudget, spendOf, type SpendTotals } from '../../contract/budget.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Usage } from '../../contract/usage.ts'
import type { EdgeContext } from '../request-context.ts'
import { Problem } from '../problem.ts'
import { type BudgetTerm, budgetTerm, chargeRun, drawLease, endShare, expectRun, leasedTotals } from './budget-lease.ts'

type BudgetUsage = BudgetTerm & SpendTotals

/** When a caller may come again if runs under way have all that is left, in milliseconds. */
const RETRY_MS = 10_000

/**
 * Returns the share of the budget of the caller's key that a new run may use before it draws another one; undefined if the
 * key has no budget. Throws a Problem 429 if nothing is left, unless `isKnown` resolves to true: then the request starts
 * nothing new. The ledger is asked only if this isolate has no lease of the budget, or has used it. Without `run`, the
 * request is for a call outside of a run, which needs no share.
 */
export async function shareOfBudget(
  context: EdgeContext,
  run?: string,
  isKnown?: () => Promise<boolean>,
): Promise<RunBudget | undefined> {
  const term = budgetTerm(context)
  if (!term) return undefined
  const { budget, period } = term
  const limited = MEASURES.filter((name) => budget[name] !== undefined)
  // Such a budget only counts.
  if (limited.length === 0) return {}
  const leased = leasedTotals(context, term)
  const { totals, ofRun } = leased ? { totals: leased } : await drawLease(context, term, run)
  const which = limited.find((name) => totals[name] >= (budget[name] ?? Infinity))
  const share = which ? undefined : ((ofRun && { ...ofRun.share, until: ofRun.until }) ?? expectRun(context, term, run))
  if (share) return share
  const isRefused = (which ?? run) !== undefined && !(await isKnown?.())
  if (!isRefused) return limitedAmounts(budget, () => 0)
  if (which) reportExhausted(context, which, period.from)
  throw new Problem({
    status: 429,
    code: 'budget_exhausted',
    ...(which
      ? {
          message: `This key has used up its ${which} of the ${budget.per}.`,
          retryAfterMs: Date.parse(period.to) - Date.now(),
          mayRetry: false,
        }
      : {
          message: `Runs under way have all that is left of this key's budget of the ${budget.per}. Try again later.`,
          retryAfterMs: RETRY_MS,
          mayRetry: true,
        }),
    extra: { which: which ?? limited[0] },
  })
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
  const totals = await context.setup.directories
    .getByName(tenant)
    .spendTotals(key, term.period.from, undefined, term.formerIds)
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
    endShare(context, run)
  } catch (error) {
    setup.report({ event: 'spend.lost', ...spend, detail: String(error) })
  }
}
