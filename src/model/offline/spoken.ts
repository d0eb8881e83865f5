/** Days, times and spans as people say them, English and Chinese. Months and weekdays are named by `Intl`. */
import { isoDate, isoTime, type Moment, readMoment, wall } from './moment.ts'
import { DAY } from './when.ts'

/** How far from now a day may lie and still be plain without its year. */
const NEAR = 180 * DAY

const DATE = /^\d{4}-\d\d-\d\d$/
const INSTANT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)? ?(?:Z|[+-]\d\d:?\d\d)?$/

export interface Tongue {
  readonly han: boolean
  /** The present; a day near it goes without its year, an instant is told on its clock. */
  readonly now?: Moment | undefined
}

/** `Saturday, 21 November 2026`. */
export function spokenDay(moment: Moment, han: boolean): string {
  const day = wall(moment)
  const year = han ? `${day.getUTCFullYear()}年` : ` ${day.getUTCFullYear()}`
  return han ? year + nameDay(day, han) : nameDay(day, han) + year
}

/** `Saturday, 21 November`, with its year where that is not the coming or last one of its name. */
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

/** `14:15 on Friday, 20 November`; of a moment of this day, the time alone. `zone`: what to say behind the time. */
export function spokenMoment(moment: Moment, tongue: Tongue, zone = ''): string {
  const time = isoTime(moment).slice(0, 5) + zone
  if (tongue.now && isoDate(moment) === isoDate(tongue.now)) return time
  const day = spokenNearDay(moment, tongue)
  return tongue.han ? `${day}${time}` : `${time} on ${day}`
}

/** A text as it is said: ISO dates and instants in words, all else as it stands. */
export function spokenText(text: string, tongue: Tongue): string {
  const moment = DATE.test(text) || INSTANT.test(text) ? readMoment(text, zoneFor(text, tongue)) : undefined
  if (!moment) return text
  if (!moment.isDay) {
    return spokenMoment(moment, tongue, text.endsWith('Z') && tongue.now?.zone === undefined ? ' UTC' : '')
  }
  if (tongue.now && Math.abs(moment.epoch - tongue.now.epoch) < NEAR) return spokenNearDay(moment, tongue)
  const day = spokenDay(moment, tongue.han)
  // Of a day long past, nobody asks the weekday.
  return tongue.han ? day.replace(/星期.$/, '') : day.replace(/^\w+, /, '')
}

/** A day, and a time without an offset, are told as they stand. */
function zoneFor(text: string, { now }: Tongue): string | undefined {
  return /Z$|[+-]\d\d:?\d\d$/.test(text) && !DATE.test(text) ? now?.zone : undefined
}

const SPANS = [
  [DAY, 'day', '天'],
  [3_600_000, 'hour', '小时'],
  [60_000, 'minute', '分钟'],
  [1000, 'second', '秒'],
] as const

/** `1 hour 30 minutes`; `''` for less than a second. */
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
