import type { Env } from '../../edge/env.ts'
import { allDecisionProviders } from '../../edge/decisions.ts'
import { allProviders } from '../../edge/providers.ts'

/** Returns the variables that each provider reads from the env, without bindings. */
export function providerVariables(): Readonly<Record<string, readonly string[]>> {
  return Object.fromEntries(
    Object.entries({ ...allDecisionProviders, ...allProviders }).map(([provider, fromEnv]) => {
      const names: string[] = []
      fromEnv(new Proxy(EMPTY_ENV, { get: (_, name) => void names.push(String(name)) }))
      return [provider, names.filter((name) => VARIABLE.test(name))]
    }),
  )
}

const NO_OBJECTS = {
  getByName: (): never => {
    throw new Error('This env has no Durable Objects.')
  },
}

const EMPTY_ENV: Env = { CONVERSATIONS: NO_OBJECTS, DIRECTORIES: NO_OBJECTS }

const VARIABLE = /_(BASE_URL|API_KEY)$/
