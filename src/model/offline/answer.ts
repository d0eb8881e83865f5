/**
 * Words an answer in the language of the question: what a result says about the question, or why there is no answer.
 * Facts come from results only (and from the calendar, for days and zones); an error is quoted from the tool; data that
 * is marked as a stand-in is called so.
 */
import type { ToolDefinition } from '../../contract/tool.ts'
import { allFacts, type Fact, findFacts, type Found, type List, marksStandIn } from './facts.ts'
import type { Field } from './field.ts'
import { hanName, wordsIn } from './label.ts'
import { inZone, isoDate, isoTime, readMoment, wall } from './moment.ts'
import { singular } from './phrase.ts'
import type { Reading } from './read.ts'
import { tellRecord, tellRow } from './record.ts'
import { tellReminder } from './reminder.ts'
import { resolve } from './resolve.ts'
import type { Result, Voice } from './result.ts'
import { tellSent } from './sent.ts'
import { sentence } from './sentence.ts'
import { spokenDay } from './spoken.ts'
import { tellVerdict } from './verdict.ts'
import { hasDay } from './when.ts'

/** Recognizes a question of the model, so that the next message is known to be the reply. */
export const ASKS = /I still need to know|我还需要知道/

/** Asks for the missing fields. */
export function ask(fields: readonly Field[], han: boolean): string {
  const names = fields.map(({ name, description }) => (description ? `${name} (${description})` : name)).join('; ')
  return han ? `我还需要知道：${names}` : `I still need to know: ${names}`
}

export function noClock(han: boolean): string {
  return han
    ? '这取决于现在的时间，而没有工具能告诉我。'
    : 'That depends on the present time, and no tool tells me that.'
}

/** Says why `unfit`, or the whole question, cannot be answered. */
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

/** Words what a result says about the question. */
export function tell(result: Result): string {
  const { reading, profile, text, ok, now } = result
  const { han, when } = reading
  if (!ok) return (han ? '工具返回了错误：' : 'The tool said: ') + text
  // If nothing tells the time, the first date in the result is assumed to be today.
  const today = now ?? readMoment(`${/\d{4}-\d\d-\d\d/.exec(text)?.[0]}T12:00`)
  const found = findFacts(text, when && hasDay(when) && today ? isoDate(resolve(when, today)) : undefined)
  const facts = found && allFacts(found)
  const said = profile?.tellsNow
    ? (tellTime(result) ?? text)
    : profile?.reminds
      ? tellReminder(result, facts ?? [])
      : profile?.sends
        ? tellSent(result, facts ?? [])
        : found
          ? (tellNumber(result, facts ?? []) ?? tellFound(result, found))
          : tellText(reading, text)
  const isStandIn = !profile?.sends && (facts?.some(marksStandIn) ?? /stand-?in/i.test(text))
  const words = said.trim() || tellNothing(result)
  return isStandIn ? words + (words.includes('\n') ? '\n' : han ? '' : ' ') + standInNote(reading) : words
}

/** The answer for a result that contains nothing to tell a person. */
function tellNothing({ reading: { han }, profile }: Result): string {
  if (profile && profile.action !== 'read') return han ? '已完成。' : 'Done.'
  return han ? '工具的回答里没有内容。' : 'The tool answered, but told nothing.'
}

function standInNote({ han, topics }: Reading): string {
  const isWeather = topics.has('weather')
  if (han) return isWeather ? '（这是模拟数据，不是真实预报。）' : '（这是模拟数据。）'
  return `(This is stand-in data, not ${isWeather ? 'a real forecast' : 'the real thing'}.)`
}

const DAYS = [
  ['Yesterday was', '昨天是'],
  ['Today is', '今天是'],
  ['Tomorrow is', '明天是'],
  ['The day after tomorrow is', '后天是'],
] as const

/** Tells the present time, or a day or time computed from it; undefined if the result tells no time. */
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
    const day = `${named ?? phrase + (han ? '是' : ':')}${han ? '' : ' '}${time}${spokenDay(target, han)}${end}`
    if (!named || when.weekday === undefined) return day
    const isSame = when.weekday === wall(target).getUTCDay()
    return (han ? (isSame ? '是的，' : '不是，') : isSame ? 'Yes. ' : 'No. ') + day
  }
  const day = spokenDay(now, han)
  if (!terms.has('time') || told.isDay) return `${han ? '今天是' : 'Today is '}${day}${zone}${end}`
  const time = isoTime(now).slice(0, 5)
  if (han) return `${isThere ? place.name : ''}现在是${time}，${day}${zone}${end}`
  return `It is ${time} on ${day}${isThere ? ` in ${place.name}` : ''}${zone}${end}`
}

/** Tells the result of a calculation; undefined if none was asked for. */
function tellNumber({ reading, arguments: values }: Result, facts: readonly Fact[]): string | undefined {
  const { terms, topics, numbers, sum, han } = reading
  const given = Object.values(values)
  const isNumber = ({ value }: Fact): boolean => /^-?\d+(?:\.\d+)?(?:e[+-]?\d+)?$/i.test(String(value))
  const isNews = (fact: Fact): boolean => isNumber(fact) && !given.includes(fact.value)
  const { value } = facts.find(isNews) ?? facts.findLast(isNumber) ?? {}
  const [number] = numbers
  if (value === undefined || !topics.has('calc')) return undefined
  if (!terms.has('root') || number === undefined) return sum && `${sum} = ${value}`
  return han ? `${number}的平方根是${value}。` : `The square root of ${number} is ${value}.`
}

/** Quotes a text from the tool, preceded by its verdict if it gives one. */
function tellText(reading: Reading, text: string): string {
  const verdict = tellVerdict(reading, [{ key: 'summary', value: text }])
  if (verdict === undefined) return text
  return reading.han ? `${verdict}。${text}` : `${sentence(verdict)}. ${text}`
}

const MOST_ROWS = 20

/** Tells the record of a result in a sentence, then its lists with a line for each row. */
function tellFound(voice: Voice, found: Found): string {
  const { reading } = voice
  const [only, second] = found.facts
  if (only?.key === '' && typeof only.value === 'string' && !second) return tellText(reading, only.value)
  const verdict = tellVerdict(reading, allFacts(found))
  const record = tellRecord(found.facts, voice, verdict)
  const stop = reading.han ? '。' : '.'
  const said = record === '' || /[.。!?]$/.test(record) ? record : record + stop
  const lists = found.lists.map((list) => tellList(list, voice))
  return [said, ...lists].filter(Boolean).join('\n')
}

function tellList({ key, rows }: List, voice: Voice): string {
  const { han } = voice.reading
  const name = wordsIn(key).join(' ')
  if (rows.length === 0) {
    if (han) return `没有${hanName(name) ?? '结果'}。`
    return name === '' ? 'Nothing was found.' : `There are no ${name}.`
  }
  const lines = rows.slice(0, MOST_ROWS).map((row) => `- ${tellRow(row, voice, rows.length === 1)}`)
  const more = rows.length - lines.length
  if (more > 0) lines.push(han ? `- 还有${more}个` : `- and ${more} more`)
  const things = name || 'results'
  const count = rows.length === 1 ? `There is 1 ${singular(things)}` : `There are ${rows.length} ${things}`
  return [han ? `共${rows.length}个${hanName(name) ?? '结果'}：` : `${count}:`, ...lines].join('\n')
}
