/** Confirms a reminder: when it is due, in how long, and its text. */
import type { Fact } from './facts.ts'
import { readMoment } from './moment.ts'
import { resolve } from './resolve.ts'
import type { Result } from './result.ts'
import { spokenMoment, spokenSpan } from './spoken.ts'

/** Confirms: “I will remind you at 14:24 (in 10 minutes) to stretch.” Ids are listed if the result has several. */
export function tellReminder({ reading, arguments: values, profile, now }: Result, facts: readonly Fact[]): string {
  const { when, han } = reading
  const instants = profile?.fields.filter(({ kind }) => kind === 'instant') ?? []
  const set = instants.flatMap(({ name }) => readMoment(String(values[name]), now?.zone) ?? [])[0]
  const at = set ?? (now && when && resolve(when, now))
  const time = at ? spokenMoment(at, { han, now }) : ''
  const span = when?.ms === undefined ? '' : spokenSpan(when.ms, han)
  const offset = span && (han ? `${span}后` : `in ${span}`)
  const words = values[profile?.fields.find(({ kind }) => kind === 'text')?.name ?? '']
  const label = typeof words === 'string' ? words.replace(/[.。]$/, '') : ''
  const ids = facts.filter(({ key }) => /id$/i.test(key)).map(({ value }) => String(value))
  const list = ids.length > 1 ? ` (${ids.join(', ')})` : ''
  if (han) {
    const moment = time === '' ? offset || (when?.phrase ?? '') : `${time}${offset && `（${offset}）`}`
    return `好的，${moment && `我会在${moment}`}提醒你${behindHan(label, reading.text)}。${list}`
  }
  const moment = time === '' ? offset || (when?.phrase ?? '') : `at ${time}${offset && ` (${offset})`}`
  return `I will remind you${moment && ` ${moment}`}${behind(label, reading.text)}.${list}`
}

/** A label that says nothing about what to remind of. */
const NOTHING = /^(?:reminder|alarm|timer|提醒|闹钟|时间到.?)?$/i

/** Returns ` to stretch` if the question has it so, else `: stretch`. */
function behind(label: string, question: string): string {
  if (NOTHING.test(label)) return ''
  const at = question.toLowerCase().indexOf(label.toLowerCase())
  const link = /\b(to|about|of)\s+$/i.exec(question.slice(0, Math.max(at, 0)))?.[1]?.toLowerCase()
  return link === undefined ? `: ${label}` : ` ${link} ${label}`
}

/** Returns 喝水 if the question has it right after 我, else ：喝水. */
function behindHan(label: string, question: string): string {
  if (NOTHING.test(label)) return ''
  return question.includes(`我${label}`) ? label : `：${label}`
}
