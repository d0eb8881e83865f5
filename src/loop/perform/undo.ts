import { parseJson } from '../../contract/json.ts'
import { textOf } from '../../contract/message.ts'
import type { ToolOutcome, ToolSuccess } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import { messageOf } from '../../contract/thrown.ts'
import type { Running } from '../running.ts'
import { toolRequest } from './tool-request.ts'
import type { CallState, RunState, StepState } from '../state.ts'
import { within } from '../../contract/time-limit.ts'

/** The finished calls to undo, newest first, and the failed call that is the reason. */
export interface UndoPlan {
  readonly calls: readonly CallState[]
  readonly because: CallState
}

/** The codes of failures that happen before the tool does anything, so that nothing has to be undone. */
const HARMLESS = new Set(['invalid_arguments', 'schema_mismatch', 'tool_changed'])

/** Returns what to undo because of a failed call of this step, if the run compensates; undefined if nothing. */
export function planUndo({ request, calls, offered }: RunState, step: StepState): UndoPlan | undefined {
  if (!request.compensate) return undefined
  const because = step.calls.find(
    ({ result, attempt }) => attempt > 0 && result?.error && !HARMLESS.has(result.error.code),
  )
  const undoable = calls.filter(
    (call) => call.result?.ok && call.wasUndone === undefined && offered.get(call.tool)?.undo,
  )
  return because && undoable.length > 0 ? { calls: undoable.toReversed(), because } : undefined
}

/**
 * Undoes calls one after the other. A call that cannot be undone is recorded as such and does not stop the others.
 * After a crash, each call without a record is undone again, with the same key.
 */
export async function undoCalls(running: Running, { calls, because }: UndoPlan): Promise<void> {
  for (const call of calls) {
    running.flush()
    const outcome = await undoCall(running, call)
    const { callId, tool } = call
    if (!outcome.ok && outcome.error.detail !== undefined) {
      running.report({ callId, tool, code: outcome.error.code, detail: outcome.error.detail })
    }
    const { code, message } = outcome.ok ? { code: '', message: '' } : outcome.error
    const error = outcome.ok ? {} : { error: { code, message } }
    running.commit([{ type: 'call.undone', callId, tool, ok: outcome.ok, ...error, because: because.callId }])
  }
}

async function undoCall(running: Running, call: CallState): Promise<ToolOutcome> {
  const { state, tools, now } = running
  const tool = tools.get(call.tool)
  const { content, structured } = outcomeOf(running, call)
  const limit = state.request.limits.callMs
  const request = toolRequest(running, call, { attempt: call.attempt, deadline: now() + limit })
  if (!tool?.undo || !request.ok) return failure('tool_unavailable', 'Its tool is not available any more.')
  const timeout = failure('timeout', `It was not undone within ${limit} ms.`)
  try {
    const success = { ok: true, content, ...(structured !== undefined && { structured }) } as const
    return await within<ToolOutcome>(limit, tool.undo(request.value, success), timeout)
  } catch (error) {
    return failure('tool_failed', 'Its undoing failed.', messageOf(error))
  }
}

/** Returns the full result of a call, with what was cut for the model. The text of a cut value is the last part. */
function outcomeOf({ journal }: Running, { callId, result }: CallState): Pick<ToolSuccess, 'content' | 'structured'> {
  const { content = [], structured, cut } = result ?? {}
  const fullResult = cut === undefined ? undefined : journal.fullResult(callId)
  return fullResult
    ? { content: fullResult, structured: parseJson(textOf(fullResult.slice(-1))) }
    : { content, structured }
}
