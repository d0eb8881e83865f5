import { expect, test } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'

test.each([
  ['MODELS', ['openai/a']],
  ['DEFAULT_TOOLS', []],
  ['CORS_ORIGINS', ['https://example.com']],
  ['HOLD_CHANGED', ['TOOL_MCP']],
  ['AUTH', { open: true }],
])('%s is a text: what is none is wrong, and not as good as nothing', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name} must be a text`)
})

test('a switch and a count may be values of their own kind, as a configuration file has them', () => {
  const { includeContent, limits } = readConfig({ INCLUDE_CONTENT: true, MAX_STEPS: 5 })
  expect([includeContent, limits.steps]).toEqual([true, 5])
})

test.each([
  [undefined, ['TOOL_MCP*']],
  ['', ['TOOL_MCP*']],
  ['off', []],
  ['TOOL_MCP, TOOL_PARTNER*', ['TOOL_MCP', 'TOOL_PARTNER*']],
  ['*', ['*']],
])('HOLD_CHANGED=%s holds back %j', (text, held) => {
  expect(readConfig({ HOLD_CHANGED: text }).holdChanged).toEqual(held)
})

test.each(['mcp', 'TOOL_MCP, off'])('HOLD_CHANGED=%s is wrong: it would hold nothing back', (text) => {
  expect(() => readConfig({ HOLD_CHANGED: text })).toThrow('HOLD_CHANGED must be "off" or a list of TOOL_… bindings')
})
