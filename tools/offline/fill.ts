/**
 * Fills the arguments of a tool from the words of a question. What the question does not say is never invented: a
 * required field without a value is missing, an optional one is left out.
 */
import { DAY, inZone, isoDate, isoDateTime, type Moment } from './moment.ts'
import { properName, type Proper } from './place.ts'
import type { Quantity, Reading } from './reading.ts'
import { type Field, wordsIn } from './schema.ts'
import { draftOf, taskOf } from './task.ts'
import type { Tool } from './tool.ts'
import { wordsOf } from './vocabulary.ts'
import { hasDay, resolve, type When } from './when.ts'

export type Values = Readonly<Record<string, unknown>>

export interface Filled {
  readonly values: Values
  /** The required fields that the question gives no value for. */
  readonly missing: readonly Field[]
  /** Whether a value depends on the present time, which is not known yet. */
  readonly needsNow: boolean
  /** The parts of the reading that the values come from. */
  readonly used: ReadonlySet<unknown>
}

export interface Question {
  readonly tool: Tool
  readonly reading: Reading
  readonly now?: Moment | undefined
  /** Whether the reading is a reply to the question for what was missing. */
  readonly isReply?: boolean
}

const NEEDS_NOW = Symbol('needs now')
/** Marks in `used` that the free text of the question went into a value. */
export const FREE_TEXT = Symbol('free text')
const COUNT = /^(?:n|num|count|quantity|how many|(?:number|amount|count) of \w+|\w+ (?:count|quantity))$/
const HEADING = /\b(?:subject|title|headline)\b/

export function fill(question: Question): Filled {
  const used = new Set<unknown>()
  const values: Record<string, unknown> = {}
  const missing: Field[] = []
  let needsNow = false
  for (const field of question.tool.fields) {
    const own = valueOf(field, question, used)
    const value = own ?? (field.isRequired ? fallback(field, question) : undefined)
    if (value === NEEDS_NOW) needsNow = true
    else if (value !== undefined) values[field.name] = value
    if (field.isRequired && value === undefined) missing.push(field)
  }
  return { values, missing, needsNow, used }
}

/** Returns the value of a required field that the question does not name but that follows from the definition. */
function fallback(field: Field, { tool, reading, isReply }: Question): unknown {
  if (field.initial !== undefined) return field.initial
  if (field.kind === 'boolean') return false
  if (field.options.length === 1) return field.options[0]
  // A description such as `YYYY-MM-DD, or "latest"` says itself what stands for no choice.
  const [, neutral] = /"(latest|now|today|current|any|all|auto)"/.exec(field.description) ?? []
  if (neutral !== undefined && !reading.when) return neutral
  if (field.kind !== 'text') return undefined
  if (HEADING.test(field.words)) return draftOf('text', reading) ?? reading.quotes[0]
  if (isReply) return reading.text
  return tool.topics.has('remind') && tool.action === 'create' ? (reading.isHan ? '提醒' : 'Reminder') : undefined
}

function valueOf(field: Field, question: Question, used: Set<unknown>): unknown {
  const { reading } = question
  const { kind, isRequired, types } = field
  const take = <Part>(part: Part | undefined): Part | undefined => {
    if (part !== undefined) used.add(part)
    return part
  }
  const fresh = <Part>(parts: readonly Part[]): readonly Part[] => parts.filter((part) => !used.has(part))
  switch (kind) {
    case 'enum':
      return field.options.find((option) => mentions(reading, String(option)))
    case 'boolean':
      return mentions(reading, field.words) || undefined
    case 'zone':
      return take(fresh(reading.names).find((name) => name.zone && name !== reading.clockPlace))?.zone
    case 'place':
      return take(placeOf(fresh(reading.names)))?.name ?? (isRequired ? guessPlace(question) : undefined)
    case 'person':
      return take(personOf(fresh(reading.names), field))?.name
    // Only codes are read: which dollar is meant, no rule knows.
    case 'currency':
      return take(fresh(reading.text.match(/\b[A-Z]{3}\b/g) ?? [])[0])
    case 'number':
    case 'id': {
      const code = kind === 'id' && types[0] === 'string' && isRequired ? take(fresh(reading.codes)[0]) : undefined
      const number = code ?? take(quantityOf(field, question.tool, fresh(reading.numbers)))?.value
      if (number === undefined || types[0] === 'string') return number
      // A JavaScript number holds 15 digits; a field that takes text too gets all of them.
      return number.length > 15 && types.includes('string') ? number : Number(number)
    }
    case 'expression':
      for (const number of reading.expression === undefined ? [] : reading.numbers) used.add(number)
      return take(reading.expression)
    case 'email':
      return take(fresh(reading.emails)[0])
    case 'url':
      return take(fresh(reading.urls)[0])
    case 'object':
      return undefined
    case 'text':
      return textOf(field, question, used)
    default:
      return timeOf(field, question, used)
  }
}

function mentions({ text }: Reading, option: string): boolean {
  const present = new Set(wordsOf(text).map((word) => word.text))
  return wordsOf(option).every((word) => present.has(word.text))
}

/**
 * Returns the number that is meant for a field: one beside the field's word; for a field that counts, one before a word
 * of the tool's name, as in “roll 2 dice”; or any if the field is required and its name says nothing.
 */
function quantityOf(field: Field, tool: Tool, numbers: readonly Quantity[]): Quantity | undefined {
  const { words, kind, isRequired } = field
  const isAmong = (own: readonly string[], word: string): boolean => word !== '' && own.includes(singular(word))
  const own = words.split(' ').map(singular)
  const beside = numbers.find(({ unit, tag }) => isAmong(own, unit) || isAmong(own, tag))
  const isCount = COUNT.test(words)
  const things = wordsIn(tool.name).split(' ').map(singular)
  const counted = isCount ? numbers.find(({ unit }) => isAmong(things, unit)) : undefined
  const isGeneral = kind === 'id' || /^(?:[a-z]\d?|num|n|(?:\w+ )?(?:number|value|amount|input))$/.test(words)
  return beside ?? counted ?? (isRequired && (isGeneral || isCount) ? numbers[0] : undefined)
}

function singular(word: string): string {
  return word.toLowerCase().replace(/s$/, '')
}

function placeOf(names: readonly Proper[]): Proper | undefined {
  return (
    names.find(({ zone }) => zone !== undefined) ??
    names.find(({ lead }) => /^(?:in|at|near|to)$/.test(lead)) ??
    names.find(({ at }) => at > 0)
  )
}

/**
 * Returns the person that is meant for a field: the one after the field's word, as in “with name Ada”, else the first
 * with several names, else the first.
 */
function personOf(names: readonly Proper[], { words }: Field): Proper | undefined {
  const people = names.filter(({ zone, lead }) => zone === undefined && !/^(?:in|at|near|to)$/.test(lead))
  const own = words.split(' ')
  return people.find(({ lead }) => own.includes(lead)) ?? people.find(({ name }) => name.includes(' ')) ?? people[0]
}

/** Returns a place that no capital shows: `in aarhus`, or Chinese characters that are not a known word. */
function guessPlace({ reading, isReply }: Question): string | undefined {
  const unknown = reading.words.filter(({ isKnown }) => !isKnown)
  if (reading.isHan) return unknown.map(({ text }) => text).join('') || undefined
  const [, led = ''] = /\b(?:in|for|at|near) (?!me\b|it\b|the\b|my\b)([\p{L}'-]+) *[\v.?!]*$/u.exec(reading.prose) ?? []
  return properName(led || (isReply ? reading.text.replace(/[.!?]+$/, '') : '')) || undefined
}

function textOf(field: Field, { tool, reading }: Question, used: Set<unknown>): string | undefined {
  const isMail = tool.fields.some(({ kind }) => kind === 'email')
  const quote =
    field.isRequired && !HEADING.test(field.words) ? reading.quotes.find((each) => !used.has(each)) : undefined
  const value = draftOf(field.words, reading) ?? quote
  const free = !field.isRequired || isMail ? '' : taskOf(tool, reading)
  if (value !== undefined) used.add(value)
  if (value !== undefined || free !== '') used.add(FREE_TEXT)
  return value ?? (free || undefined)
}

/** Returns the value of a field about time, or `NEEDS_NOW` if the present must be known first. */
function timeOf({ kind, unit, isRequired, types }: Field, question: Question, used: Set<unknown>): unknown {
  const { reading, tool, now } = question
  const { when, clockPlace } = reading
  if (!when) return undefined
  const units = tool.fields.flatMap((other) => (other.kind === 'duration' ? sizeOf(other.unit) : []))
  const span = spanOf(when)
  // A moment beside durations is where they start from.
  const isStart = kind === 'instant' && units.length > 0
  if (isStart && !when.instant && !when.date && !when.clock) return undefined
  if (kind === 'duration' && span === undefined && !isRequired) return undefined
  used.add(when)
  if (clockPlace) used.add(clockPlace)
  if (kind === 'date' && !isRequired && (!hasDay(when) || when.day === 0)) return undefined
  if (kind === 'duration' && span !== undefined) return shareOf(span, sizeOf(unit), units)
  const isAbsolute =
    when.instant !== undefined || (when.date?.[0] !== undefined && span === undefined && kind === 'date')
  if (!now && !isAbsolute) return NEEDS_NOW
  const here = inZone(now ?? { epoch: 0, offset: 0 }, clockPlace?.zone)
  const { ms: _ms, days: _days, months: _months, ...start } = when
  // “When it is 3 pm in London” is today, whether that is over or not.
  const target = resolve({ ...(isStart ? start : when), ...(clockPlace && { day: 0, isEither: false }) }, here)
  if (kind === 'duration') return Math.round((target.epoch - here.epoch) / sizeOf(unit))
  const text = kind === 'date' || (isStart && !when.clock && !when.instant) ? isoDate(target) : isoDateTime(target)
  return types[0] === 'string' ? text : undefined
}

/** Returns the length of the words in milliseconds, if they name one that is the same in every month. */
function spanOf({ ms, days, day, clock, date, weekday, months }: When): number | undefined {
  if (months !== undefined) return undefined
  if (ms !== undefined || days !== undefined) return (ms ?? 0) + (days ?? 0) * DAY
  return clock || date || weekday !== undefined || day === undefined ? undefined : day * DAY
}

/** Returns the part of a length that goes to a field, if a tool takes several units; none goes to months and years. */
function shareOf(ms: number, size: number, units: readonly number[]): number | undefined {
  const larger = Math.min(...units.filter((other) => other > size && other <= Math.abs(ms)))
  const share = (ms % larger) / size
  const value = units.length > 1 ? Math.trunc(share) : share
  return value === 0 || size > 7 * DAY ? undefined : value
}

function sizeOf(unit: string): number {
  const sizes = { ms: 1, mil: 1, sec: 1000, min: 60_000, hou: 3_600_000, day: DAY, wee: 7 * DAY }
  return Object.entries(sizes).find(([name]) => unit.startsWith(name))?.[1] ?? Infinity
}
