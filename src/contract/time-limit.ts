import type { ToolControl } from './tool.ts'

/**
 * Runs `work` with a signal that aborts when `signal` does, or after `ms` milliseconds. Rejects with {@link OutOfTime}
 * if the work failed because its time was up. The timer is cleared when the work ends, whereas that of
 * AbortSignal.timeout would keep a Durable Object in memory until it fires.
 *
 * @example
 * const response = await withTimeLimit(5000, (signal) => fetch(url, { signal }), context.signal)
 */
export async function withTimeLimit<Result>(
  ms: number,
  work: (signal: AbortSignal) => Promise<Result>,
  signal?: AbortSignal,
): Promise<Result> {
  const timeout = new AbortController()
  const timer = setTimeout(
    () => timeout.abort(new OutOfTime(`no answer within ${ms} ms`)),
    Math.min(ms, LONGEST_TIMER_MS),
  )
  try {
    return await work(signal ? AbortSignal.any([signal, timeout.signal]) : timeout.signal)
  } catch (error) {
    // Runtimes reject with different errors on an abort; the reason of the abort is always the same.
    throw timeout.signal.aborted && !signal?.aborted ? timeout.signal.reason : error
  } finally {
    clearTimeout(timer)
  }
}

/** The abort reason of a signal whose time was up. */
export class OutOfTime extends Error {}

/**
 * Returns the result of some work, or `fallback` if it takes longer than `ms` milliseconds; its result is then
 * ignored.
 */
export async function within<Value>(ms: number, work: Promise<Value>, fallback: Value): Promise<Value> {
  const timeUp = Promise.withResolvers<Value>()
  const timer = setTimeout(() => timeUp.resolve(fallback), ms)
  try {
    return await Promise.race([timeUp.promise, work])
  } finally {
    clearTimeout(timer)
  }
}

const NO_ANSWER = Symbol('no answer')

/** Returns the result of some work, or rejects with {@link OutOfTime} after `ms` milliseconds; the work continues. */
export async function withDeadline<Value>(ms: number, work: Promise<Value>): Promise<Value> {
  const result = await within<Value | typeof NO_ANSWER>(ms, work, NO_ANSWER)
  if (result === NO_ANSWER) throw new OutOfTime(`no answer within ${ms} ms`)
  return result
}

/** The longest delay that Node's timers accept, in milliseconds; a longer one fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1

/**
 * Resolves after `ms` milliseconds, or as soon as the signal aborts; never rejects.
 *
 * @example
 * await pause(500, signal)
 */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, Math.min(ms, LONGEST_TIMER_MS))
  const leave = () => resolve()
  signal?.addEventListener('abort', leave)
  await promise
  clearTimeout(timer)
  signal?.removeEventListener('abort', leave)
}

const NUMBER = /^\d+(\.\d+)?$/

/**
 * Returns how long a server asks its client to wait, in milliseconds, at most {@link LONGEST_TIMER_MS}; undefined if it
 * does not say. Reads seconds, HTTP dates, and the milliseconds that some providers send. `header` looks up a header by
 * name.
 */
export function retryAfterMs(header: (name: string) => unknown): number | undefined {
  const [exact = '', after = ''] = ['retry-after-ms', 'retry-after'].map((name) => {
    const value = header(name)
    return typeof value === 'string' ? value : ''
  })
  const ms = NUMBER.test(exact) ? Number(exact) : NUMBER.test(after) ? Number(after) * 1000 : untilDate(after)
  return Number.isNaN(ms) ? undefined : Math.min(ms, LONGEST_TIMER_MS)
}

/** `Date.parse` accepts much that is not a date, such as -5; an HTTP date always contains a time with colons. */
function untilDate(text: string): number {
  return text.includes(':') ? Math.max(0, Date.parse(text) - Date.now()) : NaN
}

/**
 * Returns a signal that aborts once the host no longer wants the outcome; its reason is an Error whose message is the
 * host's reason, such as `timeout`. If the control fails, the host is gone, and the signal never aborts.
 */
export function controlSignal(control: Pick<ToolControl, 'whenAborted'> | undefined): AbortSignal {
  const abort = new AbortController()
  control?.whenAborted().then(
    (reason) => reason !== 'settled' && abort.abort(new Error(reason)),
    () => {},
  )
  return abort.signal
}
