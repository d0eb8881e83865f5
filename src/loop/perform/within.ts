/** Returns the result of some work, or `fallback` if it takes longer than `ms` milliseconds; its result is then ignored. */
export async function within<Value>(ms: number, work: Promise<Value>, fallback: Value): Promise<Value> {
  const timeUp = Promise.withResolvers<Value>()
  const timer = setTimeout(() => timeUp.resolve(fallback), ms)
  try {
    return await Promise.race([timeUp.promise, work])
  } finally {
    clearTimeout(timer)
  }
}
