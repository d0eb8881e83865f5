import type { RunEvent } from '../contract/event.ts'
import type { JsonObject } from '../contract/json.ts'
import type { Message } from '../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../contract/model.ts'
import type { CallRecord, ClientTool, RunRecord } from '../contract/run.ts'
import type { RunOptions } from '../wire/client/request.ts'

/** A type with its member `tool` narrowed to the names in `Tool`. */
type WithToolName<Value, Tool> = Value extends { readonly tool: string }
  ? Omit<Value, 'tool'> & { readonly tool: Tool }
  : Value

/** An event of a run, with the names of tools narrowed to `Tool`. */
export type EventOf<Tool extends string = string> = WithToolName<RunEvent, Tool>

/** The record of a run, with the names of tools narrowed to `Tool`. */
export type RecordOf<Tool extends string = string> = Omit<RunRecord, 'calls'> & {
  readonly calls: readonly WithToolName<CallRecord, Tool>[]
}

/** The input and options of a run, as in `POST …/runs`. A text as `input` is one user message. */
export interface RunInput<Tool extends string = string> extends Omit<RunOptions, 'tools'> {
  readonly input: string | readonly Message[]
  readonly system?: string
  readonly model?: string
  readonly tools?: readonly Tool[] | { readonly add?: readonly Tool[]; readonly remove?: readonly Tool[] }
  readonly clientTools?: readonly ClientTool[]
  readonly toolChoice?: Extract<ToolChoice, string> | { readonly tool: Tool }
  readonly responseFormat?: ResponseFormat
}

/** Where the edge is, and how to reach it. */
export interface ClientOptions {
  /** The base URL of the edge, such as `https://edge.example.com`. */
  readonly url: string
  /** An API key. Never put one into a public page: let your own server call the edge instead. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the global `fetch`. */
  readonly fetch?: (input: string, init?: RequestInit) => Promise<Response>
}

/** Options of one request for a run. */
export interface AskOptions {
  readonly signal?: AbortSignal
  /** Requests with the same key make one run. Default in a conversation: a new key. */
  readonly idempotencyKey?: string
}

/** What a person sends with the approval of a call. */
export interface ApproveOptions {
  /** Take the place of the model's arguments. The tool validates them, and the model is told of the change. */
  readonly arguments?: JsonObject
  /** SHA-256 of the canonical JSON of the arguments that were seen: a call with others is not approved. */
  readonly argumentsHash?: string
  /** What the person filled in, by the names of what the call asks for. */
  readonly input?: Readonly<Record<string, JsonObject>>
}
