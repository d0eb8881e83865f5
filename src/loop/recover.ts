import type { RunFact } from '../contract/event.ts'
import { failure } from '../contract/tool.ts'
import { callSettled } from './record.ts'
import type { CallState, RunState } from './state.ts'

/** How often a call may be sent before it is settled as `outcome_unknown`. */
const MAX_ATTEMPTS = 3
/** How long after its deadline nothing of a call can be under way any more, in milliseconds. */
export const AFTER_DEADLINE_MS = 1000

/** Returns the event with which a step continues whose model was answering when its instance was lost. */
export function restartStep(state: RunState, now: number): RunFact[] {
  const { step, finished } = state
  // A run that waited for the model has not asked it again yet.
  if (!step || finished || step.answer || step.wait?.pause || nextFence(state, now) !== undefined) return []
  return [{ type: 'step.restarted', step: step.step, attempt: step.attempt + 1, because: 'interrupted' }]
}

/** Returns the calls that have started and have no outcome yet. */
export function startedCalls({ step }: RunState): readonly CallState[] {
  return [...(step?.started.values() ?? [])]
}

/** Returns when nothing of a call can be under way any more, in epoch milliseconds, whatever became of its instance. */
export function fenceOf({ deadline = 0 }: CallState): number {
  return deadline + AFTER_DEADLINE_MS
}

/**
 * Whether a call in flight must be left alone until its fence, since its instance was lost: it may still take effect, and
 * would do so twice if it were sent again. Its tool can be asked meanwhile.
 */
export function isFenced(state: RunState, call: CallState, now: number): boolean {
  if (call.status !== 'started' || call.program || call.isAgent || call.hasReport) return false
  const mayGoOn = mayRepeat(state, call) ? !isReadOnly(state, call) : canReconcile(state, call)
  return mayGoOn && now < fenceOf(call)
}

/**
 * Returns until when a run rests that can do nothing but ask about its calls and wait for their fences, in epoch
 * milliseconds; undefined for any other. The model is not asked again before: it may ask for the same calls.
 */
export function nextFence(state: RunState, now: number): number | undefined {
  const { status, step } = state
  if (status !== 'running' || !step) return undefined
  const fenced = startedCalls(state).filter((call) => isFenced(state, call, now))
  if (fenced.length === 0) return undefined
  if (!step.answer) return Math.max(...fenced.map(fenceOf))
  // A program that is not about to run waits for its calls.
  const isAtRest = (call: CallState) => call.status === 'settled' || (call.program && call.status !== 'approved')
  const rest = step.calls.filter((call) => !isAtRest(call) && !fenced.includes(call))
  return rest.length > 0 ? undefined : Math.min(...fenced.map(fenceOf))
}

/** Whether the tool can tell what became of the call (`reconcile`). */
export function canReconcile({ offered }: RunState, { tool }: CallState): boolean {
  return offered.get(tool)?.reconcile === true
}

/** Whether the call may be sent once more with the same key. */
export function mayRepeat(state: RunState, call: Pick<CallState, 'tool' | 'attempt'>): boolean {
  const isIdempotent = state.offered.get(call.tool)?.annotations.idempotent === true
  return (isIdempotent || isReadOnly(state, call)) && call.attempt < MAX_ATTEMPTS
}

/** Whether the call can simply be repeated, at any time. */
export function isRepeatable(state: RunState, call: CallState): boolean {
  return mayRepeat(state, call) && isReadOnly(state, call)
}

function isReadOnly({ offered }: RunState, { tool }: Pick<CallState, 'tool'>): boolean {
  return offered.get(tool)?.annotations.readOnly === true
}

/**
 * Returns how a call continues that was in flight when its instance was lost, by what its tool declares: one without effects
 * is sent again with the same key at once, an idempotent one after its fence, and any other is settled as `outcome_unknown`.
 * Undefined before its fence.
 */
export function recoverCall(state: RunState, call: CallState, now: number): RunFact | undefined {
  if (isFenced(state, call, now)) return undefined
  const { callId, tool } = call
  if (call.hasReport && !call.program) return { type: 'call.deferred', callId, tool, at: now, until: now }
  // A program has no effect of its own: it is run again, with the outcomes of its calls. An agent that is asked again finds
  // the run that it has started.
  if (call.program || call.isAgent || mayRepeat(state, call)) return { type: 'call.interrupted', callId, tool }
  const message = 'The edge stopped while this call ran; whether it took effect is unknown. It was not sent again.'
  return callSettled(call, failure('outcome_unknown', message), Math.max(0, now - (call.startedAt ?? now)))
}
