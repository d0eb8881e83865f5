import type { CallSettled } from '../contract/event.ts'
import type { CallFault } from '../contract/hook.ts'
import type { ToolFailure, ToolFault, ToolOutcome } from '../contract/tool.ts'
import type { CallState } from './state.ts'

/** The event of a call that came to this outcome. What operators alone may read is left out. */
export function settled({ callId, tool }: CallState, outcome: ToolOutcome, durationMs: number): CallSettled {
  if (!outcome.ok) return { type: 'call.settled', callId, tool, ok: false, error: told(outcome.error), durationMs }
  const { content, structured, usage } = outcome
  return {
    type: 'call.settled',
    callId,
    tool,
    ok: true,
    content,
    ...(structured !== undefined && { structured }),
    ...(usage && { usage }),
    durationMs,
  }
}

/** The event of a call that was not run. */
export function refused(call: CallState, failure: ToolFailure): CallSettled {
  return settled(call, failure, 0)
}

function told({ code, message, fatal }: ToolFault): NonNullable<CallSettled['error']> {
  return { code, message, ...(fatal === true && { fatal }) }
}

/** A failed call as the setup wants it told. */
export function judged(
  event: CallSettled,
  text: string,
  onFault?: (fault: CallFault) => { readonly message?: string; readonly fatal?: boolean } | undefined,
): CallSettled {
  const { error, callId, tool } = event
  const verdict = error && onFault?.({ ...error, callId, tool, arguments: text })
  return verdict ? { ...event, error: told({ ...error, ...verdict }) } : event
}
