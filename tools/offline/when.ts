/**
 * Reads words about time, English and Chinese: `in 10 minutes`, `tomorrow at 5pm`, `last Tuesday`, `20 November`,
 * `3 pm in London`, `半小时后`, `下周五下午三点`. What is read is relative: `resolve` reckons the moment once the
 * present is known.
 */
import { DAY, fromWall, inZone, type Moment, readMoment, wall } from './moment.ts'
import { NUMBER, parseNumber } from './number.ts'

export interface When {
  /** The words about time, as they are in the text. */
  phrase: string
  /** An ISO 8601 date-time. */
  instant?: string
  date?: readonly [year: number | undefined, month: number, day: number]
  /** The day relative to today: 1 is tomorrow. */
  day?: number
  /** The day of the week; Sunday is 0. */
  weekday?: number
  /** The week of the weekday: -1 the last such day, 1 that of the next calendar week, 0 the coming one. */
  week?: number
  /** The amounts to add: calendar months, calendar days, exact milliseconds. */
  months?: number
  days?: number
  ms?: number
  clock?: readonly [hour: number, minute: number]
  /** Whether the hour may be a.m. or p.m. */
  isEither?: boolean
  /** The hour that stands for the named part of the day: 9, 12, 15 or 20. */
  part?: number
}

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'
const WEEKDAYS = ['sun', 'mon', 'tues', 'wednes', 'thurs', 'fri', 'satur']
const DAYS: readonly (readonly [words: string, day: number])[] = [
  ['(?:the )?day after tomorrow\\b|后[天日]', 2],
  ['(?:the )?day before yesterday\\b|前[天日]', -2],
  ["(?:\\b(?:on|by|from) )?\\b(?:tom+or+ow|tmrw)(?:'?s)?\\b|[明听][天日儿]|明(?=[早晚])", 1],
  ["\\b(?:today(?:'?s)?|tonight)\\b|今[天日]|今(?=[早晚])", 0],
  ["\\byesterday(?:'?s)?\\b|昨[天日]", -1],
]
const HAN_DAYS = '日一二三四五六'
/** The longest time that is reckoned with, in days. */
const FARTHEST = 36_500

/** The units, and the size of each: in milliseconds, or in months (1 and 12). */
const UNITS = [/^s|秒/, /^mo|月/, /^m|分/, /^h|时|钟/, /^d|天/, /^w|周|星/, /^y|年/]
const SIZES = [1000, 1, 60_000, 3_600_000, DAY, 7 * DAY, 12]
const UNIT =
  '(?:(?:seconds?|secs?|minutes?|mins?|hours?|hrs?|days?|weeks?|months?|years?|(?<=\\d ?)[smhd])\\b|' +
  '秒钟?|分钟|分(?!之)|小时|钟头|(?:天|星期|周|个月|年)(?=[之以]?[后前]))'
const AMOUNT = `(?:${NUMBER}|half(?: an?)?|\\ban?\\b|半)`
const SPAN = `(?<![哪第每几.])(${AMOUNT})( and a half)?[ -]*个?(半)?(${UNIT})( and a half)?`
const SPANS =
  `(?:\\b(?:in|after|for|within) +|再|过)*${SPAN}(?:(?:,? and |,? )?${SPAN})*` +
  "(?:'?s? (?:from now|later|ago|before)\\b|[之以]?[后前])?"
const NTH = '(\\d{1,2})(?:st|nd|rd|th)?'
const MONTH = `(${MONTHS.replaceAll(' ', '|')})[a-z]*\\b`
const AT = '(?:\\b(?:at|by|around) )?'

type Rule = readonly [pattern: RegExp, read: (groups: readonly string[], when: When) => boolean | void]
const on = (pattern: string, read: Rule[1]): Rule => [new RegExp(pattern, 'gi'), read]

/** Applied in order. Each takes its words out of the text, unless it returns false. */
const RULES: readonly Rule[] = [
  on('\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?(?:Z|[+-]\\d\\d:?\\d\\d)?', ([text], when) => {
    when.instant = text ?? ''
  }),
  on('\\b(\\d{4})-(\\d\\d)-(\\d\\d)\\b', ([, year, month, day], when) => setDate(when, year, month, day)),
  on(`(?:(\\d{4})年)?(${NUMBER})月(${NUMBER})[日号]?`, ([, year, month, day], when) => setDate(when, year, month, day)),
  on(
    `(?:\\b(?:on|from) )?(?:(?:\\bthe )?\\b${NTH}(?: of)? )?\\b${MONTH}(?: (?:the )?${NTH}\\b)?(?:,? (\\d{4}))?`,
    ([, before, month = '', after, year], when) =>
      setDate(when, year, String(MONTHS.indexOf(month.toLowerCase()) / 4 + 1), before || after),
  ),
  ...DAYS.map(([words, day]) => on(words, (_, when) => void (when.day = day))),
  on(
    `(?:\\b(?:on|by|from) )?(?:\\b(last|past|previous|next|this|coming) )?\\b(${WEEKDAYS.join('|')})day\\b( next week)?`,
    ([, which = '', day = '', next], when) => {
      if (when.day !== undefined) return false
      when.weekday = WEEKDAYS.indexOf(day.toLowerCase())
      when.week = /^(?:last|past|previous)$/i.test(which) ? -1 : next ? 1 : 0
      return true
    },
  ),
  on('(上个?|下个?)?(?:这个?|本)?(?:周|星期|礼拜)([一二三四五六日天])', ([, which = '', day = ''], when) => {
    when.weekday = Math.max(0, HAN_DAYS.indexOf(day))
    when.week = which.startsWith('上') ? -1 : which ? 1 : 0
  }),
  on('\\b(next|last) (week|month|year)\\b', ([, which = '', unit = ''], when) => {
    addSpans(when, `1 ${unit} ${/last/i.test(which) ? 'ago' : ''}`)
  }),
  on(
    '(?:\\b(?:at|in|on|this) )?(?:\\bthe )?\\b(?:(morning)|(noon|midday)|(afternoon)|(evening|night))\\b|' +
      '(凌晨|早上|早晨|上午)|(中午)|(下午)|(晚上)',
    (groups, when) => {
      when.part = [9, 12, 15, 20][(groups.findIndex((group, at) => at > 0 && group !== '') - 1) % 4] ?? 9
      when.clock ??= [when.part, 0]
    },
  ),
  on(`(${NUMBER})(?:点钟?|时(?!间))(?:(半)|(${NUMBER})分?)?`, ([, hour, half, minute], when) =>
    setClock(when, hour, half ? 30 : parseNumber(minute ?? '')),
  ),
  on(`${AT}\\b(\\d{1,2})(?:[:.](\\d\\d))? ?([ap])\\.?m\\b\\.?`, ([, hour, minute, half = ''], when) => {
    when.part = /p/i.test(half) ? 15 : 9
    return setClock(when, String(Number(hour) % 12), Number(minute))
  }),
  on(`${AT}\\b(\\d{1,2}):(\\d\\d)(?::\\d\\d)?\\b`, ([, hour, minute], when) => setClock(when, hour, Number(minute))),
  on(`\\bat (${NUMBER})(?= *(?:$|[,.:;!?\\v]|to\\b|that\\b))`, ([, at], when) => setClock(when, at)),
  on(SPANS, ([text = ''], when) => addSpans(when, text)),
]

/** Finds the time that a text names. `rest` is the text with the words about time replaced by vertical tabs. */
export function findWhen(text: string): { when?: When; rest: string } {
  const when: When = { phrase: '' }
  let rest = text
  for (const [pattern, read] of RULES) {
    rest = rest.replace(pattern, (match: string, ...groups: unknown[]) => {
      const words = groups.map((group) => (typeof group === 'string' ? group : ''))
      if (read([match, ...words.slice(0, -2)], when) === false) return match
      return '\v'.repeat(match.length)
    })
  }
  if (rest === text) return { rest }
  if (when.clock && when.part !== undefined) {
    const [hour, minute] = when.clock
    when.clock = [when.part > 11 && hour < 12 ? hour + 12 : hour, minute]
    when.isEither = false
  }
  const phrases = Array.from(rest.matchAll(/\v+/g), ({ 0: { length }, index }) => text.slice(index, index + length))
  when.phrase = phrases
    .join(' ')
    .replace(/[\s\v]+/g, ' ')
    .trim()
  return { when, rest }
}

function setDate(when: When, year: string | undefined, month = '', day = ''): boolean {
  const [m, d] = [parseNumber(month), parseNumber(day)]
  if (m < 1 || m > 12 || d < 1 || d > 31) return false
  when.date = [year ? Number(year) : undefined, m, d]
  return true
}

function setClock(when: When, text = '', minute = 0): boolean {
  const hour = parseNumber(text)
  if (hour > 24 || minute > 59) return false
  when.clock = [hour, minute]
  when.isEither = hour > 0 && hour <= 12 && !text.startsWith('0')
  return true
}

function addSpans(when: When, text: string): boolean {
  const sign = /\bago\b|\bbefore\b|前/.test(text) ? -1 : 1
  for (const [, amount = '', half, han, unit = '', more] of text.matchAll(new RegExp(SPAN, 'gi'))) {
    const size = SIZES[UNITS.findIndex((pattern) => pattern.test(unit.toLowerCase()))] ?? DAY
    const amountValue = /half|半/.test(amount) ? 0.5 : /^an?$/i.test(amount) ? 1 : parseNumber(amount)
    const value = (amountValue + (half || han || more ? 0.5 : 0)) * sign
    if (Math.abs(value) * (size < 1000 ? 31 : size / DAY) > FARTHEST) return false
    if (size < 1000) when.months = (when.months ?? 0) + value * size
    else if (size >= DAY && Number.isInteger(value)) when.days = (when.days ?? 0) + (value * size) / DAY
    else when.ms = (when.ms ?? 0) + value * size
  }
  return true
}

/** Tells whether the words name a calendar day. */
export function hasDay({ instant, date, day, weekday, months, days }: When): boolean {
  return (instant ?? date ?? day ?? weekday ?? months ?? days) !== undefined
}

/**
 * Returns the moment that the words mean at `now`. A day without a time of day means 09:00; an hour that may be a.m. or
 * p.m. the next of the two, with a day hours up to six the afternoon; a date without a year the coming one.
 */
export function resolve(when: When, now: Moment): Moment {
  if (when.instant !== undefined) return readMoment(when.instant) ?? now
  const today = wall(now).getTime()
  const day = dayOf(when, today)
  const isSpan = (when.ms ?? when.days ?? when.months) !== undefined
  if (!when.clock && (isSpan || !hasDay(when))) {
    const { epoch, offset } = fromWall(day + (today % DAY), now)
    return inZone({ epoch: epoch + (when.ms ?? 0), offset }, now.zone)
  }
  const [hour, minute] = when.clock ?? [9, 0]
  const step = when.isEither ? DAY / 2 : DAY
  let target = day + hour * 3_600_000 + minute * 60_000
  if (!hasDay(when)) while (target <= today) target += step
  else if (when.isEither && hour < 7) target += step
  return fromWall(target, now)
}

/** Returns the start of the day that the words mean, as UTC fields. */
function dayOf(when: When, today: number): number {
  const day = new Date(today - (today % DAY))
  if (when.date) {
    const [year, month, date] = when.date
    day.setUTCFullYear(year ?? day.getUTCFullYear(), month - 1, date)
    if (year === undefined && day.getTime() < today - DAY) day.setUTCFullYear(day.getUTCFullYear() + 1)
  } else if (when.day !== undefined) day.setUTCDate(day.getUTCDate() + when.day)
  else if (when.weekday !== undefined)
    day.setUTCDate(day.getUTCDate() + daysTo(when.weekday, day.getUTCDay(), when.week))
  day.setUTCMonth(day.getUTCMonth() + (when.months ?? 0), day.getUTCDate() + (when.days ?? 0))
  return day.getTime()
}

/** Returns the number of days to a weekday, never 0. Weeks begin on Monday. */
function daysTo(weekday: number, today: number, week = 0): number {
  const ahead = (weekday - today + 7) % 7 || 7
  if (week < 0) return ahead - 7 || -7
  const isThisWeek = ahead + ((today + 6) % 7) < 7
  return ahead + (week > 0 && isThisWeek ? 7 : 0)
}
