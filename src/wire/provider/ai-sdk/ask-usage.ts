import { isObject } from '../../../contract/json.ts'
import type { Usage } from '../../../contract/usage.ts'

/** Parses usage: plain numbers in v2, objects of a total and its parts in v3 and v4. Undefined if there is none. */
export function aiSdkUsage(usage: unknown): Usage | undefined {
  if (!isObject(usage)) return undefined
  const { inputTokens: input, outputTokens: output } = usage
  const inputTokens = count(isObject(input) ? input.total : input)
  const outputTokens = count(isObject(output) ? output.total : output)
  if (inputTokens + outputTokens === 0) return undefined
  const cached = count(isObject(input) ? input.cacheRead : usage.cachedInputTokens)
  const reasoning = count(isObject(output) ? output.reasoning : usage.reasoningTokens)
  return {
    inputTokens,
    outputTokens,
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  }
}

function count(value: unknown): number {
  return typeof value === 'number' && Number.isFinite(value) ? value : 0
}
