import type { JsonObject, JsonSchema } from './json.ts'
import type { DataMark, Message, Opaque } from './message.ts'
import type { Citation, ProviderCall, ProviderFormat, ProviderTools } from './provider-tool.ts'
import type { ToolDefinition } from './tool-definition.ts'
import type { Price, Usage } from './usage.ts'

export interface ModelRequest {
  readonly messages: readonly Message[]
  /** The tools on offer; if empty, the model must answer in text. */
  readonly tools: readonly ToolDefinition[]
  readonly toolChoice?: ToolChoice
  /**
   * Returns the provider's own tools on offer, as this format declares them; those that have no form in it are left out,
   * which is logged. Every model that sends the request calls it, without a format if it has none. Set by the part `providerTools` alone.
   */
  readonly providerTools?: (format?: ProviderFormat) => ProviderTools
  readonly responseFormat?: ResponseFormat
  /** Sampling fields of the request (temperature, stop, …), passed through by name. */
  readonly sampling?: Readonly<Record<string, unknown>>
  /** What the request adds to that to its provider. */
  readonly providerOptions?: ProviderOptions
  /** What a caller has said to one vendor, such as `openai.prompt_cache_key`. A model takes those that its `hints` names. */
  readonly hints?: JsonObject
  /** How long the model may be silent. Default: as the maker of the model says. */
  readonly patience?: Patience
  /** The conversation, for providers that send the requests of one to the same cache. */
  readonly cacheKey?: string
  /** The W3C Trace Context of this request, for the headers of the request to the provider. */
  readonly traceparent?: string
  /** Receives what of a tool could not be said to the model, since its provider refuses it. Once for each in an isolate. */
  readonly reportTool?: (tool: string, losses: readonly string[]) => void
  /** How many answers to this request have broken off so far. A list of fallbacks begins with another model each time. */
  readonly cuts?: number
  /** How often the run has waited for this answer so far. Then the model is asked once, since the run waits longer. */
  readonly waits?: number
}

/** The fields of a run's `sampling`, with their names in Chat Completions, which model requests have. */
export const SAMPLING_NAMES = {
  temperature: 'temperature',
  topP: 'top_p',
  topK: 'top_k',
  seed: 'seed',
  presencePenalty: 'presence_penalty',
  frequencyPenalty: 'frequency_penalty',
  maxOutputTokens: 'max_completion_tokens',
  stop: 'stop',
  reasoningEffort: 'reasoning_effort',
  verbosity: 'verbosity',
  serviceTier: 'service_tier',
  parallelCalls: 'parallel_tool_calls',
} as const

/** Members that are added to requests to models, by the names of their providers. */
export type ProviderOptions = Readonly<Record<string, JsonObject>>

/** How long a model may be silent, in milliseconds: up to the first byte of its answer, and between two later ones. */
export interface Patience {
  readonly firstByteMs?: number
  readonly silenceMs?: number
}

export type ToolChoice = 'auto' | 'none' | 'required' | { readonly tool: string }

export type ResponseFormat =
  | { readonly type: 'text' }
  | { readonly type: 'json_object' }
  | { readonly type: 'json_schema'; readonly name: string; readonly schema: JsonSchema; readonly strict?: boolean }

/** Why a model stopped. `tool_calls`: it asked for tools. */
export type ModelFinish = 'stop' | 'tool_calls' | 'length' | 'content_filter'

/** The events of a model's answer. `index` tells the calls of one answer apart, from 0 in order of first mention. */
export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  /** Empty before the text of an answer whose thinking the provider keeps to itself. */
  | { readonly type: 'reasoning'; readonly text: string }
  | { readonly type: 'call.delta'; readonly index: number; readonly tool?: string; readonly arguments: string }
  /** A call is complete: its whole arguments text has arrived. */
  | { readonly type: 'call'; readonly index: number; readonly tool: string; readonly arguments: string }
  /** The provider has used a tool of its own. `marks`: those of what it found, which the model has read; default: untrusted. */
  | ({ readonly type: 'provider.call'; readonly marks?: readonly DataMark[] } & ProviderCall)
  /**
   * `opaque`: what the codec wants back with this answer in later requests. `isWindowFull`: the model says that it stopped,
   * with the finish `length`, since prompt and answer have filled its window. `stopSequence`: the one of the request's
   * (`stop`) at which the model stopped, where the provider tells. `citations`: the sources on which the text rests.
   * `isPaused`: the provider continues the answer if it is sent back.
   */
  | {
      readonly type: 'finish'
      readonly finish: ModelFinish
      readonly usage?: Usage
      readonly opaque?: Opaque
      readonly isWindowFull?: true
      readonly stopSequence?: string
      readonly citations?: readonly Citation[]
      readonly isPaused?: true
    }
  | { readonly type: 'error'; readonly error: ModelError }

export interface ModelError {
  /** Stable, such as `model_unreachable`, `model_rate_limited`, `model_stream_cut`. */
  readonly code: string
  /** Tells the caller what happened. Never contains an API key. */
  readonly message: string
  /** The provider's HTTP status, if there was one. */
  readonly status?: number
  readonly retryable: boolean
  readonly retryAfterMs?: number
  /**
   * The number of requests, if several were made and the last one failed with a retryable error too; 0 if none was made,
   * since the provider fails for now.
   */
  readonly attempts?: number
  /** Set if the request is longer than the model's context window (`model_context_exceeded`). */
  readonly overflow?: Overflow
  /** Set if the request was refused for a part of a message (`model_refused_request`), and which it may be. */
  readonly item?: ItemRefusal
}

/** What a refusal says of a part of a message: a file, or earlier reasoning that the provider wants back. */
export interface ItemRefusal {
  /** `files`: the model takes none. `unknown`: the refusal does not say what is wrong. */
  readonly about: 'file' | 'files' | 'reasoning' | 'unknown'
  /** The keys that lead to it in the body of the request, if the refusal names them. */
  readonly path?: readonly string[]
  /** The parts of the messages that it may be about. */
  readonly items?: readonly PartPlace[]
  /** Set if `path` leads to the only one. */
  readonly isNamed?: boolean
}

/** A part of a message of a request: the index of the message, and of the part in its content. */
export interface PartPlace {
  readonly message: number
  /** `opaque`: what the provider wants back with an answer. */
  readonly part: number | 'opaque'
}

/** The codes of a model that is overloaded, cannot be reached or breaks off its answers. */
const OUTAGES = new Set(['model_rate_limited', 'model_unavailable', 'model_unreachable', 'model_stream_cut'])
/** The status with which a provider says that its model wrote an invalid answer. That is not an outage. */
const INVALID = 400

/** Whether the provider fails for now, and may answer the same request soon. */
export function failsForNow({ code, status, retryable }: ModelError): boolean {
  return retryable && OUTAGES.has(code) && status !== INVALID
}

/** The error code of a request that is longer than the context window of its model. */
export const CONTEXT_EXCEEDED = 'model_context_exceeded'

/** The error code of a model that has stopped without a text or a call. */
export const EMPTY_ANSWER = 'empty_answer'

/** What a refusal of a too long request says. Servers may name no figure, or a wrong one. */
export interface Overflow {
  /** The context window of the model, in tokens. */
  readonly contextTokens?: number
  /** The tokens of the refused request, with the room for the answer if the server counts that too. */
  readonly requestTokens?: number
}

/** How much a model takes and gives, in tokens. */
export interface ModelWindow {
  /** Prompt and answer together. */
  readonly contextTokens: number
  /** The longest answer. Default: unknown. */
  readonly outputTokens?: number
}

/** The window of a model of which nothing is known. */
export const UNKNOWN_WINDOW: ModelWindow = { contextTokens: 128_000 }

/** What a model can take and give, as far as its codec goes. A server of the format, or a single model, may do less. */
export interface ModelCapabilities {
  /** The model is told of tools and can call them. */
  readonly tools: boolean
  /** One answer may contain several calls. */
  readonly parallelCalls: boolean
  /** `parallel_tool_calls: false` limits the model to one call per answer. */
  readonly singleCalls: boolean
  /** The tool choices `required` and `{ tool }` reach the model. */
  readonly toolChoice: boolean
  /** Arguments are streamed in pieces while the model writes them. */
  readonly streamedArguments: boolean
  /** Tool results may contain images; otherwise text names them. */
  readonly imagesInResults: boolean
  /** A JSON Schema for the answer reaches the model. */
  readonly structuredOutput: boolean
  /** The server fetches images from `https` URLs, and other files; else the edge does. */
  readonly imageUrls: boolean
  readonly fileUrls: boolean
}

/** The capabilities of a codec that supports everything. */
export const ALL_CAPABILITIES: ModelCapabilities = {
  tools: true,
  parallelCalls: true,
  singleCalls: true,
  toolChoice: true,
  streamedArguments: true,
  imagesInResults: true,
  structuredOutput: true,
  imageUrls: true,
  fileUrls: true,
}

/**
 * A chat model that can ask for tools.
 * Contract: the stream never throws. It ends with exactly one `finish` or `error`; a stream that was cut, or a call
 * whose arguments did not all arrive, ends with `error`. After `signal` aborts it ends soon, in any way.
 */
export interface ChatModel {
  /** `provider/name`. */
  readonly name: string
  /** Set if the configuration has a price for the model. */
  readonly price?: Price
  /** Set if the configuration has one for the model; it takes the place of a run's limits. */
  readonly patience?: Patience
  /** Default: unknown. */
  readonly capabilities?: ModelCapabilities
  /** Which members of its vendor's requests it takes beside what all models have: `vendor.member`. Default: none. */
  readonly hints?: readonly string[]
  /** As configured, learnt from a refusal, listed by the provider, or documented, in this order. Default: `UNKNOWN_WINDOW`. */
  readonly window?: ModelWindow
  /** Sends its server the body of a request for embeddings, with this model as their model. Default: it makes none. */
  readonly embed?: (body: object, signal: AbortSignal) => Promise<Response>
  /** Called with a context window, in tokens, that the provider has told. */
  readonly learnWindow?: (contextTokens: number) => void
  /** `onRetry` is called with each failure after which the model, or another in its place, is asked again. */
  stream(request: ModelRequest, signal: AbortSignal, onRetry?: (error: ModelError) => void): AsyncIterable<ModelEvent>
}

/** Makes the model of a provider that has this name, the part after `provider/`. */
export interface ModelProvider {
  (name: string): ChatModel
  /** Asks the provider for the list of its models, and returns it as its API gives it; may reject. Default: it has none. */
  readonly list?: (signal: AbortSignal) => Promise<unknown>
}

/** Turns texts into vectors, as a model for embeddings does. Contract: one vector for each text, all of one length. */
export type Embed = (texts: readonly string[]) => Promise<readonly ArrayLike<number>[]>

/** A vector under the key of its text. Its values are the bytes of signed integers, at a length of 127. */
export interface StoredEmbedding {
  readonly key: string
  readonly values: Uint8Array
}

/** Keeps the vectors of tool texts beside the definitions, so that each text is embedded once for all isolates. */
export interface EmbeddingService {
  /** Returns the stored values of these keys for a model, in their order; null for each that is not stored. */
  embeddings(model: string, keys: readonly string[]): Promise<(Uint8Array | null)[]>
  storeEmbeddings(model: string, embeddings: readonly StoredEmbedding[]): Promise<void>
}
