import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'
import { keyOf } from './auth.ts'
import { Problem } from './problem.ts'

/** A binding counts anew after 10 seconds or 60, and does not tell which: after the longer it has in any case. */
const RETRY_MS = 60_000

/**
 * Counts a request against the rate of its key. Throws a Problem where that is used up; and whatever the binding throws:
 * nobody who has a limit goes without one because it cannot be asked.
 */
export async function countRequest({ config, rates }: Setup, caller: Caller): Promise<void> {
  const { rate } = keyOf(config, caller) ?? {}
  if (rate === undefined || (await rates?.[rate]?.limit({ key: caller.key ?? '' }))?.success) return
  const message = 'This key has sent too many requests.'
  throw new Problem({ status: 429, code: 'rate_limited', message, retryAfterMs: RETRY_MS })
}
