import { expect, test } from 'vitest'
import type { ModelRequest } from '../../src/contract/model.ts'
import { toCallOptions } from '../../src/wire/provider/ai-sdk/request.ts'
import { encodeAnthropicRequest } from '../../src/wire/provider/anthropic/codec.ts'
import { encodeGeminiRequest } from '../../src/wire/provider/gemini/request.ts'
import { encodeChatRequest } from '../../src/wire/provider/openai-chat/request.ts'
import { encodeResponsesRequest } from '../../src/wire/provider/openai-responses/request.ts'
import { tool } from '../fixtures/play.ts'

const inputSchema = { type: 'object', properties: { day: { type: 'string' } }, required: ['day'] }
const inputExamples = [{ day: '2026-03-01' }, { day: 'today' }]
const { definition } = tool('book', undefined, { description: 'Books a room.', inputSchema, inputExamples })
const request: ModelRequest = { messages: [{ role: 'user', content: 'Book.' }], tools: [definition] }
const TEXT = 'Books a room.\nExamples of arguments:\n{"day":"2026-03-01"}\n{"day":"today"}'

test('a provider with a field for examples gets them there', () => {
  const { tools } = JSON.parse(encodeAnthropicRequest(request, { model: 'm', maxTokens: 100, cache: 'off' }))
  expect(tools).toMatchObject([{ name: 'book', description: 'Books a room.', input_examples: inputExamples }])
})

test.each<[string, () => any]>([
  ['Chat Completions', () => JSON.parse(encodeChatRequest('m', request)).tools[0].function],
  ['Responses', () => JSON.parse(encodeResponsesRequest('m', request)).tools[0]],
  ['Gemini', () => JSON.parse(encodeGeminiRequest(request)).tools[0].functionDeclarations[0]],
  ['the AI SDK', () => (toCallOptions(request, { version: 'v3', richResults: true })['tools'] as object[])[0]],
])('%s gets them after the description', (_name, encode) => {
  expect(encode()).toMatchObject({ name: 'book', description: TEXT })
})
