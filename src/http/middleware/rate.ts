import type { MiddlewareHandler } from 'hono'
import { createMiddleware } from 'hono/factory'
import { termsOfCaller } from '../../contract/caller-terms.ts'
import type { Isolate } from '../../contract/isolate.ts'
import { begin, reachedActivity } from '../../contract/occupancy.ts'
import { RateWindow } from '../../contract/rate-window.ts'
import type { Setup } from '../../contract/setup.ts'
import type { Caller } from '../../contract/tool.ts'
import type { EdgeEnv } from '../context.ts'
import { Problem, quotaProblem } from '../problem.ts'
import { awaitEnd } from '../respond/stream.ts'

/** The most bytes of a body that is sent without a key. */
export const MOST_PUBLIC_BYTES = 256 * 1024
/** The most requests without a key from one address, in a minute and in one isolate. */
const MOST_REQUESTS = 300
/** The most wrong keys that an address may enter, if it sends no other requests. */
const MOST_WRONG_KEYS = 10
/** The most bytes of reports on one call, in a minute and in one isolate. */
const MOST_REPORT_BYTES = 4 * 1024 * 1024
/** A smaller report counts as this many bytes. */
const LEAST_REPORT_BYTES = 1024
const WINDOW_MS = 60_000

/** Returns a middleware that counts the requests for these paths, and those below them, by the address of the client. */
export function countPublicRequests(paths: readonly string[]): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const { path } = c.req
    if (paths.some((each) => path === each || path.startsWith(`${each}/`))) countAddress(c.env.setup, c.req.raw)
    await next()
  }
}

/** Counts a request without a key. Throws a Problem 429 once its address has sent too many. */
export function countAddress(setup: Setup, request: Request): void {
  const { byAddress } = windowsOf(setup)
  const address = toNetwork(request.headers.get('cf-connecting-ip') ?? '')
  refuseWhile(byAddress.waitMs(address), 'This address has sent too many requests without a key.')
  byAddress.count(address)
}

/** Counts a wrong key that somebody has entered on a page: after ten, the address must wait for the rest of the minute. */
export function countWrongKey(setup: Setup, request: Request): void {
  const address = toNetwork(request.headers.get('cf-connecting-ip') ?? '')
  windowsOf(setup).byAddress.count(address, MOST_REQUESTS / MOST_WRONG_KEYS)
}

/**
 * Counts a report on a call by the bytes that its body is announced to have. Throws a Problem 429, before the body is
 * read, once there were too many: by the call and not by the address, which tools may share.
 */
export function countReport(setup: Setup, call: string, request: Request): void {
  const { byCall } = windowsOf(setup)
  refuseWhile(byCall.waitMs(call), 'Too much was reported on this call within a minute.')
  const announced = Number(request.headers.get('content-length') ?? MOST_PUBLIC_BYTES)
  byCall.count(call, Math.max(LEAST_REPORT_BYTES, Math.min(announced || 0, MOST_PUBLIC_BYTES)))
}

function refuseWhile(waitMs: number, message: string): void {
  if (waitMs > 0) throw new Problem({ status: 429, code: 'rate_limited', message, retryAfterMs: waitMs })
}

function windowsOf({ isolate }: Setup): NonNullable<Isolate['publicRates']> {
  return (isolate.publicRates ??= {
    byAddress: new RateWindow({ most: MOST_REQUESTS, windowMs: WINDOW_MS }),
    byCall: new RateWindow({ most: MOST_REPORT_BYTES, windowMs: WINDOW_MS }),
  })
}

/** Returns what is counted of an address: all of IPv4, the first 64 bits of IPv6, of which a client has a whole network. */
function toNetwork(address: string): string {
  if (!address.includes(':')) return address
  const [start = '', end] = address.toLowerCase().split('::')
  const groups = start === '' ? [] : start.split(':')
  const last = end === undefined || end === '' ? [] : end.split(':')
  const zeros = end === undefined ? [] : Array<string>(Math.max(0, 8 - groups.length - last.length)).fill('0')
  return [...groups, ...zeros, ...last].slice(0, 4).join(':')
}

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

/** Counts the open requests of each tenant and key. Throws a Problem 429 before there are too many in this isolate. */
export const countOpenRequests = createMiddleware<EdgeEnv>(async (c, next) => {
  const { setup, caller } = c.env
  const reached = reachedActivity(setup, 'openRequests', caller)
  if (reached) throw quotaProblem(reached)
  const end = begin(setup, 'openRequests', caller)
  try {
    await next()
  } finally {
    const ended = awaitEnd(c.res)
    // Without `waitUntil`, the platform would end the work of the request with its response, before the count goes
    // down.
    if (ended) c.env.waitUntil(ended.then(end, end))
    else end()
  }
})
