import { signal } from '@preact/signals'
import type { ListedApproval } from '../../contract/run-list.ts'
import { fetchJson } from '../api/session.ts'
import { callPath } from '../run/run-store.ts'

/** The calls of all conversations that wait for a person, the one that has waited longest first. */
export const waitingCalls = signal<readonly ListedApproval[]>([])

/** Loads them. A key that may not decide has none. */
export async function loadWaiting(): Promise<void> {
  const calls = await fetchJson<ListedApproval[]>('/approvals')
  const byId = new Map(waitingCalls.peek().map((call) => [call.id, call]))
  // One that is shown stays the same object, so that its form is left alone.
  waitingCalls.value = calls.map((call) => byId.get(call.id) ?? call)
}

/** Loads the arguments of a call, which a list leaves out if they are very long. */
export async function loadArguments({ conversation, run, id }: ListedApproval): Promise<unknown> {
  const call = await fetchJson<{ readonly arguments: unknown }>(callPath({ conversation, run }, id))
  return call.arguments
}
