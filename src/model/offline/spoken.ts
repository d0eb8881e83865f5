/** Formats days, times and durations as people say them, in English and Chinese. `Intl` names months and weekdays. */
import { isoDate, isoTime, type Moment, readMoment, wall } from './moment.ts'
import { DAY } from './when.ts'

/** The distance from now up to which a day needs no year, in milliseconds. */
const NEAR = 180 * DAY

const DATE = /^\d{4}-\d\d-\d\d$/
const INSTANT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)? ?(?:Z|[+-]\d\d:?\d\d)?$/

export interface Tongue {
  readonly han: boolean
  /** The present time. Days near it are told without a year, and instants on its clock. */
  readonly now?: Moment | undefined
}

/** Formats a day with its year: `Saturday, 21 November 2026`. */
export function spokenDay(moment: Moment, han: boolean): string {
  const day = wall(moment)
  const year = han ? `${day.getUTCFullYear()}年` : ` ${day.getUTCFullYear()}`
  return han ? year + nameDay(day, han) : nameDay(day, han) + year
}

/** Formats a day near the present as `Saturday, 21 November`, any other with its year. */
export function spokenNearDay(moment: Moment, { han, now }: Tongue): string {
  const isNear = now !== undefined && Math.abs(moment.epoch - now.epoch) < NEAR
  return isNear ? nameDay(wall(moment), han) : spokenDay(moment, han)
}

function nameDay(day: Date, han: boolean): string {
  const part = (options: Intl.DateTimeFormatOptions): string =>
    new Intl.DateTimeFormat(han ? 'zh-CN' : 'en-GB', { ...options, timeZone: 'UTC' }).format(day)
  const weekday = part({ weekday: 'long' })
  if (han) return `${day.getUTCMonth() + 1}月${day.getUTCDate()}日${weekday}`
  return `${weekday}, ${day.getUTCDate()} ${part({ month: 'long' })}`
}

/** Formats `14:15 on Friday, 20 November`, or only the time if it is today. `zone` is appended to the time. */
export function spokenMoment(moment: Moment, tongue: Tongue, zone = ''): string {
  const time = isoTime(moment).slice(0, 5) + zone
  if (tongue.now && isoDate(moment) === isoDate(tongue.now)) return time
  const day = spokenNearDay(moment, tongue)
  return tongue.han ? `${day}${time}` : `${time} on ${day}`
}

/** Replaces an ISO date or instant with words; returns any other text unchanged. */
export function spokenText(text: string, tongue: Tongue): string {
  const moment = DATE.test(text) || INSTANT.test(text) ? readMoment(text, zoneFor(text, tongue)) : undefined
  if (!moment) return text
  if (!moment.isDay) {
    return spokenMoment(moment, tongue, text.endsWith('Z') && tongue.now?.zone === undefined ? ' UTC' : '')
  }
  if (tongue.now && Math.abs(moment.epoch - tongue.now.epoch) < NEAR) return spokenNearDay(moment, tongue)
  const day = spokenDay(moment, tongue.han)
  // The weekday of a distant day is of no interest.
  return tongue.han ? day.replace(/星期.$/, '') : day.replace(/^\w+, /, '')
}

/** Returns the zone to convert an instant to. Dates, and times without an offset, are not converted. */
function zoneFor(text: string, { now }: Tongue): string | undefined {
  return /Z$|[+-]\d\d:?\d\d$/.test(text) && !DATE.test(text) ? now?.zone : undefined
}

const SPANS = [
  [DAY, 'day', '天'],
  [3_600_000, 'hour', '小时'],
  [60_000, 'minute', '分钟'],
  [1000, 'second', '秒'],
] as const

/** Formats a duration: `1 hour 30 minutes`; `''` for less than a second. */
export function spokenSpan(ms: number, han: boolean): string {
  let rest = ms
  const parts = SPANS.flatMap(([size, name, hanName]) => {
    const count = Math.floor(rest / size)
    rest -= count * size
    if (count === 0) return []
    return han ? `${count}${hanName}` : `${count} ${name}${count === 1 ? '' : 's'}`
  })
  return parts.join(han ? '' : ' ')
}
