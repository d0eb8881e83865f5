/** A group of items, of which at most `size` may be worked on at once, from 1. */
export interface Group {
  readonly name: string
  readonly size: number
}

export interface PoolOptions<Item> {
  /** The most items to work on at once, from 1. */
  readonly size: number
  readonly groupOf: (item: Item) => Group | undefined
  /** Whether an item takes no place in the pool, since it waits for others that it adds. Default: every item takes one. */
  readonly takesNoPlace?: (item: Item) => boolean
  /**
   * Works on an item; `add` adds another one to the pool. Contract: after a rejection no further item starts, and the pool
   * rejects once the running ones have settled.
   */
  readonly work: (item: Item, add: (item: Item) => void) => Promise<void>
}

/** Works on all items, starting each in order, as early as the limits of the pool and of its group allow. */
export async function inPool<Item>(items: readonly Item[], options: PoolOptions<Item>): Promise<void> {
  const { size, groupOf, takesNoPlace = () => false, work } = options
  const queue = [...items]
  let added = Promise.withResolvers<void>()
  const add = (item: Item) => {
    queue.push(item)
    added.resolve()
  }
  const activeCounts = new Map<string, number>()
  const isFree = (group: Group | undefined) => {
    const count = group && activeCounts.get(group.name)
    // One item of a group may always run; otherwise a group of size 0 would never finish.
    return !group || !count || count < group.size
  }
  const active = new Set<Promise<void>>()
  let places = 0
  const take = (): Item | undefined => {
    const at = queue.findIndex((item) => (takesNoPlace(item) || places < size) && isFree(groupOf(item)))
    return at < 0 ? undefined : queue.splice(at, 1)[0]
  }
  const failures: unknown[] = []
  for (;;) {
    added = Promise.withResolvers<void>()
    for (let item = failures.length === 0 ? take() : undefined; item !== undefined; item = take()) {
      active.add(track(item))
      if (failures.length > 0) break
    }
    if (active.size === 0) break
    await Promise.race([...active, added.promise])
  }
  if (failures.length > 0) throw failures[0]

  function track(item: Item): Promise<void> {
    const group = groupOf(item)
    if (group) activeCounts.set(group.name, (activeCounts.get(group.name) ?? 0) + 1)
    const place = takesNoPlace(item) ? 0 : 1
    places += place
    const task = work(item, add)
      .catch((error: unknown) => void failures.push(error))
      .finally(() => {
        active.delete(task)
        places -= place
        if (group) activeCounts.set(group.name, (activeCounts.get(group.name) ?? 1) - 1)
      })
    return task
  }
}
