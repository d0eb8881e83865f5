import { isObject } from '../../contract/json.ts'
import type { Usage } from '../../contract/model.ts'
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

/** The usage that a server reports, or undefined for what is none: many send `null`, some `{}`. */
export function fromChatUsage(value: unknown): Usage | undefined {
  if (!isObject(value)) return undefined
  const { prompt_tokens, completion_tokens, prompt_tokens_details, completion_tokens_details } = value
  if (typeof prompt_tokens !== 'number' && typeof completion_tokens !== 'number') return undefined
  // DeepSeek has its own name for what was cached.
  const cached = count(prompt_tokens_details, 'cached_tokens') || count(value, 'prompt_cache_hit_tokens')
  const reasoning = count(completion_tokens_details, 'reasoning_tokens')
  return {
    inputTokens: count(value, 'prompt_tokens'),
    outputTokens: count(value, 'completion_tokens'),
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  }
}

function count(value: unknown, name: string): number {
  const number = isObject(value) ? value[name] : undefined
  return typeof number === 'number' && Number.isFinite(number) ? number : 0
}
