import { expect, test } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'

test.each([
  ['MODELS', ['openai/a']],
  ['DEFAULT_TOOLS', []],
  ['CORS_ORIGINS', ['https://example.com']],
  ['AUTH', { open: true }],
])('%s is a text: what is none is wrong, and not as good as nothing', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name} must be a text`)
})

test('a switch and a count may be values of their own kind, as a configuration file has them', () => {
  const { includeContent, limits } = readConfig({ INCLUDE_CONTENT: true, MAX_STEPS: 5 })
  expect([includeContent, limits.steps]).toEqual([true, 5])
})
