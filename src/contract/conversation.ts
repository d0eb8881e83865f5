import type { Spend, Spent } from './budget.ts'
import type { Content, Message } from './message.ts'
import type { Usage } from './usage.ts'
import type { Limits, OnBusy, RunRecord, RunRequest, RunStatus, ToolSelection } from './run.ts'
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
    | 'idempotency_mismatch'
    | 'run_not_last'
    | 'run_replaced'
    | 'run_waiting'
  readonly message: string
  /** The run that is in the way. */
  readonly run?: RunRecord
}

export type Reply<Value> = ({ readonly ok: true } & Value) | Refusal

/** What the runs of a conversation are asked with where their requests do not say. */
export interface RunDefaults extends Partial<
  Pick<RunRequest, 'system' | 'context' | 'execution' | 'toolErrors' | 'onLimit' | 'compensate' | 'eager' | 'compat'>
> {
  readonly model?: string
  readonly tools?: ToolSelection
  readonly limits?: Partial<Limits>
}

/** How much of the earlier messages a model sees. */
export interface WindowOptions {
  readonly messages: number
  /** Estimated: four characters each, a thousand for an image. */
  readonly tokens: number
  /** `answers`: what users said and what they were answered, without the work between; `none`: nothing of it. */
  readonly show: 'all' | 'answers' | 'none'
  /** Whether notes are kept of what leaves it, which a model makes. */
  readonly summary: boolean
}

/** What a conversation is made with; it never changes. */
export interface ConversationSettings extends RunDefaults {
  readonly window?: Partial<WindowOptions>
  /** Seconds after its last activity from which on nothing of it is kept. */
  readonly ttlSeconds?: number
  /** An https URL that is told of runs that have ended, or wait. */
  readonly webhook?: string
}

/** A conversation to be made. */
export interface CreateRequest {
  readonly tenant: string
  readonly id: string
  readonly settings: ConversationSettings
  /** Epoch milliseconds after which nothing of it is kept. */
  readonly expires?: number
}

/** Where webhooks may go, and what they are signed with. */
export interface WebhookSetup {
  readonly secret: string
  /** Host names, exactly. */
  readonly hosts: readonly string[]
}

/** Whether a webhook may go to a URL: an https one of an allowed host; where the edge is `open`, loopback too. */
export function mayNotify(url: string, { hosts }: WebhookSetup, isOpen: boolean): boolean {
  const { protocol, hostname, username, password, port } = URL.parse(url) ?? {}
  if (isOpen && (hostname === 'localhost' || hostname === '127.0.0.1')) return protocol === 'http:'
  const isPlain = protocol === 'https:' && port === '' && username === '' && password === ''
  // No address, and no name that only a private network knows.
  const isPublic = /\.[a-z][a-z0-9-]+$/.test(hostname ?? '') && !/\.(?:internal|local|localhost)$/.test(hostname ?? '')
  return isPlain && isPublic && hosts.includes(hostname ?? '')
}

export interface StartRequest {
  readonly run: RunRequest
  /** The tools on offer, pinned for the whole run. */
  readonly tools: readonly ToolDefinition[]
  /** `queue-unless-waiting`: not behind a run that waits for others, which may be for long. */
  readonly onBusy: OnBusy | 'queue-unless-waiting'
  /** Makes the conversation where there is none yet. */
  readonly create: boolean
  /** Epoch milliseconds after which nothing of the conversation is kept. */
  readonly expires?: number
  /** The run whose turn this one takes the place of: models see what it said no more. */
  readonly replaces?: string | undefined
  /** Nor what followed that turn; what of it is under way is cancelled. */
  readonly onward?: boolean
  /** The run that must be the last of those that did not fail; else `run_not_last`. */
  readonly after?: string | undefined
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
  /** Models see it no more: its turn was run again. */
  readonly replaced?: true
  /** The whole of a result that was cut, where it is wanted. */
  readonly whole?: readonly Content[] | undefined
}

export type CallAnswer =
  /** `by`: who decided. */
  | { readonly decision: 'approve' | 'reject'; readonly reason?: string; readonly by?: string }
  | { readonly result: string; readonly ok: boolean }

/** How a run was asked that another request may say anew while it waits. */
export type Terms = Partial<
  Pick<RunRequest, 'model' | 'system' | 'clientTools' | 'toolChoice' | 'responseFormat' | 'sampling'>
>

/** What a request that answers calls says beside, by which the run goes on. */
export interface Beside {
  /** What follows the answers. */
  readonly input: readonly Message[]
  /** What is there replaces what the run was asked with. */
  readonly terms?: Terms | undefined
}

/** Who asks once more for what a run was asked, and what that may use. */
export type Anew = Pick<RunRequest, 'runId' | 'caller' | 'budget'>

/**
 * What a conversation answers over RPC. Everything is a value: nothing is thrown for what a caller may do wrong.
 * The caller has been checked by the edge; the object's name holds the tenant.
 */
export interface ConversationService {
  /** Makes the conversation; one that is there stays as it is. */
  create(request: CreateRequest): Promise<Reply<{ readonly created: boolean }>>
  settings(): Promise<Reply<{ readonly settings: ConversationSettings }>>
  /** Puts messages of another conversation before all runs of this one, in their places. */
  adopt(messages: readonly StoredMessage[]): Promise<Reply<object>>
  /**
   * Runs what a finished run was asked once more, as a run of that id; the old turn is seen by models no more. With
   * `onward` it need not be finished, and what followed it is seen no more either.
   */
  regenerate(runId: string, again: Anew, options?: Pick<StartRequest, 'onward'>): Promise<Reply<StartReply>>
  /** The run of the first turn that models see after that of a run, or of all for ''. */
  turnAfter(runId: string): Promise<Reply<{ readonly run: string | undefined }>>
  /** Everything as lines of JSON, each with its `type`: `conversation`, then `run`s, then `message`s. */
  export(): Promise<Reply<{ readonly stream: ReadableStream<Uint8Array> }>>
  /** Accepts a run, durably, and starts it or queues it. */
  start(request: StartRequest): Promise<Reply<StartReply>>
  /** The run's record once it has ended or waits for others, or as it stands after `waitMs`. */
  record(runId: string, waitMs: number): Promise<Reply<{ readonly record: RunRecord }>>
  /** The run's events after `after`, as native SSE bytes: what was, then what comes, until the run ends or waits. */
  events(runId: string, after: number): Promise<Reply<{ readonly stream: ReadableStream<Uint8Array> }>>
  /** The newest runs before a run, oldest first. */
  runs(page: { before?: string; limit: number }): Promise<Reply<{ readonly runs: readonly RunSummary[] }>>
  /**
   * The newest messages before a position, or up to the end of a run, which must have ended, oldest first: fewer than
   * `limit` where they are very long. `wholes`: results that were cut come whole, too.
   */
  messages(page: {
    before?: number
    upTo?: string
    limit: number
    wholes?: boolean
  }): Promise<Reply<{ readonly messages: readonly StoredMessage[] }>>
  usage(): Promise<Reply<{ readonly usage: Usage; readonly runs: number }>>
  cancel(runId: string): Promise<Reply<{ readonly status: 'cancelled' | 'already_terminal' }>>
  /**
   * Answers approvals, or gives the results of calls that the caller runs, by call id; all or none. `after`: the last
   * event before the answers, from which to follow what they bring about.
   */
  answer(
    runId: string,
    answers: Readonly<Record<string, CallAnswer>>,
    beside?: Beside,
  ): Promise<Reply<{ readonly record: RunRecord; readonly after: number }>>
  remove(): Promise<Reply<object>>
}

/** The conversations of a tenant, in the order of their ids; and what its keys have used. */
export interface DirectoryService {
  add(id: string): Promise<void>
  remove(id: string): Promise<void>
  list(after: string, limit: number): Promise<readonly string[]>
  /** Counts what a run has used; once, however often it is told. */
  count(spend: Spend): Promise<void>
  /** What the runs of a key used in a day or a month: `2026-02-28`, `2026-02`. */
  spent(key: string, period: string): Promise<Spent>
}

export const JURISDICTIONS = ['eu', 'us', 'fedramp', 'fedramp-high'] as const
export type Jurisdiction = (typeof JURISDICTIONS)[number]

export const LOCATIONS = ['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me'] as const
export type Location = (typeof LOCATIONS)[number]

/** Where objects are reached by name. */
export interface Objects<Service> {
  /** `locationHint`: where an object that is new had best be. */
  getByName(name: string, options?: { readonly locationHint?: Location }): Service
  /** The objects that live and keep their data there alone; they share no names with others. */
  jurisdiction?(jurisdiction: Jurisdiction): Objects<Service>
}
