import type { RateLimit, ToolPolicies, ToolPolicy } from '../../contract/policy.ts'
import type { Caller, Tool, ToolDefinition, ToolFailure, ToolSource, Unavailable } from '../../contract/tool.ts'
import { unknownTool } from '../unknown.ts'
import { isAllowed, policiesOf, tighten } from './policies.ts'

export interface PolicyOptions {
  readonly policies: ToolPolicies
  /** The rate-limit bindings that policies name. */
  readonly rates: Readonly<Record<string, RateLimit>>
}

/**
 * The tools of a source as a caller may know them, wherever they come from: what it may not call it neither finds nor
 * sees listed, and what it may call is bound by its policies. They are looked at once more with each call, for whoever
 * the call says is asking.
 */
export function policed(source: ToolSource, options: PolicyOptions): (caller: Caller) => ToolSource {
  if (Object.keys(options.policies).length === 0) return () => source
  // The same definition each time, so that what is known of it, such as its encoded form, is known in the next run.
  const tightened = new WeakMap<ToolDefinition, { readonly place: string; readonly definition: ToolDefinition }>()
  const bind = (tool: Tool, policies: readonly ToolPolicy[]) => {
    const { place } = tool
    const known = tightened.get(tool.definition)
    const definition = known?.place === place ? known.definition : tighten(tool.definition, policies)
    tightened.set(tool.definition, { place, definition })
    return guard({ ...tool, definition }, policies, options)
  }
  return (caller) => {
    const allowed = (tools: readonly Tool[]) =>
      tools.flatMap((tool) => {
        const policies = policiesOf(options.policies, tool)
        if (policies.length === 0) return [tool]
        return isAllowed(policies, caller) ? [bind(tool, policies)] : []
      })
    return {
      list: async (page) => {
        // Where some may be hidden, which tools are on a page is known when it is known which are there.
        const isOpen = isAllowed(Object.values(options.policies), caller)
        const listing = await source.list(isOpen ? page : undefined)
        return {
          ...listing,
          tools: allowed(listing.tools),
          unavailable: listing.unavailable.filter((gone) => isTold(gone, options.policies, caller)),
        }
      },
      offered: async () => allowed(await source.offered()),
      find: async (names) => allowed(await source.find(names)),
    }
  }
}

/** Whether a caller may read of a tool that is not there. */
function isTold({ name = '', place, held }: Unavailable, policies: ToolPolicies, caller: Caller): boolean {
  return isAllowed(policiesOf(policies, { definition: held?.definition ?? { name }, place }), caller)
}

function guard(tool: Tool, policies: readonly ToolPolicy[], { rates }: PolicyOptions): Tool {
  const { name } = tool.definition
  const limiters = policies.flatMap(({ rate }) => (rate === undefined ? [] : (rates[rate] ?? [])))
  return {
    ...tool,
    call: async (request, control) => {
      const { caller } = request.context
      if (!isAllowed(policies, caller)) return unknownTool(name, [])
      const key = `${caller.tenant}/${name}`
      const counted = await Promise.all(limiters.map((limiter) => limiter.limit({ key })))
      return counted.every(({ success }) => success) ? tool.call(request, control) : tooOften(name)
    },
  }
}

function tooOften(name: string): ToolFailure {
  const message = `The tool "${name}" was called too often in a short time, and not this time. Do without it, or ask again later.`
  return { ok: false, error: { code: 'rate_limited', message, retryable: true } }
}
