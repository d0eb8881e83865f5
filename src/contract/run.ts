import type { Left } from './budget.ts'
import type { JsonSchema } from './json.ts'
import type { Content, Message } from './message.ts'
import type { ResponseFormat, ToolChoice } from './model.ts'
import type { Usage } from './usage.ts'
import type { Caller } from './tool.ts'

/** What a run may use. Reached: one last answer without tools; wall time alone ends the run at once. */
export interface Limits {
  /** Rounds that ask for tools; the final answer is never counted. */
  readonly steps: number
  readonly calls: number
  readonly callsPerTool: number
  /** Milliseconds for one call. */
  readonly callMs: number
  /** Milliseconds for the run; waiting for people is not counted. */
  readonly runMs: number
  /** Bytes of one result that a model sees. */
  readonly resultBytes: number
  readonly concurrentCalls: number
  /** Input and output tokens summed over the steps. Default: no limit. */
  readonly tokens?: number
  /** What the steps may cost, in the currency of the model's prices. Default: no limit. */
  readonly cost?: number
  /** Calls of one tool with the same arguments; further ones are refused. Default: no limit. */
  readonly sameCalls?: number
  /** Calls of the tools of these names, in the place of `callsPerTool`. */
  readonly tools?: Readonly<Record<string, number>>
}

/** What a run may use where nothing else is said. */
export const DEFAULT_LIMITS: Limits = {
  steps: 50,
  calls: 150,
  callsPerTool: 40,
  callMs: 30_000,
  runMs: 900_000,
  resultBytes: 65_536,
  concurrentCalls: 8,
}

/** How often a run may call the tool of this name. */
export function mostCalls({ tools = {}, callsPerTool }: Pick<Limits, 'tools' | 'callsPerTool'>, tool: string): number {
  return (Object.hasOwn(tools, tool) ? tools[tool] : undefined) ?? callsPerTool
}

/** Which limit ended a run: the names of a request's `limits`. */
export type LimitName = 'steps' | 'calls' | 'callsPerTool' | 'runMs' | 'tokens' | 'cost'

/**
 * What a limit that is reached brings about. `answer`: one last answer without tools. `model`: the call is refused, and
 * the model goes on with its tools; of `steps`, `tokens` and `cost` this is as `answer`. `fail`: the run fails.
 */
export type OnLimit = 'answer' | 'model' | 'fail'

/** Whose defaults and texts hold where ours differ: limits, faults, results. */
export type Compat = 'spring-ai' | 'langchain4j'

/** Tools on offer instead of the default set: those named alone, or the default set edited. */
export type ToolSelection =
  | readonly string[]
  | { readonly add?: readonly string[]; readonly remove?: readonly string[] }

/** A tool that the caller runs: the edge only tells the model of it. */
export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  /** As of a `ToolDefinition`. */
  readonly strict?: boolean
}

/** What becomes of a run that is posted while another is under way. `steer`: its input joins that one. */
export type OnBusy = 'queue' | 'reject' | 'interrupt' | 'steer'

/** An accepted request for a run: checked, complete, plain data. */
export interface RunRequest {
  readonly runId: string
  readonly conversation?: string
  /** Whether the run is kept: it can wait for people and for its caller, and outlives the request. */
  readonly durable: boolean
  readonly caller: Caller
  /** Of a request with an Idempotency-Key, which made the run's id: the hash of its body. */
  readonly fingerprint?: string
  readonly input: readonly Message[]
  readonly system?: string
  /** `provider/name`, allowed by the configuration. */
  readonly model: string
  readonly clientTools: readonly ClientTool[]
  /** What the caller, or the setup for its model, wants on offer. Default: the default set. */
  readonly selection?: ToolSelection
  /** Tools that are not on offer may join by a search. Default: no. */
  readonly searchesAll?: boolean
  readonly toolChoice?: ToolChoice
  /** After how many rounds it was chosen. Default: 0. */
  readonly chosenAt?: number
  readonly responseFormat?: ResponseFormat
  readonly sampling?: Readonly<Record<string, unknown>>
  /** Tool context; never shown to a model. */
  readonly context: Readonly<Record<string, unknown>>
  readonly limits: Limits
  /** What was left of the budget of the caller's key: limits too. Without one, what the run uses is not counted for a key. */
  readonly budget?: Left
  /** Who runs the edge's tools: `caller` hands their calls out too. */
  readonly execution: 'edge' | 'caller'
  /** What a failed call does: its error goes to the model, or the run fails. */
  readonly toolErrors: 'model' | 'fail'
  /** Default `answer`. */
  readonly onLimit?: OnLimit
  /** Undo the finished calls of the run, newest first, where a tool fails. Default: no. */
  readonly compensate?: boolean
  /** Calls of read-only and idempotent tools start while the model still speaks. Default: no. */
  readonly eager?: boolean
  /** Whether calls that reach outward take approval once strangers' words and private data have been read. Default: yes. */
  readonly taintRule?: boolean
  readonly compat?: Compat
  /** What the edge's setup lets tools know; no caller can send it. */
  readonly trusted?: Readonly<Record<string, unknown>>
}

export type RunStatus = 'queued' | 'running' | 'waiting' | 'cancelling' | 'completed' | 'failed' | 'cancelled'

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
}

export interface CallRecord {
  readonly id: string
  readonly tool: string
  /** As the model wrote them: JSON text that parsed, or the text that did not. */
  readonly arguments: unknown
  /** `approval`: a person must decide; `caller`: the caller must send its result; `open`: it runs or is about to. */
  readonly status: 'open' | 'approval' | 'caller' | 'settled'
  /** Absent while the call is open, as `durationMs`. */
  readonly ok?: boolean
  readonly durationMs?: number
  /** What the model read of it: of a call that failed, `error` instead. */
  readonly content?: readonly Content[]
  readonly structured?: unknown
  readonly error?: { readonly code: string; readonly message: string }
  /** An outcome came after nobody waited for it any more; no model read it. */
  readonly late?: { readonly ok: boolean }
  /** It was undone, since a later call failed. */
  readonly undone?: boolean
}

/** A run as its caller sees it. */
export interface RunRecord {
  readonly id: string
  readonly conversation?: string
  readonly status: RunStatus
  readonly answer: string
  /** What the model said before it called tools, in order; left out where it said nothing. */
  readonly preambles?: readonly string[]
  readonly finish?: Finish
  /** The limit behind `finish: "limit"`. */
  readonly which?: LimitName
  readonly steps: number
  readonly usage: Usage
  readonly calls: readonly CallRecord[]
  readonly error?: RunError
}

export function isTerminal(status: RunStatus): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}
