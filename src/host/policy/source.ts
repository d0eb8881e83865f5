import type { SecretFilter } from '../../contract/secrets.ts'
import type { Caller, Tool, ToolSource } from '../../contract/tool.ts'
import { isOutage, messageOf } from '../../contract/thrown.ts'
import { type Breaker, isOutageOf, toolPaused } from '../breaker.ts'
import type { OutputCheck } from './output.ts'
import type { BoundTool, PolicyRules } from './rules.ts'

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
  const boundTools = new WeakMap<Tool, BoundTool>()
  const bind = (tool: Tool): BoundTool => {
    const cached = boundTools.get(tool)
    if (cached) return cached
    const checked = outputs?.(tool) ?? tool
    const policed = underPolicies?.(tool, checked) ?? { tool: checked, isAllowed: () => true }
    const clean = withoutSecrets(policed.tool, rules)
    const boundTool = { ...policed, tool: withBreaker(policies?.share(clean) ?? clean, rules) }
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
          unavailable: listing.unavailable.filter((entry) => policies?.isVisible(entry, caller) ?? true),
        }
      },
      offered: async () => allowed(await source.offered()),
      find: async (names) => allowed(await source.find(names)),
    }
  }
}

/**
 * Binds a tool by the breaker, which counts for the tenant that calls. A call of an alias is counted by the tool behind
 * it.
 */
function withBreaker(tool: Tool, { breaker }: ToolRules): Tool {
  const { name, aliasOf } = tool.definition
  if (!breaker || aliasOf !== undefined) return tool
  return {
    ...tool,
    call: async (request, control) => {
      const key = breakerKey(tool, request.context.caller)
      if (!breaker.admit(key)) return toolPaused(name, breaker.pausedUntil(key) ?? 0)
      let isRecorded = false
      const record = (isFault: boolean) => {
        if (!isRecorded) breaker.record(key, isFault)
        isRecorded = true
      }
      // The host ends a call when its time is up, even if the tool does not answer.
      void control.whenAborted().then(
        (reason) => reason === 'timeout' && record(true),
        () => {},
      )
      try {
        const outcome = await tool.call(request, control)
        record(!outcome.ok && isOutageOf(outcome))
        return outcome
      } catch (error) {
        record(isOutage(error))
        throw error
      }
    },
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

/** Removes secrets from what a tool answers and reports. */
function withoutSecrets(tool: Tool, { secrets }: ToolRules): Tool {
  if (!secrets) return tool
  const clean = <Value>(answer: Promise<Value>): Promise<Value> =>
    answer.then(secrets.json, (error: unknown) => {
      throw new Error(secrets.text(messageOf(error)))
    })
  const [status, undo, poll] = [tool.status?.bind(tool), tool.undo?.bind(tool), tool.poll?.bind(tool)]
  return {
    ...tool,
    call: (request, control) =>
      clean(
        tool.call(request, {
          whenAborted: () => control.whenAborted(),
          progress: (progress) => control.progress(secrets.json(progress)),
        }),
      ),
    ...(status && { status: (request) => clean(status(request)) }),
    ...(undo && { undo: (request, outcome) => clean(undo(request, outcome)) }),
    ...(poll && { poll: (request, state) => clean(poll(request, state)) }),
  }
}
