import type { Running } from '../running.ts'
import type { UndoPlan } from '../decide/undo-plan.ts'
import { undoCall } from './call-tool.ts'
import { wholeOutcome } from './record-outcome.ts'

/**
 * Undoes calls one after the other. A call that cannot be undone is recorded as such and does not stop the others.
 * After a crash, each call without a record is undone again, with the same key.
 */
export async function undoCalls(running: Running, { calls, because }: UndoPlan): Promise<void> {
  for (const call of calls) {
    running.flush()
    const outcome = await undoCall(running, call, wholeOutcome(running, call))
    const { callId, tool } = call
    if (!outcome.ok && outcome.error.detail !== undefined) {
      running.report({ callId, tool, code: outcome.error.code, detail: outcome.error.detail })
    }
    const { code, message } = outcome.ok ? { code: '', message: '' } : outcome.error
    const error = outcome.ok ? {} : { error: { code, message } }
    running.commit([{ type: 'call.undone', callId, tool, ok: outcome.ok, ...error, because: because.callId }])
  }
}
