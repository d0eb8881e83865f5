export interface RecentMapOptions {
  /** The most that the weights of all entries may sum to; without weights, the most entries. */
  readonly most: number
  /** How long an entry is kept, in milliseconds. Default: until there is no room for it. */
  readonly maxAgeMs?: number
  readonly now?: () => number
}

interface Entry<Value> {
  readonly value: Value
  readonly weight: number
  readonly at: number
}

/**
 * A cache in the memory of an isolate. The entries that were set first make room for new ones. It holds plain values,
 * never promises or stubs: those belong to the request that made them.
 */
export class RecentMap<Key, Value> {
  readonly #entries = new Map<Key, Entry<Value>>()
  readonly #options: Required<RecentMapOptions>
  #weight = 0

  constructor({ most, maxAgeMs = Infinity, now = Date.now }: RecentMapOptions) {
    this.#options = { most, maxAgeMs, now }
  }

  get(key: Key): Value | undefined {
    const entry = this.#entries.get(key)
    if (!entry) return undefined
    const { now, maxAgeMs } = this.#options
    if (now() - entry.at < maxAgeMs) return entry.value
    this.delete(key)
    return undefined
  }

  set(key: Key, value: Value, weight = 1): void {
    this.delete(key)
    this.#entries.set(key, { value, weight, at: this.#options.now() })
    this.#weight += weight
    for (const oldest of this.#entries.keys()) {
      if (this.#weight <= this.#options.most) break
      this.delete(oldest)
    }
  }

  delete(key: Key): void {
    this.#weight -= this.#entries.get(key)?.weight ?? 0
    this.#entries.delete(key)
  }
}
