import type { ScheduleTimes } from '../../contract/schedule.ts'
import { duration, moment } from '../part/text.ts'

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat', 'Sun']

/** When the runs of a schedule are due, in words for the usual patterns; other patterns as they are. */
export function timesText({ cron, at, everySeconds }: ScheduleTimes): string {
  if (at !== undefined) return `Once, ${moment(Date.parse(at))}`
  return everySeconds === undefined ? patternText(cron ?? '') : `Every ${spanText(everySeconds)}`
}

/** The time zone of the times; none for those that are the same everywhere. */
export function zoneText({ cron, timeZone = 'UTC' }: ScheduleTimes): string {
  return cron === undefined ? '' : timeZone
}

/** A span without what is zero in it, such as `30 min`. */
function spanText(seconds: number): string {
  return duration(seconds * 1000).replace(/ 0 (?:s|min)$/, '')
}

function patternText(cron: string): string {
  const [, minute = '', hour = '', weekdays = ''] = /^(\d+) (\d+) \* \* (\*|1-5|[0-7])$/.exec(cron) ?? []
  if (minute === '') return cron
  const days = weekdays === '*' ? 'Daily' : weekdays === '1-5' ? 'Weekdays' : (DAYS[Number(weekdays)] ?? '')
  return `${days} ${hour.padStart(2, '0')}:${minute.padStart(2, '0')}`
}

/** How long it is until the next due time. */
export function nextText(next: string | undefined, now: number): string {
  if (next === undefined) return 'no further time'
  const ms = Date.parse(next) - now
  return ms <= 0 ? 'now' : `in ${duration(Math.max(1000, ms))}`
}
