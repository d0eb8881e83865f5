import type { ReachedQuota } from './quotas.ts'
import type { Setup } from './setup.ts'
import type { Caller } from './tool.ts'

/** What an isolate counts while it is under way. */
type Activity = 'openRequests' | 'concurrentRuns'

/**
 * How long something counts as under way, in milliseconds. The platform may drop the work of a request whose client has
 * disconnected, and then nobody says that it has ended.
 */
const MOST_MS = 5 * 60_000

/** Counts an activity of a caller until the returned function is called, at most for five minutes. */
export function begin({ isolate }: Pick<Setup, 'isolate'>, activity: Activity, caller: Caller): () => void {
  const beginnings = (isolate.activities ??= new Map<string, Set<{ readonly at: number }>>())
  const names = namesOf(activity, caller)
  const beginning = { at: Date.now() }
  for (const name of names) beginnings.set(name, (beginnings.get(name) ?? new Set()).add(beginning))
  return () => {
    for (const name of names) {
      const others = beginnings.get(name)
      others?.delete(beginning)
      if (others?.size === 0) beginnings.delete(name)
    }
  }
}

/** Returns how much of an activity is under way in this isolate for a tenant, and for the caller's key if it has one. */
export function underWay(
  { isolate }: Pick<Setup, 'isolate'>,
  activity: Activity,
  caller: Caller,
): { tenant: number; key?: number } {
  const [tenant = 0, key] = namesOf(activity, caller).map((name) => countOf(isolate.activities?.get(name)))
  return { tenant, key }
}

/** Returns how many of these times are recent enough to count. */
function countOf(beginnings: Set<{ readonly at: number }> = new Set()): number {
  for (const beginning of beginnings) {
    if (Date.now() - beginning.at < MOST_MS) break
    beginnings.delete(beginning)
  }
  return beginnings.size
}

/** Returns the quota that leaves the caller no room for one more of an activity. */
export function reachedActivity(
  setup: Pick<Setup, 'config' | 'isolate'>,
  activity: Activity,
  caller: Caller,
): ReachedQuota | undefined {
  const { tenant, key = 0 } = underWay(setup, activity, caller)
  const ofKey = `${activity}PerKey` as const
  const { [activity]: most, [ofKey]: mostOfKey } = setup.config.quotas
  if (key >= mostOfKey) return { quota: ofKey, used: key, limit: mostOfKey }
  return tenant >= most ? { quota: activity, used: tenant, limit: most } : undefined
}

/** No tenant or key contains a space. */
function namesOf(activity: Activity, { tenant, key }: Caller): readonly string[] {
  return [`${activity} ${tenant}`, ...(key === undefined ? [] : [`${activity} ${tenant} ${key}`])]
}
