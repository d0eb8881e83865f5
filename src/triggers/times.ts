import { Cron } from 'croner'
import { RecentMap } from '../contract/recent-map.ts'
import type { ScheduleTimes } from '../contract/schedule.ts'

/** The due times of a schedule, in epoch milliseconds. */
export interface Timing {
  /** Returns the first due time after a time; undefined if there is none. */
  readonly next: (after: number) => number | undefined
  /** Returns the last due time up to a time; undefined if there is none. */
  readonly last: (until: number) => number | undefined
}

/** Why the times of a schedule cannot be used. */
export interface TimesFault {
  /** The member of the definition. */
  readonly path: 'cron' | 'timeZone' | 'at' | 'everySeconds'
  readonly message: string
}

/**
 * Makes the timing of a schedule, or says what is wrong with its times. `stored`: when it was stored, from which
 * `everySeconds` counts.
 */
export function makeTiming(times: ScheduleTimes, stored: number): Timing | TimesFault {
  const { cron, at, everySeconds } = times
  if (at !== undefined) return onceAt(at)
  if (everySeconds !== undefined) {
    const every = everySeconds * 1000
    const countAt = (time: number) => Math.floor((time - stored) / every)
    return {
      next: (after) => stored + every * Math.max(1, countAt(after) + 1),
      last: (until) => (countAt(until) > 0 ? stored + every * countAt(until) : undefined),
    }
  }
  return cronTiming(cron ?? '', times.timeZone ?? 'UTC')
}

/** Matches RFC 3339 with an offset; seconds may be left out. */
const MOMENT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,9})?)?(?:Z|[+-]\d\d:\d\d)$/

function onceAt(text: string): Timing | TimesFault {
  const at = MOMENT.test(text) ? Date.parse(text) : NaN
  // `Date.parse` reads 30 February as 2 March.
  const isDay = !Number.isNaN(at) && new Date(`${text.slice(0, 10)}T00:00Z`).toISOString().startsWith(text.slice(0, 10))
  if (!isDay) {
    return { path: 'at', message: 'must be a time with its offset, such as 2026-02-28T08:00:00+01:00.' }
  }
  return { next: (after) => (at > after ? at : undefined), last: (until) => (at <= until ? at : undefined) }
}

/** Matches five fields, or a name such as `@daily`. Croner also reads seconds, years and single dates. */
const CRON = /^(?:@(?:yearly|annually|monthly|weekly|daily|midnight|hourly)|\S+(?: \S+){4})$/i

/** The patterns and the time zones that were read lately: reading one takes longer than the start of a run. */
const cronTimings = new RecentMap<string, Timing | TimesFault>({ most: 1000 })
const knownZones = new RecentMap<string, boolean>({ most: 1000 })

function cronTiming(cron: string, timeZone: string): Timing | TimesFault {
  const name = `${timeZone} ${cron}`
  const timing = cronTimings.get(name) ?? readCron(cron, timeZone)
  cronTimings.set(name, timing)
  return timing
}

/** Whether the runtime knows a time zone. */
function isZone(timeZone: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone }).format(0) !== ''
  } catch {
    return false
  }
}

function readCron(text: string, timeZone: string): Timing | TimesFault {
  // People copy patterns with blanks around them, and with tabs from a crontab.
  const cron = text.trim().replace(/\s+/g, ' ')
  const isKnown = knownZones.get(timeZone) ?? isZone(timeZone)
  knownZones.set(timeZone, isKnown)
  if (!isKnown) return { path: 'timeZone', message: 'must be the IANA name of a time zone, such as Europe/Berlin.' }
  const expected = 'must have five fields (minute, hour, day, month, weekday), such as "0 8 * * 1-5", or a name'
  if (!CRON.test(cron)) return { path: 'cron', message: `${expected} such as "@daily".` }
  try {
    // It sets no timers, as it has no function to call.
    const times = new Cron(cron, { timezone: timeZone })
    return {
      next: (after) => times.nextRun(new Date(after))?.getTime(),
      // Those before a time, so that one at `until` is among them.
      last: (until) => times.previousRuns(1, new Date(until + 1))[0]?.getTime(),
    }
  } catch (error) {
    const reason = error instanceof Error ? error.message.replace(/^Cron\w+: /, '') : String(error)
    return { path: 'cron', message: `${expected} such as "@daily": ${reason}` }
  }
}
