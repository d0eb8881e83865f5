import type { RunRecord } from '../../../src/contract/run.ts'

/** What people and the network did, as the contract needs it to tell what must hold. */
export interface Ledger {
  /** Runs whose acceptance was confirmed, in that order; `joins`: the input joined another run. */
  readonly requests: Map<string, { joins?: string }>
  /** Runs that were certainly refused. */
  readonly refusals: Set<string>
  /** Runs whose cancellation was confirmed. */
  readonly cancelled: Set<string>
  /** Calls that somebody approved, or rejected; the answer may have been lost. */
  readonly approved: Set<string>
  readonly rejected: Set<string>
  /** Each delivery of a call to its tool. */
  readonly deliveries: { readonly call: string; readonly tool: string; readonly key: string }[]
  /** Each request to undo a call. */
  readonly undos: { readonly call: string; readonly key: string }[]
  /** Runs that were requested with compensation. */
  readonly compensating: Set<string>
  /** Runs whose usage is to be counted. */
  readonly metered: Set<string>
  /** Requests to run a turn again, by the id of the new run; the answer may have been lost. */
  readonly repeats: Map<string, { readonly of: string; readonly onward: boolean }>
  /** When the conversation was last used, in epoch milliseconds, as far as callers know. */
  usedAt: number
  /** Confirmed ends, as they were first seen. */
  readonly ends: Map<string, RunRecord>
}

/** An attempt to notify the receiver of webhooks. */
export interface Attempt {
  readonly id: string
  readonly body: string
  /** What the receiver answered; 0 for nothing. */
  readonly status: number
  /** How often the platform had failed by then. */
  readonly disturbances: number
}

export function newLedger(): Ledger {
  return {
    requests: new Map(),
    refusals: new Set(),
    cancelled: new Set(),
    approved: new Set(),
    rejected: new Set(),
    deliveries: [],
    undos: [],
    compensating: new Set(),
    metered: new Set(),
    repeats: new Map(),
    usedAt: 0,
    ends: new Map(),
  }
}
