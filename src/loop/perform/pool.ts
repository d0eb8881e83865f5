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
  const queue = [...items]
  const activeCounts = new Map<string, number>()
  const isFree = (group: Group | undefined) => {
    const count = group && activeCounts.get(group.name)
    // One item of a group may always run; otherwise a group of size 0 would never finish.
    return !group || !count || count < group.size
  }
  const take = (): Item | undefined => {
    const at = queue.findIndex((item) => isFree(groupOf(item)))
    return at < 0 ? undefined : queue.splice(at, 1)[0]
  }
  const active = new Set<Promise<void>>()
  const failures: unknown[] = []
  for (;;) {
    for (let item = take(); item !== undefined && failures.length === 0; item = take()) {
      active.add(track(item))
      if (active.size >= size) break
    }
    if (active.size === 0) break
    await Promise.race(active)
  }
  if (failures.length > 0) throw failures[0]

  function track(item: Item): Promise<void> {
    const group = groupOf(item)
    if (group) activeCounts.set(group.name, (activeCounts.get(group.name) ?? 0) + 1)
    const task = work(item)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        active.delete(task)
        if (group) activeCounts.set(group.name, (activeCounts.get(group.name) ?? 1) - 1)
      })
    return task
  }
}
