import type { ToolDefinition } from './tool-definition.ts'
import type { CallInput, InputNeeds } from './input.ts'
import { isObject, type JsonObject, type JsonSchema } from './json.ts'
import type { Content, DataMark, MadeCall, Message } from './message.ts'
import type { ProgramCalls } from './program.ts'
import type { Usage } from './usage.ts'

/** The authenticated caller. It comes from a verified API key, never from the body of a request. */
export interface Caller {
  readonly tenant: string
  /** The id of the key; of an identity provider's caller, the provider's id, a colon and digits. */
  readonly key?: string
  readonly scopes: readonly string[]
}

/** The context that is sent with a call, beside its arguments. No model ever sees any of it. */
export interface ToolContext {
  readonly conversationId?: string
  readonly runId: string
  readonly callId: string
  /** The same for every attempt at this call. Store it together with an effect, so that the effect happens once. */
  readonly idempotencyKey: string
  /** The number of this attempt, from 1. */
  readonly attempt: number
  /** The time after which the host no longer waits for the outcome, in epoch milliseconds. */
  readonly deadline: number
  /** The caller, authenticated by the edge. */
  readonly caller: Caller
  /**
   * The tool context of the request, such as `{ timeZone }`. Its values come from the caller, who may send any: never
   * decide by them whose data a call may reach; `caller` tells that.
   */
  readonly values: Readonly<Record<string, unknown>>
  /** Context set by the edge's setup, such as the plan of a tenant; no caller can send or change it. */
  readonly trusted?: Readonly<Record<string, unknown>>
  /** The library in whose format results are written, where they are made. Default: our own format. */
  readonly compat?: 'spring-ai' | 'langchain4j'
  /** The messages that the model saw before this call, for a tool with `history: true`. */
  readonly history?: readonly Message[]
  /** The marks of all data that the model had read when it asked for the call. */
  readonly marks?: readonly DataMark[]
  /**
   * What the call can ask for by an `InputRequired`: methods of MCP, such as `elicitation/create` where a person can be
   * asked. Default: nothing.
   */
  readonly asks?: readonly string[]
  /**
   * The W3C Trace Context of this attempt, for the headers of the requests that the tool makes. Absent if the run belongs
   * to no trace.
   */
  readonly traceparent?: string
  /** The answers to what this call asked for when it was sent before. */
  readonly input?: CallInput
  /** Where the outcome of this call is reported, for a tool with `later`. Absent if the run could not wait for it. */
  readonly reportTo?: ReportAddress
  /** The host's policies (`TOOL_POLICY`), for a tool with `callsTools`: they bind the tools that it calls. */
  readonly policies?: Readonly<Record<string, unknown>>
}

/** The right to report on one call: its progress, and its outcome once. */
export interface ReportAddress {
  /** Names the call, signed by the edge, for the entrypoint `Outcomes` of the edge. Anyone who has it can report. */
  readonly token: string
  /** Takes the same reports as `POST`. Absent if the edge does not know its own address (`EDGE_URL`). */
  readonly url?: string
}

/** A run, and the conversation that stores it. */
export interface RunPlace {
  readonly conversation: string
  readonly run: string
}

/** How a run waits for the outcome of a call that is answered later. */
export interface Deferral {
  /** How long it waits, in milliseconds; 7 days at most. */
  readonly within: number
  /** How often the tool is polled, in milliseconds; a second at least. Default: never, the outcome is reported. */
  readonly poll?: number
  /** Comes back with each poll, such as the id of a job. Readers of the run's events see it. */
  readonly state?: string
  /** The run of an agent whose end is the outcome. No Worker can set it. */
  readonly child?: RunPlace
}

export interface ToolRequest {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Hash of the definition that the model saw. A tool that has changed since answers `schema_mismatch`. */
  readonly hash: string
  readonly context: ToolContext
}

/** The outcome of a call. A failure is a value: `message` is for the model, `detail` for operators alone. */
export type ToolOutcome = ToolSuccess | ToolFailure

export interface ToolSuccess {
  readonly ok: true
  readonly content: readonly Content[]
  readonly structured?: unknown
  /**
   * Data beside the result, such as the id of what was made: for hooks and for the caller, never for a model. Left out if
   * its JSON is longer than `limits.resultBytes`.
   */
  readonly metadata?: JsonObject
  /** The usage of models that ran inside the tool; it counts as the run's own. */
  readonly usage?: Usage
  /** The marks of this result, in addition to those that the tool's annotations give to every result. */
  readonly marks?: readonly DataMark[]
  /** The calls that an agent made and that may have taken effect. */
  readonly calls?: readonly MadeCall[]
  /**
   * The tag, or else the id, of the deployed version of the Worker that answered. A tool Worker adds it if its
   * configuration binds its version metadata as `CF_VERSION_METADATA`.
   */
  readonly deployment?: string
}

export interface ToolFailure {
  readonly ok: false
  readonly error: ToolFault
  /** What the call needs before it can finish. Its error is `input_required`, which stands where nobody can be asked. */
  readonly input?: InputNeeds
  /** Set if the outcome comes later. The error is `later`, which stands where the run cannot wait for it. */
  readonly later?: Deferral
  /** As in a success. */
  readonly usage?: Usage
  /** As in a success. */
  readonly marks?: readonly DataMark[]
  /** As in a success. */
  readonly calls?: readonly MadeCall[]
  /** As in a success. */
  readonly deployment?: string
}

export interface ToolFault {
  /** Stable, such as `invalid_arguments`, `unknown_tool`, `timeout`, `tool_failed`. */
  readonly code: string
  readonly message: string
  readonly detail?: string
  readonly retryable?: boolean
  /** How long what was called asks to wait before the next call, in milliseconds. */
  readonly retryAfterMs?: number
  /** Whether the run fails with this fault, instead of the model being told of it. */
  readonly fatal?: boolean
}

/** The codes of a call after which nobody knows whether it took effect, if it was sent. */
export const IN_DOUBT_CODES: ReadonlySet<string> = new Set([
  ...['cancelled', 'in_doubt', 'no_outcome', 'outcome_unknown', 'timeout', 'tool_lost'],
])

/**
 * What became of a call, by its idempotency key. `done`: it took effect, but its outcome was not stored; `absent`: it
 * did not take effect and never will unless it is sent again; `unknown`: cannot be known.
 */
export type CallStatus = ToolOutcome | 'done' | 'absent' | 'unknown'

/** News from a call that is still running, for readers of the run. Models never see it. */
export interface Progress {
  readonly message?: string
  /** 0 to 1. */
  readonly fraction?: number
  readonly data?: unknown
}

/**
 * The host's side of one call. It lives only as long as the call: over RPC it is a stub, which a tool must not store.
 * `whenAborted` resolves with the reason once the outcome is no longer wanted: `timeout`, `cancelled`, or `settled`
 * once the host has the outcome.
 */
export interface ToolControl {
  whenAborted(): Promise<string>
  progress(progress: Progress): Promise<void>
  /** The calls that a program can make in the run. Only a tool with `makesCalls` has it, which is in the edge itself. */
  readonly calls?: ProgramCalls
}

/** The answer of a tool Worker to `describe()`. */
export interface ToolDescription {
  readonly contract: 1
  readonly tools: readonly ToolDefinition[]
  /** What the tools are, for listings. Default: `service`. */
  readonly source?: 'mcp' | 'agent'
  /** Whether the Worker itself checks results by the output schemas. Default: the host does. */
  readonly checksOutput?: boolean
  /** The tools that it should have and cannot offer, by the names that they would have. Default: none. */
  readonly unavailable?: readonly MissingTool[]
}

/** A tool that its Worker cannot offer, with the reason for operators. */
export type MissingTool = Required<Pick<Unavailable, 'name' | 'reason'>>

/**
 * The RPC methods of a tool Worker. Contract: all resolve with values, and never throw for a tool's failure. `status`,
 * `undo` and `poll` are called only for tools whose definitions say `reconcile`, `undo` and `later`.
 */
export interface ToolService {
  describe(): Promise<ToolDescription>
  call(request: ToolRequest, control?: ToolControl): Promise<ToolOutcome>
  /** Tells what became of this call, which was sent before. Changes nothing. */
  status?(request: ToolRequest): Promise<CallStatus>
  /** Undoes this call, which had this outcome. */
  undo?(request: ToolRequest, outcome: ToolSuccess): Promise<ToolOutcome>
  /** Returns the outcome of this call, which was answered later; `later` again if there is none yet. */
  poll?(request: ToolRequest, state?: string): Promise<ToolOutcome>
}

/** What a source is, for listings. A source of an application may name itself. */
export type ToolOrigin = 'service' | 'kv' | 'mcp' | 'agent' | 'inline' | 'provider' | (string & {})

/** A tool that can be called: its definition and its origin. */
export interface Tool {
  readonly definition: ToolDefinition
  readonly origin: ToolOrigin
  /** The operator's name for its source, such as the binding `TOOL_CLOCK`. */
  readonly place: string
  /** The script of its Worker, if that is in the dispatch namespace. Policies name all its tools by `@script:…`. */
  readonly script?: string
  /** Whether it belongs to the default set, which is offered to requests that name no tools. */
  readonly offered: boolean
  /** Whether its calls are HTTP requests that the edge makes by a stored definition. No Worker can set it. */
  readonly isRequest?: true
  /** Whether its calls are programs, which make further calls of the run. No Worker can set it. */
  readonly makesCalls?: true
  /** Whether it is an agent of this edge, whose calls start runs of their own. No Worker can set it. */
  readonly startsRuns?: true
  /** Where an agent of this edge has its tools from. Default: from the sources of the edge. */
  readonly ownTools?: (caller: Caller) => ToolSource
  /** Whether its source has checked each result by the output schema. Default: the host does. */
  readonly checksOutput?: boolean
  /** Whether the run may not use it any more: it is gone or has changed, or the key has lost a scope. */
  readonly isWithdrawn?: true
  /** Until when it is not called, in epoch milliseconds, because its last calls all failed. */
  readonly pausedUntil?: number
  /**
   * Returns why arguments cannot be right; undefined if nothing is wrong with them. It is asked before a person is asked to
   * approve the call, so that nobody approves what is refused then. Contract: throws nothing.
   */
  check?(args: JsonObject, context: Pick<ToolContext, 'caller' | 'conversationId'>): ToolFailure | undefined
  /** Contract: resolves with the outcome; an error it throws counts as a failed call. */
  call(request: ToolRequest, control: ToolControl): Promise<ToolOutcome>
  /** Set if the definition says `reconcile`. Contract: an error it throws counts as `unknown`. */
  status?(request: ToolRequest): Promise<CallStatus>
  /** Set if the definition says `undo`. Contract: an error it throws counts as a failed undo. */
  undo?(request: ToolRequest, outcome: ToolSuccess): Promise<ToolOutcome>
  /** Set if the definition says `later`. Contract: an error it throws counts as a poll that found nothing yet. */
  poll?(request: ToolRequest, state?: string): Promise<ToolOutcome>
  /** Checks a reported outcome as a direct one is checked. Default: it is not. */
  receive?(outcome: ToolOutcome): Promise<ToolOutcome>
}

/** A source, or a single tool, that is not available, with the reason for operators. */
export interface Unavailable {
  readonly origin: ToolOrigin
  /** The operator's name for the source, such as the binding `TOOL_CLOCK`. */
  readonly place: string
  readonly reason: string
  /** The name of the tool, if a single tool is not available. */
  readonly name?: string
  /** Set if a single tool is held back because it has changed. */
  readonly pending?: PendingDefinition
}

/** A tool that is not called until a person has accepted its current definition. */
export interface PendingDefinition {
  /** The current definition. */
  readonly definition: ToolDefinition
  /** The hash of the current definition, by which it is accepted. */
  readonly hash: string
  /** The hash of the accepted definition; absent if it is not known. */
  readonly acceptedHash?: string
}

export interface ToolListing {
  readonly tools: readonly Tool[]
  readonly unavailable: readonly Unavailable[]
  /** The number of all tools, if only a page of them is listed. */
  readonly total?: number
}

/** A page of a listing, in the order of names. */
export interface ListPage {
  /** The page begins after this name; empty for the first page. */
  readonly after: string
  readonly limit: number
  /** Only tools of this origin. Default: of any. */
  readonly origin?: string | undefined
}

/** The text by which a search finds a tool, without the whole definition. */
export interface ToolText extends Pick<ToolDefinition, 'name' | 'title' | 'description' | 'tags' | 'hash'> {
  /** Schema of the arguments, if it is known. */
  readonly inputSchema?: JsonSchema
  /** Names, descriptions and values of the parameters, instead of the schema. */
  readonly parameters?: readonly string[]
  /** The name of the server or Worker that has the tool, such as `github`. */
  readonly group?: string
}

/** What a search over a source reads. */
export interface SearchableTools {
  /** The index of most tools as text (`search/stored-terms.ts`). Absent if all tools are in `texts`. */
  readonly stored?: string
  /** The tools of that index that have been removed since. */
  readonly removed: readonly string[]
  /** The other tools, and those that have changed since; the same array as long as nothing changes. */
  readonly texts: readonly ToolText[]
}

/** Finds tools by words among all tools of an edge, whether or not they are on offer. */
export interface ToolFinder {
  /** Returns roughly how many tools there are, at a cost independent of that. */
  size(): Promise<number>
  /** Returns the names of at most `limit` tools, best match first. A source's `find` tells which a caller may use. */
  search(text: string, limit: number): Promise<readonly string[]>
}

/** A source of tools. */
export interface ToolSource {
  /** Lists at least the requested page; a source may list more. Default: all tools. */
  list(page?: ListPage): Promise<ToolListing>
  /**
   * Returns the default set, at a cost that does not grow with the other tools. Rejects with `ToolsUnavailable` if
   * the source cannot tell now what is in it, like `find`.
   */
  offered(): Promise<readonly Tool[]>
  /** Returns those of the named tools that this source knows, in any order. */
  find(names: readonly string[]): Promise<readonly Tool[]>
  /**
   * Returns which of these names are names of tools, and whether the caller may know of each. Those
   * of a Worker that cannot be described now count too, by its last description. Rejects with `ToolsUnavailable` if the
   * source cannot tell now. Default: the names that `find` finds.
   */
  names?(names: readonly string[]): Promise<ToolNames>
  /** Returns roughly how many tools there are, at a cost independent of that. Default: the length of `list`. */
  size?(): Promise<number>
  /** Returns the searchable text of each tool; the same array as long as nothing changes. Default: made from `list`. */
  texts?(): Promise<readonly ToolText[]>
  /** Returns what a search by words reads, which may be far less than all texts. Default: `texts`. */
  searchable?(): Promise<SearchableTools>
}

/** Names of tools, and whether the caller may know of a tool of that name. */
export type ToolNames = ReadonlyMap<string, 'visible' | 'hidden'>

/** Returns which of these names are names of tools of a source. */
export async function toolNamesOf(source: ToolSource, names: readonly string[]): Promise<ToolNames> {
  if (source.names) return source.names(names)
  return new Map((await source.find(names)).map(({ definition }) => [definition.name, 'visible']))
}

/** Thrown by a source that cannot tell now which tools it has. The message is for callers; the reason was reported. */
export class ToolsUnavailable extends Error {
  constructor(message: string) {
    super(message)
    this.name = 'ToolsUnavailable'
  }
}

/** Finds tools that may join a run: those of a source that cannot tell now which it has do not. */
export async function findIfAvailable(
  source: Pick<ToolSource, 'find'>,
  names: readonly string[],
): Promise<readonly Tool[]> {
  try {
    return await source.find(names)
  } catch (error) {
    if (error instanceof ToolsUnavailable) return []
    throw error
  }
}

/** The name of the tool with which a model finds others. Some providers have a native form of it. */
export const TOOL_SEARCH = 'tool_search'

/** The name of the tool with which a model reads more of a result that was cut or put aside. */
export const READ_RESULT = 'read_result'

export function failure(code: string, message: string, detail?: string): ToolFailure {
  return { ok: false, error: detail === undefined ? { code, message } : { code, message, detail } }
}

/**
 * Whether models, or the apps of MCP clients, may call a tool of an MCP server, by the `visibility` in its `metadata.ui`
 * (MCP Apps). By tools that neither may call, the edge itself reads from the server. Default: both may.
 */
export function isFor(
  audience: 'model' | 'app',
  { origin, definition: { metadata } }: Pick<Tool, 'origin' | 'definition'>,
): boolean {
  const ui = metadata?.['ui']
  const visibility = isObject(ui) && ui['visibility']
  return origin !== 'mcp' || !Array.isArray(visibility) || visibility.includes(audience)
}
