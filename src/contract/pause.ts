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
