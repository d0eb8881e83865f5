/** What some work comes to, or `late` where it takes longer than that; then nobody hears of it any more. */
export async function within<Value>(ms: number, work: Promise<Value>, late: Value): Promise<Value> {
  const over = Promise.withResolvers<Value>()
  const timer = setTimeout(() => over.resolve(late), ms)
  try {
    return await Promise.race([over.promise, work])
  } finally {
    clearTimeout(timer)
  }
}
