import type { RunFact, RunFinished } from '../../contract/event.ts'
import { failure, type ToolFailure } from '../../contract/tool.ts'
import { admit, limitReached, namesOnOffer } from './admit.ts'
import { answersLimit } from './compat.ts'
import { callRefused } from '../settled.ts'
import type { CallState, RunState, StepState } from '../state.ts'
import { planUndo, type UndoPlan } from './undo-plan.ts'
import { cancelledRun, handedOverRun, limitedRun, timedOutRun, runEnd } from './finish.ts'

/** What comes next in a run. `record`: events that follow from the state alone. */
export type Decision =
  | { readonly do: 'record'; readonly events: readonly RunFact[] }
  | { readonly do: 'begin'; readonly step: number }
  /** `until`: the model fails for now, and is asked at this time, in epoch milliseconds. */
  | { readonly do: 'ask'; readonly step: StepState; readonly until?: number }
  | { readonly do: 'call'; readonly calls: readonly CallState[] }
  | ({ readonly do: 'undo' } & UndoPlan)
  | { readonly do: 'wait' }
  | { readonly do: 'end' }

/** Decides what comes next. Pure: the same state and time give the same decision. */
export function decide(state: RunState, now: number): Decision {
  const { status, step } = state
  if (state.finished) return { do: 'end' }
  if (status === 'queued') return record(runStarted(state, now))
  if (status === 'cancelling') return record(...windDown(state, 'cancelled'))
  if (status === 'running' && now >= state.deadline) return record(...windDown(state, 'runMs'))
  if (!step) return { do: 'begin', step: state.steps + 1 }
  if (step.answer) return decideAfterAnswer(state, step, now)
  const until = modelPause(state, now)
  return { do: 'ask', step, ...(until !== undefined && { until }) }
}

/** Returns until when the run waits for a model that fails for now, in epoch milliseconds; undefined if it does not. */
export function modelPause({ status, step }: RunState, now: number): number | undefined {
  const { until = 0 } = step?.wait?.pause ?? {}
  return status === 'running' && !step?.answer && until > now ? until : undefined
}

/**
 * Decides after the model has answered: refuses calls, requests approvals, runs calls and hands calls to the caller, in
 * this order, until every call is settled.
 */
function decideAfterAnswer(state: RunState, step: StepState, now: number): Decision {
  const openCalls = step.calls.filter((call) => call.status !== 'settled')
  if (state.status === 'waiting') {
    const due = dueCalls(state, now)
    if (due.length > 0) return { do: 'call', calls: due }
    return isHeldUp(state) ? { do: 'wait' } : record({ type: 'run.resumed', at: now })
  }
  const next = decideCalls(state, openCalls, now)
  if (next) return next

  if (openCalls.length > 0 && !state.request.durable) return record(stepFinished(step), handedOverRun(state))
  if (openCalls.length > 0) {
    const isFor = (status: CallState['status']) => openCalls.some((call) => call.status === status)
    const others = isFor('awaiting_caller') ? 'caller' : 'tool'
    return record({ type: 'run.waiting', for: isFor('awaiting_approval') ? 'approval' : others, at: now })
  }
  const undoPlan = planUndo(state, step)
  if (undoPlan) return { do: 'undo', ...undoPlan }
  const end = runEnd(state, step)
  return end ? record(stepFinished(step), end) : record(stepFinished(step))
}

/**
 * Decides about open calls of the step under way: which are refused, need an approval, may run, or are the caller's, in
 * this order. Undefined if all of them wait. The calls of an answer are decided together, and so are those that a program
 * asks for at once.
 */
export function decideCalls(state: RunState, openCalls: readonly CallState[], now: number): Decision | undefined {
  const which = limitReached(state, openCalls)
  if (which && state.request.onLimit === 'fail' && !answersLimit(state.request, which)) {
    const end = limitedRun(state, which)
    return record({ type: 'limit.reached', which }, ...endEarly(state, `the limit "${which}" is reached`, end))
  }
  const proposed = openCalls.filter((call) => call.status === 'proposed')
  const admissions = openCalls.map((call) => (call.status === 'proposed' ? admit(state, call) : undefined))
  const refusals = openCalls.flatMap((call, index) => {
    const admission = admissions[index]
    if (call.status === 'rejected') return [callRefused(call, rejectionFailure(call))]
    return admission?.do === 'refuse' ? [callRefused(call, admission.failure)] : []
  })
  if (refusals.length > 0) return record(...(which ? [{ type: 'limit.reached', which } as const] : []), ...refusals)

  const approvalRequests = openCalls.flatMap((call, index) => {
    const admission = admissions[index]
    return admission?.do === 'wait' && admission.for === 'approval'
      ? [approvalRequested(state, call, admission.because)]
      : []
  })
  if (approvalRequests.length > 0) return record(...approvalRequests)

  const ready = openCalls.filter(
    (call, index) =>
      call.status === 'approved' ||
      call.status === 'started' ||
      admissions[index]?.do === 'run' ||
      isProgramReady(state, call) ||
      (call.status === 'deferred' && isDue(call, now)),
  )
  if (ready.length > 0) return { do: 'call', calls: ready }
  return proposed.length > 0 ? record(...proposed.map(callRequested)) : undefined
}

/** Whether a suspended program has something new to continue with, or nothing more to wait for. */
function isProgramReady({ step }: RunState, { callId, status, program }: CallState): boolean {
  if (status !== 'suspended' || !program) return false
  const isOpen = (each: CallState) => each.parent === callId && each.status !== 'settled'
  return program.releases.length > program.position || !step?.calls.some(isOpen)
}

/** Returns the events that end a run that was cancelled or has timed out. */
export function windDown(state: RunState, cause: 'cancelled' | 'runMs'): RunFact[] {
  return cause === 'cancelled'
    ? endEarly(state, 'the run was cancelled', cancelledRun(state))
    : endEarly(state, 'the run reached its time limit', timedOutRun(state))
}

/** Returns the events that end a run within a step. Open calls get a result, so that the history stays valid. */
export function endEarly({ step }: RunState, cause: string, end: RunFinished): RunFact[] {
  const openCalls = [...(step?.early ?? []), ...(step?.calls ?? [])].filter((call) => call.status !== 'settled')
  const settlements = openCalls.map((call) => callRefused(call, failure('cancelled', `Not finished: ${cause}.`)))
  return step?.answer ? [...settlements, stepFinished(step), end] : [...settlements, end]
}

function runStarted(state: RunState, now: number): RunFact {
  const { conversation, model } = state.request
  return { type: 'run.started', ...(conversation && { conversation }), model, tools: namesOnOffer(state), at: now }
}

/** Whether the call waits for a person or for the caller. */
export function isWaitingForOthers({ status }: CallState): boolean {
  return status === 'awaiting_approval' || status === 'awaiting_caller'
}

/** Whether a waiting run must keep waiting: for a person, for its caller, or for outcomes that come later. */
export function isHeldUp(state: RunState): boolean {
  const open = state.step?.calls.filter(({ status }) => status !== 'settled') ?? []
  const waits = (call: CallState) =>
    call.status === 'deferred' || (call.status === 'suspended' && !isProgramReady(state, call))
  return open.some(isWaitingForOthers) || (open.length > 0 && open.every(waits))
}

/** Returns the calls with later outcomes that are due: their outcome has arrived, or it is time to poll for it. */
export function dueCalls({ step }: RunState, now: number): readonly CallState[] {
  return step?.calls.filter((call) => call.status === 'deferred' && isDue(call, now)) ?? []
}

function isDue({ hasReport, later }: CallState, now: number): boolean {
  return hasReport === true || !later || now >= Math.min(later.until, later.pollAt)
}

function rejectionFailure({ reason }: CallState): ToolFailure {
  return failure('rejected', reason ? `A person refused this call: ${reason}` : 'A person refused this call.')
}

function stepFinished({ step, answer }: StepState): RunFact {
  const { finish = 'stop', usage } = answer ?? {}
  return { type: 'step.finished', step, finish, ...(usage && { usage }) }
}

function approvalRequested({ offered }: RunState, call: CallState, because: 'rule' | 'untrusted_data'): RunFact {
  const { callId, tool, arguments: text, parent } = call
  return {
    type: 'approval.requested',
    callId,
    tool,
    arguments: text,
    hash: offered.get(tool)?.hash ?? '',
    ...(because !== 'rule' && { because }),
    ...(parent !== undefined && { parent }),
  }
}

function callRequested({ callId, tool, arguments: text, parent }: CallState): RunFact {
  return { type: 'call.requested', callId, tool, arguments: text, ...(parent !== undefined && { parent }) }
}

function record(...events: RunFact[]): Decision {
  return { do: 'record', events }
}
