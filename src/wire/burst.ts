/** Turns of the microtask queue without an addition after which a burst counts as over. */
const QUIET_TURNS = 12
/** The least time between two chunks, in milliseconds. */
const LEAST_GAP_MS = 1

/**
 * Returns a function to call after each addition to a buffer. `flush` is called once nothing more was added for some
 * turns of the microtask queue: what comes in one read from the network leaves as one chunk, and waits for no I/O. Only
 * if the last flush was less than a millisecond ago, it waits for the rest of that time, since each chunk costs more
 * than the text in it. `flush` must not throw.
 */
export function burst(flush: () => void): () => void {
  let isScheduled = false
  let hasGrown = false
  let flushedAt = Number.NEGATIVE_INFINITY
  const flushNow = () => {
    isScheduled = false
    flushedAt = Date.now()
    flush()
  }
  const watch = async () => {
    for (let turns = 0; turns < QUIET_TURNS; turns++) {
      await Promise.resolve()
      if (hasGrown) turns = 0
      hasGrown = false
    }
    flushNow()
  }
  return () => {
    hasGrown = true
    if (isScheduled) return
    isScheduled = true
    if (Date.now() - flushedAt < LEAST_GAP_MS) setTimeout(flushNow, LEAST_GAP_MS)
    else void watch()
  }
}
