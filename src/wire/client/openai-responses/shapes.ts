import type { ProviderCall } from '../../../contract/provider-tool.ts'
import type { Finish, RunError } from '../../../contract/run.ts'
import type { Usage } from '../../../contract/usage.ts'
import { textAt } from '../../fields.ts'
import type { PlacedCitation, VisiblePart } from '../visible-text.ts'

export type JsonFields = Readonly<Record<string, unknown>>
export type End = Extract<VisiblePart, { type: 'end' | 'failure' }>

/** The reasons to stop that make a response incomplete, with its `incomplete_details`. */
export const INCOMPLETE: Readonly<Record<string, JsonFields>> = {
  length: { reason: 'max_output_tokens' },
  content_filter: { reason: 'content_filter' },
}

export function responseStatus(end: End): 'completed' | 'incomplete' | 'failed' | 'cancelled' {
  if (end.type === 'failure') return end.error.code === 'run_cancelled' ? 'cancelled' : 'failed'
  return INCOMPLETE[end.reason] ? 'incomplete' : 'completed'
}

export function responseFinish(end: End): Finish {
  return end.type === 'end' ? end.finish : 'error'
}

/** Converts an error. The format has a fixed list of codes; ours is added as `edgecall`, for clients that know it. */
export function errorOf({ code, message }: RunError): JsonFields {
  return { code: code === 'model_rate_limited' ? 'rate_limit_exceeded' : 'server_error', message, edgecall: code }
}

export function responseUsage({
  inputTokens,
  outputTokens,
  cachedInputTokens = 0,
  cacheWriteTokens = 0,
  reasoningTokens = 0,
}: Usage): JsonFields {
  return {
    input_tokens: inputTokens,
    input_tokens_details: { cached_tokens: cachedInputTokens, cache_write_tokens: cacheWriteTokens },
    output_tokens: outputTokens,
    output_tokens_details: { reasoning_tokens: reasoningTokens },
    total_tokens: inputTokens + outputTokens,
  }
}

export function textPart(text: string, annotations: readonly JsonFields[] = []): JsonFields {
  return { type: 'output_text', text, annotations: [...annotations], logprobs: [] }
}

/** Makes the annotation of a text of this length, which begins at `from` in the text of which a citation has its place. */
export function annotation({ url, title = '', start, end }: PlacedCitation, from: number, length: number): JsonFields {
  return { type: 'url_citation', url, title, start_index: start - from, end_index: Math.min(end - from, length) }
}

/** What a provider has done with a tool of its own, as an item and its events. */
export interface ProviderItem {
  /** The item before it has an outcome. */
  readonly item: JsonFields & { readonly id: string; readonly type: string }
  /** A text that is streamed: the member of the item, and the name of its events. */
  readonly input?: { readonly member: string; readonly events: string; readonly text: string }
  /** The names of the events that say how far it is. */
  readonly states: readonly string[]
  /** The members of the complete item. */
  readonly outcome: JsonFields
}

/** Converts what a provider has done; a tool of an unknown kind is shown as that of a server. `id`: without its prefix. */
export function providerItem(call: ProviderCall, id: string): ProviderItem {
  const { kind, tool, input, ok, output = '' } = call
  const status = ok ? 'completed' : 'failed'
  const end = ok ? ['completed'] : []
  switch (kind) {
    case 'web_search':
    case 'web_fetch': {
      const item = { id: `ws_${id}`, type: 'web_search_call', status: 'in_progress', action: webAction(call) }
      return { item, states: ['in_progress', 'searching', ...end], outcome: { status } }
    }
    case 'file_search': {
      const { queries = [] } = input
      const item = { id: `fs_${id}`, type: 'file_search_call', status: 'in_progress', queries, results: null }
      return { item, states: ['in_progress', 'searching', ...end], outcome: { status } }
    }
    case 'code': {
      const item = { id: `ci_${id}`, type: 'code_interpreter_call', status: 'in_progress', container_id: '', code: '' }
      const text = textAt(input, 'code') || textAt(input, 'command')
      const outputs = output === '' ? null : [{ type: 'logs', logs: output }]
      return {
        item: { ...item, outputs: null },
        input: { member: 'code', events: 'code_interpreter_call_code', text },
        states: ['in_progress', 'interpreting', ...end],
        outcome: { status, outputs },
      }
    }
    default: {
      const { server = 'provider', name = tool, arguments: values = input } = input
      const item = {
        id: `mcp_${id}`,
        type: 'mcp_call',
        server_label: server,
        name,
        arguments: '',
        status: 'in_progress',
      }
      return {
        item: { ...item, output: null, error: null, approval_request_id: null },
        input: { member: 'arguments', events: 'mcp_call_arguments', text: JSON.stringify(values) },
        states: ['in_progress', status],
        outcome: ok ? { status, output } : { status, error: toolError(output) },
      }
    }
  }
}

/** Returns what was done on the web: a search with what it found, or a page that was opened. */
function webAction({ kind, input, sources = [] }: ProviderCall): JsonFields {
  const { action: type = 'search', query, queries, url, urls, ...rest } = input
  if (kind === 'web_fetch') return { type: 'open_page', url: url ?? (Array.isArray(urls) ? urls[0] : null) ?? null }
  if (type !== 'search') return { ...rest, type, url }
  const all: readonly unknown[] = Array.isArray(queries) ? queries : [query ?? '']
  return {
    type,
    query: query ?? all[0],
    queries: all,
    sources: sources.map((page) => ({ type: 'url', url: page.url })),
  }
}

/** Makes the error of a call of a tool at a server. */
export function toolError(text: string | undefined): JsonFields {
  return { type: 'mcp_tool_execution_error', content: [{ type: 'text', text }] }
}

export function summaryPart(text: string): JsonFields {
  return { type: 'summary_text', text }
}
