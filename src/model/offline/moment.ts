/**
 * Instants with a local clock. A moment is read from a tool's result (an ISO 8601 date-time, a date and a time, or an
 * epoch number) and written to arguments as ISO 8601 text. `Intl` provides the offsets of time zones.
 */
import { findWhen } from './when.ts'

export interface Moment {
  /** The instant in epoch milliseconds. */
  readonly epoch: number
  /** The UTC offset of the clock in minutes, positive east. */
  readonly offset: number
  readonly zone?: string | undefined
  /** Whether only the day is known. */
  readonly isDay?: boolean
}

const MINUTE = 60_000
const ISO = /(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:\.\d+)? ?(Z|[+-]\d\d:?\d\d)?/g
const ZONE = /\b[A-Z]\w+\/[A-Z][\w/+-]+|\b(?:UTC|GMT)\b/

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

export function isoDate(moment: Moment): string {
  return wall(moment).toISOString().slice(0, 10)
}

/** Formats the local time as `HH:MM:SS`. */
export function isoTime(moment: Moment): string {
  return wall(moment).toISOString().slice(11, 19)
}

/** Formats the local date and time with the UTC offset, to the second. */
export function isoDateTime(moment: Moment): string {
  const offset = new Date(Math.abs(moment.offset) * MINUTE).toISOString().slice(11, 16)
  return `${isoDate(moment)}T${isoTime(moment)}${moment.offset < 0 ? '-' : '+'}${offset}`
}

/** Reads the moment that a text tells. `asked` is the zone to use if the text names none. */
export function readMoment(text: string, asked?: string): Moment | undefined {
  const zone = ZONE.exec(text)?.[0] ?? asked
  const all = [...text.matchAll(ISO)]
  // If an instant is given in UTC and in local time, the local time has more information.
  const iso = all.find(([, , , offset]) => offset && offset !== 'Z') ?? all[0]
  const epoch = iso ? undefined : /(?<![\d.])1\d{9}(?:\d{3})?(?!\d)/.exec(text)?.[0]
  if (epoch) return inZone({ epoch: Number(epoch.padEnd(13, '0')), offset: 0 }, zone)
  const [, day, time, offset] = iso ?? ['', ...apart(text)]
  const wallTime = Date.parse(`${day}T${time ?? '00:00'}Z`)
  if (Number.isNaN(wallTime)) return undefined
  if (!offset) return { ...fromWall(wallTime, { epoch: 0, offset: 0, zone }), isDay: time === undefined }
  const minutes = minutesOf(offset)
  const moment = { epoch: wallTime - minutes * MINUTE, offset: minutes }
  const local = inZone(moment, zone)
  return offset === 'Z' || local.offset === minutes ? local : moment
}

/** Reads a date and a time of day that are separate, or in words. */
function apart(text: string): readonly [day: string | undefined, time: string | undefined] {
  const { date: [year, month, day] = [], clock } = findWhen(text).when ?? {}
  const two = (value: number | undefined): string => String(value).padStart(2, '0')
  const time = /(?<!\d)\d\d:\d\d(?::\d\d)?(?!\d)/.exec(text)?.[0] ?? (clock && `${two(clock[0])}:${two(clock[1])}`)
  return [year === undefined ? undefined : `${year}-${two(month)}-${two(day)}`, time]
}
