import { amountsOf, limitedAmounts, MEASURES, periodOf } from '../contract/budget.ts'
import { termsOfCaller } from '../contract/caller-terms.ts'
import type { RunRequest } from '../contract/run.ts'
import type { Setup } from '../contract/setup.ts'
import { messageOf } from '../contract/thrown.ts'
import { withDeadline } from '../contract/time-limit.ts'
import type { RunPorts } from './running.ts'

/** How long a run waits for the ledger, in milliseconds. */
const LEDGER_MS = 5000

/**
 * Draws shares from the ledger of the key's budget, which is told what the run has used so far. If it does not answer, the
 * run continues with what it has, and asks again before its next step.
 */
export function budgetPort(setup: Setup, { runId, caller, budget: first }: RunRequest): Pick<RunPorts, 'drawBudget'> {
  const { directories, report } = setup
  const { tenant, key } = caller
  const budget = termsOfCaller(setup, caller)?.budget
  if (!first || !budget || key === undefined || MEASURES.every((name) => budget[name] === undefined)) return {}
  return {
    drawBudget: async ({ usage, steps, budget: current = first }) => {
      const now = Date.now()
      const used = amountsOf(usage)
      const request = {
        ...{ budget, run: runId },
        // Enough for two steps, so that it does not draw before each of them.
        ...(steps > 0 && { least: limitedAmounts(budget, (name) => (2 * used[name]) / steps) }),
        ...(used.tokens > 0 && { spend: { run: runId, key, at: now, ...used } }),
      }
      try {
        const directory = directories.getByName(tenant)
        const { from } = periodOf(budget.per, now)
        const { lease } = await withDeadline(LEDGER_MS, directory.spendTotals(key, from, request))
        return lease && { ...limitedAmounts(lease.share, (name, share) => used[name] + share), until: lease.until }
      } catch (error) {
        report({ event: 'budget.unknown', tenant, key, runId, detail: messageOf(error) })
        return { ...current, until: now }
      }
    },
  }
}
