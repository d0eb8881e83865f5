import type { RateLimit, ToolPolicies, ToolPolicy } from '../../contract/policy.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import type { Caller, Tool, ToolFailure, ToolOutcome, Unavailable } from '../../contract/tool.ts'
import type { ToolGuard } from '../../contract/guard.ts'
import { unknownTool } from '../execute.ts'
import { isAllowed, policiesOf, tighten } from './policies.ts'
import type { DefinitionService } from '../../contract/definition.ts'
import type { Report } from '../../contract/setup.ts'
import { messageOf } from '../../contract/thrown.ts'

/** The operator's policies, and what they do to the tools of a source. */
export interface PolicyRules {
  readonly policies: ToolPolicies
  /** Returns whether no policy hides a tool from a caller. */
  isUnrestricted(caller: Caller): boolean
  /** Returns whether a caller may be told that a tool is unavailable. */
  isVisible(entry: Unavailable, caller: Caller): boolean
  /**
   * Makes a function that restricts the tools of one source by the policies that hold for them. The policies are checked
   * again with each call, for the caller that the call's context names.
   */
  binder(): (tool: Tool) => Restriction
  /** Makes the guard that sends the policies with what is asked of a tool that calls further tools. */
  share(tool: Tool): ToolGuard | undefined
}

/** What the policies that hold for a tool do to it. */
export interface Restriction {
  readonly definition: ToolDefinition
  /** Whether a caller may see and call it. */
  readonly isAllowed: (caller: Caller) => boolean
  /** Refuses calls. Absent if no policy holds for the tool. */
  readonly guard: ToolGuard | undefined
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
      const restrict = ({ place, definition: own }: Tool, applicable: readonly ToolPolicy[]) => {
        const cached = restrictedDefinitions.get(own)
        const definition = cached?.place === place ? cached.definition : tighten(own, applicable)
        restrictedDefinitions.set(own, { place, definition })
        return definition
      }
      return (tool) => {
        const applicable = policiesOf(policies, tool)
        const holdsNone = applicable.length === 0
        return {
          definition: holdsNone ? tool.definition : restrict(tool, applicable),
          isAllowed: (caller) => isAllowed(applicable, caller),
          guard: holdsNone ? undefined : policyGuard(tool.definition.name, applicable, rates),
        }
      }
    },
    share: ({ definition }) => (definition.callsTools ? sharingGuard(policies) : undefined),
  }
}

/** Makes the guard that refuses calls by policies. */
function policyGuard(name: string, policies: readonly ToolPolicy[], rates: RateLimits): ToolGuard {
  const limiters = policies.flatMap(({ rate }) => (rate === undefined ? [] : [rates[rate]]))
  return async (operation, next) => {
    if (operation.do !== 'call') return next(operation)
    const { caller } = operation.request.context
    if (!isAllowed(policies, caller)) return unknownTool(name, [])
    const key = `${caller.tenant}/${name}`
    // A rate whose binding is missing lets no call through.
    const decisions = await Promise.all(limiters.map(async (limiter) => (await limiter?.limit({ key }))?.success))
    return decisions.every((isWithin) => isWithin === true) ? next(operation) : rateLimited(name)
  }
}

/**
 * Makes the guard that sends the policies along. An agent in a Worker of its own binds its tools by them; of two policies
 * with one key, that of the host which was asked first holds.
 */
function sharingGuard(policies: ToolPolicies): ToolGuard {
  return async (operation, next) => {
    if (operation.do === 'receive') return next(operation)
    const { context, ...request } = operation.request
    return next({
      ...operation,
      request: { ...request, context: { ...context, policies: { ...policies, ...context.policies } } },
    })
  }
}

function rateLimited(name: string): ToolFailure {
  const message = `The tool "${name}" was called too often in a short time, so this call was not made. Continue without it, or call it again later.`
  return { ok: false, error: { code: 'rate_limited', message, retryable: true } }
}

/** Makes the guard that checks the results of a tool by its output schema. Undefined if there is nothing to check. */
export type OutputCheck = (tool: Tool) => ToolGuard | undefined

export interface OutputCheckOptions {
  /** Has the checker of JSON Schema, which is not in the edge's bundle. */
  readonly definitions: Pick<DefinitionService, 'checkOutcome'>
  /** Whether the tools of a place, such as the binding `TOOL_CLOCK`, are checked. */
  readonly isChecked: (place: string) => boolean
  readonly report: Report
}

/**
 * Makes the check of the results of tools that are not checked where they run. A result that does not fit becomes the
 * failure `invalid_output`. A result that cannot be checked, since the checker fails, is passed on and reported.
 */
export function outputCheck({ definitions, isChecked, report }: OutputCheckOptions): OutputCheck {
  return (tool) => {
    const { definition, place, checksOutput } = tool
    const { name, outputSchema } = definition
    if (!outputSchema || (checksOutput ? !definition.later : !isChecked(place))) return undefined
    const check = async (outcome: ToolOutcome): Promise<ToolOutcome> => {
      if (!outcome.ok) return outcome
      try {
        return await definitions.checkOutcome({ name, outputSchema }, outcome)
      } catch (error) {
        report({ event: 'output.not_checked', tool: name, place, detail: messageOf(error) })
        return outcome
      }
    }
    return async (operation, next) => {
      const answer = await next(operation)
      switch (operation.do) {
        case 'receive':
          // A reported outcome has passed no Worker that could have checked it.
          return typeof answer === 'string' ? answer : check(answer)
        case 'call':
        case 'poll':
          return typeof answer === 'string' || checksOutput ? answer : check(answer)
        case 'status': {
          if (typeof answer === 'string' || !answer.ok || checksOutput) return answer
          return (await check(answer)).ok ? answer : 'done'
        }
        case 'undo':
          return answer
      }
    }
  }
}
