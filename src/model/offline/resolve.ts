/**
 * Resolves words about time to a moment, on the clock of the present. A weekday is the coming one, never today; `下周五`
 * and “Friday next week” are in the next calendar week. A day without a time of day means 09:00. An hour that could be
 * a.m. or p.m. means the next of the two; with a day, hours up to six mean the afternoon. A date without a year is the
 * coming one.
 */
import { fromWall, inZone, type Moment, readMoment, wall } from './moment.ts'
import { DAY, hasDay, type When } from './when.ts'

/** Returns the moment that the words mean at `now`. */
export function resolve(when: When, now: Moment): Moment {
  if (when.instant !== undefined) return readMoment(when.instant, now.zone) ?? now
  const today = wall(now).getTime()
  const day = dayOf(when, today)
  const isSpan = (when.ms ?? when.days ?? when.months) !== undefined
  if (!when.clock && (isSpan || !hasDay(when))) {
    const { epoch, offset } = fromWall(day.getTime() + (today % DAY), now)
    return inZone({ epoch: epoch + (when.ms ?? 0), offset }, now.zone)
  }
  const [hour, minute] = when.clock ?? [9, 0]
  const step = when.either ? DAY / 2 : DAY
  let target = day.getTime() + hour * 3_600_000 + minute * 60_000
  if (!hasDay(when)) while (target <= today) target += step
  else if (when.either && hour < 7) target += step
  return fromWall(target, now)
}

/** Returns the start of the day that the words mean, in UTC fields. */
function dayOf(when: When, today: number): Date {
  const day = new Date(today - (today % DAY))
  if (when.date) {
    const [year, month, date] = when.date
    day.setUTCFullYear(year ?? day.getUTCFullYear(), month - 1, date)
    if (year === undefined && day.getTime() < today - DAY) day.setUTCFullYear(day.getUTCFullYear() + 1)
  } else if (when.day !== undefined) day.setUTCDate(day.getUTCDate() + when.day)
  else if (when.weekday !== undefined) {
    const ahead = (when.weekday - day.getUTCDay() + 7) % 7 || 7
    // Weeks begin on Monday: if the coming weekday lies after Sunday, it is in the next week already.
    const isThisWeek = ahead + ((day.getUTCDay() + 6) % 7) < 7
    day.setUTCDate(day.getUTCDate() + ahead + (when.nextWeek && isThisWeek ? 7 : 0))
  }
  day.setUTCMonth(day.getUTCMonth() + (when.months ?? 0), day.getUTCDate() + (when.days ?? 0))
  return day
}
