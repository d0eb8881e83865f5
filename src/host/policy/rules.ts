import type { RateLimit, ToolPolicies, ToolPolicy } from '../../contract/policy.ts'
import type { Caller, Tool, ToolDefinition, ToolFailure, Unavailable } from '../../contract/tool.ts'
import { unknownTool } from '../unknown-tool.ts'
import { isAllowed, policiesOf, tighten } from './policies.ts'

/** The operator's policies, and what they do to the tools of a source. */
export interface PolicyRules {
  readonly policies: ToolPolicies
  /** Returns whether no policy hides a tool from a caller. */
  isUnrestricted(caller: Caller): boolean
  /** Returns whether a caller may be told that a tool is unavailable. */
  isVisible(entry: Unavailable, caller: Caller): boolean
  /**
   * Makes a function that binds the tools of one source by the policies that hold for them; `checked` is the tool with
   * its results checked. The policies are checked again with each call, for the caller that the call's context names.
   */
  binder(): (tool: Tool, checked: Tool) => BoundTool
  /** Sends the policies with the calls of a tool that calls further tools. */
  share(tool: Tool): Tool
}

/** A tool bound by the policies that hold for it. */
export interface BoundTool {
  readonly tool: Tool
  /** Whether a caller may see and call it. */
  readonly isAllowed: (caller: Caller) => boolean
}

/** The rate-limit bindings that policies name. */
export type RateLimits = Readonly<Record<string, RateLimit>>

/** Makes the rules of an operator's policies. */
export function policyRules(policies: ToolPolicies, rates: RateLimits): PolicyRules {
  return {
    policies,
    isUnrestricted: (caller) => isAllowed(Object.values(policies), caller),
    isVisible: ({ name = '', place, pending }, caller) =>
      isAllowed(policiesOf(policies, { definition: pending?.definition ?? { name }, place }), caller),
    binder: () => {
      // The same object each time, so that what is cached for a definition, such as its encoded form, serves the next run.
      const restrictedDefinitions = new WeakMap<
        ToolDefinition,
        { readonly place: string; readonly definition: ToolDefinition }
      >()
      const restrict = (tool: Tool, applicable: readonly ToolPolicy[]) => {
        const { place } = tool
        const cached = restrictedDefinitions.get(tool.definition)
        const definition = cached?.place === place ? cached.definition : tighten(tool.definition, applicable)
        restrictedDefinitions.set(tool.definition, { place, definition })
        return enforce({ ...tool, definition }, applicable, rates)
      }
      return (tool, checked) => {
        const applicable = policiesOf(policies, tool)
        return {
          tool: applicable.length === 0 ? checked : restrict(checked, applicable),
          isAllowed: (caller) => isAllowed(applicable, caller),
        }
      }
    },
    share: (tool) => withPolicies(tool, policies),
  }
}

function enforce(tool: Tool, policies: readonly ToolPolicy[], rates: RateLimits): Tool {
  const { name } = tool.definition
  const limiters = policies.flatMap(({ rate }) => (rate === undefined ? [] : [rates[rate]]))
  return {
    ...tool,
    call: async (request, control) => {
      const { caller } = request.context
      if (!isAllowed(policies, caller)) return unknownTool(name, [])
      const key = `${caller.tenant}/${name}`
      // A rate whose binding is missing lets no call through.
      const decisions = await Promise.all(limiters.map(async (limiter) => (await limiter?.limit({ key }))?.success))
      return decisions.every((isWithin) => isWithin === true) ? tool.call(request, control) : rateLimited(name)
    },
  }
}

/**
 * Sends the policies with the calls of a tool that calls further tools. An agent in a Worker of its own binds its tools
 * by them; of two policies with one key, that of the host which was asked first holds.
 */
function withPolicies(tool: Tool, policies: ToolPolicies): Tool {
  if (!tool.definition.callsTools) return tool
  return {
    ...tool,
    call: ({ context, ...request }, control) =>
      tool.call({ ...request, context: { ...context, policies: { ...policies, ...context.policies } } }, control),
  }
}

function rateLimited(name: string): ToolFailure {
  const message = `The tool "${name}" was called too often in a short time, so this call was not made. Continue without it, or call it again later.`
  return { ok: false, error: { code: 'rate_limited', message, retryable: true } }
}
