import { isObject } from './json.ts'
import { LONGEST_TIMER_MS } from './pause.ts'

/** A variable that cannot be read; the edge answers nothing until it is mended. */
export class ConfigError extends Error {
  readonly variable: string

  constructor(variable: string, expected: string) {
    super(`${variable} must be ${expected}`)
    this.name = 'ConfigError'
    this.variable = variable
  }
}

/** Variables of an edge, as the platform hands them over. */
export type Vars = Readonly<Record<string, unknown>>

/** The JSON object of a variable; empty where it is not set. */
export function object<Value>(
  vars: Vars,
  name: string,
  expected: string,
  isValue: (value: unknown) => value is Value,
): Record<string, Value> {
  const value = json(vars, name, expected) ?? {}
  if (!isObject(value)) throw new ConfigError(name, expected)
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (!isValue(each)) throw new ConfigError(name, expected)
      return [key, each]
    }),
  )
}

/** What a variable says; undefined where it is not set. */
export function text(vars: Vars, name: string): string | undefined {
  const value = vars[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  if (typeof value !== 'string') throw new ConfigError(name, 'a text')
  return value.trim() || undefined
}

/** The items of a variable that lists them, with commas between. */
export function list(vars: Vars, name: string): string[] | undefined {
  return text(vars, name)
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** A whole number from 1; one that is over what a timer takes is a typing mistake. */
export function count(vars: Vars, name: string, fallback: number): number {
  const value = vars[name]
  if (value === undefined || value === '') return fallback
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 1 || number > LONGEST_TIMER_MS)
    throw new ConfigError(name, 'a whole number from 1')
  return number
}

/** One of these texts; the first where the variable is not set. */
export function oneOf<Value extends string>(vars: Vars, name: string, values: readonly [Value, ...Value[]]): Value {
  const value = text(vars, name)
  if (value === undefined) return values[0]
  const found = values.find((candidate) => candidate === value)
  if (found === undefined) throw new ConfigError(name, values.map((each) => `"${each}"`).join(' or '))
  return found
}

/** A value of JSON; undefined where the variable is not set. */
export function json(vars: Vars, name: string, expected: string): unknown {
  const value = vars[name]
  if (value === undefined || value === '') return undefined
  // A var of wrangler.toml may be JSON already.
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    throw new ConfigError(name, expected)
  }
}
