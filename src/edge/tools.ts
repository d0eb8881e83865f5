import { rateLimits, rateNames, toolWorkers } from '../contract/bindings.ts'
import { ConfigError } from '../contract/config.ts'
import { matches } from '../contract/glob.ts'
import { selectsTool } from '../contract/tool-names.ts'
import { readToolPatterns } from '../contract/tool-patterns.ts'
import type { Setup } from '../contract/setup.ts'
import type { ToolDefinition, ToolSource } from '../contract/tool.ts'
import { createBreaker } from '../host/breaker.ts'
import { type EdgeTools, edgeTools } from '../host/source/edge-tools.ts'
import { serviceSource } from '../host/source/service.ts'
import type { SetupOptions } from './options.ts'
import { ownEntrypoints } from './own-entrypoints.ts'
import type { SetupParts } from './parts.ts'

interface SetupTools extends EdgeTools {
  readonly rates: NonNullable<Setup['rates']>
  readonly approvals: Setup['acceptances']
  readonly policies: NonNullable<Setup['policies']>
}

/**
 * Makes the tools of an edge: those of the bound Workers and of the entrypoints in its own module, the stored ones, and
 * `others`, which are further sources. Throws a ConfigError for tools that are to be held back in an edge that cannot
 * remember what was accepted.
 */
export function makeTools(
  parts: SetupParts,
  options: Pick<SetupOptions, 'stored' | 'storedKeys' | 'search' | 'policies'>,
  others: readonly ToolSource[],
): SetupTools {
  const { env, config, report, secrets } = parts
  const { search, stored } = options
  const policies = options.policies?.read(env) ?? {}
  const approvals = stored?.approvals(parts)
  if (!approvals && env['HOLD_CHANGED'] && config.holdChanged.length > 0) {
    throw new ConfigError('HOLD_CHANGED', '"off" in an edge without stored tools (bindings CATALOG and TOOLS)')
  }
  // The tools of these bindings come from others, who may change them at any time.
  const isForeign = (binding: string) => matches(config.holdChanged, binding)
  const workers = toolWorkers(env, ownEntrypoints())
  const servicesOf = (isWanted: (binding: string) => boolean) =>
    serviceSource({
      report,
      bindings: Object.fromEntries(Object.entries(workers).filter(([binding]) => isWanted(binding))),
      offered: (definition) => selectsTool(config.defaultTools, definition),
      gate: (binding) =>
        stored && approvals && isForeign(binding) ? (tools) => stored.gate(tools, approvals) : undefined,
    })
  const rated = [...config.apiKeys, ...config.identityProviders, ...Object.values(policies)]
  const rates = rateLimits(env, [
    ...rated.flatMap(({ rate }) => rate ?? []),
    ...(options.storedKeys ? rateNames(env) : []),
  ])
  const tools = edgeTools({
    services: servicesOf((binding) => !isForeign(binding)),
    foreign: servicesOf(isForeign),
    others,
    rules: {
      policies: options.policies?.rules(policies, rates),
      secrets,
      breaker: config.breaker && createBreaker(config.breaker),
      outputs: stored?.outputs(parts, isForeign),
    },
    isExcluded: exclusionOf(config.defaultTools),
    patterns: { patterns: readToolPatterns(env), bindings: Object.keys(workers) },
    stored: stored?.tools(parts),
    search: search && ((source) => search.finder(source, env)),
    report,
  })
  return { ...tools, rates, approvals, policies: (tool) => options.policies?.holding(policies, tool) ?? [] }
}

/** Returns whether `DEFAULT_TOOLS` excludes a tool; undefined if it excludes none. */
function exclusionOf(patterns: readonly string[]): ((definition: ToolDefinition) => boolean) | undefined {
  const exclusions = patterns.filter((pattern) => pattern.startsWith('!'))
  return exclusions.length > 0 ? (definition) => !selectsTool(['*', ...exclusions], definition) : undefined
}
