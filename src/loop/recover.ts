import type { RunFact } from '../contract/event.ts'
import type { CallState, RunState } from './state.ts'

/** How often a call may be sent before its outcome is given up as unknown. */
const MOST_ATTEMPTS = 3

/**
 * What a run that stopped in mid-flight needs before it goes on: an unfinished model step is asked again; a call that
 * had left is settled as unknown, unless its tool is idempotent: that one is sent again with the same key.
 */
export function recover(state: RunState, now: number): RunFact[] {
  const { step } = state
  if (!step || state.finished) return []
  if (!step.answer) return [{ type: 'step.restarted', step: step.step, attempt: step.attempt + 1 }]
  return step.calls.filter((call) => call.status === 'started').flatMap((call) => recoverCall(state, call, now))
}

/** Epoch milliseconds until which recovery must wait: an earlier attempt at an idempotent call may still be running. */
export function fence(state: RunState): number {
  const started = state.step?.calls.filter((call) => call.status === 'started' && mayRepeat(state, call)) ?? []
  return Math.max(0, ...started.map((call) => call.deadline ?? 0))
}

function recoverCall(state: RunState, call: CallState, now: number): RunFact[] {
  const { callId, tool } = call
  if (mayRepeat(state, call)) return [{ type: 'call.interrupted', callId, tool }]
  const message = 'The edge stopped while this call ran; whether it took effect is unknown. It was not sent again.'
  const error = { code: 'outcome_unknown', message }
  const durationMs = Math.max(0, now - (call.startedAt ?? now))
  return [{ type: 'call.settled', callId, tool, ok: false, error, durationMs }]
}

function mayRepeat({ offered }: RunState, call: CallState): boolean {
  const { idempotent, readOnly } = offered.get(call.tool)?.annotations ?? {}
  return (idempotent === true || readOnly === true) && call.attempt < MOST_ATTEMPTS
}
