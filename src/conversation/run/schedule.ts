/** While a run is under way, the object looks after it this often. */
export const WATCHDOG_MS = 10_000
/**
 * How long after a run has begun or was resumed the alarm rings that stays until the run ends. A run that is lost continues
 * without any request, since the platform rings that alarm again.
 */
export const FIRST_WATCH_MS = 500
/** How long an alarm stays at the most, in milliseconds: the platform ends it after 15 minutes. */
export const MOST_STAY_MS = 10 * 60 * 1000

/** After a common outage, the recoveries of all conversations are spread over this time. */
const SPREAD_MS = 2000

/**
 * Returns how long an alarm waits, in milliseconds, before it resumes a run that was interrupted: less than 2000, always
 * the same for an object, and spread evenly over all objects. `id`: the id of the object in hexadecimal digits, the last
 * of which the platform draws at random or from a hash.
 */
export function recoveryDelay(id: string): number {
  return Math.floor((Number.parseInt(id.slice(-8), 16) / 2 ** 32) * SPREAD_MS)
}

/** How long the news of a run is kept after the run has ended. */
export const PRUNE_MS = 10 * 60 * 1000

/**
 * The duties of an object's one alarm. `run`: look at the run whose turn it is (`Runner.checkCurrent`), and try parked runs
 * again. `expire`: delete the conversation. `prune`: delete the news of finished runs, and old faults. `send`: send webhook
 * messages, and report the usage of runs.
 */
export type Duty = 'run' | 'expire' | 'prune' | 'send'
/** The time at which each duty is due, in epoch milliseconds; Infinity for never. */
export type DueTimes = Readonly<Record<Duty, number>>

/** Returns when the object must be woken next; Infinity for never. */
export function nextDue(times: DueTimes): number {
  return Math.min(...Object.values(times))
}

export function isDue(times: DueTimes, duty: Duty, now: number): boolean {
  return times[duty] <= now
}
