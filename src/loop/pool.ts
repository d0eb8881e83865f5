export interface PoolOptions<Item> {
  /** How many items may be worked on at once, from 1. */
  readonly size: number
  /** Items of one group are never worked on at the same time. */
  readonly groupOf: (item: Item) => string | undefined
  /** Contract: a rejection ends the pool once what runs has settled. */
  readonly work: (item: Item) => Promise<void>
}

/** Works on all items, starting each as early as the size and its group allow, in their order. */
export async function inPool<Item>(items: readonly Item[], { size, groupOf, work }: PoolOptions<Item>): Promise<void> {
  const waiting = [...items]
  const busy = new Set<string>()
  const take = (): Item | undefined => {
    const at = waiting.findIndex((item) => !busy.has(groupOf(item) ?? ''))
    return at < 0 ? undefined : waiting.splice(at, 1)[0]
  }
  const running = new Set<Promise<void>>()
  const failures: unknown[] = []
  for (;;) {
    for (let item = take(); item !== undefined && failures.length === 0; item = take()) {
      running.add(track(item))
      if (running.size >= size) break
    }
    if (running.size === 0) break
    await Promise.race(running)
  }
  if (failures.length > 0) throw failures[0]

  function track(item: Item): Promise<void> {
    const group = groupOf(item)
    if (group !== undefined) busy.add(group)
    const done = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        running.delete(done)
        if (group !== undefined) busy.delete(group)
      })
    return done
  }
}
