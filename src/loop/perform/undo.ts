import { parseJson } from '../../contract/json.ts'
import { contentText } from '../../contract/message.ts'
import type { ToolOutcome, ToolSuccess } from '../../contract/tool.ts'
import { failure } from '../../contract/tool.ts'
import { messageOf } from '../../contract/thrown.ts'
import type { Running } from '../running.ts'
import { toolRequest } from './tool-request.ts'
import type { UndoPlan } from '../decide/undo-plan.ts'
import type { CallState } from '../state.ts'
import { within } from '../../contract/time-limit.ts'

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
  const metadata = call.result?.metadata
  const limit = state.request.limits.callMs
  const request = toolRequest(running, call, { attempt: call.attempt, deadline: now() + limit })
  if (!tool?.undo || !request.ok) return failure('tool_unavailable', 'Its tool is not available any more.')
  const timeout = failure('timeout', `It was not undone within ${limit} ms.`)
  try {
    const success = {
      ok: true,
      content,
      ...(structured !== undefined && { structured }),
      ...(metadata && { metadata }),
    } as const
    return await within<ToolOutcome>(limit, tool.undo(request.value, success), timeout)
  } catch (error) {
    return failure('tool_failed', 'Undoing it failed.', messageOf(error))
  }
}

/**
 * Returns the full result of a call, including what was cut for the model. The text of a cut value is the last part.
 */
function outcomeOf({ journal }: Running, { callId, result }: CallState): Pick<ToolSuccess, 'content' | 'structured'> {
  const { content = [], structured, cut } = result ?? {}
  const fullResult = cut === undefined ? undefined : journal.fullResult(callId)
  return fullResult
    ? { content: fullResult, structured: parseJson(contentText(fullResult.slice(-1))) }
    : { content, structured }
}
