import { RecentMap } from './recent-map.ts'

export interface RateWindowOptions {
  /** The most that may be counted for a key in one window. */
  readonly most: number
  /** The length of a window in milliseconds. It begins with the first count. */
  readonly windowMs: number
}

interface Window {
  count: number
  /** Its end, in epoch milliseconds. */
  readonly until: number
}

/** The most keys that an isolate counts for. Those counted first make room for others. */
const MOST_KEYS = 10_000

/** Counts by key in windows of time, in the memory of an isolate. */
export class RateWindow {
  readonly #options: RateWindowOptions
  readonly #windows: RecentMap<string, Window>

  constructor(options: RateWindowOptions) {
    this.#options = options
    this.#windows = new RecentMap({ most: MOST_KEYS, maxAgeMs: options.windowMs })
  }

  /** Returns for how long nothing more may be counted for a key, in milliseconds; 0 if its limit is not reached. */
  waitMs(key: string): number {
    const window = this.#windows.get(key)
    return window && window.count >= this.#options.most ? window.until - Date.now() : 0
  }

  count(key: string, weight = 1): void {
    const window = this.#windows.get(key)
    if (window) window.count += weight
    else this.#windows.set(key, { count: weight, until: Date.now() + this.#options.windowMs })
  }
}
