import { expect, test } from 'vitest'
import { readConfig } from '../../src/contract/config.ts'

test.each([
  ['MODELS', ['openai/a']],
  ['DEFAULT_TOOLS', []],
  ['CORS_ORIGINS', ['https://example.com']],
  ['HOLD_CHANGED', ['TOOL_MCP']],
  ['AUTH', { open: true }],
])('%s must be a text, and another type is an error instead of being ignored', (name, value) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name} must be a text`)
})

test('switches and counts may also be JSON booleans and numbers, as in a configuration file', () => {
  const { includeContent, limits } = readConfig({ INCLUDE_CONTENT: true, MAX_STEPS: 5 })
  expect([includeContent, limits.steps]).toEqual([true, 5])
})

test.each([
  [undefined, ['TOOL_MCP*']],
  ['', ['TOOL_MCP*']],
  ['off', []],
  ['TOOL_MCP, TOOL_PARTNER*', ['TOOL_MCP', 'TOOL_PARTNER*']],
  ['*', ['*']],
])('HOLD_CHANGED=%s holds back %j', (text, expected) => {
  expect(readConfig({ HOLD_CHANGED: text }).holdChanged).toEqual(expected)
})

test.each([
  ['CORS_ORIGINS', '*', 'a list of origins, such as https://app.example.com'],
  ['CORS_ORIGINS', 'https://a.example, https://b.example/', 'a list of origins, such as https://app.example.com'],
  ['CORS_ORIGINS', 'app.example.com', 'a list of origins, such as https://app.example.com'],
  ['MODELS', 'openai', 'a list of "provider/name" and "provider/*"'],
  ['MODELS', 'openai/*, gpt-4.1', 'a list of "provider/name" and "provider/*"'],
])('%s=%s is an error, because part of it would have no effect', (name, value, expected) => {
  expect(() => readConfig({ [name]: value })).toThrow(`${name} must be ${expected}`)
})

test('lists of origins and of models are read as written', () => {
  const { corsOrigins, models } = readConfig({
    CORS_ORIGINS: 'https://a.example,http://localhost:5173,capacitor://localhost',
    MODELS: 'openai/gpt-4.1, anthropic/*, *, openai/gpt-5*',
  })
  expect([corsOrigins, models]).toEqual([
    ['https://a.example', 'http://localhost:5173', 'capacitor://localhost'],
    ['openai/gpt-4.1', 'anthropic/*', '*', 'openai/gpt-5*'],
  ])
})

test.each(['mcp', 'TOOL_MCP, off'])('HOLD_CHANGED=%s is an error, because it would hold nothing back', (text) => {
  expect(() => readConfig({ HOLD_CHANGED: text })).toThrow('HOLD_CHANGED must be "off" or a list of TOOL_… bindings')
})
