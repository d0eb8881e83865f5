import type { RunEventBody, RunFact, RunFinished } from '../../contract/event.ts'
import type { LimitName } from '../../contract/limits.ts'
import { contentText } from '../../contract/message.ts'
import type { RunError, WaitCause } from '../../contract/run.ts'
import { failure, READ_RESULT, type ToolFailure } from '../../contract/tool.ts'
import { NO_USAGE } from '../../contract/usage.ts'
import { type Admission, admit, limitReached, namedTools, namesOnOffer, NO_MORE_TOOLS, stepRules } from './admit.ts'
import { answersLimit, compatLimit, directModes, returnsErrors, undoesForMisfits } from './compat.ts'
import { callRefused, callSettled, RESULT_WITHHELD, resultText } from '../record.ts'
import { marksOfResult } from './data-flow-guard.ts'
import type { CallState, RunState, StepState } from '../state.ts'

/** What comes next in a run. `record`: events that follow from the state alone. */
export type Decision =
  | { readonly do: 'record'; readonly events: readonly RunFact[] }
  | { readonly do: 'begin'; readonly step: number }
  /** `until`: the model fails for now, and is asked at this time, in epoch milliseconds. */
  | { readonly do: 'ask'; readonly step: StepState; readonly until?: number }
  /** Ask a decision model about calls, or about their results. */
  | { readonly do: 'judge'; readonly about: 'call' | 'result'; readonly calls: readonly CallState[] }
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
  if (openCalls.length > 0) return record({ type: 'run.waiting', for: waitCause(state), at: now })
  const unjudged = state.judgesResults ? step.calls.filter((call) => isUnjudgedResult(state, call)) : []
  if (unjudged.length > 0) return { do: 'judge', about: 'result', calls: unjudged }
  const undoPlan = planUndo(state, step)
  if (undoPlan) return { do: 'undo', ...undoPlan }
  const end = runEnd(state, step)
  return end ? record(stepFinished(step), end) : record(stepFinished(step))
}

/**
 * Decides about open calls of the step under way: which are refused, need an approval or a judgement, may run, or are the
 * caller's, in this order. Undefined if all of them wait. The calls of an answer are decided together, and so are those that
 * a program asks for at once.
 */
export function decideCalls(state: RunState, openCalls: readonly CallState[], now: number): Decision | undefined {
  const which = limitReached(state, openCalls)
  if (which && state.request.onLimit === 'fail' && !answersLimit(state.request, which)) {
    const end = limitedRun(state, which)
    return record({ type: 'limit.reached', which }, ...endEarly(state, `the limit "${which}" is reached`, end))
  }
  const proposed = openCalls.filter((call) => call.status === 'proposed')
  const rules = stepRules(state)
  const admissions = openCalls.map((call) => (call.status === 'proposed' ? admit(state, call, rules) : undefined))
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

  const unjudged = openCalls.filter((_, index) => isForJudgement(admissions[index]))
  if (unjudged.length > 0) return { do: 'judge', about: 'call', calls: unjudged }

  const ready = openCalls.filter(
    (call, index) =>
      call.status === 'approved' ||
      call.status === 'started' ||
      admissions[index]?.do === 'run' ||
      mayContinue(state, call) ||
      (call.status === 'deferred' && isDue(call, now)),
  )
  if (ready.length > 0) return { do: 'call', calls: ready }
  return proposed.length > 0 ? record(...proposed.map(callRequested)) : undefined
}

/** Whether a model would read text in the result of a call that others have written, and that no decision model has judged. */
function isUnjudgedResult(state: RunState, call: CallState): boolean {
  const { parent, result, resultJudgement } = call
  if (parent !== undefined || !result || resultJudgement) return false
  return resultText(result) !== '' && marksOfResult(state, call).includes('untrusted')
}

function isForJudgement(admission: Admission | undefined): boolean {
  return admission?.do === 'wait' && admission.for === 'judgement'
}

/** Whether a feature has suspended a call, and it may continue now. */
function mayContinue(state: RunState, call: CallState): boolean {
  return call.status === 'suspended' && state.features.some(({ isReady }) => isReady?.(state, call))
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
  const settlements = openCalls.map((call) => {
    const message = `Not finished: ${cause}.`
    if (!call.child) return callRefused(call, failure('cancelled', message))
    // What its run has done is known once that has ended.
    const rest = ` ${READ_RESULT} reads what the agent had done by then, with the id "${call.callId}".`
    return callSettled(call, failure('cancelled', message + rest), 0, 0)
  })
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

/** Returns what a run waits for, if every agent that it has called is at work. */
export function waitCause({ step }: RunState): WaitCause {
  const isFor = (status: CallState['status']) => step?.calls.some((call) => call.status === status) ?? false
  if (isFor('awaiting_approval')) return 'approval'
  if (isFor('awaiting_caller')) return 'caller'
  return step?.calls.some(({ status, child }) => status === 'deferred' && child) ? 'agent' : 'tool'
}

/** Whether a waiting run must keep waiting: for a person, for its caller, or for outcomes that come later. */
export function isHeldUp(state: RunState): boolean {
  const open = state.step?.calls.filter(({ status }) => status !== 'settled') ?? []
  const waits = (call: CallState) =>
    call.status === 'deferred' || (call.status === 'suspended' && !mayContinue(state, call))
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
  return { type: 'step.finished', step, finish, usage }
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
    parent,
  }
}

function callRequested({ callId, tool, arguments: text, parent }: CallState): RunFact {
  return { type: 'call.requested', callId, tool, arguments: text, parent }
}

function record(...events: RunFact[]): Decision {
  return { do: 'record', events }
}

/** Returns how the run ends with this step, whose calls are all settled; undefined if the model continues. */
function runEnd(state: RunState, step: StepState): RunFinished | undefined {
  const { answer } = step
  // What a program's calls have come to is in the program's own result.
  const calls = step.calls.filter(({ parent }) => parent === undefined)
  const failed = calls.find((call) => !call.result?.ok)
  if (state.limit && calls.length > 0 && calls.every((call) => call.result?.error?.code === NO_MORE_TOOLS))
    return limitedRun(state, state.limit.which)
  const exceeding = calls.find((call) => call.result?.error?.code === 'limit')
  if (exceeding && answersLimit(state.request, state.limit?.which)) {
    const answer = exceeding.result?.error?.message ?? ''
    return runFinished(state, {
      status: 'completed',
      finish: 'limit',
      ...(state.limit && { which: state.limit.which }),
      answer,
    })
  }
  const fatal = step.calls.find((call) => call.result?.error?.fatal) ?? (state.request.toolErrors === 'fail' && failed)
  if (fatal) {
    const { code = 'tool_failed', message = '' } = fatal.result?.error ?? {}
    return failedRun(state, { code, message })
  }
  // Input that arrived meanwhile is answered first.
  if (state.pendingInput.length > 0) return undefined
  if (calls.length === 0) return answeredRun(state, answer)
  if ((failed === undefined || returnsErrors(state.request.compat)) && returnsDirect(state, calls)) {
    const answer = calls.map(({ result }) => result?.error?.message ?? contentText(result?.content ?? [])).join('\n\n')
    return runFinished(state, { status: 'completed', finish: 'return_direct', answer })
  }
  return undefined
}

function answeredRun(state: RunState, answer: StepState['answer']): RunFinished {
  const text = answer?.text ?? ''
  if (state.limit)
    return runFinished(state, { status: 'completed', finish: 'limit', which: state.limit.which, answer: text })
  // Some servers finish with `tool_calls` without any call.
  const finish = answer === undefined || answer.finish === 'tool_calls' ? 'stop' : answer.finish
  return runFinished(state, { status: 'completed', finish, answer: text })
}

export function failedRun(state: RunState, error: NonNullable<RunFinished['error']>): RunFinished {
  return runFinished(state, { status: 'failed', finish: 'error', answer: '', error })
}

/** Ends a run that was cancelled. Its answer is the text that the model had written by then, if any. */
function cancelledRun(state: RunState): RunFinished {
  const last = state.messages.at(-1)
  const answer = last?.role === 'assistant' && last.wasInterrupted ? last.content : ''
  return runFinished(state, { status: 'cancelled', finish: 'cancelled', answer })
}

/** Ends a run that is not stored, at the point where it hands calls to its caller. */
function handedOverRun(state: RunState): RunFinished {
  return runFinished(state, { status: 'completed', finish: 'tool_calls', answer: state.step?.answer?.text ?? '' })
}

function timedOutRun(state: RunState): RunFinished {
  const error = { code: 'run_timeout', message: `The run took longer than ${state.request.limits.runMs} ms.` }
  return runFinished(state, { status: 'failed', finish: 'limit', which: 'runMs', answer: '', error })
}

/** Ends a run that fails because of a limit: with `onLimit: 'fail'`, or if the model's last answer asked for tools. */
function limitedRun(state: RunState, which: LimitName): RunFinished {
  const isLast = state.limit !== undefined
  const { compat, limits } = state.request
  const tool = state.calls.at(-1)?.tool ?? ''
  const libraryText = compat && compatLimit(compat, which, limits, namedTools(state, tool).tool)
  const defaultText = `The limit "${which}" is reached${isLast ? ', and the model asked for tools instead of answering' : ''}.`
  return runFinished(state, {
    status: 'failed',
    finish: 'limit',
    which,
    answer: '',
    error: { code: 'limit_reached', message: libraryText ?? defaultText },
  })
}

function runFinished(state: RunState, end: Omit<RunFinished, 'type' | 'usage'>): RunFinished {
  const { usage, agentUsage } = state
  return { type: 'run.finished', ...end, usage, ...(agentUsage !== NO_USAGE && { agentUsage }) }
}

/** Whether the results are the answer: all tools say `always`, or the last says `if-last`. */
function returnsDirect({ offered, request }: RunState, calls: readonly CallState[]): boolean {
  const modes = calls.map((call) => offered.get(call.tool)?.returnDirect)
  const direct = directModes(request.compat)
  return modes.every((mode) => direct.includes(mode)) || modes.at(-1) === 'if-last'
}

/** The finished calls to undo, newest first, and the failed call that is the reason. */
export interface UndoPlan {
  readonly calls: readonly CallState[]
  readonly because: CallState
}

/**
 * The codes of failures that happen before the tool does anything, and of calls that have succeeded: nothing has to be
 * undone because of them.
 */
const HARMLESS = new Set(['invalid_arguments', 'schema_mismatch', 'tool_changed', RESULT_WITHHELD])

/** Returns what to undo because of a failed call of this step, if the run compensates; undefined if nothing. */
function planUndo({ request, calls, offered }: RunState, step: StepState): UndoPlan | undefined {
  if (!request.compensate) return undefined
  const because = step.calls.find(({ result, attempt, wasUndone }) => {
    // The result of a call that was undone is an error too.
    if (wasUndone !== undefined || !result?.error) return false
    const { code, fatal = false } = result.error
    if (undoesForMisfits(request.compat, code, fatal)) return true
    return attempt > 0 && !HARMLESS.has(code)
  })
  const undoable = calls.filter(
    (call) => call.result?.ok && call.wasUndone === undefined && offered.get(call.tool)?.undo,
  )
  return because && undoable.length > 0 ? { calls: undoable.toReversed(), because } : undefined
}

/** The events that each stand for one request of the run to a model, a tool or a store. */
const SUBREQUESTS: ReadonlySet<RunEventBody['type']> = new Set([
  'history.compacted',
  'tools.added',
  'step.started',
  'step.restarted',
  'model.retried',
  'call.started',
  'call.deferred',
  'call.undone',
] as const)

/** Returns how many subrequests of its invocation an event stands for. */
export function subrequestsOf(event: RunEventBody): number {
  // Only a summary of what was left out is a request.
  if (event.type === 'context.reduced') return Number(event.usage !== undefined) + Number(event.because !== undefined)
  if (event.type === 'call.judged') return event.requests ?? 1
  return Number(SUBREQUESTS.has(event.type))
}

/** Returns as much of a decision as may be performed with so many subrequests; undefined if none of it may. */
export function withinSubrequests(next: Decision, most: number): Decision | undefined {
  if (!('calls' in next)) return next.do !== 'begin' || most > 0 ? next : undefined
  let count = 0
  // A call that started before the model's answer was complete makes no further subrequest.
  const calls = next.calls.filter(({ status }) => status === 'started' || count++ < most)
  return calls.length > 0 ? { ...next, calls } : undefined
}

/** The error of a run that cannot be continued in another invocation. */
export const SUBREQUEST_LIMIT: RunError = {
  code: 'subrequest_limit',
  message: 'The run needs too many subrequests. Run it in a conversation.',
}
