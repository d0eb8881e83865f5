import { LEAST_POLL_MS, MOST_LATER_MS } from '../../contract/later.ts'
import type { RunFact } from '../../contract/event.ts'
import { readExactly } from '../../contract/exact-numbers.ts'
import { contentText } from '../../contract/message.ts'
import { failure, READ_RESULT, type ToolFailure, type ToolOutcome, type ToolSuccess } from '../../contract/tool.ts'
import { visibleOutcome } from '../decide/truncated-result.ts'
import { toldCalls } from '../effects.ts'
import { startedCalls } from '../recover.ts'
import type { Running } from '../running.ts'
import { callSettled } from '../record.ts'
import type { CallState } from '../state.ts'
import { plannerOf } from '../window/planner.ts'
import { applyFaultPolicy } from './hooks.ts'
import { isForPerson, pollTool, receiveOutcome } from './call-tool.ts'

/**
 * Records an outcome. If it is too large for the model, it is stored in full, and the model is told how to read the
 * rest.
 */
export function recordOutcome(running: Running, call: CallState, ownOutcome: ToolOutcome, durationMs: number): void {
  const { state, commit, flush, journal, tools } = running
  const { callId, tool, parent } = call
  const outcome = withToldCalls(running, call, ownOutcome)
  const input = outcome.ok ? undefined : outcome.input
  if (input && state.request.conversation !== undefined && isForPerson(input)) {
    commit([{ type: 'approval.requested', callId, tool, arguments: call.arguments, input, parent }])
    return flush()
  }
  const deferral = readDeferral(running, call, outcome)
  if (deferral) {
    commit([deferral])
    return flush()
  }
  const { maxResultBytes = Infinity } = state.offered.get(tool) ?? {}
  const { resultBytes } = state.request.limits
  // No model reads the result of a program's call.
  const room = parent === undefined ? plannerOf(running.loop).roomForResult(running) : Infinity
  const limit = Math.min(maxResultBytes, resultBytes, room)
  const { visible, cut } = visibleOutcome(outcome, { journal, callId, limit, isReadable: tools.has(READ_RESULT) })
  commit([callSettled(call, applyFaultPolicy(running, call, visible), durationMs, cut)])
  // The last outcome of a step is flushed together with the events that follow from it.
  if (!state.step?.answer || startedCalls(state).length > 0) flush()
}

/** Returns an outcome with what an agent says that it did; of any other tool, without what it says. */
export function withToldCalls({ state }: Running, { tool }: CallState, outcome: ToolOutcome): ToolOutcome {
  if (!outcome.calls) return outcome
  const { calls, ...rest } = outcome
  return state.offered.get(tool)?.callsTools ? { ...rest, calls: toldCalls(calls) } : rest
}

/** Returns the event of a call that its tool answers later; undefined for any other, and where the run cannot wait. */
export function readDeferral(
  { state, reportTo, now }: Running,
  { callId, tool }: CallState,
  outcome: ToolOutcome,
): RunFact | undefined {
  const later = outcome.ok ? undefined : outcome.later
  const mayBeLater = state.request.durable && (later?.child ?? state.offered.get(tool)?.later)
  if (!later || !mayBeLater || (later.poll === undefined && !reportTo)) return undefined
  const at = now()
  const { within, poll, state: token, child } = later
  return {
    type: 'call.deferred',
    callId,
    tool,
    at,
    until: at + Math.min(within, MOST_LATER_MS),
    ...(poll !== undefined && { poll: Math.max(poll, LEAST_POLL_MS) }),
    state: token,
    child,
  }
}

/** Returns the outcome of a call that succeeded, including what was cut for the model. The text of a cut value is the last part. */
export function wholeOutcome({ journal }: Pick<Running, 'journal'>, { callId, result }: CallState): ToolSuccess {
  const { content = [], structured, cut, metadata } = result ?? {}
  const fullResult = cut === undefined ? undefined : journal.fullResult(callId)
  const value = fullResult ? readExactly(contentText(fullResult.slice(-1))) : structured
  return {
    ok: true,
    content: fullResult ?? content,
    ...(value !== undefined && { structured: value }),
    metadata,
  }
}

/**
 * Looks for the outcome of a call that its tool answers later: a reported one, or that of a poll. It passes the same
 * hooks and limits as an immediate one. If there is no outcome yet, the call keeps waiting until its time is up.
 */
export async function lookForOutcome(running: Running, call: CallState): Promise<void> {
  const { tools, journal, now, flush, commit, children } = running
  const { callId, tool: name, attempt, startedAt = 0, later, hasReport, child } = call
  flush()
  const ofAgent = child && !hasReport ? await children?.outcome(call) : undefined
  const reported = hasReport ? journal.reportedOutcome(callId) : ofAgent
  const received = reported && reported !== 'absent' ? (tools.get(name)?.receive?.(reported) ?? reported) : undefined
  const answer = received || child ? await received : await poll(running, call)
  // If an outcome was reported during the poll, that one counts.
  if (!isDeferred(call) || hasReport !== call.hasReport) return
  if (reported === 'absent' && later && now() < later.until) {
    commit([{ type: 'call.interrupted', callId, tool: name }])
    return flush()
  }
  if (!answer && !hasReport && later && now() < later.until)
    return void (later.pollAt = now() + (later.poll ?? Infinity))
  const deadline = now() + running.state.request.limits.callMs
  const outcome = await receiveOutcome(running, call, { attempt, startedAt, deadline }, answer ?? tooLate(name))
  if (isDeferred(call)) recordOutcome(running, call, outcome, now() - startedAt)
}

/** Returns the outcome that a poll has found; undefined if there is none yet. */
async function poll(running: Running, call: CallState): Promise<ToolOutcome | undefined> {
  const outcome = await pollTool(running, call)
  return outcome && !outcome.ok && (outcome.later || isPollFault(outcome)) ? undefined : outcome
}

/** Whether the call still waits: the run may have ended meanwhile. */
function isDeferred({ status }: CallState): boolean {
  return status === 'deferred'
}

/** Whether a poll itself failed, so that its answer tells nothing of the call. */
function isPollFault(outcome: ToolFailure): boolean {
  return /^(?:timeout|tool_(?:failed|lost|unreachable)|bad_outcome|http_(?:unreachable|429|5\d\d)|mcp_(?:timeout|unavailable))$/.test(
    outcome.error.code,
  )
}

function tooLate(name: string): ToolFailure {
  const message = `The tool "${name}" gave no result in the time that it had asked for; whether it took effect is unknown.`
  return failure('no_outcome', message)
}
