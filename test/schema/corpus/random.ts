/** Numbers that look like chance, and are the same each time. */
export interface Random {
  /** A whole number from 0 to below `below`. */
  readonly to: (below: number) => number
  /** True in one of `of` cases. */
  readonly chance: (of: number) => boolean
  readonly pick: <Item>(items: readonly Item[]) => Item
}

/** Mulberry32. */
export function randomOf(seed: number): Random {
  let state = seed >>> 0
  const to = (below: number): number => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below
  }
  return {
    to,
    chance: (of) => to(of) === 0,
    pick: (items) => {
      const item = items[to(items.length)]
      if (item === undefined) throw new RangeError('Nothing to pick from')
      return item
    },
  }
}
