/** What an answer cost, in tokens. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Part of `inputTokens` that the provider read from its cache. */
  readonly cachedInputTokens?: number
  /** Part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens?: number
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  const cached = (a.cachedInputTokens ?? 0) + (b.cachedInputTokens ?? 0)
  const reasoning = (a.reasoningTokens ?? 0) + (b.reasoningTokens ?? 0)
  return {
    inputTokens: a.inputTokens + b.inputTokens,
    outputTokens: a.outputTokens + b.outputTokens,
    ...(cached > 0 && { cachedInputTokens: cached }),
    ...(reasoning > 0 && { reasoningTokens: reasoning }),
  }
}
