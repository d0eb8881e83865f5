import type { SecretFilter } from './secrets.ts'
import type { AgentStanding } from './run.ts'
import type { Progress, ReportAddress, ToolFault, ToolOutcome } from './tool.ts'

/** The longest time that a run waits for the outcome of a call, in milliseconds: 7 days. */
export const MOST_LATER_MS = 7 * 24 * 60 * 60 * 1000
/** The shortest time between two polls of a tool, in milliseconds. */
export const LEAST_POLL_MS = 1000

/** The most characters of a progress report, as JSON. */
export const MOST_PROGRESS = 16 * 1024

/** A call whose outcome can be reported. `conversation` is absent for a run of none, which is stored all the same. */
export interface ReportedCall {
  readonly tenant: string
  readonly conversation?: string | undefined
  readonly run: string
  readonly call: string
  /** Until when reports are taken, in epoch milliseconds. */
  readonly expires: number
}

/** What is reported of a call that is answered later, as a conversation takes it. `standing`: of the call of an agent. */
export type CallReport =
  | { readonly progress: Progress }
  | { readonly outcome: ToolOutcome }
  | { readonly standing: AgentStanding }

/** Makes and reads the addresses to which tools report. */
export interface ReportAddresses {
  make(call: ReportedCall): Promise<ReportAddress>
  /** Returns the call that a token names, which may have expired; undefined if this edge has not signed it. */
  read(token: string): Promise<ReportedCall | undefined>
  /** Removes the edge's secrets from reports. Default: it has none. */
  readonly filter: SecretFilter | undefined
}

/**
 * A report on a call that is answered later. `result` becomes the result as the return value of a tool does: a text stays
 * as it is, anything else is JSON. `error` is a text for the model, or has a `code` too.
 */
export type OutcomeReport =
  | { readonly progress: Progress }
  | { readonly result: unknown }
  | { readonly error: string | (Partial<ToolFault> & Pick<ToolFault, 'message'>) }
  | { readonly outcome: ToolOutcome }

/**
 * Whether a report was taken. Codes: `call_already_answered` if nobody waits for the call, or another outcome was
 * reported before; `report_expired`; `unknown_call` for a token that the edge has not signed; `invalid_request`.
 */
export type ReportReply =
  | { readonly ok: true }
  | { readonly ok: false; readonly error: { readonly code: string; readonly message: string } }

/** The RPC methods of the entrypoint `Outcomes` of an edge. */
export interface OutcomeService {
  /** Reports on the call that a token names. The same outcome may be reported again, which changes nothing. */
  report(token: string, report: OutcomeReport): Promise<ReportReply>
}
