import type { Usage } from '../../../contract/usage.ts'
import { countAt, fieldsOf } from '../../fields.ts'
import { toUsage } from '../model-answer.ts'
import type { ChatUsage } from './types.ts'

export function toChatUsage({ inputTokens, outputTokens, cachedInputTokens, reasoningTokens }: Usage): ChatUsage {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
    prompt_tokens_details: { cached_tokens: cachedInputTokens ?? 0 },
    completion_tokens_details: { reasoning_tokens: reasoningTokens ?? 0 },
  }
}

/** Parses the `usage` member of an object. Undefined if it reports none: many send `null`, some `{}` or zeros. */
export function chatUsage(holder: unknown): Usage | undefined {
  const usage = fieldsOf(fieldsOf(holder).usage)
  const input = countAt(usage, 'prompt_tokens')
  return toUsage({
    inputTokens: input,
    // xAI and Google count reasoning tokens only in the total.
    outputTokens: Math.max(countAt(usage, 'completion_tokens'), countAt(usage, 'total_tokens') - input),
    // DeepSeek and Moonshot have their own names for the number of cached tokens.
    cachedInputTokens:
      countAt(usage.prompt_tokens_details, 'cached_tokens') ||
      countAt(usage, 'prompt_cache_hit_tokens') ||
      countAt(usage, 'cached_tokens'),
    cacheWriteTokens: countAt(usage.prompt_tokens_details, 'cache_write_tokens'),
    reasoningTokens: countAt(usage.completion_tokens_details, 'reasoning_tokens'),
  })
}
