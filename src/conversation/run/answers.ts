import type { CallAnswer, Continuation, PendingApproval, Refusal } from '../../contract/conversation.ts'
import type { Config } from '../../contract/config.ts'
import type { RunFact } from '../../contract/event.ts'
import { canonicalJson, isObject } from '../../contract/json.ts'
import { DEFAULT_LIMITS, type Limits } from '../../contract/limits.ts'
import { hashArguments, readableArguments } from '../../contract/message.ts'
import type { CallRecord, RunRecord } from '../../contract/run.ts'
import type { ToolDefinition } from '../../contract/tool-definition.ts'
import { type Caller, failure, type ToolOutcome } from '../../contract/tool.ts'
import { callRecord, callRefused, callSettled } from '../../loop/record.ts'
import type { CallState, RunState } from '../../loop/state.ts'
import { admit } from '../../loop/decide/admit.ts'
import { marksOfCallerResult } from '../../loop/decide/data-flow-guard.ts'
import { visibleOutcome } from '../../loop/decide/truncated-result.ts'
import type { OpenRun } from './open-runs.ts'
import { refusalOf } from './cancel-run.ts'

type AnswerableRun = Pick<OpenRun, 'state' | 'journal'>

/**
 * Returns the events of answers to calls; or, if any of them is not a valid answer, the refusal of all. With `fourEyes`
 * nobody decides about calls of a run that the same key started; without `changesArguments`, nobody who approves a call
 * changes its arguments. `callerData` marks the results that callers send.
 */
export function answerEvents(
  run: AnswerableRun,
  answers: Readonly<Record<string, CallAnswer>>,
  { fourEyes, changesArguments, callerData }: Pick<Config, 'fourEyes' | 'changesArguments' | 'callerData'>,
): readonly RunFact[] | Refusal {
  const pairs: (readonly [CallState, CallAnswer])[] = []
  for (const [callId, answer] of Object.entries(answers)) {
    const call = run.state.calls.find((candidate) => candidate.callId === callId)
    if (!call) return refusalOf('unknown_call', `This run has no call "${callId}".`)
    if (call.status !== ('decision' in answer ? 'awaiting_approval' : 'awaiting_caller'))
      return refuseLate(`The call "${callId}" is not waiting for this answer.`, callRecord(call, run.state))
    if ('decision' in answer && answer.seenHash !== undefined && call.needs) return ANOTHER_CALL
    if (fourEyes && 'decision' in answer && answer.by === nameOf(run.state.request.caller))
      return refusalOf('own_run', 'The key that started this run may not decide about its calls.')
    if (!changesArguments && isChange(call, answer))
      return refusalOf('second_person_needed', 'Other arguments need a second person. Reject the call with a reason.')
    pairs.push([call, answer])
  }
  return pairs.map(([call, answer]) => answerEvent(call, answer, { ...run, callerData }))
}

const ANOTHER_CALL = refusalOf('arguments_changed', 'The call is not the one that you were asked about.')

/** Returns the refusal of decisions whose people have seen other arguments than those of the calls; undefined if there are none. */
export async function refuseUnseen(
  run: Pick<AnswerableRun, 'state'> | undefined,
  answers: Readonly<Record<string, CallAnswer>>,
): Promise<Refusal | undefined> {
  for (const [callId, answer] of Object.entries(answers)) {
    const call = run?.state.calls.find((candidate) => candidate.callId === callId)
    const hash = 'decision' in answer ? answer.seenHash : undefined
    // The arguments of a call that waits stay as they are.
    if (call && hash !== undefined && hash !== (await hashArguments(call.arguments))) return ANOTHER_CALL
  }
  return undefined
}

/** Refuses answers to calls of a run that has ended. */
export function refuseAfterEnd(answers: Readonly<Record<string, CallAnswer>>, run: RunRecord | undefined): Refusal {
  const inDoubt = run?.calls.find((call) => call.inDoubt && call.id in answers)
  return refuseLate('This run has ended.', inDoubt)
}

/** Refuses an answer that came too late. It says so if nobody knows whether the call took effect. */
function refuseLate(why: string, { id, inDoubt, error }: Partial<CallRecord> = {}): Refusal {
  const doubt = `The call "${id}" was sent, and nobody knows whether it took effect (${error?.code}).`
  return refusalOf('call_already_answered', inDoubt ? `${why} ${doubt}` : why)
}

/** Refuses client tools with the names of tools that the run has had from the edge: its calls of these keep their meaning. */
export function refuseNames({ state }: AnswerableRun, terms: Continuation['terms']): Refusal | undefined {
  const clash = terms?.clientTools?.find(({ name }) => state.offered.has(name))
  if (!clash) return undefined
  return refusalOf(
    'tool_name_conflict',
    `The tool "${clash.name}" of the edge is in use in this run; rename that of the caller.`,
  )
}

/** Whether a decision puts other arguments in the place of the model's. */
function isChange(call: CallState, answer: CallAnswer): boolean {
  if (!('decision' in answer) || answer.arguments === undefined) return false
  return canonicalJson(readableArguments(answer.arguments)) !== canonicalJson(readableArguments(call.arguments))
}

/** Returns the name of a caller in records: the id of its key or, for a caller without a key, its tenant. */
function nameOf({ key, tenant }: Caller): string {
  return key ?? tenant
}

/** Returns a call that waits for a decision; undefined if it does not wait for one. */
export async function pendingApproval(
  open: Pick<OpenRun, 'state'> | undefined,
  callId: string,
  now = Date.now(),
): Promise<PendingApproval | undefined> {
  const call = open?.state.calls.find((candidate) => candidate.callId === callId)
  if (!open || call?.status !== 'awaiting_approval') return undefined
  const { state } = open
  const { tenant, key } = state.request.caller
  const input = readableArguments(call.arguments)
  const definition = state.offered.get(call.tool)
  const because = reasonOf(state, call)
  const program = programAround(state, call)
  return {
    id: callId,
    run: state.request.runId,
    tool: call.tool,
    arguments: input,
    input: call.needs,
    argumentsHash: await hashArguments(call.arguments),
    caller: { tenant, key },
    ...(because && { because }),
    judgement: call.judgement,
    parent: call.parent,
    program,
    ...(state.request.agent && { path: state.request.agent.path }),
    expires: waitsUntil(state, now),
    ...(definition && { definition: describeTool(definition) }),
  }
}

/** Returns the code of the program that made a call; undefined if the model made it. */
function programAround({ calls }: RunState, { parent }: CallState): string | undefined {
  const input = readableArguments(calls.find(({ callId }) => callId === parent)?.arguments ?? '')
  return isObject(input) && typeof input['code'] === 'string' ? input['code'] : undefined
}

/**
 * Returns until when a run waits for a person or its caller, in epoch milliseconds. `now`: since when, if it does not
 * wait yet.
 */
export function waitsUntil({ request, waitingSince }: RunState, now = 0): number {
  // A run that an earlier version has stored knows no such limit.
  const limits: Partial<Limits> = request.limits
  return request.agent?.until ?? (waitingSince ?? now) + (limits.waitMs ?? DEFAULT_LIMITS.waitMs)
}

/** Why a call waits for a person; undefined if it asks for input. */
function reasonOf(state: RunState, call: CallState): PendingApproval['because'] {
  if (call.needs) return undefined
  const admission = admit(state, call)
  if ('because' in admission && admission.because === 'untrusted_data') return 'untrusted_data'
  return call.isGuarded ? 'setup' : 'tool'
}

function describeTool({ title, description, annotations, version, hash, inputSchema, undo, approval }: ToolDefinition) {
  return { title, undo, approval, description, annotations, version, hash, inputSchema }
}

function answerEvent(
  call: CallState,
  answer: CallAnswer,
  { state, journal, callerData }: AnswerableRun & Pick<Config, 'callerData'>,
): RunFact {
  const { callId, tool } = call
  if ('decision' in answer) {
    const { seenHash: _, ...decision } = answer
    return { type: 'approval.decided', callId, ...decision }
  }
  const { ok, result, content = [{ type: 'text', text: result }], structured } = answer
  const { offered, request } = state
  const marks = marksOfCallerResult(tool, { offered, clientTools: request.clientTools, callerData })
  const outcome: ToolOutcome = {
    ...(ok ? { ok, content, ...(structured !== undefined && { structured }) } : failure('tool_failed', result)),
    ...(marks.length > 0 && { marks }),
  }
  const { visible, cut } = visibleOutcome(outcome, { journal, callId, limit: request.limits.resultBytes })
  return callSettled(call, visible, 0, cut)
}

/** Returns the event of a call that was not answered in time: an approval is rejected, a handed-out call fails. */
export function expiryEvent(call: CallState): RunFact {
  const { callId, status } = call
  if (status === 'awaiting_approval')
    return { type: 'approval.decided', callId, decision: 'reject', reason: 'nobody decided in time' }
  return callRefused(call, failure('expired', 'The caller sent no result in time.'))
}
