/** Returns the result of some work, or `late` if it takes longer than `ms` milliseconds; its result is then ignored. */
export async function within<Value>(ms: number, work: Promise<Value>, late: Value): Promise<Value> {
  const over = Promise.withResolvers<Value>()
  const timer = setTimeout(() => over.resolve(late), ms)
  try {
    return await Promise.race([over.promise, work])
  } finally {
    clearTimeout(timer)
  }
}
