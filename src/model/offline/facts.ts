/**
 * What a tool's JSON result says, as a flat list of facts, and how those that matter to a question are told: those it
 * asks for by name, else all. Of a list with an entry a day, only the entry of the day in question counts.
 */
import { isObject } from '../../contract/json.ts'
import type { Reading } from './read.ts'
import { wordsOf } from './vocabulary.ts'

export interface Fact {
  /** The last name on the way to the value; `''` for a bare value. */
  readonly key: string
  readonly value: string | number | boolean
}

const MOST_FACTS = 40

/** The facts of a result that is JSON; undefined for plain text. */
export function factsOf(text: string, date = '?'): readonly Fact[] | undefined {
  const facts: Fact[] = []
  const walk = (key: string, value: unknown): void => {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') facts.push({ key, value })
    else if (Array.isArray(value)) {
      const entry: unknown = value.find((item) => JSON.stringify(item).includes(`"${date}`))
      for (const item of entry === undefined ? value : [entry]) walk(key, item)
    } else if (isObject(value)) for (const [name, inner] of Object.entries(value)) walk(name, inner)
  }
  try {
    walk('', JSON.parse(text))
  } catch {
    return undefined
  }
  return facts.slice(0, MOST_FACTS)
}

/** `plan: pro; since: 2021` */
export function listed(facts: readonly Fact[], { terms }: Reading): string {
  const isAsked = ({ key }: Fact): boolean => wordsOf(key).some(({ stem }) => terms.has(`=${stem}`))
  const shown = facts.some(isAsked)
    ? facts.filter((fact) => isAsked(fact) || /^(?:id|name|title)$/i.test(fact.key))
    : facts
  const said = shown.map(({ key, value }) => {
    const spaced = key.replace(/_/g, ' ').replace(/([a-z\d])([A-Z])/g, '$1 $2')
    const name = spaced.replace(/[A-Z](?=[a-z])/g, (letter) => letter.toLowerCase())
    return name === '' ? String(value) : `${name}: ${value}`
  })
  return [...new Set(said)].join('; ')
}

const RAIN = /rain|shower|drizzle|sleet|storm|snow|hail|雨|雪/i
const DRY = /\bno (?:rain|precip)|dry|无雨/i

/** Whether it rains, where the question is of rain and the result says. */
export function rains({ text, topics }: Reading, facts: readonly Fact[]): boolean | undefined {
  const asksRain = /rain|umbrella|\bwet|\bdry|shower|pour|drizzl|precip|soak|雨|伞/i.test(text)
  if (!asksRain || !topics.has('weather')) return undefined
  const of = (pattern: RegExp): Fact['value'] | undefined => facts.find(({ key }) => pattern.test(key))?.value
  const chance = of(/(?:precip|rain).*(?:prob|chance)|(?:prob|chance).*(?:precip|rain)|^pop$/i)
  if (typeof chance === 'number') return chance >= (chance < 1 ? 0.5 : 50)
  const amount = of(/precip|rain|umbrella/i)
  if (typeof amount === 'number' || typeof amount === 'boolean') return Number(amount) > 0
  const words = facts.map(({ value }) => String(value)).find((value) => RAIN.test(value) || DRY.test(value))
  return words === undefined ? undefined : !DRY.test(words)
}
