/** Turns of the microtask queue without an addition after which a burst counts as over. */
const QUIET_TURNS = 12

/**
 * Returns a function to call after each addition to a buffer. `flush` is called once nothing more was added for some
 * turns of the microtask queue: what comes in one read from the network leaves as one chunk, and nothing waits for I/O
 * or for a timer. `flush` must not throw.
 */
export function burst(flush: () => void): () => void {
  let isScheduled = false
  let hasGrown = false
  const watch = async () => {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await Promise.resolve()
      if (hasGrown) turns = 0
      hasGrown = false
    }
    isScheduled = false
    flush()
  }
  return () => {
    hasGrown = true
    if (isScheduled) return
    isScheduled = true
    void watch()
  }
}
