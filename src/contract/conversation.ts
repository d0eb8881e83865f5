import type { Message } from './message.ts'
import type { Usage } from './usage.ts'
import type { OnBusy, RunRecord, RunRequest, RunStatus } from './run.ts'
import type { ToolDefinition } from './tool.ts'

/** Why a conversation did not do what was asked. `code` is stable. */
export interface Refusal {
  readonly ok: false
  readonly code:
    | 'unknown_conversation'
    | 'conversation_deleted'
    | 'unknown_run'
    | 'unknown_call'
    | 'call_already_answered'
    | 'conversation_busy'
    | 'queue_full'
    | 'bad_event_id'
    | 'idempotency_mismatch'
  readonly message: string
}

export type Reply<Value> = ({ readonly ok: true } & Value) | Refusal

export interface StartRequest {
  readonly run: RunRequest
  /** The tools on offer, pinned for the whole run. */
  readonly tools: readonly ToolDefinition[]
  readonly onBusy: OnBusy
  /** Makes the conversation where there is none yet. */
  readonly create: boolean
  /** Epoch milliseconds after which nothing of the conversation is kept. */
  readonly expires?: number
}

export interface StartReply {
  readonly runId: string
  readonly status: RunStatus
  /** The conversation was made for it. */
  readonly created: boolean
  /** The run is not new: its Idempotency-Key was here before. */
  readonly replayed: boolean
  /** The input joined this run, which was under way; what came after this event is to be followed. */
  readonly joinedAfter?: number
}

export interface RunSummary {
  readonly id: string
  readonly status: RunStatus
  /** Epoch milliseconds. */
  readonly created: number
}

/** A message in its place; `position` rises along the conversation. */
export interface StoredMessage {
  readonly position: number
  readonly run: string
  readonly message: Message
}

export type CallAnswer =
  | { readonly decision: 'approve' | 'reject'; readonly reason?: string }
  | { readonly result: string; readonly ok: boolean }

/**
 * What a conversation answers over RPC. Everything is a value: nothing is thrown for what a caller may do wrong.
 * The caller has been checked by the edge; the object's name holds the tenant.
 */
export interface ConversationService {
  create(): Promise<Reply<{ readonly created: boolean }>>
  /** Accepts a run, durably, and starts it or queues it. */
  start(request: StartRequest): Promise<Reply<StartReply>>
  /** The run's record once it has ended or waits for others, or as it stands after `waitMs`. */
  record(runId: string, waitMs: number): Promise<Reply<{ readonly record: RunRecord }>>
  /** The run's events after `after`, as native SSE bytes: what was, then what comes, until the run ends or waits. */
  events(runId: string, after: number): Promise<Reply<{ readonly stream: ReadableStream<Uint8Array> }>>
  /** The newest runs before a run, oldest first. */
  runs(page: { before?: string; limit: number }): Promise<Reply<{ readonly runs: readonly RunSummary[] }>>
  /** The newest messages before a position, oldest first: fewer than `limit` where they are very long. */
  messages(page: { before?: number; limit: number }): Promise<Reply<{ readonly messages: readonly StoredMessage[] }>>
  usage(): Promise<Reply<{ readonly usage: Usage; readonly runs: number }>>
  cancel(runId: string): Promise<Reply<{ readonly status: 'cancelled' | 'already_terminal' }>>
  /**
   * Answers approvals, or gives the results of calls that the caller runs, by call id; all or none. `after`: the last
   * event before the answers, from which to follow what they bring about.
   */
  answer(
    runId: string,
    answers: Readonly<Record<string, CallAnswer>>,
  ): Promise<Reply<{ readonly record: RunRecord; readonly after: number }>>
  remove(): Promise<Reply<object>>
}

/** The conversations of a tenant, in the order of their ids. */
export interface DirectoryService {
  add(id: string): Promise<void>
  remove(id: string): Promise<void>
  list(after: string, limit: number): Promise<readonly string[]>
}

/** Where objects are reached by name. */
export interface Objects<Service> {
  getByName(name: string): Service
}
