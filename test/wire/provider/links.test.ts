import { expect, test } from 'vitest'
import type { ModelRequest } from '../../../src/contract/model.ts'
import { encodeAnthropicRequest as toAnthropic } from '../../../src/wire/provider/anthropic/ask-request.ts'
import { encodeGeminiRequest as toGemini } from '../../../src/wire/provider/gemini/ask-request.ts'
import { encodeChatRequest as toChat } from '../../../src/wire/provider/openai-chat/ask-request.ts'
import { encodeResponsesRequest as toResponses } from '../../../src/wire/provider/openai-responses/ask-request.ts'

const url = 'https://files.example.com/a'
const request: ModelRequest = {
  tools: [],
  messages: [
    {
      role: 'user',
      content: [
        { type: 'image', mediaType: 'image/*', url },
        { type: 'file', mediaType: 'application/pdf', url },
      ],
    },
  ],
}

test.each([
  ['Chat Completions', toChat('m', request), [`{"type":"image_url","image_url":{"url":"${url}"}}`]],
  [
    'Responses',
    toResponses('m', request),
    [`{"type":"input_image","detail":"auto","image_url":"${url}"}`, `{"type":"input_file","file_url":"${url}"}`],
  ],
  [
    'Anthropic',
    toAnthropic(request, { model: 'm', maxTokens: 100, cache: false }),
    [
      `{"type":"image","source":{"type":"url","url":"${url}"}}`,
      `{"type":"document","source":{"type":"url","url":"${url}"}}`,
    ],
  ],
  ['Gemini', toGemini(request), [`{"fileData":{"mimeType":"application/pdf","fileUri":"${url}"}}`]],
])('%s has a format for a file under a URL', (_format, body, parts) => {
  for (const part of parts) expect(body).toContain(part)
})
