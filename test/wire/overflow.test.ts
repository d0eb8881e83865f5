import { describe, expect, test } from 'vitest'
import { readOverflow } from '../../src/wire/provider/model-error.ts'

/** What servers answer to a prompt that is too long, and what is read from it. */
const OVERFLOWS: readonly (readonly [server: string, message: string, expected: object])[] = [
  [
    'Anthropic',
    'prompt is too long: 208310 tokens > 200000 maximum',
    { contextTokens: 200_000, requestTokens: 208_310 },
  ],
  [
    'Anthropic',
    'input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length or `max_tokens` and try again',
    { contextTokens: 200_000, requestTokens: 210_000 },
  ],
  [
    'OpenAI',
    "This model's maximum context length is 128000 tokens. However, your messages resulted in 130212 tokens. Please reduce the length of the messages.",
    { contextTokens: 128_000, requestTokens: 130_212 },
  ],
  [
    'DeepSeek',
    "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens (60000 in the messages, 10000 in the completion).",
    { contextTokens: 65_536, requestTokens: 70_000 },
  ],
  [
    'Azure',
    'This model has a configured limit of 8192 tokens. your messages resulted in 9001 tokens.',
    { contextTokens: 8192, requestTokens: 9001 },
  ],
  [
    'OpenAI Responses',
    'Your input exceeds the context window of this model. Please adjust your input and try again.',
    {},
  ],
  [
    'Gemini',
    'The input token count (1196265) exceeds the maximum number of tokens allowed (1048576).',
    { contextTokens: 1_048_576, requestTokens: 1_196_265 },
  ],
  [
    'Gemini',
    'The input token count exceeds the maximum number of tokens allowed (1048576).',
    { contextTokens: 1_048_576 },
  ],
  [
    'xAI',
    "This model's maximum prompt length is 131072 but the request contains 140001 tokens.",
    { contextTokens: 131_072, requestTokens: 140_001 },
  ],
  [
    'Mistral',
    'Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length',
    { contextTokens: 32_768, requestTokens: 40_000 },
  ],
  ['Groq', 'Please reduce the length of the messages or completion.', {}],
  [
    'Cerebras',
    'Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192',
    { contextTokens: 8192, requestTokens: 9000 },
  ],
  [
    'Groq, larger than its rate',
    'Request too large for model `llama-3.1-8b-instant` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 9512, please reduce your message size and try again.',
    { contextTokens: 6000, requestTokens: 9512 },
  ],
  [
    'Workers AI',
    'The estimated number of input and maximum output tokens (25000) exceeded this model context window limit (24000).',
    { contextTokens: 24_000, requestTokens: 25_000 },
  ],
  [
    'vLLM, a count that ended at the limit',
    "This model's maximum context length is 32768 tokens. However, you requested 4096 output tokens and your prompt contains at least 28673 input tokens, for a total of at least 32769 tokens.",
    { contextTokens: 32_768 },
  ],
  [
    'vLLM, characters',
    "This model's maximum context length is 32768 tokens. However, you requested 4096 output tokens and your prompt contains 400000 characters.",
    { contextTokens: 32_768 },
  ],
  [
    'vLLM',
    "This model's maximum context length is 32768 tokens. However, you requested 4096 output tokens and your prompt contains 40000 input tokens.",
    { contextTokens: 32_768, requestTokens: 44_096 },
  ],
  [
    'Workers AI, OpenRouter',
    'Requested token count exceeds the maximum context length of 131072 tokens. You requested a total of 140000 tokens: 130000 tokens from the input messages and 10000 tokens for the completion.',
    { contextTokens: 131_072, requestTokens: 140_000 },
  ],
  [
    'llama.cpp',
    'the request exceeds the available context size. try increasing the context size or enable context shift',
    {},
  ],
  [
    'llama.cpp',
    'request (17234 tokens) exceeds the available context size (16384 tokens), try increasing it',
    { contextTokens: 16_384, requestTokens: 17_234 },
  ],
  ['Ollama', 'the input length exceeds the context length', {}],
  [
    'LM Studio',
    'Trying to keep the first 6051 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens',
    { contextTokens: 4096, requestTokens: 6051 },
  ],
  ['LM Studio', 'The number of tokens to keep from the initial prompt is greater than the context length', {}],
  ['LM Studio', 'Reached context length of 4096 tokens with this model', {}],
  [
    'Together',
    '`inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens and 512 `max_new_tokens`',
    { contextTokens: 8193 },
  ],
  [
    'Together',
    "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
    { requestTokens: 9000 },
  ],
  ['Bedrock', 'Input is too long for requested model.', {}],
  [
    'SGLang',
    'Prompt is too long: 9000, model maximum context length: 8192',
    { contextTokens: 8192, requestTokens: 9000 },
  ],
]

/** Refusals whose words resemble those of an overflow. A shorter prompt helps with none of them. */
const LOOK_ALIKES: readonly string[] = [
  'Rate limit reached for gpt-5 in organization org-1 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.',
  'Too many tokens, please wait before trying again.',
  'Too many tokens per day, please wait before trying again.',
  'This request would exceed your organization TPD rate limit of 1000000 tokens.',
  'Extra usage is required for long context requests.',
  'Rate limit of 50000 per 60s exceeded.',
  'max_tokens is too large: 200000. This model supports at most 16384 completion tokens.',
  'max_tokens must be less than 4096.',
  "Invalid 'messages[0].content': string too long. Expected a string with maximum length 1048576 (string_above_max_length).",
  'The model is overloaded.',
  'Invalid value: the field `context` is unknown.',
]

describe('the overflow of a context window', () => {
  test.each(OVERFLOWS)('%s: %s', (_, message, expected) => {
    expect(readOverflow(message, '', 400)).toEqual(expected)
  })

  test.each(LOOK_ALIKES)('is not read from: %s', (message) => {
    expect(readOverflow(message, '', 429)).toBeUndefined()
  })

  test.each([
    ['context_length_exceeded', 400],
    ['exceed_context_size_error', 400],
    ['request_too_large', 413],
    ['3051', 400],
    ['', 413],
  ])('is told by the code "%s" with status %d alone', (code, status) => {
    expect(readOverflow('No words.', code, status)).toEqual({})
  })
})
