import type { CallSettled, RunFact, RunFinished } from '../../contract/event.ts'
import type { ToolCall } from '../../contract/message.ts'
import type { LimitName } from '../../contract/limits.ts'
import { failure, type ToolFailure } from '../../contract/tool.ts'
import { needsApproval } from '../../host/approval.ts'
import { parseArguments } from '../../host/parse-arguments.ts'
import { unknownTool } from '../../host/unknown-tool.ts'
import { answersLimit } from './compat.ts'
import { endingLimit, NO_MORE_TOOLS, refuseOverLimit } from './limits.ts'
import { callRefused } from '../settled.ts'
import type { CallState, RunState, StepState } from '../state.ts'
import { needsDataFlowApproval } from './data-flow-guard.ts'
import { planUndo, type UndoPlan } from './undo-plan.ts'
import { READ_RESULT } from './truncated-result.ts'
import { cancelledRun, handedOverRun, limitedRun, timedOutRun, runEnd } from './finish.ts'

/** What comes next in a run. `record`: events that follow from the state alone. */
export type Decision =
  | { readonly do: 'record'; readonly events: readonly RunFact[] }
  | { readonly do: 'begin'; readonly step: number }
  | { readonly do: 'ask'; readonly step: StepState }
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
  return step.answer ? decideAfterAnswer(state, step, now) : { do: 'ask', step }
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
  const which = limitReached(state, openCalls)
  const isAnswered = answersLimit(state.request, which)
  if (which && state.request.onLimit === 'fail' && !isAnswered) {
    const end = limitedRun(state, which)
    return record({ type: 'limit.reached', which }, ...endEarly(state, `the limit "${which}" is reached`, end))
  }
  const last = isAnswered ? openCalls.findIndex((call) => endingLimit(state, call)) : openCalls.length
  const refusals = openCalls.flatMap((call, index) =>
    index > last ? [callRefused(call, failure(NO_MORE_TOOLS, AFTER_LIMIT))] : refuse(state, step, call),
  )
  if (refusals.length > 0) return record(...(which ? [{ type: 'limit.reached', which } as const] : []), ...refusals)

  const proposed = openCalls.filter((call) => call.status === 'proposed')
  const approvalRequests = proposed.flatMap((call) => {
    const reason = approvalReason(state, step, call)
    return reason ? [approvalRequested(state, call, reason)] : []
  })
  if (approvalRequests.length > 0) return record(...approvalRequests)

  const ready = openCalls.filter(
    ({ status, ...call }) =>
      status === 'approved' ||
      status === 'started' ||
      (status === 'proposed' && !runsAtCaller(state, step, call)) ||
      (status === 'deferred' && isDue(call, now)),
  )
  if (ready.length > 0) return { do: 'call', calls: ready }
  if (proposed.length > 0) return record(...proposed.map(callRequested))

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

/** Returns the result of a call that must not run; empty if it may run. */
function refuse(state: RunState, step: StepState, call: CallState): CallSettled[] {
  if (call.status === 'rejected') return [callRefused(call, rejectionFailure(call))]
  if (call.status !== 'proposed') return []
  const limitFailure = refuseOverLimit(state, call)
  if (limitFailure) return [callRefused(call, limitFailure)]
  // Some models ignore `toolChoice: none`, and some providers do not support it.
  const onOffer = state.request.toolChoice === 'none' ? [] : namesOnOffer(state)
  if (!onOffer.includes(call.tool)) return [callRefused(call, unknownTool(call.tool, onOffer))]
  const parsed = parseArguments(call.tool, call.arguments)
  if (!parsed.ok) return [callRefused(call, parsed)]
  return approvalReason(state, step, call) !== undefined && !state.request.conversation
    ? [callRefused(call, NEEDS_CONVERSATION)]
    : []
}

const AFTER_LIMIT = 'Not run: a limit of the run was reached before this call.'

function limitReached(state: RunState, openCalls: readonly CallState[]): LimitName | undefined {
  if (state.limit) return undefined
  const which = openCalls.filter((call) => call.status === 'proposed').map((call) => endingLimit(state, call))
  return which.find((name) => name !== undefined)
}

function runStarted(state: RunState, now: number): RunFact {
  const { conversation, model } = state.request
  return { type: 'run.started', ...(conversation && { conversation }), model, tools: namesOnOffer(state), at: now }
}

/** Returns the names of the tools that the model sees: those of the step, if it has its own selection. */
export function namesOnOffer({ offered, request, step, hasTruncatedResult }: RunState): readonly string[] {
  const names = step?.tools ?? [...offered.keys(), ...request.clientTools.map((tool) => tool.name)]
  return hasTruncatedResult ? [...names, READ_RESULT] : names
}

/** Whether the call waits for a person or for the caller. */
export function isWaitingForOthers({ status }: CallState): boolean {
  return status === 'awaiting_approval' || status === 'awaiting_caller'
}

/** Whether a waiting run must keep waiting: for a person, for its caller, or for outcomes that come later. */
export function isHeldUp({ step }: RunState): boolean {
  const open = step?.calls.filter(({ status }) => status !== 'settled') ?? []
  return open.some(isWaitingForOthers) || (open.length > 0 && open.every(({ status }) => status === 'deferred'))
}

/** Returns the calls with later outcomes that are due: their outcome has arrived, or it is time to poll for it. */
export function dueCalls({ step }: RunState, now: number): readonly CallState[] {
  return step?.calls.filter((call) => call.status === 'deferred' && isDue(call, now)) ?? []
}

function isDue({ hasReport, later }: Omit<CallState, 'status'>, now: number): boolean {
  return hasReport === true || !later || now >= Math.min(later.until, later.pollAt)
}

function runsAtCaller({ request }: RunState, { answer }: StepState, { tool }: ToolCall): boolean {
  const execution = answer?.execution ?? request.execution
  return execution === 'caller' || request.clientTools.some(({ name }) => name === tool)
}

type Reason = 'rule' | 'untrusted_data'

/** Returns why a call that the edge runs needs approval; undefined if it needs none. */
function approvalReason(state: RunState, step: StepState, call: CallState): Reason | undefined {
  if (runsAtCaller(state, step, call)) return undefined
  const isGuarded = call.isGuarded === true || needsApproval(state.offered.get(call.tool)?.approval, call.arguments)
  if (isGuarded) return 'rule'
  return needsDataFlowApproval(state, call.tool) ? 'untrusted_data' : undefined
}

const NEEDS_CONVERSATION = failure(
  'approval_needs_conversation',
  'Not run: this call needs approval by a person, which is possible in a conversation only.',
)

function rejectionFailure({ reason }: CallState): ToolFailure {
  return failure('rejected', reason ? `A person refused this call: ${reason}` : 'A person refused this call.')
}

function stepFinished({ step, answer }: StepState): RunFact {
  const { finish = 'stop', usage } = answer ?? {}
  return { type: 'step.finished', step, finish, ...(usage && { usage }) }
}

function approvalRequested({ offered }: RunState, call: CallState, reason: Reason): RunFact {
  const { callId, tool, arguments: text } = call
  return {
    type: 'approval.requested',
    callId,
    tool,
    arguments: text,
    hash: offered.get(tool)?.hash ?? '',
    ...(reason !== 'rule' && { because: reason }),
  }
}

function callRequested({ callId, tool, arguments: text }: CallState): RunFact {
  return { type: 'call.requested', callId, tool, arguments: text }
}

function record(...events: RunFact[]): Decision {
  return { do: 'record', events }
}
