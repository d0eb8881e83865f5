import { signal } from '@preact/signals'
import type { CallRecord, RunRecord } from '../../contract/run.ts'
import type { RunSummary } from '../../contract/conversation.ts'
import { fetchJson, part } from '../api/session.ts'
import { listIds, survey, type Surveyed } from '../conversation/survey.ts'
import type { RunAddress } from '../route.ts'
import { runPath } from '../run/run-store.ts'

/** A call that waits for a person. */
export interface WaitingCall {
  readonly address: RunAddress
  readonly call: CallRecord
  /** What was asked in its conversation last. */
  readonly question: string
  /** Epoch milliseconds. */
  readonly since: number
}

/** The calls of all conversations that wait for a person, as they were found last. */
export const waitingCalls = signal<readonly WaitingCall[]>([])

/** Looks for calls that wait in all conversations. */
export async function findWaiting(onCall: (call: WaitingCall) => void, abort: AbortSignal): Promise<void> {
  const pending: Promise<void>[] = []
  const look = (conversation: Surveyed) => void pending.push(callsIn(conversation, onCall).catch(() => {}))
  await survey(await listIds(), look, abort)
  await Promise.all(pending)
}

async function callsIn({ id, title, last }: Surveyed, onCall: (call: WaitingCall) => void): Promise<void> {
  // Runs take turns: behind the one that waits, others may be queued.
  if (last?.status !== 'waiting' && last?.status !== 'queued') return
  const runs = await fetchJson<RunSummary[]>(`/conversations/${part(id)}/runs?limit=100`)
  for (const run of runs.filter(({ status }) => status === 'waiting')) {
    const address = { conversation: id, run: run.id }
    const { calls } = await fetchJson<RunRecord>(runPath(address))
    for (const call of calls)
      if (call.status === 'approval') onCall({ address, call, question: title, since: run.created })
  }
}
