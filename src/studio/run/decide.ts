import { sendRequest } from '../api/session.ts'
import { canonicalJson, sha256 } from '../../contract/json.ts'
import { jsonOrText } from '../part/text.ts'
import { callPath, runPath, watchRun } from './run-store.ts'
import type { RunAddress } from '../route.ts'

export interface ApprovalDecision {
  readonly call: string
  readonly decision: 'approve' | 'reject'
  readonly reason: string
  /** The arguments that the person saw: the edge refuses the decision if the call has others. */
  readonly arguments: string
  /** The arguments to use in their place. */
  readonly changes?: Readonly<Record<string, unknown>> | undefined
  /** What the person filled in, by the names of the questions. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
}

/** Decides on a call that waits for approval. */
export async function sendDecision(
  address: RunAddress,
  { call, decision, reason, arguments: argumentsText, changes, input }: ApprovalDecision,
): Promise<void> {
  const value = jsonOrText(argumentsText)
  await sendRequest(callPath(address, call), {
    json: {
      decision,
      ...(reason !== '' && { reason }),
      ...(changes && { arguments: changes }),
      ...(input && { input }),
      // Only what JSON writes in one way can be hashed alike on both sides.
      ...(typeof value === 'object' && value !== null && { argumentsHash: await sha256(canonicalJson(value)) }),
    },
  })
}

/** Gives the result of a call that its caller runs, then follows the run on. */
export async function giveResult(address: RunAddress, call: string, result: unknown): Promise<void> {
  await sendRequest(callPath(address, call), { json: { result } })
  watchRun(address)
}

/** Cancels a run. */
export async function cancel(address: RunAddress): Promise<void> {
  await sendRequest(`${runPath(address)}/cancel`, { method: 'POST' })
}
