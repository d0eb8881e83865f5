/** The tokens that a model used, and what they cost. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
  /** The part of `inputTokens` that the provider read from its cache. */
  readonly cachedInputTokens?: number
  /** The part of `inputTokens` that the provider wrote to its cache. */
  readonly cacheWriteTokens?: number
  /** The part of `cacheWriteTokens` that the provider keeps for an hour. */
  readonly longCacheWriteTokens?: number
  /** The part of `outputTokens` spent on reasoning. */
  readonly reasoningTokens?: number
  /** The searches of the web that the provider has made. */
  readonly webSearches?: number
  /** In the currency of the model prices; absent if those are unknown. */
  readonly cost?: number
}

/** The prices of a model, per million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
  /** The price of input read from the provider's cache. Default: the price of other input. */
  readonly cachedInput?: number
  /** The price of input written to the provider's cache. Default: the price of other input. */
  readonly cacheWrite?: number
  /** The price of input that the provider keeps for an hour. Default: that of `cacheWrite`. */
  readonly longCacheWrite?: number
  /** The price of a thousand searches of the web by the provider. Default: 0. */
  readonly webSearches?: number
}

export const NO_USAGE: Usage = { inputTokens: 0, outputTokens: 0 }

/** The highest figure of one report: no request to a model has more tokens, or costs more in any currency. */
const MOST = 1e9

/**
 * Returns usage as it counts, whatever reported it. A figure that is negative or no number counts as 0, and one above 1e9 as
 * 1e9: it must neither lift a limit nor spoil sums. A part is at most the whole.
 */
export function countableUsage(usage: Usage): Usage {
  const { inputTokens, outputTokens, cachedInputTokens, reasoningTokens, cost } = usage
  const { cacheWriteTokens, longCacheWriteTokens, webSearches } = usage
  const [input, output] = [toFigure(inputTokens), toFigure(outputTokens)]
  const cached = Math.min(toFigure(cachedInputTokens ?? 0), input)
  const written = Math.min(toFigure(cacheWriteTokens ?? 0), input - cached)
  return {
    ...usage,
    inputTokens: input,
    outputTokens: output,
    ...(cachedInputTokens !== undefined && { cachedInputTokens: cached }),
    ...(cacheWriteTokens !== undefined && { cacheWriteTokens: written }),
    ...(longCacheWriteTokens !== undefined && {
      longCacheWriteTokens: Math.min(toFigure(longCacheWriteTokens), written),
    }),
    ...(reasoningTokens !== undefined && { reasoningTokens: Math.min(toFigure(reasoningTokens), output) }),
    ...(webSearches !== undefined && { webSearches: toFigure(webSearches) }),
    ...(cost !== undefined && { cost: toFigure(cost) }),
  }
}

function toFigure(value: number): number {
  return value > 0 ? Math.min(value, MOST) : 0
}

const PARTS = [
  'cachedInputTokens',
  'cacheWriteTokens',
  'longCacheWriteTokens',
  'reasoningTokens',
  'webSearches',
] as const

export function addUsage(a: Usage, b: Usage): Usage {
  const sum: Usage = { inputTokens: a.inputTokens + b.inputTokens, outputTokens: a.outputTokens + b.outputTokens }
  const parts = PARTS.map((part) => [part, (a[part] ?? 0) + (b[part] ?? 0)] as const)
  return {
    ...sum,
    ...Object.fromEntries(parts.filter(([, tokens]) => tokens > 0)),
    ...((a.cost ?? b.cost) !== undefined && { cost: (a.cost ?? 0) + (b.cost ?? 0) }),
  }
}

/** Returns what is left of a sum without one of its parts. */
export function subtractUsage(sum: Usage, part: Usage): Usage {
  const less = (name: keyof Usage) => Math.max(0, (sum[name] ?? 0) - (part[name] ?? 0))
  return {
    inputTokens: less('inputTokens'),
    outputTokens: less('outputTokens'),
    ...Object.fromEntries(PARTS.flatMap((name) => (less(name) > 0 ? [[name, less(name)]] : []))),
    ...(sum.cost !== undefined && { cost: less('cost') }),
  }
}

/** Returns the usage with its cost. */
export function withCost(usage: Usage, price: Price): Usage {
  const { input, output, cachedInput = input, cacheWrite = input, longCacheWrite = cacheWrite, webSearches = 0 } = price
  const { inputTokens, outputTokens, cachedInputTokens = 0, cacheWriteTokens = 0, longCacheWriteTokens = 0 } = usage
  const cost =
    (inputTokens - cachedInputTokens - cacheWriteTokens) * input +
    cachedInputTokens * cachedInput +
    (cacheWriteTokens - longCacheWriteTokens) * cacheWrite +
    longCacheWriteTokens * longCacheWrite +
    outputTokens * output +
    (usage.webSearches ?? 0) * webSearches * 1000
  return { ...usage, cost: cost / 1e6 }
}
