import type { SecretFilter } from '../../contract/secrets.ts'
import type { ToolPolicies } from '../../contract/policy.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { type Caller, type Tool, type ToolControl, toolNamesOf, type ToolSource } from '../../contract/tool.ts'
import { isOutage, messageOf } from '../../contract/thrown.ts'
import { askedWaitMs, type Breaker, isOutageOf, toolPaused } from '../breaker.ts'
import { type OutputCheck, type PolicyRules, policyRules, type RateLimits } from './rules.ts'
import { type ToolGuard, guardTool } from '../../contract/guard.ts'

/** What binds the tools of a source. */
export interface ToolRules {
  /** The operator's policies. Default: there are none. */
  readonly policies?: PolicyRules | undefined
  /** Pauses tools that fail again and again. Default: none is paused. */
  readonly breaker?: Breaker | undefined
  /** Removes the secrets of this Worker from what tools answer. Default: it has none. */
  readonly secrets?: SecretFilter | undefined
  /** Checks results by output schemas. Default: only sources check their own tools' results. */
  readonly outputs?: OutputCheck | undefined
}

/**
 * Returns a function that gives a caller a source, or the caller's own source, with its tools bound by rules, wherever
 * they come from. A tool that the caller may not call is neither found nor listed.
 */
export function bindTools(
  source: ToolSource | ((caller: Caller) => ToolSource),
  rules: ToolRules,
): (caller: Caller) => ToolSource {
  const sourceFor = typeof source === 'function' ? source : () => source
  const { policies, breaker, secrets, outputs } = rules
  if (!policies && !breaker && !secrets && !outputs) return sourceFor
  const underPolicies = policies?.binder()
  const withoutSecrets = definitionFilter(secrets)
  const boundTools = new WeakMap<Tool, BoundTool>()
  const bind = (tool: Tool): BoundTool => {
    const cached = boundTools.get(tool)
    if (cached) return cached
    const { definition, isAllowed, guard } = underPolicies?.(tool) ?? {
      ...tool,
      isAllowed: () => true,
      guard: undefined,
    }
    const clean = withoutSecrets(definition)
    const policed = clean === tool.definition ? tool : { ...tool, definition: clean }
    const boundTool = { tool: guardTool(policed, guardsOf(policed, rules, guard)), isAllowed }
    boundTools.set(tool, boundTool)
    return boundTool
  }
  return (caller) => {
    const source = sourceFor(caller)
    const allowed = (tools: readonly Tool[]) =>
      tools.flatMap((each) => {
        const { tool, isAllowed } = bind(each)
        return isAllowed(caller) ? [withPause(tool, caller, breaker)] : []
      })
    return {
      list: async (page) => {
        // If tools may be hidden from the caller, all are listed: the source would count the hidden ones on its pages.
        const isUnrestricted = policies?.isUnrestricted(caller) ?? true
        const listing = await source.list(isUnrestricted ? page : undefined)
        return {
          ...listing,
          tools: allowed(listing.tools),
          unavailable: listing.unavailable
            .filter((entry) => policies?.isVisible(entry, caller) ?? true)
            .map((entry) => secrets?.json(entry) ?? entry),
        }
      },
      names: async (names) => {
        const standings = await toolNamesOf(source, names)
        const tools = await source.find([...standings.keys()])
        const visible = new Set(allowed(tools).map(({ definition }) => definition.name))
        const present = new Set(tools.map(({ definition }) => definition.name))
        const isHidden = (name: string) =>
          present.has(name) ? !visible.has(name) : policies?.isVisible({ ...UNDESCRIBED, name }, caller) === false
        return new Map([...standings].map(([name, standing]) => [name, isHidden(name) ? 'hidden' : standing]))
      },
      offered: async () => allowed(await source.offered()),
      find: async (names) => allowed(await source.find(names)),
    }
  }
}

/** A tool of a Worker that cannot be described now: policies hold for it by its name alone. */
const UNDESCRIBED = { origin: 'service', place: '', reason: '' } as const

interface BoundTool {
  readonly tool: Tool
  /** Whether a caller may see and call it. */
  readonly isAllowed: (caller: Caller) => boolean
}

/**
 * Returns the guards of a tool, the outermost first. The breaker counts what becomes of calls that are refused further
 * in, too; the operator's policies leave the edge with the call; secrets are removed from whatever anything further in
 * answers; then policies refuse calls; and results are checked as the tool gave them.
 */
function guardsOf(
  tool: Tool,
  { policies, breaker, secrets, outputs }: ToolRules,
  enforcement: ToolGuard | undefined,
): readonly (ToolGuard | undefined)[] {
  return [
    breaker && breakerGuard(tool, breaker),
    policies?.share(tool),
    secrets && secretsGuard(secrets),
    enforcement,
    outputs?.(tool),
  ]
}

/**
 * Makes the guard that pauses a tool, which counts for the tenant that calls. A call of an alias is counted by the tool
 * behind it.
 */
function breakerGuard(tool: Tool, breaker: Breaker): ToolGuard | undefined {
  const { name, aliasOf } = tool.definition
  if (aliasOf !== undefined) return undefined
  return async (operation, next) => {
    if (operation.do !== 'call') return next(operation)
    const { request, control } = operation
    const key = breakerKey(tool, request.context.caller)
    if (!breaker.admit(key)) return toolPaused(name, breaker.pausedUntil(key) ?? 0)
    let isRecorded = false
    const record = (isFault: boolean, waitMs = 0) => {
      if (!isRecorded) breaker.record(key, isFault, waitMs)
      isRecorded = true
    }
    // The host ends a call when its time is up, even if the tool does not answer.
    void control.whenAborted().then(
      (reason) => reason === 'timeout' && record(true),
      () => {},
    )
    try {
      const outcome = await next(operation)
      const failed = typeof outcome !== 'string' && !outcome.ok ? outcome : undefined
      record(failed !== undefined && isOutageOf(failed, tool), failed && askedWaitMs(failed, tool))
      return outcome
    } catch (error) {
      record(isOutage(error))
      throw error
    }
  }
}

/** Marks a tool that is paused for a caller. */
function withPause(tool: Tool, caller: Caller, breaker: Breaker | undefined): Tool {
  if (!breaker?.hasFailures() || tool.definition.aliasOf !== undefined) return tool
  const pausedUntil = breaker.pausedUntil(breakerKey(tool, caller))
  return pausedUntil === undefined ? tool : { ...tool, pausedUntil }
}

function breakerKey({ place, definition: { name } }: Tool, { tenant }: Caller): string {
  return `${tenant} ${place} ${name}`
}

/**
 * Returns a function that removes secrets from a definition, whose name is how the tool is called and stays as it is. It
 * returns the same object each time, as the policies do.
 */
function definitionFilter(secrets: SecretFilter | undefined): (definition: ToolDefinition) => ToolDefinition {
  const definitions = new WeakMap<ToolDefinition, ToolDefinition>()
  return (definition) => {
    if (!secrets) return definition
    const cached = definitions.get(definition)
    if (cached) return cached
    const clean = secrets.json(definition)
    const usable = clean === definition ? definition : { ...clean, name: definition.name }
    definitions.set(definition, usable)
    return usable
  }
}

/** Makes the guard that removes secrets from what a tool answers, throws and reports, whatever is done with it. */
function secretsGuard(secrets: SecretFilter): ToolGuard {
  const cleanControl = (control: ToolControl): ToolControl => ({
    ...control,
    progress: (progress) => control.progress(secrets.json(progress)),
  })
  return async (operation, next) => {
    const answer = next(
      operation.do === 'call' ? { ...operation, control: cleanControl(operation.control) } : operation,
    )
    return answer.then(secrets.json, (error: unknown) => {
      throw new Error(secrets.text(messageOf(error)))
    })
  }
}

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
