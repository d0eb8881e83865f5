import type { Finish, RunError } from '../../../contract/run.ts'
import type { Usage } from '../../../contract/usage.ts'
import type { VisiblePart } from '../visible-text.ts'

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

export function textPart(text: string): JsonFields {
  return { type: 'output_text', text, annotations: [], logprobs: [] }
}

export function summaryPart(text: string): JsonFields {
  return { type: 'summary_text', text }
}
