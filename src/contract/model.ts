import type { JsonSchema } from './json.ts'
import type { Message, Opaque } from './message.ts'
import type { ToolDefinition } from './tool.ts'
import type { Price, Usage } from './usage.ts'

export interface ModelRequest {
  readonly messages: readonly Message[]
  /** The tools on offer; empty means that the model must answer in words. */
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice?: ToolChoice
  readonly responseFormat?: ResponseFormat
  /** Sampling fields of the request (temperature, stop, …), passed through by name. */
  readonly sampling?: Readonly<Record<string, unknown>>
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly name: string; readonly schema: JsonSchema; readonly strict?: boolean }

/** Why a model stopped. `tool_calls`: it asked for tools. */
export type ModelFinish = 'stop' | 'tool_calls' | 'length' | 'content_filter'

/** What a model says, as it comes. `index` tells the calls of one answer apart, from 0 in order of first mention. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'call.delta'; readonly index: number; readonly tool?: string; readonly arguments: string }
  /** A call is complete: its whole arguments text has arrived. */
  | { readonly type: 'call'; readonly index: number; readonly tool: string; readonly arguments: string }
  /** `opaque`: what the codec wants back with this answer in the next request. */
  | { readonly type: 'finish'; readonly finish: ModelFinish; readonly usage?: Usage; readonly opaque?: Opaque }
  | { readonly type: 'error'; readonly error: ModelError }

export interface ModelError {
  /** Stable, such as `model_unreachable`, `model_rate_limited`, `model_stream_cut`. */
  readonly code: string
  /** For the caller: says what happened, never holds a key. */
  readonly message: string
  /** The provider's HTTP status, where there was one. */
  readonly status?: number
  readonly retryable: boolean
  readonly retryAfterMs?: number
}

/**
 * What can be said to a model and heard of it: as far as its codec goes. A server of the same format, or one model of a
 * provider, may do less.
 */
export interface ModelCapabilities {
  /** Tools are told, and calls come back. */
  readonly tools: boolean
  /** Several calls may come in one answer. */
  readonly parallelCalls: boolean
  /** `parallel_tool_calls: false` holds the model to one call an answer. */
  readonly singleCalls: boolean
  /** `required` and the name of a tool reach the model. */
  readonly toolChoice: boolean
  /** Arguments come in pieces while the model writes them. */
  readonly streamedArguments: boolean
  /** A tool's result may hold images; else they are named in its text. */
  readonly imagesInResults: boolean
  /** A JSON Schema of the answer reaches the model. */
  readonly structuredOutput: boolean
}

/** What a codec that has words for everything can do. */
export const EVERYTHING: ModelCapabilities = {
  tools: true,
  parallelCalls: true,
  singleCalls: true,
  toolChoice: true,
  streamedArguments: true,
  imagesInResults: true,
  structuredOutput: true,
}

/**
 * A chat model that can ask for tools.
 * Contract: the stream never throws. It ends with exactly one `finish` or `error`; a stream that was cut, or a call
 * whose arguments did not all arrive, ends with `error`. After `signal` aborts it ends soon, in any way.
 */
export interface ChatModel {
  /** `provider/name`. */
  readonly name: string
  /** Known where the configuration tells it. */
  readonly price?: Price
  /** Default: nobody knows. */
  readonly capabilities?: ModelCapabilities
  stream(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>
}

/** Makes a provider's model of that name, the part after `provider/`. */
export type ModelProvider = (name: string) => ChatModel
