import type { BackupReply, BackupRequest } from './backup.ts'
import type { Judgement } from './decision.ts'
import type { StoredFault } from './thrown.ts'
import type { InputNeeds } from './input.ts'
import type { JsonObject } from './json.ts'
import type { ReachedQuota } from './quotas.ts'
import type { Content, DataMark, Message, PartRefusal } from './message.ts'
import type { ModelRequest } from './model.ts'
import type { CallReport } from './later.ts'
import type { Usage } from './usage.ts'
import type { Limits } from './limits.ts'
import type { RunOptionValues } from './run-options.ts'
import type { AgentCall, OnBusy, RunRecord, RunRequest, RunStatus, ToolSelection } from './run.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { ToolOutcome } from './tool.ts'

/** Why a conversation refused a request. `code` is stable. */
export interface Refusal {
  readonly ok: false
  readonly code:
    | 'unknown_conversation'
    | 'conversation_deleted'
    | 'conversation_exists'
    | 'conversation_restoring'
    | 'conversation_changed'
    | 'copy_out_of_order'
    | 'copy_too_large'
    | 'invalid_copy'
    | 'no_recovery'
    | 'unknown_run'
    | 'unknown_call'
    | 'unknown_message'
    | 'arguments_changed'
    | 'unknown_step'
    | 'own_run'
    | 'second_person_needed'
    | 'bad_event_id'
    | 'call_already_answered'
    | 'conversation_busy'
    | 'quota_exceeded'
    | 'queue_full'
    | 'refused'
    | 'idempotency_mismatch'
    | 'run_not_last'
    | 'run_not_parked'
    | 'run_parked'
    | 'run_replaced'
    | 'run_waiting'
    | 'tool_name_conflict'
  readonly message: string
  /** The run that blocks the request. */
  readonly run?: RunRecord
  /** The quota of `quota_exceeded`. */
  readonly reached?: ReachedQuota
}

export type Reply<Value> = ({ readonly ok: true } & Value) | Refusal

/** Defaults for the runs of a conversation, used where a request does not say otherwise. */
export interface RunDefaults extends Partial<Pick<RunRequest, 'system' | 'context' | 'compat'> & RunOptionValues> {
  readonly model?: string
  readonly tools?: ToolSelection
  readonly limits?: Partial<Limits>
}

/** The window: how much of the earlier messages a model sees. */
export interface WindowOptions {
  readonly messages: number
  /** Estimated, without the tokenizer of a model. */
  readonly tokens: number
  /** `answers`: user messages and final answers, without calls and results; `none`: no earlier messages. */
  readonly show: 'all' | 'answers' | 'none'
  /** Whether a model summarises the messages that leave the window, and sees that summary. */
  readonly summary: boolean
}

/** The settings that a conversation is created with. They never change. */
export interface ConversationSettings extends RunDefaults {
  readonly window?: Partial<WindowOptions>
  /** The conversation is deleted this many seconds after its last activity. */
  readonly ttlSeconds?: number
  /** An https URL that is notified when a run ends or waits. */
  readonly webhook?: string
}

/** A request to create a conversation. */
/** Whose conversation it is, and the time at which it is deleted, in epoch milliseconds. Only one without is listed. */
export interface ConversationOwner {
  readonly tenant: string
  readonly id: string
  readonly expires?: number | undefined
  /** The conversation that has called the agent whose conversation it is. It is then on no list, and deleted with that one. */
  readonly parent?: string | undefined
}

export interface CreateRequest extends ConversationOwner {
  readonly settings: ConversationSettings
}

/**
 * Which news a reader of events wants, beside all facts: all of it, text and reasoning alone, or none. `end`: none, and the
 * facts together once the run has ended or waits, for a reader that only then has a use for them.
 */
export type NewsFilter = 'all' | 'text' | 'none' | 'end'

export interface StartRequest {
  readonly run: RunRequest
  /**
   * The tools on offer, as the JSON of their definitions, which are pinned for the whole run. Most runs of a conversation
   * have the same list: as a text it is compared at once, and passed on faster than its objects.
   */
  readonly tools: string
  /** `interrupt-unless-waiting`: as `interrupt`, but refused while the run under way waits for others. */
  readonly onBusy: OnBusy | 'interrupt-unless-waiting'
  /** Creates the conversation if it does not exist. */
  readonly create: boolean
  /** Refuses the run with `conversation_exists` if there is a conversation that did not begin with it: somebody else's. */
  readonly begins?: boolean
  /** The time at which the conversation is deleted, in epoch milliseconds. */
  readonly expires?: number
  /** The run whose turn this run replaces: models no longer see the messages of that turn. */
  readonly replaces?: string | undefined
  /** Also replaces all turns after that one; runs that have not ended are cancelled first. */
  readonly onward?: boolean
  /** The run that must be the latest one that did not fail; otherwise the request is refused with `run_not_last`. */
  readonly after?: string | undefined
  /** Has the reply bring the events of the run, as `events` does: of news only these. Default: it does not. */
  readonly follow?: NewsFilter | undefined
}

export interface StartReply {
  readonly runId: string
  readonly status: RunStatus
  /** The conversation was created by this request. */
  readonly created: boolean
  /** The run is not new: a request with the same Idempotency-Key started it. */
  readonly replayed: boolean
  /** Set if the input joined a run under way: the number of the event after which to follow that run. */
  readonly joinedAfter?: number
  /** The events of the run, or those after `joinedAfter`, if the request is to follow it. */
  readonly stream?: ReadableStream<Uint8Array>
}

/** The conversation of an agent, and a call that it has answered. */
export interface ChildSummary {
  readonly id: string
  /** The name of the agent. */
  readonly agent: string
  /** The calling run, the call, and the run of the agent. */
  readonly calledBy: string
  readonly call: string
  readonly run: string
}

export interface RunSummary {
  readonly id: string
  readonly status: RunStatus
  /** Epoch milliseconds, like `ended`. */
  readonly created: number
  /** Absent until the run has ended. */
  readonly ended?: number
}

/** A message and its place in the conversation; `position` rises. */
export interface StoredMessage {
  readonly position: number
  readonly run: string
  readonly message: Message
  /** Models no longer see it, because its turn was replaced by a newer run. */
  readonly replaced?: true
  /** The message was too long to be passed on: this is its beginning. */
  readonly isCut?: true
  /** The complete content of a result that was cut, if the reader asked for it. */
  readonly fullResult?: readonly Content[] | undefined
  /** With that: what servers of models have refused of it. */
  readonly refusals?: readonly PartRefusal[] | undefined
}

/** A turn of a conversation: a run, or messages that were copied in or appended. */
export interface Turn {
  /** The id of the run, or that which the messages have for one. */
  readonly run: string
  /** Absent if the messages are of no run of this conversation. */
  readonly status?: RunStatus | undefined
  /** The messages of the turn that a model may see, oldest first. */
  readonly messages: readonly StoredMessage[]
  /** The facts of the run, each as a line of JSON; empty if its journal is not whole, or too long to be passed on. */
  readonly facts: readonly string[]
}

/** A call that a person must decide about, with all that there is to see for the decision. */
export interface PendingApproval {
  readonly id: string
  readonly run: string
  readonly tool: string
  /** The arguments that the model wrote, parsed; the text itself if it is not JSON. */
  readonly arguments: unknown
  /** SHA-256 of the canonical JSON of the arguments; a decision that brings it is about these alone. */
  readonly argumentsHash: string
  /** What the call asks for, if it has run and needs input. */
  readonly input?: InputNeeds | undefined
  /** Who started the run. */
  readonly caller: Pick<RunRequest['caller'], 'tenant' | 'key'>
  /**
   * Why it needs approval: `tool`, the rule of its definition or of a policy (`definition.approval`); `setup`, the rule of
   * the edge's setup; `untrusted_data`, the run has read both untrusted and private data. Absent if it asks for input.
   */
  readonly because?: 'tool' | 'setup' | 'untrusted_data'
  /** What a decision model has said about it, which was not sure enough; absent if none was asked. */
  readonly judgement?: Judgement
  /** The call of the program that made this call, if one did. */
  readonly parent?: string
  /** The code of that program. */
  readonly program?: string
  /** If it is a call of an agent: the calls that lead to the agent's run, the outermost first. */
  readonly path?: readonly AgentCall[]
  /** The conversation of the agent's run, where the call was asked for elsewhere. */
  readonly conversation?: string
  /** When it is rejected unless somebody decides, in epoch milliseconds. */
  readonly expires: number
  /** The tool as the model saw it. */
  readonly definition?: Pick<
    ToolDefinition,
    'title' | 'description' | 'annotations' | 'version' | 'hash' | 'inputSchema' | 'undo' | 'approval'
  >
}

export type CallAnswer =
  /**
   * `by`: the id of the key that decided, or the tenant of a caller without a key. `arguments`: the JSON text of arguments
   * that take the place of the model's, and `argumentsHash` the SHA-256 of its canonical JSON.
   */
  | {
      readonly decision: 'approve' | 'reject'
      readonly reason?: string
      readonly by?: string
      readonly arguments?: string
      readonly argumentsHash?: string
      /**
       * The hash of the arguments that the person has seen: the decision counts for these alone, and not for what a tool
       * asks for.
       */
      readonly seenHash?: string
      /** What the person filled in, by the names of the call's requests. */
      readonly input?: Readonly<Record<string, JsonObject>>
    }
  /** `content`: the parts of the result, if they are not text alone. `structured`: the value that `result` is the JSON of. */
  | {
      readonly result: string
      readonly ok: boolean
      readonly content?: readonly Content[]
      readonly structured?: unknown
    }

/** The parts of a run's request that a later request may replace while the run waits. */
export type RunTerms = Partial<
  Pick<
    RunRequest,
    'model' | 'system' | 'clientTools' | 'toolChoice' | 'responseFormat' | 'sampling' | 'hints' | 'callerHistory'
  >
>

/**
 * The input and the terms that a request brings with its answers to calls. The run continues with them, if the API key of
 * the request started it: a run has that key's tools and trusted values, to which another key may have no right. The
 * terms of another key are left out, and its input is refused with `run_waiting`.
 */
export interface Continuation {
  readonly key: string | undefined
  /** Messages that follow the answers. */
  readonly input: readonly Message[]
  /** Fields that replace those of the run's request; a field that is left out stays as it was. */
  readonly terms?: RunTerms | undefined
}

/** A run, and what its caller has sent last. */
export interface CallerRun {
  readonly record: RunRecord
  readonly key: string | undefined
  readonly history: RunRequest['callerHistory']
  /** The marks of all data that its model has read. Absent from a conversation of an older version. */
  readonly marks?: readonly DataMark[]
  /** The messages of the run so far, its input first; absent once it has ended and the conversation has them. */
  readonly messages?: readonly Message[]
  /** The messages with which the run began, or is to begin. */
  readonly input?: readonly StoredMessage[]
}

/** The id, caller, budget and trace of a run that repeats the request of an earlier run. */
export type Repeat = Pick<RunRequest, 'runId' | 'caller' | 'budget' | 'trace'>

/** The request to the model in one step, for operators, before hooks and the codec of the provider change it. */
export interface StepRequest extends Omit<ModelRequest, 'patience' | 'traceparent' | 'cacheKey'> {
  readonly run: string
  readonly step: number
  /** The model that the run names now. */
  readonly model: string
  /** The number of messages from before the run, after the system message if there is one. */
  readonly historyLength: number
  /**
   * Set if of the edge's tools only names and annotations are stored, as for an older run that was pruned. The system
   * message then lacks their instructions.
   */
  readonly hasShortTools?: true
}

/**
 * The RPC methods of a conversation. Everything is a value: a caller's mistake is never thrown. The edge has
 * authenticated the caller already; the tenant is part of the object's name.
 */
export interface ConversationService {
  /** Creates the conversation. An existing one is left unchanged. */
  create(request: CreateRequest): Promise<Reply<{ readonly created: boolean }>>
  /** `created`: when it was created, in epoch milliseconds; absent if an earlier version did. */
  settings(): Promise<Reply<{ readonly settings: ConversationSettings; readonly created?: number }>>
  /** Copies messages of another conversation in, before all runs of this one, at their positions. */
  adopt(messages: readonly StoredMessage[]): Promise<Reply<object>>
  /** Adds messages that a caller brings after all others. Refused while a run is under way. */
  append(messages: readonly Message[]): Promise<Reply<{ readonly messages: readonly StoredMessage[] }>>
  /**
   * Runs the request of a finished run again as a new run; models no longer see the old turn. With `onward` the old
   * run need not have finished, and the turns after it are replaced too.
   */
  regenerate(runId: string, repeat: Repeat, options?: Pick<StartRequest, 'onward'>): Promise<Reply<StartReply>>
  /** Returns the run of the first turn after a given run's that models still see; for '', the first turn of all. */
  turnAfter(runId: string): Promise<Reply<{ readonly run: string | undefined }>>
  /** Exports everything as JSON lines, each with its `type`: `conversation`, then all `run`s, then all `message`s. */
  export(): Promise<Reply<{ readonly stream: ReadableStream<Uint8Array> }>>
  /** Accepts a run durably, and starts or queues it. */
  start(request: StartRequest): Promise<Reply<StartReply>>
  /** Returns the record of a run once the run has ended or waits, or after `waitMs` as it stands then. */
  record(runId: string, waitMs: number): Promise<Reply<{ readonly record: RunRecord }>>
  /** Returns a run as it stands, with the key of its caller and what that has sent last; with a part of it, if asked. */
  callerRun(runId: string, part?: 'messages' | 'input'): Promise<Reply<CallerRun>>
  /**
   * Streams a run's events after number `after` as native SSE: past ones, then new ones until it ends or, unless `waits`,
   * waits for others. `news`: which news are wanted; others are left out where that saves work. Default: all. `isOver`: the
   * run has ended, and has no event after that.
   */
  events(
    runId: string,
    after: number,
    news?: NewsFilter,
    waits?: boolean,
  ): Promise<Reply<{ readonly stream: ReadableStream<Uint8Array>; readonly isOver?: boolean }>>
  /** Builds the last request of a step again. */
  stepRequest(runId: string, step: number): Promise<Reply<{ readonly request: StepRequest }>>
  /** Returns the faults of a run, for operators, in the order in which they happened. */
  faults(runId: string): Promise<Reply<{ readonly faults: readonly StoredFault[] }>>
  /** Returns the newest runs before a given run, oldest first. */
  runs(page: { before?: string | undefined; limit: number }): Promise<Reply<{ readonly runs: readonly RunSummary[] }>>
  /**
   * Returns the newest messages before a position, or up to the end of a run that must have ended, oldest first; fewer
   * than `limit` if they are very long. `fullResults` includes the complete content of results that were cut, and refusals.
   */
  messages(page: {
    before?: number | undefined
    upTo?: string
    limit: number
    fullResults?: boolean
  }): Promise<Reply<{ readonly messages: readonly StoredMessage[] }>>
  /**
   * Returns the newest turns before that of a message, which the id of a client or of a run names, oldest first: as many as
   * have at most `most` messages of users and answers, but at least one; fewer if they are very long.
   */
  turns(page: { before?: string | undefined; most: number }): Promise<Reply<{ readonly turns: readonly Turn[] }>>
  usage(): Promise<Reply<{ readonly usage: Usage; readonly runs: number }>>
  cancel(runId: string): Promise<Reply<{ readonly status: 'cancelled' | 'already_terminal' }>>
  /** Copies the conversation, makes it of a copy, or takes it back in time. */
  backup(request: BackupRequest): Promise<Reply<BackupReply>>
  /** Resumes a parked run. Returns it as it stands. */
  retry(runId: string): Promise<Reply<{ readonly record: RunRecord }>>
  /** Returns a call that waits for a decision; any other call is unknown. */
  approval(runId: string, callId: string): Promise<Reply<{ readonly approval: PendingApproval }>>
  /**
   * Answers approvals, or gives the results of calls that the caller runs, by call id; all of them or none. The
   * returned `after` is the number of the last event before the answers: follow the run from there.
   */
  answer(
    runId: string,
    answers: Readonly<Record<string, CallAnswer>>,
    continuation?: Continuation,
  ): Promise<Reply<{ readonly record: RunRecord; readonly after: number }>>
  /**
   * Reports on a call that its tool answers later, before or after the run knows that it does. An outcome counts once:
   * the same one again changes nothing, and another one is refused.
   */
  report(runId: string, callId: string, report: CallReport): Promise<Reply<object>>
  /** Returns the run that waits for the decision about a call in the run of an agent. */
  runWaitingFor(callId: string): Promise<Reply<{ readonly run: string }>>
  /** Returns the outcome of the call of an agent that a run answers; none if the run has not ended. */
  agentOutcome(runId: string): Promise<Reply<{ readonly outcome?: ToolOutcome }>>
  /** Returns the conversations of agents that its runs have called, after an id. */
  children(page: { after: string; limit: number }): Promise<Reply<{ readonly children: readonly ChildSummary[] }>>
  /** Deletes the conversation. With `of`: only if it is that of an agent, which this conversation has called. */
  remove(options?: { readonly of: string }): Promise<Reply<object>>
}

export const JURISDICTIONS = ['eu', 'us', 'fedramp', 'fedramp-high'] as const
export type Jurisdiction = (typeof JURISDICTIONS)[number]

export const LOCATIONS = ['wnam', 'enam', 'sam', 'weur', 'eeur', 'apac', 'oc', 'afr', 'me'] as const
export type Location = (typeof LOCATIONS)[number]

/** A Durable Object namespace, as far as the edge uses it. */
export interface Objects<Service> {
  /** `locationHint`: the preferred region of an object that does not exist yet. */
  getByName(name: string, options?: { readonly locationHint?: Location }): Service
  /** The objects that run and store data only in this jurisdiction. Their names are separate from all others. */
  jurisdiction?(jurisdiction: Jurisdiction): Objects<Service>
}
