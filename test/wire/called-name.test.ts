import { expect, test } from 'vitest'
import type { Message } from '../../src/contract/message.ts'
import type { ModelRequest } from '../../src/contract/model.ts'
import { toCallOptions } from '../../src/wire/provider/ai-sdk/ask-request.ts'
import { encodeAnthropicRequest as encodeAnthropic } from '../../src/wire/provider/anthropic/ask-request.ts'
import { encodeGeminiRequest as encodeGemini } from '../../src/wire/provider/gemini/ask-request.ts'
import { encodeChatRequest as encodeChat } from '../../src/wire/provider/openai-chat/ask-request.ts'
import { encodeResponsesRequest as encodeResponses } from '../../src/wire/provider/openai-responses/ask-request.ts'
import { toInputs } from '../../src/wire/provider/workers-ai/ask-request.ts'

/** What models have asked for that was never on offer, and the name that a history may hold. */
const NAMES = [
  ['browser.tabs.open', 'browser_tabs_open'],
  ['weather<|channel|>commentary', 'weather__channel__commentary'],
  ['wetter für Köln', 'wetter_f_r_K_ln'],
  ['x'.repeat(100), 'x'.repeat(64)],
  ['get-weather_2', 'get-weather_2'],
]

const FORMATS: readonly [string, (request: ModelRequest) => unknown, number][] = [
  ['Chat Completions', (request) => JSON.parse(encodeChat('probe', request)), 1],
  ['Responses', (request) => JSON.parse(encodeResponses('probe', request)), 1],
  // The call, and the tool that stands for it where none is on offer.
  ['Anthropic', (request) => JSON.parse(encodeAnthropic(request, { model: 'probe', maxTokens: 9, cache: false })), 2],
  // The call and its result.
  ['Gemini', (request) => JSON.parse(encodeGemini(request)), 2],
  ['Workers AI', toInputs, 2],
  ['the AI SDK', (request) => toCallOptions(request, { version: 'v4', richResults: true }), 2],
]

test.each(FORMATS)('a name that no tool can have is replaced in the history of %s', (_, encode, times) => {
  for (const [tool = '', name] of NAMES) {
    const messages: Message[] = [
      { role: 'user', content: 'Hi' },
      { role: 'assistant', content: '', calls: [{ callId: 'c1', tool, arguments: '{}' }] },
      { role: 'tool', callId: 'c1', tool, ok: false, content: [{ type: 'text', text: 'No such tool.' }] },
    ]
    const sent = JSON.stringify(encode({ messages, tools: [] }))
    const names = [...sent.matchAll(/"(?:name|toolName)":"([^"]*)"/g)].map((match) => match[1])
    expect(names).toEqual(Array.from({ length: times }, () => name))
  }
})
