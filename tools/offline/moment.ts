/** Instants with a local clock. `Intl` knows the offsets of time zones. */

export interface Moment {
  /** The instant in epoch milliseconds. */
  readonly epoch: number
  /** The UTC offset of the clock in minutes, positive east. */
  readonly offset: number
  readonly zone?: string | undefined
}

export const DAY = 86_400_000
const MINUTE = 60_000
const ISO = /(\d{4}-\d\d-\d\d)(?:[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)? ?(Z|[+-]\d\d:?\d\d)?)?/
const ZONE = /\b[A-Z]\w+\/[A-Z][\w/+-]+|\bUTC\b/

function minutesOf(offset: string): number {
  const [, sign, hours, minutes] = /([+-])(\d\d):?(\d\d)/.exec(offset) ?? []
  return sign ? Number(`${sign}1`) * (Number(hours) * 60 + Number(minutes)) : 0
}

/** Returns the same instant on the clock of a zone, or the moment unchanged if the zone is unknown. */
export function inZone(moment: Moment, zone: string | undefined): Moment {
  if (zone === undefined) return moment
  try {
    const format = new Intl.DateTimeFormat('en', { timeZone: zone, timeZoneName: 'longOffset' })
    return { epoch: moment.epoch, offset: minutesOf(format.format(moment.epoch)), zone }
  } catch {
    return moment
  }
}

/** Returns a Date whose UTC fields are the local time of the moment. */
export function wall({ epoch, offset }: Moment): Date {
  return new Date(epoch + offset * MINUTE)
}

/** Returns the moment at which the clock of `like` shows the UTC fields of `wallTime`. */
export function fromWall(wallTime: number, like: Moment): Moment {
  const { offset } = inZone({ ...like, epoch: wallTime - like.offset * MINUTE }, like.zone)
  return { epoch: wallTime - offset * MINUTE, offset, zone: like.zone }
}

/** Formats the local date as `YYYY-MM-DD`. */
export function isoDate(moment: Moment): string {
  return wall(moment).toISOString().slice(0, 10)
}

/** Formats the local time as `HH:MM`. */
export function isoTime(moment: Moment): string {
  return wall(moment).toISOString().slice(11, 16)
}

/** Formats the local date and time with the UTC offset, to the second. */
export function isoDateTime(moment: Moment): string {
  const offset = new Date(Math.abs(moment.offset) * MINUTE).toISOString().slice(11, 16)
  return `${wall(moment).toISOString().slice(0, 19)}${moment.offset < 0 ? '-' : '+'}${offset}`
}

/** Reads the date-time of a tool's result; undefined if there is none. A date alone is midnight. */
export function readMoment(text: string): Moment | undefined {
  const zone = ZONE.exec(text)?.[0]
  const local = /\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)? ?[+-]\d\d:?\d\d/.exec(text)?.[0]
  const [, day, time = '00:00', offset] = ISO.exec(local ?? text) ?? []
  const wallTime = Date.parse(`${day}T${time}Z`)
  if (Number.isNaN(wallTime)) return undefined
  if (!offset) return fromWall(wallTime, { epoch: 0, offset: 0, zone })
  const moment = { epoch: wallTime - minutesOf(offset) * MINUTE, offset: minutesOf(offset) }
  const inPlace = inZone(moment, zone)
  return offset === 'Z' || inPlace.offset === moment.offset ? inPlace : moment
}

/** Formats a day as `Saturday, 21 November 2026` or `2026年11月21日星期六`. */
export function spokenDay(moment: Moment, isHan: boolean): string {
  const format = new Intl.DateTimeFormat(isHan ? 'zh-CN' : 'en-GB', { dateStyle: 'full', timeZone: 'UTC' })
  return format.format(wall(moment))
}

/** Replaces an ISO date or date-time by words; returns any other text unchanged. */
export function spokenMoment(text: string, isHan: boolean): string {
  if (!new RegExp(`^${ISO.source}$`).test(text)) return text
  const moment = readMoment(text)
  if (!moment) return text
  const day = spokenDay(moment, isHan)
  return text.length > 10 ? `${isoTime(moment)}${text.endsWith('Z') ? ' UTC' : ''}, ${day}` : day
}
