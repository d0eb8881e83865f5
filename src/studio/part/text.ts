import type { Judgement } from '../../contract/decision.ts'
import { visible } from '../../contract/hidden-characters.ts'

/** How figures and texts are written. */

export function quantity(number: number, noun: string): string {
  return `${number.toLocaleString('en')} ${noun}${number === 1 ? '' : 's'}`
}

/** A time span in the unit that fits it: `43 ms`, `1.2 s`, `3 min 20 s`, `5 h 2 min`, `3 days`. */
export function duration(ms: number): string {
  // Rounded before it is divided, so that no part is 60.
  const [seconds, minutes] = [Math.round(ms / 1000), Math.round(ms / 60_000)]
  if (ms < 999.5) return `${Math.round(ms)} ms`
  if (seconds < 60) return `${(ms / 1000).toFixed(ms < 9950 ? 1 : 0)} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
  if (minutes < 1440) return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
  return quantity(Math.round(minutes / 1440), 'day')
}

/** When something was: the time today, else the date too. */
export function moment(at: number, now = Date.now()): string {
  const isToday = new Date(at).toDateString() === new Date(now).toDateString()
  return new Date(at).toLocaleString('en', {
    ...(!isToday && { day: 'numeric', month: 'short' }),
    hour: '2-digit',
    minute: '2-digit',
    hourCycle: 'h23',
  })
}

/** A cost with its currency, such as `$0.0757`: with cents from 1 on, and enough digits below. */
export function money(cost: number, currency: string): string {
  const digits = cost >= 1 || cost === 0 ? 2 : Math.min(8, Math.max(4, 1 - Math.floor(Math.log10(cost))))
  const form = { style: 'currency' as const, currency, minimumFractionDigits: digits, maximumFractionDigits: digits }
  return cost.toLocaleString('en', form)
}

/** A number of tokens, or of anything else that grows large: `6,707`, `381.4 M`. */
export function amount(number: number): string {
  if (number < 1_000_000) return Math.round(number).toLocaleString('en')
  return `${(number / 1_000_000).toLocaleString('en', { maximumFractionDigits: 1 })} M`
}

/** A part of a whole, such as `61 %`. */
export function percent(part: number, all: number): string {
  if (all <= 0) return '0 %'
  const value = (100 * part) / all
  return `${value.toLocaleString('en', { maximumFractionDigits: value < 10 && value > 0 ? 1 : 0 })} %`
}

/** A text that is cut after so many characters. */
export function shortened(text: string, most: number): string {
  return text.length > most ? `${text.slice(0, most).trimEnd()}…` : text
}

/** Parses JSON; returns other text unchanged. */
export function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** The plain values among the arguments of a call, in a few characters, to tell calls of one tool apart. */
export function argumentHint(text: string): string {
  const value = jsonOrText(text)
  if (typeof value !== 'object' || value === null) return ''
  const plain = Object.values(value).filter((each) => typeof each === 'string' || typeof each === 'number')
  return shortened(visible(plain.join(', ')).replaceAll('\n', ' '), HINT)
}

const HINT = 32

/** Words what a decision model has said about a call or its result. */
export function judgementText({ ok, model = '', answer, probabilities = {}, code }: Judgement, about = 'call'): string {
  const [go, halt] =
    about === 'call' ? ['it goes ahead', 'a person decides'] : ['its result is read', 'its result is withheld']
  if (answer === undefined) return `No answer of the decision model ${model} (${code ?? 'unknown'}): ${ok ? go : halt}.`
  const shares = Object.entries(probabilities).map(([name, share]) => `${name} ${(share * 100).toFixed(1)} %`)
  return `The decision model ${model} says ${shares.join(', ')}: ${ok ? go : halt}.`
}
