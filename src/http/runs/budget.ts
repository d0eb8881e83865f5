import {
  LEDGER_MS,
  type Budget,
  type BudgetLease,
  limitedAmounts,
  type Measure,
  MEASURES,
  type Period,
  periodOf,
  type RunBudget,
  type Spend,
  makeSpend,
  type SpendTotals,
} from '../../contract/budget.ts'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import type { HeldLease, Leases } from '../../contract/isolate.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import type { Caller } from '../../contract/tool.ts'
import type { Usage } from '../../contract/usage.ts'
import { Problem } from '../problem.ts'
import type { EdgeContext } from '../request-context.ts'

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
  const spend = makeSpend(key, run, usage, Date.now())
  chargeRun(context, spend)
  try {
    await setup.directories.getByName(tenant).count(spend)
    endShare(context, run)
  } catch (error) {
    setup.report({ event: 'spend.lost', ...spend, detail: String(error) })
  }
}

/** The most runs that are accepted with one lease. */
const MOST_RUNS = 16
/** The most budgets that an isolate holds leases of. */
const MOST_LEASES = 10_000

/** Returns the usage of the caller's key as far as this isolate knows; undefined unless it holds a lease with a rest. */
function leasedTotals(context: EdgeContext, term: BudgetTerm): Pick<SpendTotals, 'tokens' | 'cost'> | undefined {
  const lease = heldLease(context, term)
  if (!lease || lease.until <= Date.now()) return undefined
  const { share, used, totals } = lease
  if (MEASURES.some((name) => used[name] >= (share[name] ?? Infinity))) return undefined
  return { tokens: totals.tokens + used.tokens, cost: totals.cost + used.cost }
}

/**
 * Asks the ledger for the usage of the caller's key, and for a lease; returns that of the run, if the run gets it. Throws a
 * Problem 503 if the ledger does not answer.
 */
async function drawLease(
  context: EdgeContext,
  term: BudgetTerm,
  run: string | undefined,
): Promise<{ readonly totals: SpendTotals; readonly ofRun?: BudgetLease | undefined }> {
  const { setup, caller } = context
  const { budget, period, formerIds } = term
  const { tenant, key = '' } = caller
  const { holder, byBudget } = leasesOf(setup)
  const current = heldLease(context, term)
  const isUnexpired = ({ until = 0 }: RunBudget) => until > Date.now()
  const unexpired = [...(current?.shares ?? [])].filter(([, share]) => isUnexpired(share))
  const open = limitedAmounts(budget, (name) => unexpired.reduce((sum, [, share]) => sum + (share[name] ?? 0), 0))
  try {
    const directory = setup.directories.getByName(tenant)
    const request = {
      ...{ holder, budget, open },
      ...(current && isUnexpired(current) && { leaseUntil: current.until }),
      run,
    }
    const { lease, ...totals } = await withDeadline(
      LEDGER_MS,
      directory.spendTotals(key, period.from, request, formerIds),
    )
    if (!lease || lease.isOfRun) return { totals, ofRun: lease }
    const used = { tokens: 0, cost: 0 }
    byBudget.set(leaseId(caller, term), { ...lease, totals, used, shares: new Map(unexpired) })
    return { totals }
  } catch (error) {
    setup.report({ event: 'budget.unknown', tenant, key, detail: messageOf(error) })
    throw new Problem({
      status: 503,
      code: 'budget_unavailable',
      message: 'What is left of the budget of this key cannot be read. Send the request again later.',
      retryAfterMs: LEDGER_MS,
      mayRetry: true,
    })
  }
}

/**
 * Counts a run that is accepted with what it is expected to use: as much as the earlier runs of the key did. Returns its
 * share of the lease; undefined if there is no lease.
 */
function expectRun(context: EdgeContext, term: BudgetTerm, run: string | undefined): RunBudget | undefined {
  const lease = heldLease(context, term)
  if (!lease || lease.until <= Date.now()) return undefined
  const { used, until, shares } = lease
  const amounts = limitedAmounts(lease.share, (name, leased) => Math.min(expectedUse(lease, name), leased - used[name]))
  for (const name of MEASURES) used[name] += expectedUse(lease, name)
  const share = { ...amounts, until }
  if (run !== undefined) shares.set(run, share)
  return share
}

/** Counts what a run has used beyond that. The runs of conversations are counted by the ledger alone. */
function chargeRun(context: EdgeContext, spend: Spend): void {
  const term = budgetTerm(context)
  const lease = term && heldLease(context, term)
  for (const name of MEASURES) if (lease) lease.used[name] += Math.max(0, spend[name] - expectedUse(lease, name))
}

function expectedUse({ share, totals }: HeldLease, name: Measure): number {
  return Math.max((share[name] ?? 0) / MOST_RUNS, totals[name] / Math.max(1, totals.runs))
}

function heldLease({ setup, caller }: EdgeContext, term: BudgetTerm): HeldLease | undefined {
  return leasesOf(setup).byBudget.get(leaseId(caller, term))
}

function leaseId({ tenant, key }: Caller, { period }: BudgetTerm): string {
  return `${tenant}/${key}/${period.from}`
}

function leasesOf({ isolate }: Setup): Leases {
  return (isolate.leases ??= {
    holder: crypto.randomUUID(),
    byBudget: new RecentMap<string, HeldLease>({ most: MOST_LEASES }),
  })
}

/** Notes that a run has ended and is counted, so that its share is not reserved any longer. */
function endShare(context: EdgeContext, run: string): void {
  const term = budgetTerm(context)
  if (term) heldLease(context, term)?.shares.delete(run)
}

/** A budget in its current period. */
interface BudgetTerm {
  readonly budget: Budget
  readonly period: Period
  /** Earlier names of its key. */
  readonly formerIds?: readonly string[]
}

/** Returns the budget of the caller's key and its current period; undefined if it has none. */
function budgetTerm({ setup, caller }: EdgeContext): BudgetTerm | undefined {
  const { budget, formerIds } = termsOfCaller(setup, caller) ?? {}
  return budget && { budget, period: periodOf(budget.per, Date.now()), formerIds }
}
