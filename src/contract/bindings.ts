import type { RateLimit } from './policy.ts'
import type { ToolService } from './tool.ts'
import { ConfigError, type Vars } from './vars.ts'

/** The service bindings to tool Workers: those named `TOOL_*`. Variables may begin so too, and be objects. */
export function toolWorkers(env: Vars): Record<string, ToolService> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, ToolService] => entry[0].startsWith('TOOL_') && isService(entry[1]),
    ),
  )
}

/** The rate limits of these names. Throws a ConfigError where one is not bound: what names it would have none. */
export function rateLimits(env: Vars, names: readonly string[]): Record<string, RateLimit> {
  return Object.fromEntries(
    names.map((name) => {
      const rate = env[name]
      if (isRate(rate)) return [name, rate]
      throw new ConfigError(name, 'a rate limit binding')
    }),
  )
}

/** A secret that stored definitions may name: only what begins with `SECRET_` is one. */
export function secretOf(env: Vars, name: string): string | undefined {
  const value = name.startsWith('SECRET_') ? env[name] : undefined
  return typeof value === 'string' ? value : undefined
}

function isRate(value: unknown): value is RateLimit {
  return has(value, 'limit')
}

/** A Worker that is not TypeScript answers over `fetch` alone. */
function isService(value: unknown): boolean {
  return has(value, 'describe') || has(value, 'fetch')
}

/** A binding has methods, where a variable of JSON has none. */
function has(value: unknown, method: string): boolean {
  return typeof value === 'object' && value !== null && typeof Reflect.get(value, method) === 'function'
}
