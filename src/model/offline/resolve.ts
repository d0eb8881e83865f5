/**
 * From words about time to the moment they mean, on the clock of the present. A weekday is the coming one, never
 * today; `下周五` and “Friday next week” are the next calendar week's. A day without a time of day means 09:00. An hour
 * that could be a.m. or p.m. is the next of the two, and with a day the afternoon's up to six. A date without a year is
 * the coming one.
 */
import { fromWall, inZone, type Moment, readMoment, wall } from './moment.ts'
import { DAY, hasDay, type When } from './when.ts'

/** The moment meant, seen from `now`. */
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

/** The midnight that begins the day meant, in UTC fields. */
function dayOf(when: When, today: number): Date {
  const day = new Date(today - (today % DAY))
  if (when.date) {
    const [year, month, date] = when.date
    day.setUTCFullYear(year ?? day.getUTCFullYear(), month - 1, date)
    if (year === undefined && day.getTime() < today - DAY) day.setUTCFullYear(day.getUTCFullYear() + 1)
  } else if (when.day !== undefined) day.setUTCDate(day.getUTCDate() + when.day)
  else if (when.weekday !== undefined) {
    const ahead = (when.weekday - day.getUTCDay() + 7) % 7 || 7
    // Weeks begin on Monday: past Sunday, the coming such day is next week's already.
    const isThisWeek = ahead + ((day.getUTCDay() + 6) % 7) < 7
    day.setUTCDate(day.getUTCDate() + ahead + (when.nextWeek && isThisWeek ? 7 : 0))
  }
  day.setUTCMonth(day.getUTCMonth() + (when.months ?? 0), day.getUTCDate() + (when.days ?? 0))
  return day
}
