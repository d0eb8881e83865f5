import type { RunFact } from '../contract/event.ts'
import { failure } from '../contract/tool.ts'
import { callSettled } from './record.ts'
import type { CallState, RunState } from './state.ts'

/** How often a call may be sent before it is settled as `outcome_unknown`. */
const MAX_ATTEMPTS = 3

/**
 * Returns the events that a run needs to continue after a crash: an unfinished model step is asked again; a call in flight
 * is sent again with the same key if its tool is read-only or idempotent, otherwise settled as `outcome_unknown`.
 */
export function recover(state: RunState, now: number): RunFact[] {
  const { step } = state
  if (!step || state.finished) return []
  const calls = startedCalls(state).map((call) => recoverCall(state, call, now))
  // A run that waited for the model has not asked it again yet.
  return step.answer || step.wait?.pause
    ? calls
    : [{ type: 'step.restarted', step: step.step, attempt: step.attempt + 1, because: 'interrupted' }, ...calls]
}

/** Returns the calls that have started and have no outcome yet. */
export function startedCalls({ step }: RunState): readonly CallState[] {
  return [...(step?.started.values() ?? [])]
}

/**
 * Returns the time until which recovery must wait, in epoch milliseconds: until then an earlier attempt at a call that
 * may be sent again, or that its tool can tell of, may still be running.
 */
export function recoveryTime(state: RunState): number {
  const reconcilable = startedCalls(state).filter((call) => mayRepeat(state, call) || canReconcile(state, call))
  return Math.max(0, ...reconcilable.map((call) => call.deadline ?? 0))
}

/** Whether the tool can tell what became of the call (`reconcile`). */
export function canReconcile({ offered }: RunState, { tool }: CallState): boolean {
  return offered.get(tool)?.reconcile === true
}

function recoverCall(state: RunState, call: CallState, now: number): RunFact {
  const { callId, tool } = call
  // A program has no effect of its own: it is run again, with the outcomes of its calls.
  if (call.program) return { type: 'call.interrupted', callId, tool }
  if (call.hasReport) return { type: 'call.deferred', callId, tool, at: now, until: now }
  // Sent again, it finds the run that it has started.
  if (call.isAgent) return { type: 'call.interrupted', callId, tool }
  if (mayRepeat(state, call)) return { type: 'call.interrupted', callId, tool }
  const message = 'The edge stopped while this call ran; whether it took effect is unknown. It was not sent again.'
  return callSettled(call, failure('outcome_unknown', message), Math.max(0, now - (call.startedAt ?? now)))
}

/** Whether the call may be sent once more with the same key. */
export function mayRepeat({ offered }: RunState, call: Pick<CallState, 'tool' | 'attempt'>): boolean {
  const { idempotent, readOnly } = offered.get(call.tool)?.annotations ?? {}
  return (idempotent === true || readOnly === true) && call.attempt < MAX_ATTEMPTS
}
