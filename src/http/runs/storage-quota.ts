import { type StoredTotals, reachedStorage } from '../../contract/quotas.ts'
import type { Setup } from '../../contract/setup.ts'
import type { EdgeContext } from '../request-context.ts'
import { quotaProblem } from '../problem.ts'

/** The totals of tenants that this isolate last learned of, by tenant. */
const totalsBySetup = new WeakMap<Setup, Map<string, StoredTotals>>()
const MOST_TENANTS = 10_000

/**
 * Throws a Problem 507 if a conversation would be created beyond its tenant's quotas. The directory is asked only once
 * they are known to be used up, so no request with room to spare waits for it.
 */
export async function requireRoom({ setup, caller: { tenant } }: EdgeContext, conversation: string): Promise<void> {
  const total = totalsBySetup.get(setup)?.get(tenant)
  if (!total || !reachedStorage(total, setup.config.quotas)) return
  const { isListed, ...totals } = await setup.directories.getByName(tenant).room(conversation)
  remember(setup, tenant, totals)
  const reached = reachedStorage(totals, setup.config.quotas)
  if (reached && !isListed) throw quotaProblem(reached)
}

/** Returns what the conversations of the caller's tenant take up. */
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

function remember(setup: Setup, tenant: string, totals: StoredTotals): void {
  const byTenant = totalsBySetup.get(setup) ?? new Map<string, StoredTotals>()
  totalsBySetup.set(setup, byTenant)
  if (byTenant.size >= MOST_TENANTS) byTenant.clear()
  byTenant.set(tenant, totals)
}
