import { expect, test } from 'vitest'
import { addUsage, countableUsage, withCost } from '../../src/contract/usage.ts'

test.each([
  [
    { inputTokens: 10, outputTokens: 5 },
    { inputTokens: 10, outputTokens: 5 },
  ],
  [
    { inputTokens: -1e6, outputTokens: NaN, cachedInputTokens: -1, reasoningTokens: -Infinity, cost: -0.5 },
    { inputTokens: 0, outputTokens: 0, cachedInputTokens: 0, reasoningTokens: 0, cost: 0 },
  ],
  [
    { inputTokens: 1e308, outputTokens: Infinity, cost: 1e308 },
    { inputTokens: 1e9, outputTokens: 1e9, cost: 1e9 },
  ],
  [
    { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, cacheWriteTokens: 9, longCacheWriteTokens: 8 },
    { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, cacheWriteTokens: 6, longCacheWriteTokens: 6 },
  ],
  [
    { inputTokens: 10, outputTokens: 5, cachedInputTokens: 1000, reasoningTokens: 6 },
    { inputTokens: 10, outputTokens: 5, cachedInputTokens: 10, reasoningTokens: 5 },
  ],
])('%o counts as %o', (usage, countable) => {
  expect(countableUsage(usage)).toEqual(countable)
})

test('usage that counts never has a negative cost, and sums of it stay numbers', () => {
  const usage = countableUsage({ inputTokens: 10, outputTokens: 0, cachedInputTokens: 1e12 })
  expect(withCost(usage, { input: 3, output: 15, cachedInput: 0 }).cost).toBe(0)
  const most = countableUsage({ inputTokens: 1e308, outputTokens: 1e308, cost: 1e308 })
  const sum = Array.from({ length: 1000 }, () => most).reduce(addUsage)
  expect(sum).toEqual({ inputTokens: 1e12, outputTokens: 1e12, cost: 1e12 })
})

test('input that was read from a cache, written to it for minutes, and for an hour, each has its price', () => {
  const parts = { cachedInputTokens: 500, cacheWriteTokens: 300, longCacheWriteTokens: 100 }
  const usage = { inputTokens: 1000, outputTokens: 10, ...parts }
  const price = { input: 1, output: 5, cachedInput: 0.1, cacheWrite: 1.25, longCacheWrite: 2 }
  expect(withCost(usage, price).cost).toBeCloseTo((200 * 1 + 500 * 0.1 + 200 * 1.25 + 100 * 2 + 10 * 5) / 1e6, 12)
  expect(withCost(usage, { input: 1, output: 5 }).cost).toBeCloseTo((1000 + 50) / 1e6, 12)
  expect(addUsage(usage, { inputTokens: 1, outputTokens: 0, cacheWriteTokens: 1 })).toEqual({
    inputTokens: 1001,
    outputTokens: 10,
    ...parts,
    cacheWriteTokens: 301,
  })
})
