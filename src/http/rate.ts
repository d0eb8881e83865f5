import { ConfigError } from '../contract/config.ts'
import type { RateLimit } from '../contract/policy.ts'
import type { Setup } from '../contract/setup.ts'
import type { Caller } from '../contract/tool.ts'
import { keyOf } from './auth.ts'
import { Problem } from './problem.ts'

/** A binding counts anew after 10 seconds or 60, and does not tell which: after the longer it has in any case. */
const RETRY_MS = 60_000

/** Throws a ConfigError where a key names a rate limit that is not bound: it would have none. */
export function checkRates(setup: Setup): void {
  for (const { rate } of setup.config.apiKeys) if (rate !== undefined) rateOf(setup, rate)
}

/** Counts a request against the rate of its key. Throws a Problem where that is used up. */
export async function countRequest(setup: Setup, caller: Caller): Promise<void> {
  const { rate } = keyOf(setup.config, caller) ?? {}
  if (rate === undefined || caller.key === undefined) return
  if (await isWithin(rateOf(setup, rate), caller.key, setup)) return
  const message = 'This key has sent too many requests; wait, then send fewer.'
  throw new Problem({ status: 429, code: 'rate_limited', message, retryAfterMs: RETRY_MS })
}

function rateOf({ rates }: Setup, name: string): RateLimit {
  const rate = rates?.(name)
  if (rate) return rate
  throw new ConfigError(name, 'a rate limit binding, since API_KEYS names it as a rate')
}

/**
 * A binding that fails lets requests in: no caller can make it fail, and what they may spend is bounded without it, by the
 * limits of a run and the budget of a key. To refuse all of them would be the greater harm; operators are told.
 */
async function isWithin(rate: RateLimit, key: string, { report }: Setup): Promise<boolean> {
  try {
    return (await rate.limit({ key })).success
  } catch (error) {
    report({ event: 'rate.failed', key, detail: String(error) })
    return true
  }
}
