import { LONGEST_TIMER_MS } from './pause.ts'

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
