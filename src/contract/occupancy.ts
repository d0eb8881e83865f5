import type { Config } from './config.ts'
import type { ReachedQuota } from './quotas.ts'
import type { Caller } from './tool.ts'

/** What an isolate counts while it is under way. */
type Activity = 'openRequests' | 'concurrentRuns'

/** The numbers of what is under way in this isolate, by activity, tenant and key. */
const countsByConfig = new WeakMap<Config, Map<string, number>>()

/** Counts an activity of a caller until the returned function is called, however often. */
export function begin(config: Config, activity: Activity, caller: Caller): () => void {
  const counts = countsOf(config)
  const names = namesOf(activity, caller)
  const add = (change: number) => {
    for (const name of names) {
      const count = (counts.get(name) ?? 0) + change
      if (count > 0) counts.set(name, count)
      else counts.delete(name)
    }
  }
  add(1)
  let isOver = false
  return () => {
    if (!isOver) add(-1)
    isOver = true
  }
}

/** Returns how much of an activity is under way in this isolate for a tenant, and for the caller's key if it has one. */
export function underWay(config: Config, activity: Activity, caller: Caller): { tenant: number; key?: number } {
  const [tenant = 0, key] = namesOf(activity, caller).map((name) => countsOf(config).get(name) ?? 0)
  return { tenant, ...(key !== undefined && { key }) }
}

/** Returns the quota that leaves the caller no room for one more of an activity. */
export function reachedActivity(config: Config, activity: Activity, caller: Caller): ReachedQuota | undefined {
  const { tenant, key = 0 } = underWay(config, activity, caller)
  const ofKey = `${activity}PerKey` as const
  const { [activity]: most, [ofKey]: mostOfKey } = config.quotas
  if (key >= mostOfKey) return { quota: ofKey, used: key, limit: mostOfKey }
  return tenant >= most ? { quota: activity, used: tenant, limit: most } : undefined
}

function countsOf(config: Config): Map<string, number> {
  const counts = countsByConfig.get(config) ?? new Map<string, number>()
  countsByConfig.set(config, counts)
  return counts
}

/** No tenant or key contains a space. */
function namesOf(activity: Activity, { tenant, key }: Caller): readonly string[] {
  return [`${activity} ${tenant}`, ...(key === undefined ? [] : [`${activity} ${tenant} ${key}`])]
}
