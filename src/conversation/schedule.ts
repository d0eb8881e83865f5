/** While a run is under way the object is woken this often, so that a lost run goes on with no request from anyone. */
export const WATCHDOG_MS = 10_000

/** The news of a run is kept this long after its end. */
export const PRUNE_MS = 10 * 60 * 1000

/**
 * What the one alarm of an object is for, each with the time at which it is due, in epoch milliseconds; Infinity for
 * never. `run`: the run whose turn it is wants to be looked at. `expire`: the conversation has been kept for long enough.
 * `prune`: news of a run that ended is kept no longer. `send`: a webhook
 * is to be sent, or what runs used is to be told.
 */
export type Duty = 'run' | 'expire' | 'prune' | 'send'
export type DueTimes = Readonly<Record<Duty, number>>

/** When the object must be woken; Infinity for never. */
export function nextDue(times: DueTimes): number {
  return Math.min(...Object.values(times))
}

/** Whether a duty is due. */
export function isDue(times: DueTimes, duty: Duty, now: number): boolean {
  return times[duty] <= now
}
