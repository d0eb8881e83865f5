import { isObject } from '../../contract/json.ts'
import type { Usage } from '../../contract/usage.ts'
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

/** The usage that an object reports as its `usage`, or undefined for what is none: many send `null`, some `{}` or zeros. */
export function usageOf(holder: unknown): Usage | undefined {
  const usage = isObject(holder) ? holder.usage : undefined
  if (!isObject(usage)) return undefined
  const inputTokens = count(usage, 'prompt_tokens')
  const outputTokens = count(usage, 'completion_tokens')
  if (inputTokens + outputTokens === 0) return undefined
  // DeepSeek has its own name for what was cached.
  const cached = count(usage.prompt_tokens_details, 'cached_tokens') || count(usage, 'prompt_cache_hit_tokens')
  const reasoning = count(usage.completion_tokens_details, 'reasoning_tokens')
  return {
    inputTokens,
    outputTokens,
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  }
}

function count(value: unknown, name: string): number {
  const number = isObject(value) ? value[name] : undefined
  return typeof number === 'number' && Number.isFinite(number) ? number : 0
}
