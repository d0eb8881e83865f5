import type { RunFact } from '../../contract/event.ts'
import type { ModelError } from '../../contract/model.ts'
import type { Running } from '../running.ts'

/** The codes of a model that is overloaded or cannot be reached, and may answer the same request soon. */
const OUTAGES = new Set(['model_rate_limited', 'model_unavailable', 'model_unreachable', 'model_stream_cut'])
/** The statuses below 500 that say the same; others mean that the request itself is at fault. */
const OUTAGE_STATUSES = [408, 409, 425, 429]

/** The longest first wait; each later one may take twice as long, up to the longest of all. */
const FIRST_MS = 1000
const LONGEST_MS = 15_000
/** A shorter wait than this is not worth another request. */
const SHORTEST_MS = 100
/** How much longer than a provider asks a run may wait, so that its clients do not all come back at once. */
const SPREAD = 0.1

interface Failure {
  readonly error: ModelError
  /** Whether the model had begun to answer. */
  readonly hasBegun: boolean
}

/**
 * Returns the wait after a failure of the model, if the same request may succeed soon: the time that the provider asks
 * for, else a random time between half and all of 1 s, 2 s, … 15 s, and at most what is left of `modelWaitMs` in this
 * step. Undefined if the run should fail now: for another failure, if the provider asks for a longer wait than is left,
 * or if the run would time out first.
 */
export function waitAfter(running: Running, step: number, failure: Failure): RunFact | undefined {
  const { state, now, signal, subrequestsLeft } = running
  const { error } = failure
  const { limits, durable } = state.request
  const { ms: waitedMs, count } = state.step?.wait ?? { ms: 0, count: 0 }
  // A run that is not stored cannot ask in another invocation.
  if (!isOutage(failure) || signal.aborted || (!durable && subrequestsLeft() <= 0)) return undefined
  const at = now()
  const wait = delayMs(error, count, limits.modelWaitMs - waitedMs)
  // Runs that an earlier version has accepted have no such limit.
  if (wait === undefined || !(at + wait < state.deadline)) return undefined
  const { code, status, attempts = 1 } = error
  const reason = { code, ...(status !== undefined && { status }) }
  return { type: 'model.waiting', step, ...reason, attempts, at, until: at + wait }
}

function isOutage({ error, hasBegun }: Failure): boolean {
  const { code, status = 500, retryable, retryAfterMs } = error
  if (!retryable || !OUTAGES.has(code) || (status < 500 && !OUTAGE_STATUSES.includes(status))) return false
  // An answer that breaks off otherwise is asked for again at once, a few times.
  return !hasBegun || retryAfterMs !== undefined || code === 'model_rate_limited'
}

/** Returns how long to wait, in whole milliseconds; undefined if that is longer than what is left. */
function delayMs({ retryAfterMs, attempts }: ModelError, count: number, leftMs: number): number | undefined {
  if (!(leftMs >= SHORTEST_MS)) return undefined
  // The edge itself has spread the requests that it did not send.
  if (attempts === 0 && retryAfterMs !== undefined) return Math.ceil(Math.min(retryAfterMs, leftMs))
  if (retryAfterMs) {
    return retryAfterMs > leftMs ? undefined : Math.ceil(Math.min(retryAfterMs * (1 + SPREAD * Math.random()), leftMs))
  }
  const longest = Math.min(FIRST_MS * 2 ** count, LONGEST_MS)
  return Math.ceil(Math.min((longest / 2) * (1 + Math.random()), leftMs))
}
