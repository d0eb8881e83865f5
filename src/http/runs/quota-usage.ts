import type { Context } from 'hono'
import { underWay } from '../../contract/occupancy.ts'
import type { Quota } from '../../contract/quotas.ts'
import type { EdgeEnv } from '../context.ts'
import { requireScope } from '../middleware/auth.ts'
import type { EdgeContext } from '../request-context.ts'
import { budgetUsageOf } from './budget.ts'
import { storedTotals } from './storage-quota.ts'

/** How much of a quota is used. */
interface QuotaUse {
  readonly used: number
  readonly limit: number | undefined
}

/** Returns how much of each quota the caller's tenant and key use. What is under way is that of this isolate. */
async function quotaUsage(context: EdgeContext): Promise<Record<string, QuotaUse>> {
  const { caller, setup } = context
  const { config, stored, schedules } = setup
  const [{ conversations, storedBytes }, definitions, scheduleCount] = await Promise.all([
    storedTotals(context),
    stored('tenant', caller).count(),
    schedules?.getByName(caller.tenant).count(),
  ])
  const [requests, runs] = (['openRequests', 'concurrentRuns'] as const).map((name) => underWay(setup, name, caller))
  const used: Record<Quota, number | undefined> = {
    conversations,
    storedBytes,
    definitions,
    schedules: scheduleCount,
    openRequests: requests?.tenant,
    openRequestsPerKey: requests?.key,
    concurrentRuns: runs?.tenant,
    concurrentRunsPerKey: runs?.key,
  }
  const limits: Readonly<Record<string, number>> = config.quotas
  const uses = Object.entries(used).flatMap(([name, count]) =>
    count === undefined ? [] : [[name, { used: count, limit: limits[name] }] as const],
  )
  return Object.fromEntries(uses)
}

/** `GET /usage`: the usage of the caller's key in the period of its budget, if it has one, and of its quotas. */
export async function answerUsage(c: Context<EdgeEnv>): Promise<Response> {
  requireScope(c.env.caller, 'chat')
  const [budget, quotas] = await Promise.all([budgetUsageOf(c.env), quotaUsage(c.env)])
  return c.json({ key: c.env.caller.key, ...budget, quotas })
}
