import type { RunEvent } from '../contract/event.ts'
import type { Message } from '../contract/message.ts'
import type { ResponseFormat, ToolChoice } from '../contract/model.ts'
import type { CallRecord, ClientTool, OnBusy, RunRecord } from '../contract/run.ts'
import type { RunOptions } from '../wire/request.ts'

/** A value in which every `tool` is one of these names. */
type Named<Value, Tool> = Value extends { readonly tool: string }
  ? Omit<Value, 'tool'> & { readonly tool: Tool }
  : Value

/** An event of a run, its calls those of known tools. */
export type EventOf<Tool extends string = string> = Named<RunEvent, Tool>

/** A run, its calls those of known tools. */
export type RecordOf<Tool extends string = string> = Omit<RunRecord, 'calls'> & {
  readonly calls: readonly Named<CallRecord, Tool>[]
}

/** What a run is asked; a text alone is one message of the user. Members as in `POST …/runs`. */
export interface RunInput<Tool extends string = string> extends Omit<RunOptions, 'tools'> {
  readonly input: string | readonly Message[]
  readonly system?: string
  readonly model?: string
  readonly tools?: readonly Tool[] | { readonly add?: readonly Tool[]; readonly remove?: readonly Tool[] }
  readonly clientTools?: readonly ClientTool[]
  readonly toolChoice?: Extract<ToolChoice, string> | { readonly tool: Tool }
  readonly responseFormat?: ResponseFormat
  readonly onBusy?: OnBusy
}

export interface ClientOptions {
  /** Where the edge is, such as `https://edge.example.com`. */
  readonly url: string
  /** An API key. Not for pages that strangers open: there let your own server ask the edge. */
  readonly key?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Default: the global one. */
  readonly fetch?: (input: string, init?: RequestInit) => Promise<Response>
}

export interface AskOptions {
  readonly signal?: AbortSignal
  /** The same key is the same run, however often it is sent. Default in a conversation: a new one. */
  readonly idempotencyKey?: string
}
