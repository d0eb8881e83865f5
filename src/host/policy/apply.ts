import type { ToolPolicies } from '../../contract/policy.ts'
import type { Caller, ToolSource } from '../../contract/tool.ts'
import { policyRules, type RateLimits } from './rules.ts'
import { bindTools, type ToolRules } from './source.ts'

/** What policies are applied with, beside the rules for the tools of all sources. */
export interface PolicyOptions extends Omit<ToolRules, 'policies'> {
  readonly policies: ToolPolicies
  readonly rates: RateLimits
}

/** Binds the tools of a source by policies, as `bindTools` does. */
export function applyPolicies(
  source: ToolSource | ((caller: Caller) => ToolSource),
  { policies, rates, ...rules }: PolicyOptions,
): (caller: Caller) => ToolSource {
  return bindTools(source, { ...rules, policies: policyRules(policies, rates) })
}
