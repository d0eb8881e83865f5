import type { HoldingPolicy, PolicySubject, ToolPolicies } from '../contract/policy.ts'
import { holdingPolicies, readPolicies } from '../host/policy/policies.ts'
import { type PolicyRules, policyRules, type RateLimits } from '../host/policy/rules.ts'
import type { Env } from './env.ts'

/** A feature of an edge: the operator's policies for tools. */
export interface PoliciesFeature {
  /** Reads `TOOL_POLICY`. Throws a ConfigError. */
  readonly read: (env: Env) => ToolPolicies
  /** Makes what the policies do to tools. */
  readonly rules: (policies: ToolPolicies, rates: RateLimits) => PolicyRules
  /** Returns the policies that hold for a tool, in their order. */
  readonly holding: (policies: ToolPolicies, tool: PolicySubject) => readonly HoldingPolicy[]
}

/**
 * Policies of the operator for tools (`TOOL_POLICY`): who may call which tool, how often, and after whose approval,
 * whatever the tools say themselves. An edge with that variable must name this part.
 *
 * @example createEdge({ providers: { openai: openaiFromEnv }, policies: toolPolicies })
 */
export const toolPolicies: PoliciesFeature = { read: readPolicies, rules: policyRules, holding: holdingPolicies }
