/** Decides which sessions to evict. It is called only when a session is used, and has no timer of its own. */
export interface Eviction {
  /** Records that a session is used now, and returns the sessions to evict. */
  onAccess(session: string): readonly string[]
  /** Forgets a session. Contract: called for each session that is evicted, whatever the reason. */
  onRemoved(session: string): void
}

/** Evicts all but the `most` sessions used last. Throws a RangeError unless `most` is an integer of at least 1. */
export function lruEviction(most = 1000): Eviction {
  if (!Number.isInteger(most) || most < 1) throw new RangeError(`Expected at least 1 session but received ${most}`)
  const sessions = new Set<string>()
  return {
    onAccess(session) {
      sessions.delete(session)
      sessions.add(session)
      return [...sessions.values().take(Math.max(0, sessions.size - most))]
    },
    onRemoved: (session) => void sessions.delete(session),
  }
}

/** Evicts sessions that were not used for `ms` milliseconds. Throws a RangeError unless `ms` is above 0. */
export function ttlEviction(ms: number, now: () => number = Date.now): Eviction {
  if (!(ms > 0)) throw new RangeError(`Expected a time above 0 ms but received ${ms}`)
  const usedAt = new Map<string, number>()
  return {
    onAccess(session) {
      const accessedAt = now()
      // Sessions are in the order of their last use, so the first recent one ends the search.
      usedAt.delete(session)
      const old: string[] = []
      for (const [candidate, lastUsed] of usedAt) {
        if (accessedAt - lastUsed < ms) break
        old.push(candidate)
      }
      usedAt.set(session, accessedAt)
      return old
    },
    onRemoved: (session) => void usedAt.delete(session),
  }
}

/** Evicts each session that any of these would evict. */
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

/** Evicts a session each time it is used, so that its tools are indexed again. */
export function alwaysEviction(): Eviction {
  return { onAccess: (session) => [session], onRemoved: () => {} }
}
