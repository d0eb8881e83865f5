import type { CallSettled } from '../../contract/event.ts'
import type { Content } from '../../contract/message.ts'
import type { ToolFailure, ToolFault, ToolOutcome } from '../../contract/tool.ts'
import { messageOf } from '../../contract/thrown.ts'
import { HOOK_FAILED } from './middleware.ts'
import { compatFault } from '../decide/compat.ts'
import type { Running } from '../running.ts'
import type { CallState } from '../state.ts'

/**
 * Returns the event of a call with this outcome. The detail for operators is left out. `cut`: the bytes of the complete
 * result, if the outcome is only a part of it.
 */
export function callSettled(
  { callId, tool }: CallState,
  outcome: ToolOutcome,
  durationMs: number,
  cut?: number,
): CallSettled {
  const { usage, marks } = outcome
  const accounting = { ...(usage && { usage }), ...(marks && { marks }) }
  if (!outcome.ok)
    return {
      type: 'call.settled',
      callId,
      tool,
      ok: false,
      error: errorForModel(outcome.error),
      ...accounting,
      durationMs,
    }
  const { content, structured } = outcome
  return {
    type: 'call.settled',
    callId,
    tool,
    ok: true,
    content: content.map(wellFormed),
    ...(cut !== undefined && { cut }),
    ...(structured !== undefined && { structured }),
    ...accounting,
    durationMs,
  }
}

/** Returns the event of a call that was not run. */
export function callRefused(call: CallState, failure: ToolFailure): CallSettled {
  return callSettled(call, failure, 0)
}

function errorForModel({ code, message, fatal }: ToolFault): NonNullable<CallSettled['error']> {
  return { code, message: message.toWellFormed(), ...(fatal === true && { fatal }) }
}

/** Repairs text that a tool cut within a surrogate pair: providers would reject every later request with it. */
function wellFormed(part: Content): Content {
  return part.type === 'text' ? { ...part, text: part.text.toWellFormed() } : part
}

/** Returns a failed outcome as `compat` and the setup's `onFault` change it. */
export function applyFaultPolicy(running: FaultPolicyPorts, call: CallState, outcome: ToolOutcome): ToolOutcome {
  if (outcome.ok) return outcome
  const { callId, tool, arguments: text } = call
  const { compat } = running.state.request
  const fault = { ...outcome.error, callId, tool, arguments: text }
  const compatible = compat ? { ...fault, ...compatFault(compat, fault) } : fault
  try {
    const { message = compatible.message, fatal = compatible.fatal } = running.loop.onFault?.(compatible) ?? {}
    return { ...outcome, error: { ...outcome.error, message, ...(fatal !== undefined && { fatal }) } }
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

/** Does the same as `judge` for the event of a refused call. */
export function applyRefusalPolicy(running: FaultPolicyPorts, event: CallSettled): CallSettled {
  const call = running.state.calls.find(({ callId }) => callId === event.callId)
  return event.error && call
    ? callSettled(call, applyFaultPolicy(running, call, { ok: false, error: event.error }), event.durationMs)
    : event
}
