/**
 * Time-zone arithmetic over Intl's zone data: workerd has no Temporal. An `instant` is epoch milliseconds. A `wall` is
 * what a clock on a wall shows, kept as the epoch milliseconds of the same reading in UTC, so that calendar arithmetic
 * on it is plain UTC arithmetic. Offsets are milliseconds, east of Greenwich positive.
 */

const DAY = 86_400_000

let last: { readonly timeZone: string; readonly format: Intl.DateTimeFormat } | undefined

/**
 * The format that tells a zone's offset. Throws a RangeError for a zone that Intl does not know. Making one is slow and
 * a call asks for the same one several times, so the last is kept.
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

/** How far a zone's clocks were ahead of UTC at an instant. Old local mean times have seconds: `GMT+05:41:16`. */
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
 * The instant at which a zone's clocks show `wall`, chosen as Temporal's `compatible` does: a reading that comes twice
 * is its first coming, and one that is skipped is moved later by the length of the gap.
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

/** Adds years and months first, back to the month's last day where it is shorter, then weeks and days. */
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
