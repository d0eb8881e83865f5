import type { Deed } from './exam-tool.ts'
import { clockFace, HOME, type Moment } from './moment.ts'
import * as put from './paraphrases.ts'

/** A question, the ways to put it, and what a right sitting comes to. */
export interface Question {
  readonly asks: string
  readonly paraphrases: readonly string[]
  /** What must be done at least once, and never with other arguments. */
  readonly does: (deed: Deed, moment: Moment) => boolean
  /** What may be done on the way. */
  readonly may?: Deed['does']
  /** Whether the thing must be done once only. */
  readonly once?: boolean
  readonly says: (answer: string, moment: Moment, deeds: readonly Deed[]) => boolean
}

const MINUTE = 60_000
const CHANGCHUN = /^(?:长春|長春)市?(?:[,，].*)?$|^changchun(?:[, (].*)?$/i
const COPENHAGEN = /^(?:copenhagen|københavn)(?:[, (]+(?:denmark|dk)\)?)?$/i

export const QUESTIONS: readonly Question[] = [
  {
    asks: 'time in Tokyo',
    paraphrases: put.TIME_IN_TOKYO,
    does: (deed) => deed.does === 'clock' && (deed.zone === 'Asia/Tokyo' || deed.zone === 'Japan'),
    says: (answer, { now }) => clockFace(now, 'Asia/Tokyo').test(answer),
  },
  {
    asks: 'square root',
    paraphrases: put.SQUARE_ROOT,
    does: (deed) => deed.does === 'root' && deed.value === 475_695_037_565,
    // 689706.4865…, grouped or not, cut or rounded to two places or more.
    says: (answer) => /689[,.\s’']?706[.,]4[89]/.test(answer),
  },
  {
    asks: 'remind to stretch',
    paraphrases: put.REMIND_TO_STRETCH,
    does: (deed, moment) => isInTenMinutes(deed, moment) && /stretch/i.test(deed.message),
    may: 'clock',
    once: true,
    says: (answer, { now }) => {
      return /stretch|\b(?:10|ten) ?min/i.test(answer) || clockFace(now + 10 * MINUTE, HOME).test(answer)
    },
  },
  {
    asks: 'rain in Copenhagen tomorrow',
    paraphrases: put.RAIN_IN_COPENHAGEN,
    does: (deed, { tomorrow }) => deed.does === 'weather' && COPENHAGEN.test(deed.place) && deed.date === tomorrow,
    may: 'clock',
    says: (answer) => /\b(?:rain|shower|dry|wet|umbrella|precipitation)/i.test(answer),
  },
  {
    asks: 'day tomorrow',
    paraphrases: put.DAY_TOMORROW,
    does: (deed) => deed.does === 'clock',
    says: (answer, moment) => moment.weekdayTomorrow.test(answer) || saysDay(answer, moment),
  },
  {
    asks: 'customer 42',
    paraphrases: put.CUSTOMER_42,
    does: (deed) => deed.does === 'customer' && deed.id === 42,
    says: (answer) => answer.includes('Ada Okafor'),
  },
  {
    asks: '明天是多少号',
    paraphrases: put.DATE_TOMORROW,
    does: (deed) => deed.does === 'clock',
    says: saysDay,
  },
  {
    asks: '十分钟后提醒我',
    paraphrases: put.REMIND_ME,
    // Any message will do but none at all, or a shred of the time such as 钟后.
    does: (deed, moment) => isInTenMinutes(deed, moment) && /^\s*[^\s钟鐘之以后後]/.test(deed.message),
    may: 'clock',
    once: true,
    says: (answer, { now }) => {
      return /(?:10|十) ?分|提醒|\b10 min|remind/i.test(answer) || clockFace(now + 10 * MINUTE, HOME).test(answer)
    },
  },
  {
    asks: '长春天气怎么样',
    paraphrases: put.WEATHER_IN_CHANGCHUN,
    does: (deed, { today }) => deed.does === 'weather' && CHANGCHUN.test(deed.place) && deed.date === today,
    may: 'clock',
    says: (answer, _, deeds) => {
      const told = deeds.flatMap((deed) => (deed.does === 'weather' ? deed.temperatures : []))
      return told.length > 0 && told.every((degrees) => new RegExp(`(?<!\\d)${Math.abs(degrees)}(?!\\d)`).test(answer))
    },
  },
]

/** Whether an answer owns up that the thing cannot be done. */
export function isRefusal(answer: string): boolean {
  return REFUSALS.some((words) => words.test(answer))
}

const REFUSALS = [
  /\bcan(?:not|['’]?t| not)\b|\bcould(?:n['’]?t| not)\b|\b(?:un|not )able\b|\bbeyond\b/i,
  /\bdo(?:n['’]?t| not) (?:have|know)\b|\b(?:have|has|there is|there['’]s) no(?:thing)?\b|\bno tools?\b|\bnone of\b/i,
  /不能|无法|無法|没法|沒法|没有|沒有|不知道|做不到|办不到|辦不到|查不到|帮不|幫不|答不/,
]

function isInTenMinutes(deed: Deed, { now }: Moment): deed is Extract<Deed, { does: 'remind' }> {
  return deed.does === 'remind' && Math.abs(deed.at - now - 10 * MINUTE) < MINUTE
}

function saysDay(answer: string, { dayTomorrow }: Moment): boolean {
  return new RegExp(`(?<![\\d:.])0?${dayTomorrow}(?![\\d:])`).test(answer)
}
