/**
 * Parses words about time, English and Chinese: `in 10 minutes`, `tomorrow at 5pm`, `next Friday`, `20 November`, `明天`,
 * `半小时后`, `下周五下午三点`. The result is relative: `resolve` computes the moment once the present time is known.
 */
import { NUMBER, parseNumber } from './number.ts'
import { HAN } from './text.ts'

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
  nextWeek?: boolean
  /** The duration to add, in calendar months, calendar days and exact milliseconds. */
  months?: number
  days?: number
  ms?: number
  clock?: readonly [hour: number, minute: number]
  /** Whether the hour may be a.m. or p.m. */
  either?: boolean
  /** The hour that stands for the named part of the day: 9, 12, 15 or 20. */
  part?: number
}

export const DAY = 86_400_000
/** The longest duration that is accepted, in days. */
const FARTHEST = 36_500

const MONTHS = 'jan feb mar apr may jun jul aug sep oct nov dec'
const WEEKDAYS = ['sun', 'mon', 'tues', 'wednes', 'thurs', 'fri', 'satur']
const HAN_DAYS = '日一二三四五六'

/** The size of each unit: in milliseconds, or in months (1 and 12) for months and years. */
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^s|秒/, 1000],
  [/^mo|月/, 1],
  [/^m|分/, 60_000],
  [/^h|时|钟/, 3_600_000],
  [/^d|天/, DAY],
  [/^w|周|星/, 7 * DAY],
  [/^y|年/, 12],
]
const UNIT =
  '(?:(?:seconds?|secs?|m[inute]{4,6}s?|mins?|hours?|hrs?|days?|weeks?|months?|years?|(?<=\\d ?)[smhd])\\b|' +
  '秒钟?|分钟|分(?!之)|小时|钟头|(?:天|星期|周|个月|年)(?=[之以]?[后前内]))'
const AMOUNT = `(?:${NUMBER}|(?:a )?quarter of an|half(?: an?)?|\\ban?\\b|半)`
const SPAN = `(?<![哪第每几.])(${AMOUNT})( and a half)?[ -]*个?(半)?(${UNIT})( and a half)?`
const SPANS =
  '(?:\\b(?:in|after|once|when|within|for|about|around|another|of|the|next|wait|give (?:it|me)|until|' +
  'at the end of|say) +|\\+|再|过|等|从现在起)*' +
  `${SPAN}(?:(?:,? and |,? )?${SPAN})*` +
  "(?:'?s?'? (?:from (?:now|this moment)|later|hence|(?:have|has|had)? ?(?:passed|elapsed|gone by)|" +
  '(?:is|are) (?:up|over)|time\\b|on\\b|ago|before)|了?钟?[之以]?[后前]|的时候)*'
const NTH = '(\\d{1,2})(?:st|nd|rd|th)?'
const MONTH = `(${MONTHS.replaceAll(' ', '|')})[a-z]*`
const AT = '(?:\\b(?:at|by|for|around) )?'

type Rule = readonly [RegExp, (groups: readonly string[], when: When) => boolean | void]

const on = (pattern: string, read: Rule[1]): Rule => [new RegExp(pattern, 'gi'), read]

/** The rules, applied in order. Each removes its words from the text, unless it returns false. */
const RULES: readonly Rule[] = [
  on('\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d(?::\\d\\d(?:\\.\\d+)?)?(?:Z|[+-]\\d\\d:?\\d\\d)?', ([text], when) => {
    when.instant = text ?? ''
  }),
  on('\\b(\\d{4})-(\\d\\d)-(\\d\\d)\\b', ([, year, month, day], when) => setDate(when, year, month, day)),
  on(`(?:(\\d{4})年)?(${NUMBER})月(${NUMBER})[日号]?`, ([, year, month, day], when) => setDate(when, year, month, day)),
  on(
    `(?:\\bon )?(?:(?:\\bthe )?\\b${NTH}(?: of)? )?\\b${MONTH}(?: (?:the )?${NTH}\\b)?(?:,? (\\d{4}))?`,
    ([, before, month = '', after, year], when) =>
      setDate(when, year, String(MONTHS.indexOf(month.toLowerCase()) / 4 + 1), before || after),
  ),
  on('(?:the )?day after (?:tomorrow|tmrw)\\b|(大)?后[天日]', ([, far], when) => {
    when.day = far ? 3 : 2
  }),
  on(
    '(?:\\b(?:on|by) )?\\b(?:t[uo]m+or+ow|tmrw?|' +
      '(?:(?:the )?day )?(?:(?:comes|follows|is) )?(?:right )?after today|' +
      "follows today|(?:the )?(?:next|following) day)(?:'?s)?\\b|[明听][天日儿]|明(?=[早晚])|今天[之以]后的?[那一]?天",
    (_, when) => {
      when.day = 1
    },
  ),
  on("\\b(?:today(?:'s)?|to(?=night)|this (?=morning|afternoon|evening))|今[天日]|今(?=[早晚])", (_, when) => {
    when.day ??= 0
  }),
  on("yesterday(?:'s)?|[昨琴][天日晚]", (_, when) => {
    when.day = -1
  }),
  on(
    `(?:\\b(?:on|by) )?(?:\\b(?:next|this|coming) )*\\b(${WEEKDAYS.join('|')})day\\b( next week)?`,
    ([, day = '', next], when) => {
      when.weekday = WEEKDAYS.indexOf(day.toLowerCase())
      when.nextWeek = Boolean(next)
    },
  ),
  on('(下个?)?(?:这个?|本)?(?:周|星期|礼拜)([一二三四五六日天])', ([, next, day = ''], when) => {
    when.weekday = Math.max(0, HAN_DAYS.indexOf(day))
    when.nextWeek = Boolean(next)
  }),
  on('\\bnext (week|month|year)\\b|下个?(周|星期|月)', ([, unit, han], when) => {
    if (unit === 'week' || (han && han !== '月')) when.days = 7
    else when.months = unit === 'year' ? 12 : 1
  }),
  on(
    '(?:\\b(?:at|in|on) )?(?:\\bthe )?\\b(?:(morning)|(noon|midday)|(afternoon)|(evening|night))\\b|' +
      '(凌晨|早上|早晨|上午|早(?!安))|(中午)|(下午)|(晚上|晚(?!安))',
    (groups, when) => {
      when.part = [9, 12, 15, 20][(groups.findIndex((group, at) => at > 0 && group) - 1) % 4] ?? 9
      when.clock ??= [when.part, 0]
    },
  ),
  on(`(${NUMBER})(?:点钟?|时)(?:(半)|(${NUMBER})分?)?(?!间)`, ([, hour, half, minute], when) =>
    setClock(when, hour, half ? 30 : parseNumber(minute ?? '')),
  ),
  on(`${AT}\\b(\\d{1,2})(?:[:.](\\d\\d))? ?([ap])\\.?m\\b\\.?`, ([, hour, minute, half = ''], when) => {
    when.part = /p/i.test(half) ? 15 : 9
    return setClock(when, String(Number(hour) % 12), Number(minute))
  }),
  on(`${AT}\\b(\\d{1,2}):(\\d\\d)(?::\\d\\d)?\\b`, ([, hour, minute], when) => setClock(when, hour, Number(minute))),
  on(`\\bat (${NUMBER})(?= *(?:$|[,.:;!?\\v]|to\\b|that\\b|please\\b))|(${NUMBER}) ?o'?clock`, ([, at, oclock], when) =>
    setClock(when, at || oclock),
  ),
  on(SPANS, ([text = ''], when) => addSpans(when, text)),
  // “Ping me in 10 to stretch”: a number without a unit means minutes, up to 120.
  on(
    `\\bin (${NUMBER})(?= *(?:$|[,.:;!?]|to\\b))`,
    ([, minutes = ''], when) => parseNumber(minutes) < 121 && addSpans(when, `${minutes} minutes`),
  ),
]

/** Finds the time that a text names. `rest` is the text with the words about time replaced by vertical tabs. */
export function findWhen(text: string): { when?: When; rest: string } {
  const when: When = { phrase: '' }
  const phrases: (readonly [at: number, words: string])[] = []
  let rest = text
  for (const [pattern, read] of RULES) {
    rest = rest.replace(pattern, (match: string, ...groups: unknown[]) => {
      const words = groups.map((group) => (typeof group === 'string' ? group : ''))
      if (read([match, ...words.slice(0, -2)], when) === false) return match
      phrases.push([groups.findLast((group) => typeof group === 'number') ?? 0, match.trim()])
      return '\v'.repeat(match.length)
    })
  }
  if (phrases.length === 0) return { rest }
  if (when.clock && when.part !== undefined) {
    const [hour, minute] = when.clock
    when.clock = [when.part > 11 && hour < 12 ? hour + 12 : hour, minute]
    when.either = false
  }
  const inOrder = phrases.sort(([a], [b]) => a - b).map(([, words]) => words)
  when.phrase = inOrder.join(HAN.test(text) ? '' : ' ')
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
  when.either = hour > 0 && hour <= 12 && !text.startsWith('0')
  return true
}

function addSpans(when: When, text: string): boolean {
  const sign = /\bago\b|\bbefore\b|前/.test(text) ? -1 : 1
  for (const [, amount = '', half, han, unit = '', more] of text.matchAll(new RegExp(SPAN, 'gi'))) {
    const size = UNITS.find(([pattern]) => pattern.test(unit.toLowerCase()))?.[1] ?? DAY
    const value = (amountOf(amount.toLowerCase()) + (half || han || more ? 0.5 : 0)) * sign
    if (Math.abs(value) * (size < 1000 ? 31 : size / DAY) > FARTHEST) return false
    if (size < 1000) when.months = (when.months ?? 0) + value * size
    else if (size >= DAY && Number.isInteger(value)) when.days = (when.days ?? 0) + (value * size) / DAY
    else when.ms = (when.ms ?? 0) + value * size
  }
  return true
}

function amountOf(text: string): number {
  if (/half|半/.test(text)) return 0.5
  if (text.includes('quarter')) return 0.25
  return /^an?$/.test(text) ? 1 : parseNumber(text)
}

/** Tells whether the words name a calendar day. */
export function hasDay({ instant, date, day, weekday, months, days }: When): boolean {
  return (instant ?? date ?? day ?? weekday ?? months ?? days) !== undefined
}
