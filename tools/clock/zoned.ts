/**
 * Time-zone arithmetic with Intl's zone data, because workerd has no Temporal. An `instant` is in epoch milliseconds. A
 * `wall` is a local date and time (the reading of a wall clock), stored as the epoch milliseconds of the same reading
 * in UTC, so that calendar arithmetic on it is UTC arithmetic. Offsets are in milliseconds, positive east of Greenwich.
 */

const DAY = 86_400_000

let last: { readonly timeZone: string; readonly format: Intl.DateTimeFormat } | undefined

/**
 * Returns a format that shows a zone's offset. Throws a RangeError for a zone that Intl does not know. The last format
 * is cached: making one is slow, and a call needs the same one several times.
 */
function offsetFormat(timeZone: string): Intl.DateTimeFormat {
  if (last?.timeZone !== timeZone) {
    last = { timeZone, format: new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' }) }
  }
  return last.format
}

export function isTimeZone(name: string): boolean {
  try {
    offsetFormat(name)
    return true
  } catch {
    return false
  }
}

/** Returns a zone's offset from UTC at an instant. Old local mean times have seconds: `GMT+05:41:16`. */
export function offsetAt(instant: number, timeZone: string): number {
  const name = offsetFormat(timeZone)
    .formatToParts(instant)
    .find((part) => part.type === 'timeZoneName')?.value
  const [, sign, hours, minutes, seconds = '0'] = /^GMT([+-])(\d\d):(\d\d)(?::(\d\d))?$/.exec(name ?? '') ?? []
  // Some engines write a zero offset as a bare `GMT`.
  if (sign === undefined) return 0
  const offset = (Number(hours) * 3600 + Number(minutes) * 60 + Number(seconds)) * 1000
  return sign === '-' ? -offset : offset
}

export function toWall(instant: number, timeZone: string): number {
  return instant + offsetAt(instant, timeZone)
}

/**
 * Returns the instant at which a zone's clocks show `wall`. As in Temporal's `compatible` mode, a reading that occurs
 * twice means the earlier instant, and one that is skipped is moved later by the length of the gap.
 */
export function toInstant(wall: number, timeZone: string): number {
  const before = offsetAt(wall - DAY, timeZone)
  const after = offsetAt(wall + DAY, timeZone)
  const candidates = [before, after].filter((offset) => offsetAt(wall - offset, timeZone) === offset)
  return candidates.length === 0 ? wall - before : wall - Math.max(...candidates)
}

export interface CalendarAmounts {
  readonly years: number
  readonly months: number
  readonly weeks: number
  readonly days: number
}

/** Adds years and months first, limiting the day to the last one of the month, then weeks and days. */
export function addCalendar(wall: number, { years, months, weeks, days }: CalendarAmounts): number {
  const from = new Date(wall)
  const date = new Date(wall)
  date.setUTCFullYear(from.getUTCFullYear() + years, from.getUTCMonth() + months, 1)
  date.setUTCDate(Math.min(from.getUTCDate(), daysInMonth(date)) + weeks * 7 + days)
  return date.getTime()
}

function daysInMonth(date: Date): number {
  const last = new Date(date)
  last.setUTCMonth(date.getUTCMonth() + 1, 0)
  return last.getUTCDate()
}
