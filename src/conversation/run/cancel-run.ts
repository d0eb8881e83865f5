import type { ConversationService } from '../../contract/conversation.ts'
import { isTerminal } from '../../contract/run.ts'
import type { Store } from '../store/store.ts'
import { UNKNOWN_RUN } from './refusals.ts'

export interface CancelPorts {
  readonly store: Store
  /** Cancels a run whose journal can be read. */
  readonly cancel: (runId: string) => Promise<void>
}

/** Cancels a run. The journal of a parked one is not read: that may be what crashes the object. */
export async function cancelRun(
  runId: string,
  { store, cancel }: CancelPorts,
): ReturnType<ConversationService['cancel']> {
  const row = store.runs.row(runId)
  if (!row) return UNKNOWN_RUN
  if (isTerminal(row.status)) return { ok: true, status: 'already_terminal' }
  if (row.status === 'parked') {
    store.endUnread(runId, { status: 'cancelled', finish: 'cancelled' })
    return { ok: true, status: 'cancelled' }
  }
  await cancel(runId)
  // The run may have ended by itself before the cancellation took effect.
  const { status } = store.runs.row(runId) ?? row
  return { ok: true, status: status === 'cancelled' ? status : 'already_terminal' }
}
