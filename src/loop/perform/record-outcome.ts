import { LEAST_POLL_MS, MOST_LATER_MS } from '../../contract/later.ts'
import type { RunFact } from '../../contract/event.ts'
import { parseJson } from '../../contract/json.ts'
import { contentText } from '../../contract/message.ts'
import { READ_RESULT, type ToolOutcome, type ToolSuccess } from '../../contract/tool.ts'
import { visibleOutcome } from '../decide/truncated-result.ts'
import { startedCalls } from '../recover.ts'
import type { Running } from '../running.ts'
import { callSettled } from '../record.ts'
import type { CallState } from '../state.ts'
import { roomForResult } from '../window/fit.ts'
import { applyFaultPolicy } from './hooks.ts'
import { isForPerson } from './call-tool.ts'

/**
 * Records an outcome. If it is too large for the model, it is stored in full, and the model is told how to read the
 * rest.
 */
export function recordOutcome(running: Running, call: CallState, outcome: ToolOutcome, durationMs: number): void {
  const { state, commit, flush, journal, tools } = running
  const { callId, tool, parent } = call
  const input = outcome.ok ? undefined : outcome.input
  if (input && state.request.conversation !== undefined && isForPerson(input)) {
    const ofProgram = parent === undefined ? {} : { parent }
    commit([{ type: 'approval.requested', callId, tool, arguments: call.arguments, input, ...ofProgram }])
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
  const room = parent === undefined ? roomForResult(running) : Infinity
  const limit = Math.min(maxResultBytes, resultBytes, room)
  const { visible, cut } = visibleOutcome(outcome, { journal, callId, limit, isReadable: tools.has(READ_RESULT) })
  commit([callSettled(call, applyFaultPolicy(running, call, visible), durationMs, cut)])
  // The last outcome of a step is flushed together with the events that follow from it.
  if (!state.step?.answer || startedCalls(state).length > 0) flush()
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
  const value = fullResult ? parseJson(contentText(fullResult.slice(-1))) : structured
  return {
    ok: true,
    content: fullResult ?? content,
    ...(value !== undefined && { structured: value }),
    metadata,
  }
}
