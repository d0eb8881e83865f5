/**
 * Fills the arguments of a tool from the message. A required field that the message does not mention is asked for,
 * never invented; an optional one is left out. There are four defaults: the label of a reminder is “Reminder”, the day
 * of a tool that only reads is today, the time zone of a date is UTC, and a required flag that is not mentioned is
 * false.
 */
import { leftOf, textOf, type Wish } from './compose.ts'
import type { Field } from './field.ts'
import { isoDate, isoDateTime, isoTime, type Moment, wall } from './moment.ts'
import { properName, zoneOf } from './place.ts'
import type { Reading } from './read.ts'
import { resolve } from './resolve.ts'
import { wordsOf } from './vocabulary.ts'
import { DAY, hasDay } from './when.ts'

export interface Filled {
  readonly values: Readonly<Record<string, unknown>>
  /** The required fields that the message gives no value for. */
  readonly missing: readonly Field[]
  /** Whether a value depends on the present time, which is not known yet. */
  readonly needsNow: boolean
}

export interface Source extends Wish {
  readonly now?: Moment | undefined
  /** Whether the call only serves to learn the present time, so that any zone or place will do. */
  readonly forTime?: boolean
}

const NEEDS_NOW = Symbol('needs now')
const UNIT_MS: Readonly<Record<string, number>> = { ms: 1, second: 1000, minute: 60_000, hour: 3_600_000, day: DAY }

/** Returns the arguments for `fields`, by default those of the profile. */
export function fill(source: Source, fields: readonly Field[] = source.profile.fields): Filled {
  const values: Record<string, unknown> = {}
  const missing: Field[] = []
  let needsNow = false
  // The second number field takes the second number, and so on.
  const taken: Field[] = []
  for (const field of fields) {
    const inner = field.kind === 'object' ? fill(source, field.fields) : undefined
    const isEmpty = inner && Object.keys(inner.values).length === 0
    const found = isEmpty ? undefined : (inner?.values ?? valueOf(field, source, taken))
    const value = found ?? (field.required ? fallback(field, source) : field.isNullable ? null : undefined)
    if (value === NEEDS_NOW || inner?.needsNow) needsNow = true
    else if (value !== undefined) values[field.name] = value
    else if (field.required) missing.push(...(inner ? inner.missing : [field]))
    taken.push(field)
  }
  return { values, missing, needsNow }
}

/** Returns the default of a required field that the message does not mention. */
function fallback(field: Field, { profile, reading, now, forTime }: Source): unknown {
  const options = optionsOf(field)
  if (field.schema.default !== undefined) return field.schema.default
  if (field.kind === 'boolean') return false
  if (field.kind === 'enum' && options.length === 1) return options[0]
  // A question without a time is about the present.
  if (field.kind === 'enum' && !reading.when)
    return options.find((option) => /^(?:today|now|current)$/i.test(String(option)))
  if (field.kind === 'zone' && reading.places.length === 0 && (forTime || !reading.terms.has('time'))) return 'UTC'
  if (field.kind === 'place' && forTime) return 'London'
  if (field.kind === 'text' && profile.reminds) return reading.han ? '提醒' : 'Reminder'
  if (field.kind === 'date' && profile.action === 'read' && !reading.when) return now ? isoDate(now) : NEEDS_NOW
  const reply = reading.reply?.replace(/^\s*(?:in|at|for) |[.!?\s]+$/gi, '')
  if (field.kind === 'place') return reply && properName(reply)
  return field.kind === 'text' || (field.kind === 'id' && field.types[0] === 'string') ? reply : undefined
}

function valueOf(field: Field, source: Source, taken: readonly Field[]): unknown {
  const { reading, forTime } = source
  const { kind, required } = field
  const before = taken.filter((other) => other.kind === kind).length
  if (forTime && !required) return undefined
  switch (kind) {
    case 'enum':
      return optionsOf(field)
        .map((option) => ({ option, said: mentions(reading, String(option)) }))
        .filter(({ said }) => said > (required ? 0 : 8))
        .sort((a, b) => b.said - a.said)[0]?.option
    case 'boolean':
      return mentions(reading, field.name) > 8 || undefined
    case 'zone':
      return reading.places[0] && (reading.places[0].zone ?? zoneOf(reading.places[0].name))
    case 'place':
      return reading.places[before]?.name ?? (required && !forTime && before === 0 ? guessPlace(source) : undefined)
    case 'number':
    case 'id': {
      if (!required && kind === 'number' && mentions(reading, field.name) < 9) return undefined
      const number = (kind === 'id' && before === 0 ? reading.id : undefined) ?? reading.numbers[before]
      if (field.types[0] === 'string') return reading.codes[before] ?? number
      // A JavaScript number holds 15 digits; a field that also accepts a string gets all of them.
      return number && (number.length > 15 && field.types.includes('string') ? number : Number(number))
    }
    case 'sum':
      return reading.sum
    case 'email':
      return reading.emails[before]
    case 'url':
      return reading.urls[before]
    case 'array': {
      const [item] = field.fields
      const value = item && valueOf({ ...item, required }, source, [])
      return value === undefined || value === NEEDS_NOW ? value : [value]
    }
    case 'text':
      return textOf(field, source)
    default:
      return timeOf(field, source)
  }
}

function optionsOf({ schema }: Field): readonly unknown[] {
  return Array.isArray(schema.enum) ? schema.enum : [schema.const]
}

/** Scores how surely the message mentions an option or a flag: 9 by its words, less by their meaning, 0 not at all. */
function mentions({ text, terms, when }: Reading, option: string): number {
  if (when && option.toLowerCase() === ['yesterday', 'today', 'tomorrow'][(when.day ?? 9) + 1]) return 9
  const said = new Set(wordsOf(text).map((word) => word.stem))
  const words = wordsOf(option).filter(({ text }) => !/^(?:is|has|with|include)$/.test(text))
  return Math.min(
    ...words.map(({ stem, senses }) => (said.has(stem) ? 9 : (terms.get(senses[0]?.[0] ?? '') ?? 0))),
    words.length * 9,
  )
}

/** Guesses a place that is neither known nor capitalized: the rest of the message without everything else. */
function guessPlace(source: Source): string | undefined {
  const left = leftOf(source)
  const name = /(?:\b(?:in|for|at|near) |(^))(?!me\b|it\b|the\b)((?:[\p{L}'.-]+ ?){1,3})$/u.exec(left)
  // In a question about the time, a word without a preposition may be anything.
  return name && !(source.profile.tellsNow && name[1] === '') ? properName(name[2]?.trim() ?? '') : undefined
}

/** Returns the value of a field about time, or `NEEDS_NOW` if the present time must be known first. */
function timeOf(field: Field, { reading, now, profile }: Source): unknown {
  const { when } = reading
  const { kind, unit, required } = field
  const waits = profile.fields.filter((other) => other.kind === 'duration')
  const isAbsolute = when?.instant !== undefined || (kind === 'date' && when?.date?.[0] !== undefined)
  // An instant beside durations is the time from which they count.
  const isStart = kind === 'instant' && waits.length > 0 && !when?.date
  if (isStart && !isAbsolute) return required ? (now ? isoDateTime(now) : NEEDS_NOW) : undefined
  if (!when) return undefined
  if (kind === 'phrase') return when.phrase
  // An optional date defaults to today.
  if (kind === 'date' && !required && (!hasDay(when) || when.day === 0)) return undefined
  const span = when.ms ?? (when.clock ? undefined : (when.days ?? when.day) && (when.days ?? when.day ?? 0) * DAY)
  const isWait = kind === 'duration' || kind === 'period'
  if (isWait && span !== undefined) return waitOf(field, span, waits)
  if (isWait && !required) return undefined
  // A tool that tells only the day does not help to compute a time of day.
  const isUseless = now?.isDay && (when.ms !== undefined || !hasDay(when))
  if ((!now || isUseless) && !isAbsolute) return NEEDS_NOW
  const today = now ?? { epoch: 0, offset: 0 }
  const target = resolve(when, today)
  if (isWait) return waitOf(field, target.epoch - today.epoch, [])
  if (kind === 'date') return isoDate(target)
  if (kind === 'clock') return isoTime(target).slice(0, /ss/i.test(field.description) ? 8 : 5)
  if (kind === 'epoch') return Math.round(target.epoch / (unit === 'ms' ? 1 : 1000))
  if (kind !== 'part') return isoDateTime(target)
  const parts = wall(target).toISOString().split(/\D/)
  return Number(parts[['year', 'month', 'day', 'hour', 'minute'].indexOf(unit)])
}

/** Converts a duration to the field's unit. If a tool has several duration fields, each gets its part. */
function waitOf({ kind, unit, types, required }: Field, ms: number, waits: readonly Field[]): unknown {
  if (kind === 'period') {
    const [hours, minutes, seconds] = [Math.trunc(ms / 3_600_000), Math.trunc(ms / 60_000) % 60, (ms / 1000) % 60]
    return `PT${hours ? `${hours}H` : ''}${minutes ? `${minutes}M` : ''}${seconds ? `${seconds}S` : ''}`
  }
  const size = UNIT_MS[unit] ?? 1
  const sizes = waits.map((other) => UNIT_MS[other.unit] ?? 1)
  const larger = Math.min(...sizes.filter((other) => other > size && other <= Math.abs(ms)))
  const share = (ms % larger) / size
  const value = types[0] === 'integer' || sizes.some((other) => other < size) ? Math.trunc(share) : share
  if (value === 0 && !required) return undefined
  return types[0] === 'string' ? String(value) : value
}
