import { signal } from '@preact/signals'
import type { JsonSchema } from '../../contract/json.ts'
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
  const next = calls.map((call) => byId.get(call.id) ?? call)
  const isSame = next.length === byId.size && next.every((call, index) => call === waitingCalls.peek()[index])
  if (!isSame) waitingCalls.value = next
}

/** Loads a call that waits, with its arguments and the schema of its tool, which a list leaves out. */
export async function loadCall({ conversation, run, id }: ListedApproval): Promise<ListedApproval & WithSchema> {
  return fetchJson<ListedApproval & WithSchema>(callPath({ conversation, run }, id))
}

interface WithSchema {
  readonly definition?: NonNullable<ListedApproval['definition']> & { readonly inputSchema?: JsonSchema }
}
