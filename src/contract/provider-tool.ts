import type { JsonObject } from './json.ts'

/** A page or file, as a provider names it. */
export interface ProviderSource {
  readonly url: string
  readonly title?: string
}

/** What a tool of a provider does, whatever the provider calls it. */
export type ProviderToolKind = 'web_search' | 'web_fetch' | 'code' | 'file_search' | 'mcp'

/**
 * What the provider of a model did with a tool of its own, while the model answered. The edge is told of it and starts nothing: no call
 * of the run.
 */
export interface ProviderCall {
  /** The name of the tool in the run or, if the run has no such tool, that of the provider. */
  readonly tool: string
  /** Absent if the edge does not know what the tool does. */
  readonly kind?: ProviderToolKind
  /** The provider's id. */
  readonly id?: string
  /** What the model asked the tool for, such as `{ query }` or `{ code }`. */
  readonly input: JsonObject
  readonly ok: boolean
  /** The first pages and files that it found. */
  readonly sources?: readonly ProviderSource[]
  /** The beginning of the text that it gave, such as the output of a program, or why it failed. */
  readonly output?: string
}

/** A source on which an answer rests. */
export interface Citation extends ProviderSource {
  /** The part of the answer's text that rests on it, from `start` up to `end`, in UTF-16 code units. */
  readonly start?: number
  readonly end?: number
  /** What the source says. */
  readonly quote?: string
}

/** The format of the request in which a provider is told of its own tools. */
export type ProviderFormat = 'anthropic' | 'responses' | 'gemini'

/** A tool as the formats of providers declare it. */
export type ProviderForms = Readonly<Partial<Record<ProviderFormat, JsonObject>>>

/** The tools of the provider that are on offer, as its format declares them. */
export interface ProviderTools {
  readonly forms: readonly JsonObject[]
  /** The one of them that the model must use, if the request chooses it. */
  readonly choice?: JsonObject | undefined
}
