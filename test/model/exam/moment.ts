/** Where the person who asks lives. */
export const HOME = 'Europe/Berlin'

const DAY = 86_400_000

/** A moment of asking, and what it makes of the right answers. */
export interface Moment {
  readonly now: number
  /** YYYY-MM-DD at home, as `tomorrow`. */
  readonly today: string
  readonly tomorrow: string
  /** In English and Chinese. */
  readonly weekdayTomorrow: RegExp
  /** Day of the month, without a leading zero. */
  readonly dayTomorrow: string
}

export function momentOf(now: number): Moment {
  const tomorrow = dayAt(now + DAY)
  const weekday = (locale: string, style: 'long' | 'short') =>
    new Date(`${tomorrow}T12:00:00Z`).toLocaleDateString(locale, { weekday: style, timeZone: 'UTC' })
  return {
    now,
    today: dayAt(now),
    tomorrow,
    weekdayTomorrow: new RegExp(
      [weekday('en-GB', 'long'), weekday('zh-CN', 'long'), weekday('zh-CN', 'short')].join('|'),
      'i',
    ),
    dayTomorrow: String(Number(tomorrow.slice(8))),
  }
}

/** The date at home at an instant, as YYYY-MM-DD. */
export function dayAt(instant: number): string {
  // The Swedish way to write a date is the ISO one.
  return new Date(instant).toLocaleDateString('sv-SE', { timeZone: HOME })
}

/** The time of day of an instant in a zone: at 14:05, `14:05`, `2:05 pm` and `下午2:05` are all right. */
export function clockFace(instant: number, zone: string): RegExp {
  const [hour = '', minute = ''] = new Date(instant).toLocaleTimeString('sv-SE', { timeZone: zone }).split(':')
  const twelve = Number(hour) % 12 || 12
  const half = Number(hour) < 12 ? 'a' : 'p'
  const chinese = Number(hour) < 12 ? '[上凌早]' : '[下晚]'
  return new RegExp(
    `\\b${hour}:${minute}|(?<!\\d)0?${twelve}:${minute}(:\\d\\d)?\\s*${half}\\.?m|${chinese}.{1,2}${twelve}[:点]${minute}`,
    'i',
  )
}
