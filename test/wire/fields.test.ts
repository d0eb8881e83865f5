import { describe, expect, test } from 'vitest'
import { countAt } from '../../src/wire/fields.ts'
import { chatUsage } from '../../src/wire/provider/openai-chat/answer.ts'

describe('a count that a server reports', () => {
  test.each([0, 7, 1.5, Number.MAX_SAFE_INTEGER])('is taken if it is %d', (count) => {
    expect(countAt({ count }, 'count')).toBe(count)
  })

  test.each([-1, -10, 1e308, NaN, Infinity, '7', null, {}])('is not taken if it is %j', (count) => {
    expect(countAt({ count }, 'count')).toBe(0)
  })

  test('is left out of the usage of a model alone: the others are taken', () => {
    const usage = { prompt_tokens: -10, completion_tokens: 5, prompt_tokens_details: { cached_tokens: 1e308 } }
    expect(chatUsage({ usage })).toEqual({ inputTokens: 0, outputTokens: 5 })
  })
})
