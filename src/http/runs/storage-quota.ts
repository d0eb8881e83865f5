import type { DirectoryService } from '../../contract/directory.ts'
import type { LatestTotals } from '../../contract/isolate.ts'
import { FIRST_BYTES, type StoredTotals, reachedStorage } from '../../contract/quotas.ts'
import { RecentMap } from '../../contract/recent-map.ts'
import type { Setup } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'
import { withDeadline } from '../../contract/time-limit.ts'
import type { EdgeContext, RequestContext } from '../request-context.ts'
import { Problem, quotaProblem } from '../problem.ts'

/** The most tenants whose totals an isolate remembers. */
const MOST_TENANTS = 10_000
const FRESH_MS = 60_000

/** How long a request waits for the totals, in milliseconds. */
const TOTALS_MS = 2000

/** What is known of a request while it creates a conversation. */
export type CreationContext = EdgeContext & Pick<RequestContext, 'waitUntil'>

/**
 * Throws a Problem 507 if a conversation would be created beyond its tenant's quotas. The directory is asked only once
 * they may be used up, or if the conversation begins with many `bytes`, so other requests within the quotas do not wait
 * for it. If it does not answer, the request is accepted.
 */
export async function requireRoom(context: EdgeContext, conversation: string, bytes = 0): Promise<void> {
  const { setup, caller } = context
  const { quotas } = setup.config
  const latest = latestTotals(setup, caller.tenant)
  if (bytes < FIRST_BYTES) {
    if (!latest) return
    const { totals, created } = latest
    if (!reachedStorage({ ...totals, conversations: totals.conversations + created }, quotas)) return
  }
  try {
    const { isListed, ...current } = await withDeadline(TOTALS_MS, askTotals(context, conversation))
    const reached = reachedStorage(current, quotas)
    if (reached && !isListed) throw quotaProblem(reached)
  } catch (error) {
    if (error instanceof Problem) throw error
    setup.report({ event: 'quota.unknown', tenant: caller.tenant, detail: messageOf(error) })
  }
}

/** Counts a conversation that was created. Its own object lists it. */
export function countCreated(context: CreationContext): void {
  const { setup, caller } = context
  refreshTotals(context)
  const latest = latestTotals(setup, caller.tenant)
  const { totals = { conversations: 0, storedBytes: 0 }, created = 0, at = 0 } = latest ?? {}
  remember(setup, caller.tenant, { totals, created: created + 1, at })
}

/**
 * Throws a Problem 507 if a conversation that is not listed would be created while its tenant stores too much. The
 * directory is asked beside the request, at most once a minute for a tenant.
 */
export function requireBytes(context: RequestContext): void {
  const { setup, caller } = context
  const { totals } = latestTotals(setup, caller.tenant) ?? {}
  refreshTotals(context)
  const { storedBytes: limit } = setup.config.quotas
  if (totals && totals.storedBytes >= limit) {
    throw quotaProblem({ quota: 'storedBytes', used: totals.storedBytes, limit })
  }
}

/** Returns the number and size of the conversations of the caller's tenant. */
export function storedTotals(context: EdgeContext): Promise<StoredTotals> {
  return askTotals(context, '')
}

/** Asks for the totals beside the request, unless they were learned less than a minute ago. */
function refreshTotals(context: CreationContext): void {
  const { at = 0 } = latestTotals(context.setup, context.caller.tenant) ?? {}
  if (Date.now() - at > FRESH_MS) context.waitUntil(storedTotals(context).catch(() => {}))
}

async function askTotals(
  { setup, caller: { tenant } }: EdgeContext,
  conversation: string,
): ReturnType<DirectoryService['room']> {
  const createdBefore = latestTotals(setup, tenant)?.created ?? 0
  const room = await setup.directories.getByName(tenant).room(conversation)
  const { conversations, storedBytes } = room
  const created = (latestTotals(setup, tenant)?.created ?? 0) - createdBefore
  remember(setup, tenant, { totals: { conversations, storedBytes }, created: Math.max(0, created), at: Date.now() })
  return room
}

function latestTotals(setup: Setup, tenant: string): LatestTotals | undefined {
  return setup.isolate.totals?.get(tenant)
}

function remember(setup: Setup, tenant: string, latest: LatestTotals): void {
  const totals = (setup.isolate.totals ??= new RecentMap<string, LatestTotals>({ most: MOST_TENANTS }))
  totals.set(tenant, latest)
}
