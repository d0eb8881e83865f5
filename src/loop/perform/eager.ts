import type { ToolCall } from '../../contract/message.ts'
import { runCall } from './act.ts'
import { isGuardedBySetup } from './middleware.ts'
import { admitEarly } from '../decide/admit.ts'
import type { Running } from '../running.ts'
import type { CallState } from '../state.ts'

/**
 * Starts a call before the model's answer is complete, if the run wants that and the rules of calls admit it. `before`: the
 * calls before it in this answer. Which answers are left to the caller (`runsCalls`) is not known before their end.
 */
export function startEarly(running: Running, call: ToolCall, before: readonly ToolCall[]): void {
  const { state, loop, tools, signal, inFlight } = running
  const proposed: CallState = { ...call, status: 'proposed', attempt: 0 }
  if (signal.aborted || loop.runsCalls || !tools.has(call.tool)) return
  if (admitEarly(state, proposed, before).do !== 'early' || isGuardedBySetup(running, call)) return
  const work = runCall(running, proposed, true).finally(() => inFlight.delete(call.callId))
  // The rejection reaches those who await `inFlight`; this keeps it from being reported as unhandled before.
  work.catch(() => {})
  inFlight.set(call.callId, work)
}
