/** Words what a result says, in the language of the question. Facts come from results, and days from the calendar. */
import type { Values } from './fill.ts'
import { inZone, isoTime, readMoment, spokenDay, spokenMoment } from './moment.ts'
import type { Reading } from './reading.ts'
import { isObject, parseJson, type Row, wordsIn } from './schema.ts'
import type { Tool } from './tool.ts'
import { hasDay, resolve } from './when.ts'

export interface Result {
  readonly tool: Tool
  readonly reading: Reading
  readonly values: Values
  readonly text: string
}

const MOST_ROWS = 20
/** The Chinese names of what results often tell. */
const HAN_NAMES =
  'place 地点 city 城市 date 日期 time 时间 precipitation 降水 name 姓名 company 公司 email 邮箱 plan 方案 since 起始 ' +
  'message 内容 note 备注 source 来源 id 编号 state 状态 subject 主题 price 价格 guest 客人 room 房间 summary 概况'
const UNITS = /^(?:(.*) (c|mm|cm|km|kg|percent)|(.*probability))$/

/** Returns the answer that a result gives to its question. A text, such as an error, is quoted as it is. */
export function tell(result: Result): string {
  const { tool, reading, text, values } = result
  const { isHan } = reading
  const value = parseJson(text)
  if (tool.action === 'read' && tool.tellsTime && value !== undefined) return tellTime(result) ?? text
  if (value === undefined) return text.trim() || (isHan ? '没有内容。' : 'The result is empty.')
  const done = tool.action === 'read' ? '' : isHan ? '已完成。' : 'Done. '
  if (!isObject(value)) return done + (Array.isArray(value) ? tellList('results', value, isHan) : text)
  const [argument, second] = Object.values(values)
  if ('value' in value && second === undefined) {
    const [field] = tool.fields
    return `${field?.kind === 'expression' ? '' : `${wordsIn(tool.name)} `}${String(argument)} = ${String(value['value'])}`
  }
  const lists = Object.entries(value).flatMap(([key, rows]) => (Array.isArray(rows) ? tellList(key, rows, isHan) : []))
  const record = tellRow(value, isHan)
  const end = /[^.。]$/.test(record) ? (isHan ? '。' : '.') : ''
  return [done + record + end, ...lists].filter(Boolean).join('\n')
}

/** Tells the time of a result, or a day or time reckoned from the present that it tells. */
function tellTime({ tool, reading, text }: Result): string | undefined {
  const { when, isHan, names, clockPlace, words } = reading
  // The arguments of the tool are known: an answer with a start states that before the result.
  const starts = tool.fields.flatMap(({ name, kind }) => (kind === 'instant' ? name : []))
  const news = Object.entries(parseJson(text) ?? {}).filter(([key]) => !starts.includes(key))
  const moment = readMoment(JSON.stringify(Object.fromEntries(news)))
  if (!moment) return undefined
  const place = names.find((name) => name.zone !== undefined && name !== clockPlace)
  const now = inZone(moment, place?.zone)
  const isLater = when !== undefined && (when.ms !== undefined || (hasDay(when) && when.day !== 0))
  if (isLater && (tool.tellsNow || !(when.clock || when.date))) {
    const target = tool.tellsNow ? resolve(when, now) : now
    const time = when.ms === undefined && !when.clock ? '' : `${isoTime(target)}, `
    const phrase = when.phrase.charAt(0).toUpperCase() + when.phrase.slice(1)
    return `${phrase}${isHan ? '是' : ': '}${time}${spokenDay(target, isHan)}${isHan ? '。' : '.'}`
  }
  const day = spokenDay(now, isHan)
  const isTime = words.some(({ concepts }) => concepts.includes('time'))
  const zone = now.zone === undefined ? '' : ` (${now.zone})`
  if (isHan)
    return isTime ? `${place?.name ?? ''}${tool.tellsNow ? '现在' : ''}是${isoTime(now)}，${day}。` : `${day}。`
  if (!isTime) return `It is ${day}${zone}.`
  return `It is ${isoTime(now)} on ${day}${place ? ` in ${place.name}` : ''}${zone}.`
}

/** Tells a list with a line for each row. */
function tellList(key: string, rows: readonly unknown[], isHan: boolean): string {
  if (rows.length === 0) return isHan ? '没有结果。' : `There are no ${wordsIn(key)}.`
  const lines = rows.slice(0, MOST_ROWS).map((row) => `- ${isObject(row) ? tellRow(row, isHan) : String(row)}`)
  const head = isHan ? `共${rows.length}个结果：` : `${rows.length} ${wordsIn(key)}:`
  return [head, ...lines, ...(rows.length > MOST_ROWS ? ['- …'] : [])].join('\n')
}

function tellRow(row: Row, isHan: boolean): string {
  const facts = Object.entries(row).filter(
    ([, fact]) => ['string', 'number', 'boolean'].includes(typeof fact) && fact !== '',
  )
  return facts.map(([key, fact]) => tellFact(wordsIn(key), fact, isHan)).join(isHan ? '，' : ', ')
}

function tellFact(words: string, fact: unknown, isHan: boolean): string {
  const [, measured, unit, share] = (typeof fact === 'number' && UNITS.exec(words)) || []
  const name = measured ?? words
  const hanName = isHan ? new RegExp(`(?:^| )${name} (\\S+)`).exec(HAN_NAMES)?.[1] : undefined
  const value = typeof fact === 'string' ? spokenMoment(fact, isHan) : String(fact)
  const measure = unit === undefined ? '' : unit === 'c' ? ' °C' : unit === 'percent' ? ' %' : ` ${unit}`
  return `${hanName ?? name} ${value}${share === undefined ? measure : ' %'}`
}
