import { underWay } from '../../contract/occupancy.ts'
import type { Quota } from '../../contract/quotas.ts'
import type { EdgeContext } from '../request-context.ts'
import { storedTotals } from './storage-quota.ts'

/** How much of a quota is used. */
interface QuotaUse {
  readonly used: number
  readonly limit: number | undefined
}

/** Returns how much of each quota the caller's tenant and key use. What is under way is that of this isolate. */
export async function quotaUsage(context: EdgeContext): Promise<Record<string, QuotaUse>> {
  const { caller, setup } = context
  const { config, stored } = setup
  const [{ conversations, storedBytes }, definitions] = await Promise.all([
    storedTotals(context),
    stored('tenant', caller).count(),
  ])
  const [requests, runs] = (['openRequests', 'concurrentRuns'] as const).map((name) => underWay(setup, name, caller))
  const used: Record<Quota, number | undefined> = {
    conversations,
    storedBytes,
    definitions,
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
