import type { Left } from './budget.ts'
import type { JsonSchema } from './json.ts'
import type { Content, Message } from './message.ts'
import type { ResponseFormat, ToolChoice } from './model.ts'
import type { Usage } from './usage.ts'
import type { Caller } from './tool.ts'

/**
 * The limits of a run. By default a limit that is reached leads to one last answer without tools (see {@link OnLimit});
 * only `runMs` ends the run at once.
 */
export interface Limits {
  /** Model answers that ask for tools; the final answer is not counted. */
  readonly steps: number
  readonly calls: number
  readonly callsPerTool: number
  /** The time limit of one call, in milliseconds. */
  readonly callMs: number
  /** The time limit of the run, in milliseconds; the time in which it waits for people or its caller is not counted. */
  readonly runMs: number
  /** The most bytes of one result that the model sees. */
  readonly resultBytes: number
  readonly concurrentCalls: number
  /** Input and output tokens summed over the steps. Default: no limit. */
  readonly tokens?: number
  /** The cost of the steps together, in the currency of the model prices. Default: no limit. */
  readonly cost?: number
  /** The most calls of one tool with the same arguments; further ones are refused. Default: no limit. */
  readonly sameCalls?: number
  /** The most calls of single tools, by name, instead of `callsPerTool`. */
  readonly tools?: Readonly<Record<string, number>>
}

/** The limits of a run if nothing else is configured. */
export const DEFAULT_LIMITS: Limits = {
  steps: 50,
  calls: 150,
  callsPerTool: 40,
  callMs: 30_000,
  runMs: 900_000,
  resultBytes: 65_536,
  concurrentCalls: 8,
}

/** Returns how many calls of a tool a run may make. */
export function mostCalls({ tools = {}, callsPerTool }: Pick<Limits, 'tools' | 'callsPerTool'>, tool: string): number {
  return (Object.hasOwn(tools, tool) ? tools[tool] : undefined) ?? callsPerTool
}

/** The name of a limit that was reached, as in the `limits` of a request. */
export type LimitName = 'steps' | 'calls' | 'callsPerTool' | 'runMs' | 'tokens' | 'cost'

/**
 * What happens when a limit is reached. `answer`: one last answer without tools. `model`: the call is refused and the
 * model goes on with its tools; for `steps`, `tokens` and `cost` this is the same as `answer`. `fail`: the run fails.
 */
export type OnLimit = 'answer' | 'model' | 'fail'

/** The library whose defaults and texts are used where ours differ: for limits, failed calls and results. */
export type Compat = 'spring-ai' | 'langchain4j'

/** The tools to offer instead of the default set: exactly those named, or the default set with changes. */
export type ToolSelection =
  | readonly string[]
  | { readonly add?: readonly string[]; readonly remove?: readonly string[] }

/** A tool that the caller runs; the edge only tells the model of it. */
export interface ClientTool {
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonSchema
  /** As in a `ToolDefinition`. */
  readonly strict?: boolean
}

/** What happens to a run that is requested while another is under way. `steer`: its input joins the run under way. */
export type OnBusy = 'queue' | 'reject' | 'interrupt' | 'steer'

/** An accepted request for a run: validated, complete, plain data. */
export interface RunRequest {
  readonly runId: string
  readonly conversation?: string
  /** Whether the run is stored: only then can it wait for people and its caller, and outlive the request. */
  readonly durable: boolean
  readonly caller: Caller
  /** The hash of the request's body. Set if the request had an Idempotency-Key, from which the run's id was made. */
  readonly fingerprint?: string
  readonly input: readonly Message[]
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
  /** Tool context; never shown to a model. */
  readonly context: Readonly<Record<string, unknown>>
  readonly limits: Limits
  /**
   * What was left of the budget of the caller's key when the run was accepted; it acts as a limit too. If absent, the
   * usage of the run is not counted for a key.
   */
  readonly budget?: Left
  /** Who runs the edge's tools. With `caller`, their calls are handed to the caller too. */
  readonly execution: 'edge' | 'caller'
  /** What a failed call leads to: the model gets its error, or the run fails. */
  readonly toolErrors: 'model' | 'fail'
  /** Default: `answer`. */
  readonly onLimit?: OnLimit
  /** Whether the finished calls of the run are undone, newest first, when a call fails. Default: no. */
  readonly compensate?: boolean
  /** Whether calls of read-only and idempotent tools start before the model's answer is complete. Default: no. */
  readonly eager?: boolean
  /** Whether calls that reach outward need approval after untrusted and private data were read. Default: yes. */
  readonly taintRule?: boolean
  readonly compat?: Compat
  /** Tool context set by the edge's setup; no caller can send it. */
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
  /** The arguments that the model wrote, parsed; the text itself if it is not JSON. */
  readonly arguments: unknown
  /** `approval`: a person must decide; `caller`: the caller must send the result; `open`: runs, or is about to. */
  readonly status: 'open' | 'approval' | 'caller' | 'settled'
  /** Absent until the call is settled, like `durationMs`. */
  readonly ok?: boolean
  readonly durationMs?: number
  /** The result that the model read; a failed call has `error` instead. */
  readonly content?: readonly Content[]
  readonly structured?: unknown
  readonly error?: { readonly code: string; readonly message: string }
  /** Set if an outcome came after the call had been given up; no model has read it. */
  readonly late?: { readonly ok: boolean }
  /** Whether the call was undone because a later one failed. */
  readonly undone?: boolean
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
