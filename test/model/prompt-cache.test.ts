import { expect, test } from 'vitest'
import type { ChatModel, ModelRequest } from '../../src/contract/model.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { openai, responses } from '../../src/model/openai.ts'
import { workersAi } from '../../src/model/workers-ai.ts'

const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [], cacheKey: 'conv_1' }

/** What the model's server is sent, as JSON; it answers with nothing. */
async function bodyOf(makeModel: (send: typeof fetch) => ChatModel) {
  let body: any
  const send: typeof fetch = async (_, init) => {
    body = JSON.parse(typeof init?.body === 'string' ? init.body : '')
    return Response.json({})
  }
  for await (const event of makeModel(send).stream(REQUEST, new AbortController().signal)) void event
  return body
}

test.each([
  ['https://api.openai.com/v1', 'conv_1'],
  ['https://api.mistral.ai/v1', 'conv_1'],
  ['https://acme.openai.azure.com/openai/v1', 'conv_1'],
  ['https://api.groq.com/openai/v1', undefined],
  ['http://localhost:11434/v1', undefined],
])('%s is told the conversation as the key of its cache: %s', async (baseUrl, key) => {
  expect((await bodyOf((send) => openai({ baseUrl, fetch: send })('probe'))).prompt_cache_key).toBe(key)
  expect((await bodyOf((send) => responses({ baseUrl, fetch: send })('probe'))).prompt_cache_key).toBe(key)
  const off = await bodyOf((send) => openai({ baseUrl, fetch: send, cache: 'off' })('probe'))
  expect(off.prompt_cache_key).toBeUndefined()
})

test('Anthropic gets marks with the time, or none', async () => {
  const marks = async (cache?: '5m' | '1h' | 'off') => {
    const body = await bodyOf((send) => anthropic({ fetch: send, ...(cache && { cache }) })('probe'))
    return body.messages[0].content[0].cache_control
  }
  expect([await marks(), await marks('1h'), await marks('off')]).toEqual([
    { type: 'ephemeral' },
    { type: 'ephemeral', ttl: '1h' },
    undefined,
  ])
})

test('Workers AI sends the requests of a conversation to one place, unless the cache is off', async () => {
  const headers: unknown[] = []
  for (const cache of ['5m', 'off'] as const) {
    const binding = {
      run: async (_model: string, _inputs: object, options: { extraHeaders?: object }) =>
        headers.push(options.extraHeaders),
    }
    for await (const event of workersAi(binding, { cache })('@cf/a/b').stream(REQUEST, new AbortController().signal))
      void event
  }
  expect(headers).toEqual([{ 'x-session-affinity': 'conv_1' }, undefined])
})
