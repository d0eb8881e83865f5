/** A group of items, of which at most `size` may be worked on at once, from 1. */
export interface Group {
  readonly name: string
  readonly size: number
}

export interface PoolOptions<Item> {
  /** The most items to work on at once, from 1. */
  readonly size: number
  readonly groupOf: (item: Item) => Group | undefined
  /** Contract: after a rejection no further item starts, and the pool rejects once the running ones have settled. */
  readonly work: (item: Item) => Promise<void>
}

/** Works on all items, starting each in order, as early as the limits of the pool and of its group allow. */
export async function inPool<Item>(items: readonly Item[], { size, groupOf, work }: PoolOptions<Item>): Promise<void> {
  const waiting = [...items]
  const busy = new Map<string, number>()
  const isFree = (group: Group | undefined) => {
    const count = group && busy.get(group.name)
    // One item of a group may always run; otherwise a group of size 0 would never finish.
    return !group || !count || count < group.size
  }
  const take = (): Item | undefined => {
    const at = waiting.findIndex((item) => isFree(groupOf(item)))
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
    if (group) busy.set(group.name, (busy.get(group.name) ?? 0) + 1)
    const done = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        running.delete(done)
        if (group) busy.set(group.name, (busy.get(group.name) ?? 1) - 1)
      })
    return done
  }
}
