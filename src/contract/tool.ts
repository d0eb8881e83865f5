import type { JsonObject, JsonSchema } from './json.ts'
import type { Content, DataMark, Message } from './message.ts'
import type { Usage } from './usage.ts'

/** What a model is told about a tool, and what the host must know to call it. Plain data: it crosses RPC and KV. */
export interface ToolDefinition {
  /** `[a-zA-Z0-9_-]{1,64}`, unique among the tools of an edge. */
  readonly name: string
  readonly title?: string
  readonly description: string
  /** Schema of the arguments; its root is `type: "object"`. */
  readonly inputSchema: JsonSchema
  readonly outputSchema?: JsonSchema
  /** Free text for people, such as `1.2.0`. */
  readonly version: string
  /** SHA-256 of the canonical JSON of name, description and schemas; opaque to the host. */
  readonly hash: string
  readonly annotations: ToolAnnotations
  /** Whether a result is the run's answer, without another word of the model (API.md §2). Default: never. */
  readonly returnDirect?: 'always' | 'if-last'
  /** Which calls a person must agree to. Default `never`. */
  readonly approval?: Approval
  /** Milliseconds for one call; the host's own limit still holds. */
  readonly timeoutMs?: number
  /** Bytes of a result that a model may see; the host's own limit still holds. */
  readonly maxResultBytes?: number
  /** Never at the same time as another call of this tool (`true`), or of its group (a name). */
  readonly exclusive?: boolean | string
  /** Calls of it at the same time in a run, from 1; the host's own limit still holds. */
  readonly maxConcurrent?: number
  /** The tool can tell by its key what became of a call (`status`): asked before a call in doubt is given up or sent again. */
  readonly reconcile?: boolean
  /** The tool can undo a finished call (`undo`): done, newest first, where a later call of the run fails. */
  readonly undo?: boolean
  /** The tool wants the messages of the conversation in its context. */
  readonly history?: boolean
  /** Whether a provider that can shall hold its model to the schema. Default: as the provider does. */
  readonly strict?: boolean
  readonly tags?: readonly string[]
  /** Anything that hooks and listings want to know of it; a model is told none of it. */
  readonly metadata?: JsonObject
}

/** All calls, none, or all but those whose arguments fit every condition; by JSON pointers into the arguments. */
export type Approval = 'never' | 'always' | { readonly unless: Readonly<Record<string, Condition>> }

/** What an argument must be, in the words of JSON Schema; a number for bounds. `like`: texts with `*` for any text. */
export interface Condition {
  readonly minimum?: number
  readonly maximum?: number
  readonly enum?: readonly (string | number | boolean | null)[]
  readonly like?: readonly string[]
}

/** Hints on effects. Absent means unknown, so the host assumes the worst. */
export interface ToolAnnotations {
  readonly readOnly?: boolean
  /** Same key, same effect: the host may send a call again after a crash. */
  readonly idempotent?: boolean
  readonly destructive?: boolean
  readonly openWorld?: boolean
  /** Its results hold what strangers wrote: a model reads them as data. Absent: they do not. */
  readonly untrusted?: boolean
  /** Its results hold what not everybody may know. Absent: they do not. */
  readonly private?: boolean
}

/** Who asks. Comes from a verified key, never from a request's body. */
export interface Caller {
  readonly tenant: string
  /** Which key it was: the first digits of its hash. */
  readonly key?: string
  readonly scopes: readonly string[]
}

/** What travels beside the arguments. Nothing of it is ever shown to a model. */
export interface ToolContext {
  readonly conversationId?: string
  readonly runId: string
  readonly callId: string
  /** The same for every attempt at this call: keep it beside an effect so that the effect happens once. */
  readonly idempotencyKey: string
  /** From 1. */
  readonly attempt: number
  /** Epoch milliseconds after which nobody waits for the outcome. */
  readonly deadline: number
  /** Whose key asked; verified by the edge. */
  readonly caller: Caller
  /** The tool context of the request, such as `{ tenantId, timeZone }`. Its values come from the caller: check them. */
  readonly values: Readonly<Record<string, unknown>>
  /** What the edge's own setup says, such as the plan of a tenant; no caller can send or change it. */
  readonly trusted?: Readonly<Record<string, unknown>>
  /** Whose way to write results the run asks for; seen to where they are written. Default: ours. */
  readonly compat?: 'spring-ai' | 'langchain4j'
  /** What the model saw before this call, for a tool with `history: true`. */
  readonly history?: readonly Message[]
  /** What the model had read when it asked. */
  readonly marks?: readonly DataMark[]
}

export interface ToolRequest {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
  /** Hash of the definition that the model saw: a tool that has changed since answers `schema_mismatch`. */
  readonly hash: string
  readonly context: ToolContext
}

/** What a call came to. A failure is a value: `message` is for the model, `detail` for operators alone. */
export type ToolOutcome = ToolSuccess | ToolFailure

export interface ToolSuccess {
  readonly ok: true
  readonly content: readonly Content[]
  readonly structured?: unknown
  /** What models used inside of the tool; counted as the run's own. */
  readonly usage?: Usage
  /** What this result holds, beside what the tool's annotations say of all. */
  readonly marks?: readonly DataMark[]
}

export interface ToolFailure {
  readonly ok: false
  readonly error: ToolFault
  /** As of a success. */
  readonly usage?: Usage
  /** As of a success. */
  readonly marks?: readonly DataMark[]
}

export interface ToolFault {
  /** Stable, such as `invalid_arguments`, `unknown_tool`, `timeout`, `tool_failed`. */
  readonly code: string
  readonly message: string
  readonly detail?: string
  readonly retryable?: boolean
  /** The run fails with it, instead of the model being told. */
  readonly fatal?: boolean
}

/**
 * What became of a call, by its idempotency key. `done`: it took effect, and its outcome is not kept; `absent`: it never
 * did and never will, unless it is sent again; `unknown`: nobody can say.
 */
export type CallStatus = ToolOutcome | 'done' | 'absent' | 'unknown'

/** News from a call that is still running, for readers of the run; a model never sees it. */
export interface Progress {
  readonly message?: string
  /** 0 to 1. */
  readonly fraction?: number
  readonly data?: unknown
}

/**
 * The host's end of one call. It lives for that call alone: over RPC it is a stub, and a tool must not store it.
 * `whenAborted` settles with the reason once nobody wants the outcome any more: `timeout`, `cancelled`, or `settled`
 * when the outcome is there.
 */
export interface ToolControl {
  whenAborted(): Promise<string>
  progress(progress: Progress): Promise<void>
}

/** What a tool Worker answers to `describe()`. */
export interface ToolDescription {
  readonly contract: 1
  readonly tools: readonly ToolDefinition[]
}

/**
 * What a tool Worker offers over RPC. Contract: all resolve with values, and never throw for a tool's failure. `status`
 * and `undo` are asked only of tools whose definitions say `reconcile` and `undo`.
 */
export interface ToolService {
  describe(): Promise<ToolDescription>
  call(request: ToolRequest, control?: ToolControl): Promise<ToolOutcome>
  /** What became of this call, as it was sent before. Changes nothing. */
  status?(request: ToolRequest): Promise<CallStatus>
  /** Undoes this call, which came to that outcome. */
  undo?(request: ToolRequest, outcome: ToolSuccess): Promise<ToolOutcome>
}

export type ToolOrigin = 'service' | 'kv' | 'mcp' | 'agent' | 'inline'

/** A tool that can be called: its definition and where it came from. */
export interface Tool {
  readonly definition: ToolDefinition
  readonly origin: ToolOrigin
  /** What the operator knows its source by, such as the binding `TOOL_CLOCK`. */
  readonly place: string
  /** Whether it belongs to the default set: what a request gets that names no tools. */
  readonly offered: boolean
  /** Contract: resolves with the outcome; what it throws counts as a failed call. */
  call(request: ToolRequest, control: ToolControl): Promise<ToolOutcome>
  /** There for a tool whose definition says `reconcile`. Contract: what it throws counts as `unknown`. */
  status?(request: ToolRequest): Promise<CallStatus>
  /** There for a tool whose definition says `undo`. Contract: what it throws counts as a failed undo. */
  undo?(request: ToolRequest, outcome: ToolSuccess): Promise<ToolOutcome>
}

/** A place that should have brought tools and did not, with the reason for operators. */
export interface Unavailable {
  readonly origin: ToolOrigin
  /** What the operator knows it by, such as the binding `TOOL_CLOCK`. */
  readonly place: string
  readonly reason: string
  /** The name of the tool, where it is one that is not there. */
  readonly name?: string
  /** There where it is one tool, held back since it has changed. */
  readonly held?: HeldTool
}

/** A tool that is not called before a person has accepted what it says now. */
export interface HeldTool {
  /** As it is now. */
  readonly definition: ToolDefinition
  /** Hash of all that the definition says now, to accept it by. */
  readonly hash: string
  /** The same of what was accepted; absent where that cannot be told. */
  readonly accepted?: string
}

export interface ToolListing {
  readonly tools: readonly Tool[]
  readonly unavailable: readonly Unavailable[]
  /** How many there are in all, where only a page is listed. */
  readonly total?: number
}

/** A part of a listing, by name. */
export interface ListPage {
  /** The name after which it begins; empty for the first. */
  readonly after: string
  readonly limit: number
  /** Of this origin alone. Default: of any. */
  readonly origin?: string | undefined
}

/** What a tool can be found by, where its whole definition is not at hand. */
export interface ToolText extends Pick<ToolDefinition, 'name' | 'title' | 'description' | 'tags' | 'hash'> {
  /** Schema of the arguments, where it is at hand. */
  readonly inputSchema?: JsonSchema
  /** Names, descriptions and values of the parameters, in the place of a schema. */
  readonly parameters?: readonly string[]
}

/** Finds tools by words among all that an edge has, whatever is on offer. */
export interface ToolFinder {
  /** About how many tools there are; costs nothing that grows with them. */
  size(): Promise<number>
  /** Names of at most `limit` tools, best first. Which of them are there for whom, a source's `find` tells. */
  search(text: string, limit: number): Promise<readonly string[]>
}

/**
 * Where tools come from.
 * Contract: no method rejects because one tool or one Worker is broken; that is listed as unavailable.
 */
export interface ToolSource {
  /** At least the page that is asked for: a source may list more. Default: all. */
  list(page?: ListPage): Promise<ToolListing>
  /** The default set, at no cost that grows with the rest. */
  offered(): Promise<readonly Tool[]>
  /** The tools of these names that this source knows, in any order. */
  find(names: readonly string[]): Promise<readonly Tool[]>
  /** About how many there are, at no cost that grows with them. Default: as many as `list` tells. */
  size?(): Promise<number>
  /** What each can be found by; the same array while nothing has changed. Default: the definitions that `list` tells. */
  texts?(): Promise<readonly ToolText[]>
}

/** The name of the tool by which a model finds others. Some providers have words of their own for it. */
export const TOOL_SEARCH = 'tool_search'

export function failure(code: string, message: string, detail?: string): ToolFailure {
  return { ok: false, error: detail === undefined ? { code, message } : { code, message, detail } }
}
