import type { Context } from 'hono'
import type { HoldingPolicy, PolicySubject } from '../../../contract/policy.ts'
import type { EdgeEnv } from '../../context.ts'
import { callerTools } from './find-tool.ts'

/**
 * Returns the policies that hold for a tool, in their order; for an alias also those of the tool behind it, which bind
 * its calls too. Undefined for a caller without `tools:admin`: policies name tenants, scopes and hosts.
 */
export async function visiblePolicies(
  c: Context<EdgeEnv>,
  tool: PolicySubject,
): Promise<readonly HoldingPolicy[] | undefined> {
  const { caller, setup } = c.env
  if (!caller.scopes.includes('tools:admin')) return undefined
  const own = setup.policies?.(tool) ?? []
  const { aliasOf } = tool.definition
  const [target] = aliasOf === undefined ? [] : await callerTools(c).find([aliasOf])
  if (!target) return own
  const behind = setup.policies?.(target) ?? []
  return [...own, ...behind.map((each) => ({ ...each, tool: target.definition.name }))]
}
