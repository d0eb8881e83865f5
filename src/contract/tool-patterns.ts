import { isTenantPlace, placesOf } from './catalogue.ts'
import { isObject } from './json.ts'
import { LIMITS } from './limits.ts'
import type { PolicySubject } from './policy.ts'
import { foreignNames, matchesName, operatorNames } from './tool-names.ts'
import { jsonVar, listVar, type Vars } from './vars.ts'

/**
 * Returns what patterns of policies may match of a tool: what the operator chooses (`names`), and what its author does.
 * A policy by name is about the edge's own tools: those that a tenant stores are named by their place
 * (`@tenant:acme/*`), so that no name tells a tenant what else there is. All tools of a Worker in the dispatch namespace
 * are also named by its script (`@script:acme--billing`).
 */
export function namesForPolicies({ definition, place, script }: PolicySubject): {
  readonly names: readonly string[]
  readonly namesByAuthor: readonly string[]
} {
  const isOfTenant = isTenantPlace(place)
  const names = operatorNames(definition)
  return {
    names: [
      ...placesOf(place, names).map((each) => `@${each}`),
      ...(script === undefined ? [] : [`@script:${script}`]),
      ...(isOfTenant ? [] : names),
    ],
    namesByAuthor: [
      ...(definition.tags ?? []).map((tag) => `#${tag}`),
      ...(isOfTenant ? [] : foreignNames(definition)),
    ],
  }
}

/** A pattern by which a variable of an edge names tools. */
export interface ToolPattern {
  readonly variable: string
  readonly pattern: string
}

/** Returns the patterns by which variables name tools. Throws a ConfigError if a variable cannot be read. */
export function readToolPatterns(vars: Vars): readonly ToolPattern[] {
  const callsPerTool = LIMITS.callsPerTool.variable
  const keysOf = (variable: string) => {
    const value = jsonVar(vars, variable, 'JSON')
    return isObject(value) ? Object.keys(value) : []
  }
  const bindingsOf = (variable: string) => (listVar(vars, variable) ?? []).filter((pattern) => pattern !== 'off')
  const patterns: readonly (readonly [string, readonly string[]])[] = [
    ['TOOL_POLICY', keysOf('TOOL_POLICY')],
    [callsPerTool, keysOf(callsPerTool)],
    ['DEFAULT_TOOLS', (listVar(vars, 'DEFAULT_TOOLS') ?? []).map((pattern) => pattern.replace(/^!/, ''))],
    ...OF_BINDINGS.map((variable) => [variable, bindingsOf(variable)] as const),
  ]
  return patterns.flatMap(([variable, each]) => each.map((pattern) => ({ variable, pattern })))
}

/** The variables that name bindings. */
const OF_BINDINGS: readonly string[] = ['HOLD_CHANGED', 'CHECK_OUTPUTS']

/** Matches patterns about the tools of tenants, which are not known in advance. */
const OF_TENANTS = /^@(?:tenant|script):|^[@#]?\*$/

/** Returns the patterns that match none of these tools, nor a place. */
export function unmatchedPatterns(
  patterns: readonly ToolPattern[],
  tools: readonly PolicySubject[],
  places: readonly string[] = [],
): readonly ToolPattern[] {
  const all = new Set(
    tools.flatMap((tool) => {
      const { names, namesByAuthor } = namesForPolicies(tool)
      return [...names, ...namesByAuthor]
    }),
  )
  const names = [...all, ...places.map((place) => `@${place}`)]
  return patterns.filter(({ variable, pattern }) => {
    const key = OF_BINDINGS.includes(variable) ? `@${pattern}` : pattern
    return !OF_TENANTS.test(key) && !matchesName(key, names)
  })
}
