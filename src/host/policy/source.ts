import type { RateLimit, ToolPolicies, ToolPolicy } from '../../contract/policy.ts'
import type { SecretFilter } from '../../contract/secrets.ts'
import type { Caller, Tool, ToolDefinition, ToolFailure, ToolSource, Unavailable } from '../../contract/tool.ts'
import { messageOf } from '../../contract/thrown.ts'
import { type Breaker, isToolFault, toolPaused } from '../breaker.ts'
import { unknownTool } from '../unknown-tool.ts'
import type { OutputCheck } from './output.ts'
import { isAllowed, policiesOf, tighten } from './policies.ts'

export interface PolicyOptions {
  readonly policies: ToolPolicies
  /** The rate-limit bindings that policies name. */
  readonly rates: Readonly<Record<string, RateLimit>>
  /** Pauses tools that fail again and again. Default: none is paused. */
  readonly breaker?: Breaker | undefined
  /** Removes the secrets of this Worker from what tools answer. Default: it has none. */
  readonly secrets?: SecretFilter | undefined
  /** Checks results by output schemas. Default: only sources check their own tools' results. */
  readonly outputs?: OutputCheck | undefined
}

/**
 * Returns a function that gives a caller a source, or the caller's own source, with policies applied, wherever its
 * tools come from. A tool that the caller may not call is neither found nor listed; any other is bound by its policies.
 * The policies are checked again with each call, for the caller that the call's context names.
 */
export function applyPolicies(
  source: ToolSource | ((caller: Caller) => ToolSource),
  options: PolicyOptions,
): (caller: Caller) => ToolSource {
  const sourceFor = typeof source === 'function' ? source : () => source
  const { breaker, secrets, outputs } = options
  if (Object.keys(options.policies).length === 0 && !breaker && !secrets && !outputs) return sourceFor
  // The same object each time, so that what is cached for a definition, such as its encoded form, serves the next run.
  const restrictedDefinitions = new WeakMap<
    ToolDefinition,
    { readonly place: string; readonly definition: ToolDefinition }
  >()
  const restrict = (tool: Tool, policies: readonly ToolPolicy[]) => {
    const { place } = tool
    const cached = restrictedDefinitions.get(tool.definition)
    const definition = cached?.place === place ? cached.definition : tighten(tool.definition, policies)
    restrictedDefinitions.set(tool.definition, { place, definition })
    return enforce({ ...tool, definition }, policies, options)
  }
  const boundTools = new WeakMap<Tool, BoundTool>()
  const bind = (tool: Tool): BoundTool => {
    const cached = boundTools.get(tool)
    if (cached) return cached
    const policies = policiesOf(options.policies, tool)
    const checked = outputs?.(tool) ?? tool
    const restricted = policies.length === 0 ? checked : restrict(checked, policies)
    const boundTool = {
      policies,
      tool: withBreaker(withPolicies(withoutSecrets(restricted, options), options), options),
    }
    boundTools.set(tool, boundTool)
    return boundTool
  }
  return (caller) => {
    const source = sourceFor(caller)
    const allowed = (tools: readonly Tool[]) =>
      tools.flatMap((each) => {
        const { policies, tool } = bind(each)
        return isAllowed(policies, caller) ? [withPause(tool, caller, breaker)] : []
      })
    return {
      list: async (page) => {
        // If tools may be hidden from the caller, all are listed: the source would count the hidden ones on its pages.
        const isUnrestricted = isAllowed(Object.values(options.policies), caller)
        const listing = await source.list(isUnrestricted ? page : undefined)
        return {
          ...listing,
          tools: allowed(listing.tools),
          unavailable: listing.unavailable.filter((entry) => isVisible(entry, options.policies, caller)),
        }
      },
      offered: async () => allowed(await source.offered()),
      find: async (names) => allowed(await source.find(names)),
    }
  }
}

/** A tool bound by the policies that hold for it. */
interface BoundTool {
  readonly policies: readonly ToolPolicy[]
  readonly tool: Tool
}

/** Returns whether a caller may be told that a tool is unavailable. */
function isVisible({ name = '', place, pending }: Unavailable, policies: ToolPolicies, caller: Caller): boolean {
  return isAllowed(policiesOf(policies, { definition: pending?.definition ?? { name }, place }), caller)
}

function enforce(tool: Tool, policies: readonly ToolPolicy[], { rates }: PolicyOptions): Tool {
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
function withPolicies(tool: Tool, { policies }: PolicyOptions): Tool {
  if (!tool.definition.callsTools) return tool
  return {
    ...tool,
    call: ({ context, ...request }, control) =>
      tool.call({ ...request, context: { ...context, policies: { ...policies, ...context.policies } } }, control),
  }
}

/**
 * Binds a tool by the breaker, which counts for the tenant that calls. A call of an alias is counted by the tool behind
 * it.
 */
function withBreaker(tool: Tool, { breaker }: PolicyOptions): Tool {
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
        record(isToolFault(outcome))
        return outcome
      } catch (error) {
        record(true)
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
function withoutSecrets(tool: Tool, { secrets }: PolicyOptions): Tool {
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

function rateLimited(name: string): ToolFailure {
  const message = `The tool "${name}" was called too often in a short time, so this call was not made. Continue without it, or call it again later.`
  return { ok: false, error: { code: 'rate_limited', message, retryable: true } }
}
