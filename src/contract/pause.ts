/** Resolves after so many milliseconds, or as soon as the signal aborts. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const timer = setTimeout(resolve, ms)
  const leave = () => resolve()
  signal?.addEventListener('abort', leave)
  await promise
  clearTimeout(timer)
  signal?.removeEventListener('abort', leave)
}
