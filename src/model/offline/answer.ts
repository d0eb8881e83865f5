/**
 * The words of an answer, in the language of the question: what a result says to it, or why there is none. Facts come
 * out of results alone (and, for days and zones, by the calendar); an error is passed on as the tool worded it; data
 * that calls itself a stand-in is named as such.
 */
import type { ToolDefinition } from '../../contract/tool.ts'
import { type Fact, factsOf, listed, rains } from './facts.ts'
import type { Field } from './field.ts'
import { inZone, isoDate, isoTime, type Moment, readMoment, wall } from './moment.ts'
import type { Profile } from './profile.ts'
import type { Reading } from './read.ts'
import { resolve } from './resolve.ts'
import { hasDay } from './when.ts'

/** What became of a call. `profile` is absent where its tool is no longer on offer. */
export interface Result {
  readonly reading: Reading
  readonly profile?: Profile
  readonly arguments: Readonly<Record<string, unknown>>
  readonly ok: boolean
  readonly text: string
  readonly now?: Moment | undefined
}

/** Marks a question of ours, so that the reply to it is known for one. */
export const ASKS = /I still need to know|我还需要知道/

/** The question for what is missing. */
export function ask(fields: readonly Field[], han: boolean): string {
  const names = fields.map(({ name, description }) => (description ? `${name} (${description})` : name)).join('; ')
  return han ? `我还需要知道：${names}` : `I still need to know: ${names}`
}

export function noClock(han: boolean): string {
  return han
    ? '这取决于现在的时间，而没有工具能告诉我。'
    : 'That depends on the present time, and no tool tells me that.'
}

/** Why there is no answer to `unfit`, or to the whole question. */
export function refuse({ han, terms }: Reading, unfit: readonly string[], tools: readonly ToolDefinition[]): string {
  const names = tools.slice(0, 9).map((tool) => tool.name)
  const list = names.length > 0 ? ` (${names.join(', ')}${names.length < tools.length ? ', …' : ''})` : ''
  const isTime = !list && terms.has('now')
  const what = unfit.length > 0 ? ` “${unfit.join(' ').trim()}”` : ''
  if (han) {
    const why = isTime ? '我没有时钟，也没有能告诉我时间的工具' : `没有适用的工具${list}`
    return `抱歉，我回答不了${what || '这个问题'}：我是按固定规则工作的离线模型，${why}。`
  }
  const why = isTime ? 'I have neither a clock nor a tool that tells the time' : `no tool on offer fits${list}`
  return `Sorry, I cannot answer${what || ' that'}: I am an offline model that works by fixed rules, and ${why}.`
}

/** What a result says to the question. */
export function tell(result: Result): string {
  const { reading, profile, text, ok, now } = result
  const { han, when } = reading
  if (!ok) return (han ? '工具返回了错误：' : 'The tool said: ') + text
  // Where nothing tells the time, the first day that a result names is taken for today.
  const today = now ?? readMoment(`${/\d{4}-\d\d-\d\d/.exec(text)?.[0]}T12:00`)
  const facts = factsOf(text, when && hasDay(when) && today ? isoDate(resolve(when, today)) : undefined)
  const said = profile?.tellsNow
    ? (tellTime(result) ?? text)
    : profile?.reminds
      ? tellReminder(result, facts ?? [])
      : facts
        ? (tellNumber(result, facts) ?? tellRest(reading, facts) ?? text)
        : text
  if (!isStandIn(text, facts)) return said.trim()
  return said.trim() + (han ? '（这是模拟数据。）' : ' (This is stand-in data, not a real measurement.)')
}

function isStandIn(text: string, facts: readonly Fact[] | undefined): boolean {
  const isMark = ({ key, value }: Fact): boolean =>
    /source|provider|origin|note/i.test(key) && /stand-?in|sample|mock|fake|demo|simulat|模拟/i.test(String(value))
  return facts?.some(isMark) ?? /stand-?in/i.test(text)
}

function spoken(moment: Moment, han: boolean): string {
  return new Intl.DateTimeFormat(han ? 'zh-CN' : 'en-GB', { dateStyle: 'full', timeZone: 'UTC' }).format(wall(moment))
}

const DAYS = [
  ['Yesterday was', '昨天是'],
  ['Today is', '今天是'],
  ['Tomorrow is', '明天是'],
  ['The day after tomorrow is', '后天是'],
] as const

/** The present time, or a day or time reckoned from it; undefined where the result tells neither. */
function tellTime({ reading, text, profile }: Result): string | undefined {
  const { when, han, terms } = reading
  const [place] = reading.places
  const told = readMoment(text, place?.zone)
  if (!told) return undefined
  const now = inZone(told, place?.zone)
  const end = han ? '。' : '.'
  const zone = now.zone === undefined ? '' : ` (${now.zone})`
  const isThere = place && (place.zone !== undefined || profile?.fields.some(({ kind }) => kind === 'place'))
  if (when && (hasDay(when) || when.ms !== undefined)) {
    const target = resolve(when, now)
    const time = when.ms === undefined && !when.clock ? '' : `${isoTime(target).slice(0, 5)}, `
    const named = when.days === undefined && !time ? DAYS[(when.day ?? 9) + 1]?.[han ? 1 : 0] : undefined
    const phrase = when.phrase.charAt(0).toUpperCase() + when.phrase.slice(1)
    const day = `${named ?? phrase + (han ? '是' : ':')}${han ? '' : ' '}${time}${spoken(target, han)}${end}`
    if (!named || when.weekday === undefined) return day
    const isSame = when.weekday === wall(target).getUTCDay()
    return (han ? (isSame ? '是的，' : '不是，') : isSame ? 'Yes. ' : 'No. ') + day
  }
  const day = spoken(now, han)
  if (!terms.has('time') || told.isDay) return `${han ? '今天是' : 'Today is '}${day}${zone}${end}`
  const time = isoTime(now).slice(0, 5)
  if (han) return `${isThere ? place.name : ''}现在是${time}，${day}${zone}${end}`
  return `It is ${time} on ${day}${isThere ? ` in ${place.name}` : ''}${zone}${end}`
}

function tellReminder({ reading, arguments: values, profile, now }: Result, facts: readonly Fact[]): string {
  const { when, han } = reading
  const given = Object.values(values)
  const told = values[profile?.fields.find(({ kind }) => kind === 'text')?.name ?? '']
  const label = typeof told === 'string' ? told : ''
  const instants = profile?.fields.filter(({ kind }) => kind === 'instant') ?? []
  const set = instants.flatMap(({ name }) => readMoment(String(values[name]), now?.zone) ?? [])[0]
  const at = set ?? (now && when && resolve(when, now))
  const time = at ? `${isoTime(at).slice(0, 5)}, ${spoken(at, han)}` : ''
  const span = when ? ` (${when.phrase})` : ''
  const ids = facts.filter(({ key, value }) => /id$/i.test(key) && !given.includes(value))
  const id = ids.length > 0 ? ` (${listed(ids, reading)})` : ''
  if (han) return `提醒已设置${time && `：${time}`}${span}${label && `，${label}`}。${id}`
  return `The reminder is set${time && ` for ${time}`}${span}${label && `: ${label}`}.${id}`
}

/** What a calculation came to; undefined where none was asked for. */
function tellNumber({ reading, arguments: values }: Result, facts: readonly Fact[]): string | undefined {
  const { terms, topics, numbers, sum, han } = reading
  const given = Object.values(values)
  const isNews = ({ value }: Fact): boolean =>
    /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(String(value)) && !given.includes(value)
  const { value } = facts.find(isNews) ?? facts.at(-1) ?? {}
  const [number] = numbers
  if (value === undefined || !topics.has('calc')) return undefined
  if (!terms.has('root') || number === undefined) return sum && `${sum} = ${value}`
  return han ? `${number}的平方根是${value}。` : `The square root of ${number} is ${value}.`
}

function tellRest(reading: Reading, facts: readonly Fact[]): string | undefined {
  const rest = listed(facts, reading)
  const wet = rains(reading, facts)
  if (reading.han)
    return rest === '' ? undefined : `${wet === undefined ? '' : wet ? '很可能会下雨。' : '大概不会下雨。'}${rest}。`
  return rest === ''
    ? undefined
    : `${wet === undefined ? '' : wet ? 'Rain is likely. ' : 'Rain is not likely. '}${rest}.`
}
