import { mock } from 'node:test'

const TIMERS = [
  ['setTimeout', 'clearTimeout'],
  ['setInterval', 'clearInterval'],
] as const

/**
 * Sets the time, which stands until `mock.timers.tick`, and drops all timers. What is still under way may clear a timer of
 * the clock before: Node would remove another timer in its place, of this clock, so such a timer is left alone.
 */
export function setClock(now: number): void {
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date', 'setTimeout', 'setInterval'], now })
  const timers = new WeakSet<object>()
  for (const [set, clear] of TIMERS) {
    const [setTimer, clearTimer] = [globalThis[set], globalThis[clear]] as readonly ((...args: unknown[]) => object)[]
    if (!setTimer || !clearTimer) continue
    const setHere = (...args: unknown[]): object => {
      const timer = setTimer(...args)
      timers.add(timer)
      return timer
    }
    const clearHere = (timer: unknown): void => {
      if (timer instanceof Object && timers.has(timer)) clearTimer(timer)
    }
    Object.assign(globalThis, { [set]: setHere, [clear]: clearHere })
  }
}

/** Has the time and the timers of the process again, and drops all others. */
export function releaseClock(): void {
  mock.timers.reset()
}
