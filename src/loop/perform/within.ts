/** Returns the result of some work, or `late` if it takes longer than `ms` milliseconds; its result is then ignored. */
export async function within<Value>(ms: number, work: Promise<Value>, late: Value): Promise<Value> {
  const timeUp = Promise.withResolvers<Value>()
  const timer = setTimeout(() => timeUp.resolve(late), ms)
  try {
    return await Promise.race([timeUp.promise, work])
  } finally {
    clearTimeout(timer)
  }
}
