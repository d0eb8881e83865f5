import { catalogueStub } from '../catalogue/stub.ts'
import { ConfigError, rateLimits, secretOf } from '../contract/vars.ts'
import { matches } from '../contract/tool-names.ts'
import type { Owner } from '../contract/catalogue.ts'
import { outputCheck, policyRules } from '../host/policy/rules.ts'
import { holdingPolicies, readPolicies } from '../host/policy/policies.ts'
import { gateTools, approvedDefinitions } from '../host/source/approved-definitions.ts'
import { ownedTools } from '../host/source/stored-tools.ts'
import { scriptsOf } from '../host/worker/script.ts'
import { connectionCallback, connections } from '../http/surfaces/connections.ts'
import { storedDefinitions } from '../http/surfaces/tools/stored-definitions.ts'
import type { Part, Services } from './part.ts'

/**
 * Stored tools: HTTP requests, aliases, fixed answers, code, and tools of Workers in a dispatch namespace, written by
 * `PUT /tools/{name}` and kept in the catalogue and KV. Needs the bindings `CATALOG`, `TOOLS` and `DEFINITIONS`, and the
 * class `Catalog` among the exports; with the first two alone, changed tools of bound Workers are still held back.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [storedTools] })
 */
export const storedTools: Part = {
  name: 'storedTools',
  surfaces: [{ routes: { '/tools': storedDefinitions } }],
  extend: (services) => {
    const { env, report, rules } = services
    const { TOOLS: namespace, CATALOG: catalogues } = env
    const acceptances =
      namespace && catalogues && approvedDefinitions({ namespace, catalogue: catalogueStub(catalogues), report })
    return {
      acceptances,
      gate: acceptances && ((tools) => gateTools(tools, acceptances)),
      rules: { ...rules, outputs: outputs(services) },
      storedTools: storedDefinitionsOf(services),
    }
  },
}

/** Makes the check of results by output schemas, for `CHECK_OUTPUTS`: by default, for tools that are not other people's. */
function outputs({ env, config: { checkOutputs }, isForeign, report }: Services): Services['rules']['outputs'] {
  const { DEFINITIONS: definitions } = env
  const isChecked = (place: string) => (checkOutputs ? matches(checkOutputs, place) : !isForeign(place))
  return definitions && outputCheck({ definitions, isChecked, report })
}

function storedDefinitionsOf({ env, config, report }: Services): Services['storedTools'] {
  const { TOOLS: namespace, DEFINITIONS: definitions, CATALOG: catalogues, DISPATCHER: dispatcher } = env
  if (!namespace || !definitions || !catalogues) return undefined
  const options = {
    namespace,
    catalogueOf: (owner: Owner) => catalogueStub(catalogues, owner),
    definitions,
    hosts: config.httpToolHosts,
    most: { names: config.quotas.definitions, bytes: config.quotas.storedBytes },
    secret: (name: string) => secretOf(env, name),
    ...(dispatcher && { scripts: scriptsOf(dispatcher, { now: Date.now }) }),
    report,
  }
  return (parts) => ownedTools(options, parts)
}

/**
 * Policies of the operator for tools (`TOOL_POLICY`): who may call which tool, how often, and after whose approval,
 * whatever the tools say themselves. An edge with that variable must name this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [toolPolicies] })
 */
export const toolPolicies: Part = {
  name: 'toolPolicies',
  extend: ({ env, rules }) => {
    const policies = readPolicies(env)
    if (!env['DECISION_MODEL'] && Object.values(policies).some(({ approval }) => approval === 'decide'))
      throw new ConfigError('TOOL_POLICY', 'without "decide" in an edge without DECISION_MODEL')
    const rates = rateLimits(
      env,
      Object.values(policies).flatMap(({ rate }) => rate ?? []),
    )
    return {
      policies: (tool) => holdingPolicies(policies, tool),
      rules: { ...rules, policies: policyRules(policies, rates) },
    }
  },
}

/**
 * Access to MCP servers by OAuth: `/connections`, where people sign in to them. The Worker `tools/mcp`, bound as
 * `TOOL_MCP`, keeps the tokens; an edge without it has no connections.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, use: [mcpConnections] })
 */
export const mcpConnections: Part = {
  name: 'mcpConnections',
  surfaces: [connectionCallback, connections],
  extend: ({ env: { TOOL_MCP: service } }) => ({ connections: service }),
}
