/** Says which sessions to let go; looked at only when a session is used, never by a clock of its own. */
export interface Eviction {
  /** Notes that this session is used now, and gives the sessions to let go. */
  onAccess(session: string): readonly string[]
  /** Contract: called for each session that was let go, whatever asked for it. */
  onRemoved(session: string): void
}

/** Keeps the sessions that were used last. Throws a RangeError unless `most` is a whole number of at least 1. */
export function lruEviction(most = 1000): Eviction {
  if (!Number.isInteger(most) || most < 1) throw new RangeError(`Expected at least 1 session but received ${most}`)
  const used = new Set<string>()
  return {
    onAccess(session) {
      used.delete(session)
      used.add(session)
      return [...used.values().take(Math.max(0, used.size - most))]
    },
    onRemoved: (session) => void used.delete(session),
  }
}

/** Lets go of sessions that were not used for that many milliseconds. Throws a RangeError unless `ms` is above 0. */
export function ttlEviction(ms: number, now: () => number = Date.now): Eviction {
  if (!(ms > 0)) throw new RangeError(`Expected a time above 0 ms but received ${ms}`)
  const usedAt = new Map<string, number>()
  return {
    onAccess(session) {
      const at = now()
      // Those used last stand last: the first that is young enough ends the search.
      usedAt.delete(session)
      const old: string[] = []
      for (const [other, used] of usedAt) {
        if (at - used < ms) break
        old.push(other)
      }
      usedAt.set(session, at)
      return old
    },
    onRemoved: (session) => void usedAt.delete(session),
  }
}

/** Lets go of what any of these would. */
export function compositeEviction(...evictions: readonly [Eviction, ...Eviction[]]): Eviction {
  return {
    onAccess: (session) => [...new Set(evictions.flatMap((eviction) => eviction.onAccess(session)))],
    onRemoved: (session) => evictions.forEach((eviction) => eviction.onRemoved(session)),
  }
}

/** Keeps every session until `evict` is called for it. */
export function neverEviction(): Eviction {
  return { onAccess: () => [], onRemoved: () => {} }
}

/** Lets go of the session itself each time, so that its tools are indexed anew. */
export function alwaysEviction(): Eviction {
  return { onAccess: (session) => [session], onRemoved: () => {} }
}
