import type { Usage } from '../../../contract/usage.ts'
import type { Fields } from '../../provider/model-answer.ts'

/** Converts usage: here `input_tokens` excludes the tokens that were read from the cache or written to it. */
export function deltaUsage({
  inputTokens,
  outputTokens,
  cachedInputTokens = 0,
  cacheWriteTokens = 0,
  reasoningTokens = 0,
  webSearches = 0,
}: Usage): Fields {
  return {
    input_tokens: Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens),
    cache_creation_input_tokens: cacheWriteTokens,
    cache_read_input_tokens: cachedInputTokens,
    output_tokens: outputTokens,
    output_tokens_details: { thinking_tokens: reasoningTokens },
    server_tool_use: webSearches === 0 ? null : { web_search_requests: webSearches, web_fetch_requests: 0 },
  }
}

function cacheCreation({ cacheWriteTokens = 0, longCacheWriteTokens: long = 0 }: Usage): Fields {
  return { ephemeral_5m_input_tokens: Math.max(0, cacheWriteTokens - long), ephemeral_1h_input_tokens: long }
}

/** Makes the usage of a part of an answer: of its summary, or of the rest. */
export function iterationUsage(type: 'compaction' | 'message', usage: Usage): Fields {
  const { output_tokens_details: _details, server_tool_use: _tools, ...counts } = deltaUsage(usage)
  return { type, ...counts, cache_creation: cacheCreation(usage) }
}

export function messageUsage(usage: Usage): Fields {
  const cache_creation = cacheCreation(usage)
  return { ...deltaUsage(usage), cache_creation, inference_geo: null, service_tier: null, speed: null }
}
