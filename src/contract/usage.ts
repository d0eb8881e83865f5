/** What an answer cost, in tokens. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** Part of `inputTokens` that the provider read from its cache. */
  readonly cachedInputTokens?: number
  /** Part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens?: number
  /** In the currency of the model's prices, where those are known. */
  readonly cost?: number
}

/** Prices of a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  /** Of input that came from the provider's cache. Default: as other input. */
  readonly cachedInput?: number
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
    ...((a.cost ?? b.cost) !== undefined && { cost: (a.cost ?? 0) + (b.cost ?? 0) }),
  }
}

/** The same usage with what it cost. */
export function priced(usage: Usage, { input, output, cachedInput = input }: Price): Usage {
  const { inputTokens, outputTokens, cachedInputTokens = 0 } = usage
  const cost = (inputTokens - cachedInputTokens) * input + cachedInputTokens * cachedInput + outputTokens * output
  return { ...usage, cost: cost / 1e6 }
}
