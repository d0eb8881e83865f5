import { type StoredTotals, reachedStorage } from '../../contract/quotas.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Setup } from '../../contract/setup.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { quotaProblem } from '../problem.ts'

/** The totals of tenants that this isolate last learned of, by tenant. */
const totalsBySetup = new WeakMap<Setup, RecentMap<string, LatestTotals>>()
const MOST_TENANTS = 10_000
const FRESH_MS = 60_000

interface LatestTotals {
  readonly totals: StoredTotals
  /** When they were learned, in epoch milliseconds. */
  readonly at: number
}

/**
 * Throws a Problem 507 if a conversation would be created beyond its tenant's quotas. The directory is asked only once
 * they are known to be used up, so requests within the quotas do not wait for it.
 */
export async function requireRoom({ setup, caller: { tenant } }: EdgeContext, conversation: string): Promise<void> {
  const latest = latestTotals(setup, tenant)
  if (!latest || !reachedStorage(latest.totals, setup.config.quotas)) return
  const { isListed, ...totals } = await setup.directories.getByName(tenant).room(conversation)
  remember(setup, tenant, totals)
  const reached = reachedStorage(totals, setup.config.quotas)
  if (reached && !isListed) throw quotaProblem(reached)
}

/**
 * Throws a Problem 507 if a conversation that is not listed would be created while its tenant stores too much. The
 * directory is asked beside the request, at most once a minute for a tenant.
 */
export function requireBytes(context: RequestContext): void {
  const { setup, caller, waitUntil } = context
  const { totals, at = 0 } = latestTotals(setup, caller.tenant) ?? {}
  if (Date.now() - at > FRESH_MS) waitUntil(storedTotals(context).catch(() => {}))
  const { storedBytes: limit } = setup.config.quotas
  if (totals && totals.storedBytes >= limit) {
    throw quotaProblem({ quota: 'storedBytes', used: totals.storedBytes, limit })
  }
}

/** Returns the number and size of the conversations of the caller's tenant. */
export async function storedTotals({ setup, caller: { tenant } }: EdgeContext): Promise<StoredTotals> {
  const totals = await setup.directories.getByName(tenant).room('')
  remember(setup, tenant, totals)
  return totals
}

/** Lists a conversation that was created. */
export async function listConversation(
  { setup, caller: { tenant } }: EdgeContext,
  conversation: string,
): Promise<void> {
  remember(setup, tenant, await setup.directories.getByName(tenant).add(conversation))
}

function latestTotals(setup: Setup, tenant: string): LatestTotals | undefined {
  return totalsBySetup.get(setup)?.get(tenant)
}

function remember(setup: Setup, tenant: string, totals: StoredTotals): void {
  const byTenant = totalsBySetup.get(setup) ?? new RecentMap<string, LatestTotals>({ most: MOST_TENANTS })
  totalsBySetup.set(setup, byTenant)
  byTenant.set(tenant, { totals, at: Date.now() })
}
