import { afterEach, expect, test } from 'vitest'
import type { ChatModel, ModelRequest } from '../../src/contract/model.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { openai, responses } from '../../src/model/openai.ts'
import { fallingBack } from '../../src/model/retry.ts'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'

/** What callers say to one vendor reaches the models of that vendor alone. */

const servers: ModelServer[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())))

/** A server that is reached as that of a vendor. */
async function serverOf(replies: readonly ModelReply[]) {
  const server = await startModelServer((_, index) => replies[Math.min(index, replies.length - 1)]!)
  servers.push(server)
  const headers: (string | null)[] = []
  const send: typeof fetch = (_, init) => {
    headers.push(new Headers(init?.headers).get('anthropic-beta'))
    return fetch(`${server.baseUrl}/chat/completions`, init)
  }
  return { server, headers, options: { fetch: send } }
}

const request: ModelRequest = {
  messages: [{ role: 'user', content: 'Hi' }],
  tools: [],
  cacheKey: 'c1',
  sampling: { reasoning_effort: 'low' },
  hints: {
    'openai.prompt_cache_key': 'k',
    'openai.safety_identifier': 's',
    'openai.reasoning.summary': 'auto',
    'anthropic.metadata': { user_id: 'u' },
    'anthropic.anthropic-beta': ['effort-2025-11-24', 'interleaved-thinking-2025-05-14'],
  },
}

async function ask(model: ChatModel): Promise<void> {
  for await (const _ of model.stream(request, new AbortController().signal));
}

const hello = { chunks: chunksOf({ text: 'Hi.' }) }

test('Chat Completions and Responses of OpenAI get those of OpenAI', async () => {
  const chat = await serverOf([hello])
  await ask(openai(chat.options)('gpt'))
  await ask(responses(chat.options)('gpt'))
  const azure = 'https://acme.openai.azure.com/openai/v1'
  await ask(openai({ ...chat.options, baseUrl: azure })('gpt'))
  const [completion, response, onAzure] = chat.server.calls.map(({ body }) => body as unknown)
  const hints = { prompt_cache_key: 'k', safety_identifier: 's' }
  const body = { model: 'gpt', stream: true, messages: [{ role: 'user', content: 'Hi' }] }
  const all = { ...hints, ...body, reasoning_effort: 'low', stream_options: { include_usage: true } }
  expect([completion, onAzure]).toEqual([all, all])
  expect(response).toEqual({
    ...hints,
    model: 'gpt',
    stream: true,
    store: false,
    include: ['reasoning.encrypted_content'],
    reasoning: { effort: 'low', summary: 'auto' },
    input: [{ role: 'user', content: 'Hi' }],
  })
  expect(chat.headers).toEqual([null, null, null])
})

test('other servers of these formats get none', async () => {
  const { server, options } = await serverOf([hello])
  const elsewhere = { ...options, baseUrl: 'https://models.example/v1' }
  await ask(openai(elsewhere)('gpt'))
  await ask(responses(elsewhere)('gpt'))
  const names = server.calls.map(({ body }) => Object.keys(body))
  expect(names).toEqual([
    ['stream_options', 'reasoning_effort', 'model', 'stream', 'messages'],
    ['model', 'stream', 'store', 'include', 'reasoning', 'input'],
  ])
  expect([openai(elsewhere)('gpt').hints, responses(elsewhere)('gpt').hints]).toEqual([undefined, undefined])
})

test('Anthropic Messages gets those of Anthropic, and the betas as its header', async () => {
  const { server, headers, options } = await serverOf([hello])
  await ask(anthropic({ ...options, cache: 'off' })('claude'))
  expect(server.calls.map(({ body }) => body as unknown)).toEqual([
    {
      metadata: { user_id: 'u' },
      model: 'claude',
      max_tokens: 16_000,
      stream: true,
      thinking: { type: 'adaptive', display: 'summarized' },
      output_config: { effort: 'low' },
      messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }],
    },
  ])
  expect(headers).toEqual(['effort-2025-11-24,interleaved-thinking-2025-05-14'])
})

test('a model that refuses them is asked without, and then at once', async () => {
  const message = 'Your organization must be verified to generate reasoning summaries (reasoning.summary).'
  const refusal = { status: 400, body: { error: { message, type: 'invalid_request_error' } } }
  const { server, options } = await serverOf([refusal, hello])
  const models = responses(options)
  await ask(models('gpt'))
  await ask(models('gpt'))
  expect(server.calls.map(({ body }) => (body as { reasoning?: unknown }).reasoning)).toEqual([
    { effort: 'low', summary: 'auto' },
    { effort: 'low' },
    { effort: 'low' },
  ])
})

test('a model with fallbacks takes what all of them take', () => {
  const all = [openai()('gpt'), responses()('gpt')] as const
  expect(fallingBack(all).hints).toEqual(openai()('gpt').hints?.filter((hint) => hint !== 'openai.prediction'))
  expect(fallingBack([...all, anthropic()('claude')]).hints).toBeUndefined()
})
