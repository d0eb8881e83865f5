import { signal } from '@preact/signals'
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
  /** Their hash, as the edge has told it. Default: made of `arguments`. */
  readonly argumentsHash?: string
  /** The arguments to use in their place. */
  readonly changes?: Readonly<Record<string, unknown>> | undefined
  /** What the person filled in, by the names of the questions. */
  readonly input?: Readonly<Record<string, unknown>> | undefined
}

/** A decision that was made in this tab. */
export interface MadeDecision extends Pick<ApprovalDecision, 'decision' | 'reason'> {
  readonly isChanged: boolean
  /** In epoch milliseconds. */
  readonly at: number
}

/** The decisions that were made in this tab, by the ids of their calls. */
export const ownDecisions = signal<ReadonlyMap<string, MadeDecision>>(new Map())

/** How long no other decision can be made after one: the second click of a double click must decide nothing. */
const INERT_MS = 1000

/** Whether a decision has just been made, so that no other can be. */
export const isInert = signal(false)

/** Decides on calls that wait for approval, one after the other, unless a decision has just been made. */
export async function sendDecisions(all: readonly (readonly [RunAddress, ApprovalDecision])[]): Promise<void> {
  if (isInert.peek()) return
  isInert.value = true
  try {
    for (const [address, decision] of all) await sendDecision(address, decision)
  } finally {
    setTimeout(() => (isInert.value = false), INERT_MS)
  }
}

async function sendDecision(address: RunAddress, whatToDecide: ApprovalDecision): Promise<void> {
  const { call, decision, reason, arguments: argumentsText, argumentsHash, changes, input } = whatToDecide
  const value = jsonOrText(argumentsText)
  // Only what JSON writes in one way can be hashed alike on both sides.
  const hash =
    argumentsHash ?? (typeof value === 'object' && value !== null ? await sha256(canonicalJson(value)) : undefined)
  await sendRequest(callPath(address, call), {
    json: {
      decision,
      ...(reason !== '' && { reason }),
      ...(changes && { arguments: changes }),
      ...(input && { input }),
      ...(hash !== undefined && { argumentsHash: hash }),
    },
  })
  const isChanged = changes !== undefined
  ownDecisions.value = new Map([...ownDecisions.peek(), [call, { decision, reason, isChanged, at: Date.now() }]])
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
