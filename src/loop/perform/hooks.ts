import type { CallSettled, RunFact } from '../../contract/event.ts'
import type { ToolCall } from '../../contract/message.ts'
import { messageOf } from '../../contract/thrown.ts'
import type { ToolFailure, ToolOutcome } from '../../contract/tool.ts'
import { parseArguments } from '../../host/execute.ts'
import { targetOf } from '../decide/call-counts.ts'
import { compatFault } from '../decide/compat.ts'
import type { Running } from '../running.ts'
import { callRefused, callSettled } from '../record.ts'
import type { CallState } from '../state.ts'

/** A wrapper of an operation. It may act before and after it, call `next` with another input, or not call it at all. */
export type Middleware<In, Out> = (input: In, next: (input: In) => Promise<Out>) => Promise<Out>

/** An error of a hook itself, not of the operation that it wraps. */
export class HookFailure extends Error {
  constructor(cause: unknown) {
    super('A hook failed', { cause })
    this.name = 'HookFailure'
  }
}

/** The error of a failed hook for callers and models. The reason is logged for operators. */
export const HOOK_FAILED = { code: 'hook_failed', message: 'A hook of the edge failed.' } as const

/** Runs another part of the setup as if it were a hook: rejects with a HookFailure for any error. */
export async function asHook<Value>(work: () => Promise<Value>): Promise<Value> {
  try {
    return await work()
  } catch (error) {
    throw error instanceof HookFailure ? error : new HookFailure(error)
  }
}

/**
 * Wraps an operation in wrappers, the first one outermost. Rejects with a HookFailure for an error of a wrapper itself.
 */
export function compose<In, Out>(
  middleware: readonly Middleware<In, Out>[],
  innermost: (input: In) => Promise<Out>,
): (input: In) => Promise<Out> {
  if (middleware.length === 0) return innermost
  const innerErrors = new Set<unknown>()
  const core = async (input: In) => {
    try {
      return await innermost(input)
    } catch (error) {
      innerErrors.add(error)
      throw error
    }
  }
  const composed = middleware.reduceRight<typeof core>((next, wrapper) => (input) => wrapper(input, next), core)
  return async (input) => {
    try {
      return await composed(input)
    } catch (error) {
      throw innerErrors.has(error) ? error : new HookFailure(error)
    }
  }
}

/**
 * Whether the setup's `needsApproval` demands approval of a call or, if it is one of an alias, of the tool behind it.
 * Throws a HookFailure if it throws.
 */
export function isGuardedBySetup({ state, loop }: Pick<Running, 'state' | 'loop'>, call: ToolCall): boolean {
  const definition = state.offered.get(call.tool)
  try {
    if (!definition || !loop.needsApproval) return false
    const target = targetOf(state, call.tool)
    return [...new Set([call.tool, target])].some(
      (tool) => loop.needsApproval?.({ ...call, tool }, { ...definition, name: tool }, state.request) === true,
    )
  } catch (error) {
    throw new HookFailure(error)
  }
}

/** Returns a failed outcome as `compat` and the setup's `onFault` change it. */
export function applyFaultPolicy(running: FaultPolicyPorts, call: CallState, outcome: ToolOutcome): ToolOutcome {
  if (outcome.ok) return outcome
  const { callId, tool, arguments: text } = call
  const { compat } = running.state.request
  const fault = { ...outcome.error, callId, tool, arguments: text }
  const compatible = compat ? { ...fault, ...compatFault(compat, fault) } : fault
  try {
    const decision = running.loop.onFault?.(compatible)
    const message = decision?.message ?? compatible.message
    // A handler that returns only a message has dealt with the fault: the model reads it, and the run continues.
    const fatal = decision?.fatal ?? (decision?.message === undefined ? compatible.fatal : undefined)
    const { fatal: _, ...error } = outcome.error
    return { ...outcome, error: { ...error, message, fatal } }
  } catch (error) {
    return { ...outcome, ...hookFailed(running, call, error) }
  }
}

type FaultPolicyPorts = Pick<Running, 'state' | 'loop' | 'report'>

/** Returns the outcome of a call whose hook failed. It is fatal for the run; operators read the reason. */
export function hookFailed(
  { report }: Pick<Running, 'report'>,
  { callId, tool }: Pick<CallState, 'callId' | 'tool'>,
  error: unknown,
): ToolFailure {
  report({ callId, tool, code: HOOK_FAILED.code, detail: messageOf(error) })
  return { ok: false, error: { ...HOOK_FAILED, fatal: true } }
}

/**
 * Returns an event that the state alone has led to, as the tool and the setup have it: nobody is asked to approve a call
 * whose arguments its tool refuses, and a refusal is changed as another failure is.
 */
export function screenEvent(running: Running, event: RunFact): RunFact {
  if (event.type === 'call.settled') return applyRefusalPolicy(running, event)
  if (event.type !== 'approval.requested') return event
  const { state, tools } = running
  const call = state.step?.byId.get(event.callId)
  const parsed = parseArguments(event.tool, event.arguments)
  const { caller, conversation } = state.request
  const place = conversation === undefined ? {} : { conversationId: conversation }
  const refusal = parsed.ok ? tools.get(event.tool)?.check?.(parsed.value, { caller, ...place }) : parsed
  return refusal && call ? applyRefusalPolicy(running, callRefused(call, refusal)) : event
}

function applyRefusalPolicy(running: FaultPolicyPorts, event: CallSettled): CallSettled {
  const call = running.state.step?.byId.get(event.callId)
  return event.error && call
    ? callSettled(call, applyFaultPolicy(running, call, { ok: false, error: event.error }), event.durationMs, event.cut)
    : event
}
