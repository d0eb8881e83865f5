import type { AnswerTarget } from './answer-target.ts'
import type { Judgement } from './decision.ts'
import type { InputNeeds } from './input.ts'
import type { JsonObject } from './json.ts'
import type { RunBudget } from './budget.ts'
import type { Content, DataMark, MadeCall, Message, PartRefusal } from './message.ts'
import type { ProviderOptions, ResponseFormat, ToolChoice } from './model.ts'
import type { LimitName, Limits } from './limits.ts'
import type { Citation, ProviderCall } from './provider-tool.ts'
import type { Compat, RunOptionValues } from './run-options.ts'
import type { TraceContext } from './trace.ts'
import type { Usage } from './usage.ts'
import type { ToolAnnotations, ToolDefinition } from './tool-definition.ts'
import type { Caller, RunPlace } from './tool.ts'
import { edgeName } from './tool-names.ts'

/** The tools to offer instead of the default set: exactly those named, or the default set with changes. */
export type ToolSelection =
  | readonly string[]
  | { readonly add?: readonly string[]; readonly remove?: readonly string[] }

/** A tool that the caller runs; the edge only tells the model of it. */
export type ClientTool = Pick<ToolDefinition, 'name' | 'description' | 'inputSchema' | 'strict' | 'forms'> & {
  /** The marks of its results. Default: untrusted, unless the edge has `CALLER_DATA=trusted`. */
  readonly annotations?: Pick<ToolAnnotations, 'untrusted' | 'private'>
  /** Whether the model is told of it only once a search of the caller has found it (`found-tools.ts`). Default: from the start. */
  readonly deferred?: true
}

/** A call of an agent, for which a run of its own was started. */
export interface AgentCall {
  /** The conversation of the calling run; absent if it has none, and is stored all the same. */
  readonly conversation?: string
  /** The calling run. */
  readonly run: string
  readonly call: string
  /** The name of the agent. */
  readonly agent: string
}

/** What the run of an agent has from the run that called it. */
export interface AgentTerms {
  /** The calls that lead to the run, the outermost first. The last one is that which it answers. */
  readonly path: readonly AgentCall[]
  /** When the time of that call is over, in epoch milliseconds: the run ends by then, even if it waits. */
  readonly until: number
  /** The marks of all data that the calling model had read. */
  readonly marks?: readonly DataMark[]
}

/** A call in the run of an agent that waits for a person. */
export interface AgentWait extends RunPlace {
  readonly call: string
  readonly tool: string
  /** As JSON text. */
  readonly arguments: string
  /** Set if the call has run and asks a person for this. */
  readonly input?: InputNeeds
  /** The names of the agents that lead to it, the outermost first. */
  readonly agents: readonly string[]
}

/** What a run waits for. `agent`: for the run of an agent that is at work; an answer is read on through that. */
export type WaitCause = 'approval' | 'caller' | 'agent' | 'tool'

/** What a run waits for, and the calls in the runs of agents that it has called that wait for a person. */
export interface RunWait {
  readonly for: WaitCause
  readonly agents: readonly AgentWait[]
}

/** How the run of an agent stands, as the run that called it was last told. */
export interface AgentStanding {
  /** One that waits for nothing but agents of its own which are at work is `running`. */
  readonly status: RunStatus
  /** The calls that wait for a person in it, and in the runs of agents that it has called. */
  readonly waits: readonly AgentWait[]
}

/** What happens to a run that is requested while another is under way. `steer`: its input joins the run under way. */
export type OnBusy = 'queue' | 'reject' | 'interrupt' | 'steer'

/** An accepted request for a run: validated, complete, plain data. */
type SomeOptions = Pick<RunOptionValues, 'execution' | 'toolErrors'> & Partial<RunOptionValues>

/**
 * An accepted request for a run: everything that the run needs, with limits and options resolved. It is stored with
 * the run.
 */
export interface RunRequest extends SomeOptions {
  readonly runId: string
  readonly conversation?: string
  /** Whether the run is stored: only then can it wait for people and its caller, and outlive the request. */
  readonly durable: boolean
  readonly caller: Caller
  /** The hash of the request's body. Set if the request had an Idempotency-Key, from which the run's id was made. */
  readonly fingerprint?: string
  readonly input: readonly Message[]
  /** What the caller sent last, if it sends the whole history each time. Absent in runs of earlier versions, too. */
  readonly callerHistory?: CallerHistory
  readonly system?: string
  /** `provider/name`, allowed by the configuration. */
  readonly model: string
  readonly clientTools: readonly ClientTool[]
  /** The tools that the caller, or else the setup for this model, selected. Default: the default set. */
  readonly selection?: ToolSelection
  /** Whether a tool search may bring in tools that are not on offer. Default: no. */
  readonly searchesAll?: boolean
  readonly toolChoice?: ToolChoice
  /** The number of rounds of calls before `toolChoice` was set; it forces calls only in the next one. Default: 0. */
  readonly chosenAt?: number
  readonly responseFormat?: ResponseFormat
  readonly sampling?: Readonly<Record<string, unknown>>
  readonly providerOptions?: ProviderOptions
  /** What the caller has said to the vendor of the model, as in `ModelRequest`. */
  readonly hints?: JsonObject
  /** Tool context; never shown to a model. */
  readonly context: Readonly<Record<string, unknown>>
  readonly limits: Limits
  /**
   * The share of the budget of the caller's key that the run was accepted with. If it gets no more, it ends as at a
   * limit. If absent, the usage of the run is not counted for a key.
   */
  readonly budget?: RunBudget
  /** Whether calls that reach outward need approval after untrusted and private data were read. Default: yes. */
  readonly taintRule?: boolean
  /** Set if a caller brought the request with a copy that is not signed: no hook of this edge has accepted it. */
  readonly isFromCopy?: true
  readonly compat?: Compat
  /** Tool context set by the edge's setup; no caller can send it. */
  readonly trusted?: Readonly<Record<string, unknown>>
  /** The trace that the run belongs to. Absent if the caller names none and the edge makes no spans. */
  readonly trace?: TraceContext
  /** The object of the tenant's directory that lists and counts the run (`shardOf`). Default: the first, 0. */
  readonly shard?: number
  /** Set if the run is that of an agent, which another run has called. No caller can send it. */
  readonly agent?: AgentTerms
  /**
   * Set if the caller of a run in a conversation has sent its input with the request. Only that tells what a user wants:
   * not what an event, another run or a copy says, or an earlier turn that is run again.
   */
  readonly isFromUser?: true
  /** Where the answer goes besides, if a trigger has started the run. Default: nowhere. */
  readonly answerTo?: AnswerTarget
}

/** The messages of a request that has the whole history, and the request itself, as hashes. */
export interface CallerHistory {
  /** The number of messages, without those at their beginning that are instructions. */
  readonly length: number
  /** SHA-256 of these messages. */
  readonly messages: string
  /** SHA-256 of all that the request says: its messages, model, terms and options. */
  readonly request: string
}

export const RUN_STATUSES = [
  'queued',
  'running',
  'waiting',
  'parked',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
] as const

/** `parked`: it could not be resumed; it is tried again later and later, and continues when somebody retries it. */
export type RunStatus = (typeof RUN_STATUSES)[number]

export type Finish =
  | 'stop'
  | 'return_direct'
  | 'tool_calls'
  | 'waiting'
  | 'length'
  | 'content_filter'
  | 'limit'
  | 'cancelled'
  | 'error'

/** Why a run failed, for its caller. */
export interface RunError {
  readonly code: string
  readonly message: string
  readonly retryAfterMs?: number
  /** The HTTP status with which the provider of the model says that it has too many requests: 503 or 529. */
  readonly status?: number
  /** Set if the same request may succeed when it is sent again, and the edge has not sent its own again already. */
  readonly retryable?: true
  /** The number of requests to the model after which the edge gave up, if it made several. */
  readonly attempts?: number
}

export interface CallRecord {
  readonly id: string
  /** The call of the program that made this call, if one did. */
  readonly parent?: string
  readonly tool: string
  /** The arguments that the model wrote, parsed; the text itself if it is not JSON. */
  readonly arguments: unknown
  /**
   * `approval`: a person must decide; `caller`: the caller must send the result; `later`: its tool answers later; `open`:
   * runs, or is about to.
   */
  readonly status: 'open' | 'approval' | 'caller' | 'later' | 'settled'
  /** The operator's name for the source of the tool, such as the binding `TOOL_CLOCK`, and the tool's version. */
  readonly place?: string
  readonly version?: string
  /** The tag or id of the deployed version of the Worker that answered. */
  readonly deployment?: string
  /** Absent until the call is settled, like `durationMs`. */
  readonly ok?: boolean
  readonly durationMs?: number
  /** The result that the model read; a failed call has `error` instead. */
  readonly content?: readonly Content[]
  readonly structured?: unknown
  readonly metadata?: JsonObject
  readonly error?: { readonly code: string; readonly message: string }
  /** Set if the call was sent and has failed, and nobody knows whether it took effect. */
  readonly inDoubt?: true
  /** The calls of which the same holds that an agent has made in this call, and those that its agents have made. */
  readonly callsInDoubt?: readonly MadeCall[]
  /** What a decision model has said about the call, if one was asked. */
  readonly judgement?: Judgement
  /** The same about its result. If not `ok`, no model has read it, and `error` says so. */
  readonly resultJudgement?: Judgement
  /** Set if an outcome came after the call had been given up; no model has read it. */
  readonly late?: { readonly ok: boolean }
  /** Whether the call was undone because a later one failed. */
  readonly undone?: boolean
  /** The run of the agent that the call has started, and how that stands until the call is settled. Its events are read there. */
  readonly child?: RunPlace & Partial<AgentStanding>
}

/** The prompt of a step, in tokens as the model counted them. */
export interface PromptRecord {
  readonly step: number
  /** Absent, like what follows, if the model has reported none. */
  readonly inputTokens?: number
  readonly cachedInputTokens?: number
  readonly cacheWriteTokens?: number
  /** What was left of the room for the prompt: the window of the model without what is kept for the answer. */
  readonly roomLeft?: number
  /** How earlier messages were reduced before the model was asked: estimated tokens of the whole request. */
  readonly reductions?: readonly { readonly before: number; readonly after: number; readonly because?: 'refused' }[]
}

/** A run as its caller sees it. */
export interface RunRecord {
  readonly id: string
  readonly conversation?: string
  readonly status: RunStatus
  readonly answer: string
  /** The texts that came before tool calls, in order; absent if there were none. */
  readonly preambles?: readonly string[]
  readonly finish?: Finish
  /** Set while the run waits. `calls` says which calls it waits for, also those in the runs of agents. */
  readonly waitsFor?: WaitCause
  /** The limit behind `finish: "limit"`. */
  readonly which?: LimitName
  readonly steps: number
  readonly usage: Usage
  /** What the model was sent in each step; absent if its window is unknown and nothing was reduced. */
  readonly prompts?: readonly PromptRecord[]
  readonly calls: readonly CallRecord[]
  /** What the providers of its models did with tools of their own; absent if nothing. */
  readonly providerCalls?: readonly ProviderCall[]
  /** The parts of messages that were left out in this run and from then on, since its model's server refuses them. */
  readonly refusals?: readonly PartRefusal[]
  /** The sources on which the answer rests; absent if it names none. */
  readonly citations?: readonly Citation[]
  /** Set while the run waits for a model that fails for now: why, and when it is asked again, in epoch milliseconds. */
  readonly modelWait?: { readonly code: string; readonly until: number }
  readonly error?: RunError
  /** Set if the record was too large: its answer is cut, and preambles, arguments and results are left out. */
  readonly isPartial?: true
}

/** Returns the calls that wait for a person in the runs of agents that a run waits for. */
export function waitsBelow({ calls }: Pick<RunRecord, 'calls'>): readonly AgentWait[] {
  return calls.flatMap(({ child }) => child?.waits ?? [])
}

export function isTerminal(status: RunStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

/** Returns a selection that also has the tools of these names. */
export function selectionWith(selection: ToolSelection | undefined, names: readonly string[]): ToolSelection {
  if (selection && 'length' in selection) return [...selection, ...names]
  return { ...selection, add: [...(selection?.add ?? []), ...names] }
}

/** Returns the names of the tools that a selection removes: they are not on offer, whatever else names them. */
export function removalsOf(selection: ToolSelection | undefined): readonly string[] {
  return selection === undefined || 'length' in selection ? [] : (selection.remove ?? [])
}

/** Returns a selection in which tools may have their own names, such as `files.read`, by the names on offer. */
export function selectionByOffer(selection: ToolSelection): ToolSelection {
  if ('length' in selection) return selection.map(edgeName)
  const { add, remove } = selection
  return { ...(add && { add: add.map(edgeName) }), ...(remove && { remove: remove.map(edgeName) }) }
}
