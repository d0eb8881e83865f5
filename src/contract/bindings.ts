import type { RateLimit } from './policy.ts'
import type { ToolService } from './tool.ts'
import { ConfigError, type Vars } from './vars.ts'

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

/** Returns the rate limit bindings of these names. Throws a ConfigError if one is missing: there would be no limit. */
export function rateLimits(env: Vars, names: readonly string[]): Record<string, RateLimit> {
  return Object.fromEntries(
    names.map((name) => {
      const rate = env[name]
      if (isRate(rate)) return [name, rate]
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
