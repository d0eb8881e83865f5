import type { CallSettled } from '../../contract/event.ts'
import type { ToolFailure, ToolOutcome } from '../../contract/tool.ts'
import { messageOf } from '../../contract/thrown.ts'
import { HOOK_FAILED } from './middleware.ts'
import { compatFault } from '../decide/compat.ts'
import type { Running } from '../running.ts'
import { callSettled } from '../settled.ts'
import type { CallState } from '../state.ts'

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
    return { ...outcome, error: { ...error, message, ...(fatal !== undefined && { fatal }) } }
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

/** Applies the same policy to the event of a call that was refused. */
export function applyRefusalPolicy(running: FaultPolicyPorts, event: CallSettled): CallSettled {
  const call = running.state.calls.find(({ callId }) => callId === event.callId)
  return event.error && call
    ? callSettled(call, applyFaultPolicy(running, call, { ok: false, error: event.error }), event.durationMs)
    : event
}
