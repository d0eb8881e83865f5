import { isNews, type RunEvent, type RunFact } from './event.ts'
import type { PendingApproval } from './conversation.ts'
import type { DataMark } from './message.ts'
import type { RunRequest, RunStatus } from './run.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { Usage } from './usage.ts'

/** A fact of a run, and when it happened. Times are in epoch milliseconds. */
export interface TimedFact {
  readonly event: RunFact
  readonly at: number
  /** When the first news after the fact before was shown, such as the first token of an answer; absent if unknown. */
  readonly newsAt?: number
}

/** Returns the facts among the events of a run, with their times. */
export function timedFacts(events: Iterable<RunEvent>): TimedFact[] {
  const facts: TimedFact[] = []
  let newsAt: number | undefined
  let latest = 0
  for (const event of events) {
    latest = event.at ?? latest
    if (isNews(event)) {
      newsAt ??= event.at
      continue
    }
    facts.push({ event, at: latest, newsAt })
    newsAt = undefined
  }
  return facts
}

/** A run that has ended, or that has begun to wait, with all its facts until then in order. */
export interface ReportedRun {
  readonly request: RunRequest
  /** When the run was accepted, in epoch milliseconds. */
  readonly acceptedAt: number
  readonly facts: readonly TimedFact[]
  /** Reads the definitions of the tools that it began with. Default: they are unknown. */
  readonly definitions?: () => readonly ToolDefinition[]
  /** Reads the marks of all data that its model has read. Default: they are unknown. */
  readonly marks?: () => readonly DataMark[]
  /** When its conversation is deleted, in epoch milliseconds. Default: never. */
  readonly expires?: number
}

/** How a run of a conversation stands before it has ended. Times are in epoch milliseconds. */
export interface UnendedRun extends Omit<ReportedRun, 'facts' | 'definitions' | 'marks'> {
  readonly status: RunStatus
  /** The tools that were called, each once, and the codes of the calls' errors. */
  readonly tools: readonly string[]
  readonly errors: readonly string[]
  /** The number of answers of models. */
  readonly steps: number
  readonly usage: Usage
  /** The calls that wait for a person. */
  readonly approvals: readonly PendingApproval[]
  /** When it began to wait, or the present time. */
  readonly since: number
  readonly at: number
}

/** The error of a report that its receiver asks to be sent again later. */
export class ReceiverBusy extends Error {
  /** How long it asks to wait, in milliseconds. */
  readonly retryAfterMs: number

  constructor(message: string, retryAfterMs: number) {
    super(message)
    this.retryAfterMs = retryAfterMs
  }
}

/** Reports of runs, which are sent together. */
export interface ReportBatch {
  /** Adds the report of a run. Contract: refers to nothing of the run that is not sent, since a run may be large. */
  add(run: ReportedRun): void
  /** Sends the reports. Contract: rejects if all of them must be sent again. */
  send(): Promise<void>
}

/**
 * Sends what runs did to somewhere else, once they have ended. No run waits for it. If it fails for a run of a
 * conversation, the same run is reported again later, even by another instance: the receiver must be able to tell.
 */
export interface RunReporter {
  /** Names it in the log, and where it is stored that a run is still to be reported. Letters alone. */
  readonly name: string
  /** The number of attempts after which it is given up. Default: it never is. */
  readonly attempts?: number
  /**
   * Whether a run of a conversation is also reported each time it begins to wait for a person, its caller or a tool: with
   * its facts until then, which the later reports of the run have again. Default: only runs that have ended are reported.
   */
  readonly reportsWaits?: boolean
  /** Opens a batch of reports, of runs of one tenant or of several. */
  openBatch(): ReportBatch
  /**
   * Reports how a run of a conversation stands: when it begins to wait, when a call is answered, and once it has lasted
   * for ten seconds. Same contract. Default: only runs that have ended are reported.
   */
  reportUnended?(run: UnendedRun): Promise<void>
}
