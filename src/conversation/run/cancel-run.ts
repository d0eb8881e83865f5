import type { ConversationService, Refusal } from '../../contract/conversation.ts'
import { quotaMessage, type ReachedQuota } from '../../contract/quotas.ts'
import { isTerminal, type RunRecord } from '../../contract/run.ts'
import { within } from '../../contract/time-limit.ts'
import type { Store } from '../store/store.ts'

interface CancelPorts {
  readonly store: Store
  /** Cancels a run whose journal can be read. */
  readonly cancel: (runId: string) => Promise<void>
}

/** Cancels a run. The state of a parked one is not folded: that may be what crashes the object. */
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

export function refusalOf(code: Refusal['code'], message: string): Refusal {
  return { ok: false, code, message }
}

export function refuseQuota(reached: ReachedQuota): Refusal {
  return { ...refusalOf('quota_exceeded', quotaMessage(reached)), reached }
}

export const UNKNOWN = refusalOf('unknown_conversation', 'There is no such conversation.')
export const DELETED = refusalOf('conversation_deleted', 'This conversation was deleted.')
const RESTORING = refusalOf(
  'conversation_restoring',
  'This conversation is being restored from a copy. Send the parts that are left, or delete it.',
)

/** Refuses what is asked of a conversation that was deleted, or that nobody can use yet. */
export function refuseGone(store: Pick<Store, 'restoring'>): Refusal {
  return store.restoring() ? RESTORING : DELETED
}

export const PARKED = refusalOf('run_parked', 'This run is parked. Retry it before you answer its calls.')
export const UNKNOWN_RUN = refusalOf('unknown_run', 'This conversation has no such run.')

/** The requests that wait for the records of runs. */
export class Waiters {
  readonly #waiters = new Map<string, Set<(record?: RunRecord) => void>>()

  /** Returns the record of a run once `tell` gives it; undefined after `waitMs`, or once `end` is called. */
  async wait(run: string, waitMs: number): Promise<RunRecord | undefined> {
    const { promise, resolve } = Promise.withResolvers<RunRecord | undefined>()
    const waiters = this.#waiters.get(run) ?? new Set()
    this.#waiters.set(run, waiters.add(resolve))
    const record = await within(waitMs, promise, undefined)
    waiters.delete(resolve)
    if (waiters.size === 0) this.#waiters.delete(run)
    return record
  }

  /** Releases all requests that wait, without a record. */
  end(): void {
    for (const waiters of this.#waiters.values()) for (const resolve of waiters) resolve()
  }

  tell(run: string, record: RunRecord): void {
    for (const resolve of this.#waiters.get(run) ?? []) resolve(record)
  }
}
