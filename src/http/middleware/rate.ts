import type { Setup } from '../../contract/setup.ts'
import type { Caller } from '../../contract/tool.ts'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import { Problem } from '../problem.ts'

/** When to retry. A binding's period is 10 or 60 seconds; the binding does not tell which, so this is the longer. */
const RETRY_MS = 60_000

/**
 * Counts a request against the rate limit of its key. Throws a Problem 429 if the limit is reached or its binding is
 * missing, and whatever the binding throws: a key with a rate limit is never let through without it.
 */
export async function countRequest(setup: Setup, caller: Caller): Promise<void> {
  const { rate } = termsOfCaller(setup, caller) ?? {}
  const { rates } = setup
  if (rate === undefined || (await rates?.[rate]?.limit({ key: caller.key ?? '' }))?.success) return
  const message = 'This key has sent too many requests.'
  throw new Problem({ status: 429, code: 'rate_limited', message, retryAfterMs: RETRY_MS })
}
