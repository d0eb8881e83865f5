import { messageOf } from '../../contract/thrown.ts'
import { within } from '../../contract/time-limit.ts'
import { failure, type ToolFailure, type ToolOutcome } from '../../contract/tool.ts'
import { isOutageOf } from '../../host/breaker.ts'
import { hookContext, type Running } from '../running.ts'
import type { CallState } from '../state.ts'
import { callThroughHooks } from './call-hooks.ts'
import { faultOf, recordOutcome } from './record-outcome.ts'
import { toolRequest } from './tool-request.ts'

/**
 * Looks for the outcome of a call that its tool answers later: a reported one, or that of a poll. It passes the same
 * hooks and limits as an immediate one. If there is no outcome yet, the call keeps waiting until its time is up.
 */
export async function lookForOutcome(running: Running, call: CallState): Promise<void> {
  const { state, tools, journal, now, report, flush } = running
  const { callId, tool: name, attempt, startedAt = 0, later, hasReport } = call
  const tool = tools.get(name)
  const request = toolRequest(running, call, { attempt, deadline: now() + state.request.limits.callMs })
  flush()
  const reported = hasReport ? journal.reportedOutcome(callId) : undefined
  const answer = reported ? await (tool?.receive?.(reported) ?? reported) : await poll(running, call, request)
  // If an outcome was reported during the poll, that one counts.
  if (!isDeferred(call) || hasReport !== call.hasReport) return
  if (!answer && !hasReport && later && now() < later.until)
    return void (later.pollAt = now() + (later.poll ?? Infinity))
  const received = answer ?? tooLate(name)
  const outcome =
    tool && request.ok
      ? await callThroughHooks(running, {
          definition: tool.definition,
          request: request.value,
          context: () => hookContext(running),
          send: async () => received,
        })
      : received
  const durationMs = now() - startedAt
  const fault = faultOf(outcome)
  if (fault) report({ callId, tool: name, attempts: attempt, durationMs, ...fault })
  if (isDeferred(call)) recordOutcome(running, call, outcome, durationMs)
}

/** Whether the call still waits: the run may have ended meanwhile. */
function isDeferred({ status }: CallState): boolean {
  return status === 'deferred'
}

/** Asks the tool for the outcome. Undefined if there is none yet, or if the tool could not be asked. */
async function poll(
  { state, tools, report }: Running,
  { callId, tool: name, later }: CallState,
  request: ReturnType<typeof toolRequest>,
): Promise<ToolOutcome | undefined> {
  try {
    const answer = request.ok && tools.get(name)?.poll?.(request.value, later?.state)
    if (!answer) return undefined
    const outcome = await within<ToolOutcome | undefined>(state.request.limits.callMs, answer, undefined)
    return outcome && !outcome.ok && (outcome.later || isPollFault(outcome)) ? undefined : outcome
  } catch (error) {
    report({ callId, tool: name, code: 'poll_failed', detail: messageOf(error) })
    return undefined
  }
}

/** Whether a poll itself failed, so that its answer tells nothing of the call. */
function isPollFault(outcome: ToolFailure): boolean {
  return isOutageOf(outcome) || /^(?:tool_failed|bad_outcome|http_5\d\d)$/.test(outcome.error.code)
}

function tooLate(name: string): ToolFailure {
  const message = `The tool "${name}" gave no result in the time that it had asked for; whether it took effect is unknown.`
  return failure('no_outcome', message)
}
