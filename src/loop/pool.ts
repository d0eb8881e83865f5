/** Items of one group have places of their own, from 1. */
export interface Group {
  readonly name: string
  readonly size: number
}

export interface PoolOptions<Item> {
  /** How many items may be worked on at once, from 1. */
  readonly size: number
  readonly groupOf: (item: Item) => Group | undefined
  /** Contract: a rejection ends the pool once what runs has settled. */
  readonly work: (item: Item) => Promise<void>
}

/** Works on all items, starting each as early as the size and its group allow, in their order. */
export async function inPool<Item>(items: readonly Item[], { size, groupOf, work }: PoolOptions<Item>): Promise<void> {
  const waiting = [...items]
  const busy = new Map<string, number>()
  const isFree = (group: Group | undefined) => {
    const count = group && busy.get(group.name)
    // One may always run: without it nothing ever would.
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
