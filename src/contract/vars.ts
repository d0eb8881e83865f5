import { isObject } from './json.ts'
import type { RateLimit } from './policy.ts'
import { LONGEST_TIMER_MS, withDeadline } from './time-limit.ts'
import type { ToolService } from './tool.ts'

/** A variable with an invalid value; the edge answers no request until it is corrected. */
export class ConfigError extends Error {
  readonly variable: string

  constructor(variable: string, expected: string) {
    super(`${variable} must be ${expected}`)
    this.name = 'ConfigError'
    this.variable = variable
  }
}

/** The variables of an edge, as the platform passes them. */
export type Vars = Readonly<Record<string, unknown>>

/** Reads a variable as a JSON object; empty if it is not set. */
export function objectVar<Value>(
  vars: Vars,
  name: string,
  expected: string,
  isValue: (value: unknown) => value is Value,
): Record<string, Value> {
  const value = jsonVar(vars, name, expected) ?? {}
  if (!isObject(value)) throw new ConfigError(name, expected)
  return Object.fromEntries(
    Object.entries(value).map(([key, each]) => {
      if (!isValue(each)) throw new ConfigError(name, expected)
      return [key, each]
    }),
  )
}

/** Reads a variable as trimmed text; undefined if it is not set or blank. */
export function textVar(vars: Vars, name: string): string | undefined {
  const value = vars[name]
  if (value === undefined || value === null) return undefined
  if (typeof value === 'boolean' || typeof value === 'number') return String(value)
  if (typeof value !== 'string') throw new ConfigError(name, 'a text')
  return value.trim() || undefined
}

/** Reads a variable as a comma-separated list; undefined if it is not set. */
export function listVar(vars: Vars, name: string): string[] | undefined {
  return textVar(vars, name)
    ?.split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '')
}

/** Reads a variable as a whole number from 1. A number beyond the longest timer is taken for a typing error. */
export function countVar(vars: Vars, name: string, fallback: number): number {
  const value = vars[name]
  if (value === undefined || value === '') return fallback
  const number = Number(value)
  if (!Number.isSafeInteger(number) || number < 1 || number > LONGEST_TIMER_MS)
    throw new ConfigError(name, 'a whole number from 1')
  return number
}

/** Reads a variable as one of these texts; the first if it is not set. */
export function oneOfVar<Value extends string>(vars: Vars, name: string, values: readonly [Value, ...Value[]]): Value {
  const value = textVar(vars, name)
  if (value === undefined) return values[0]
  const match = values.find((candidate) => candidate === value)
  if (match === undefined) throw new ConfigError(name, values.map((each) => `"${each}"`).join(' or '))
  return match
}

/** Reads a variable as JSON; undefined if it is not set. */
export function jsonVar(vars: Vars, name: string, expected: string): unknown {
  const value = vars[name]
  if (value === undefined || value === '') return undefined
  // A variable of wrangler.toml may be parsed JSON already.
  if (typeof value !== 'string') return value
  try {
    return JSON.parse(value)
  } catch {
    throw new ConfigError(name, expected)
  }
}

/**
 * Returns the tool Workers by name: the service bindings named `TOOL_*`, and the entrypoints that the edge's own module
 * exports under such names. Other variables may have such names too, even objects. Throws a ConfigError for a name that
 * both have.
 */
export function toolWorkers(env: Vars, exports: Vars = {}): Record<string, ToolService> {
  const workersIn = (table: Vars) =>
    Object.entries(table).filter(
      (entry): entry is [string, ToolService] => entry[0].startsWith('TOOL_') && isService(entry[1]),
    )
  const [bindings, entrypoints] = [workersIn(env), workersIn(exports)]
  for (const [name] of entrypoints) {
    if (bindings.some(([each]) => each === name))
      throw new ConfigError(name, 'either a binding or an export of the edge')
  }
  return Object.fromEntries([...bindings, ...entrypoints])
}

/** How long a rate limit may take to answer, in milliseconds. */
const RATE_MS = 2000

/**
 * Returns the rate limits of these names, which reject if their binding fails or does not answer within two seconds.
 * Throws a ConfigError if a binding is missing: there would be no limit.
 */
export function rateLimits(env: Vars, names: readonly string[]): Record<string, RateLimit> {
  return Object.fromEntries(
    names.map((name) => {
      const rate = env[name]
      if (isRate(rate)) return [name, { limit: (options) => withDeadline(RATE_MS, rate.limit(options)) }]
      throw new ConfigError(name, 'a rate limit binding')
    }),
  )
}

/** Returns the names of all rate limit bindings. */
export function rateNames(env: Vars): string[] {
  return Object.keys(env).filter((name) => isRate(env[name]))
}

/** Returns a secret that stored definitions may name. Only variables that begin with `SECRET_` are such secrets. */
export function secretOf(env: Vars, name: string): string | undefined {
  const value = name.startsWith('SECRET_') ? env[name] : undefined
  return typeof value === 'string' ? value : undefined
}

function isRate(value: unknown): value is RateLimit {
  return has(value, 'limit')
}

/** A Worker that is not written in TypeScript may answer over `fetch` alone. */
function isService(value: unknown): boolean {
  return has(value, 'describe') || has(value, 'fetch')
}

/** Bindings have methods; JSON variables do not. The stub of an entrypoint is a function with methods. */
function has(value: unknown, method: string): boolean {
  return (
    (typeof value === 'object' || typeof value === 'function') &&
    value !== null &&
    typeof Reflect.get(value, method) === 'function'
  )
}
