import { expect, test } from 'vitest'
import type { ChatModel, ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { WindowModel } from '../conversation/window-model.ts'
import { say } from '../fixtures/play.ts'
import { testEdge } from '../fixtures/edge.ts'

const CHAT = '/v1/chat/completions'

/** An edge whose one model refuses more than 2,000 tokens. */
function edgeOf(window?: ChatModel['window']) {
  const model = new WindowModel(2000, 'exact', () => say('Done.'))
  async function* stream(request: ModelRequest): AsyncGenerator<ModelEvent> {
    yield* model.stream(request)
  }
  const resolved = {
    ok: true,
    name: 'test/small',
    model: { name: 'test/small', stream, ...(window && { window }) },
  } as const
  const models = { resolve: () => resolved, list: () => ['test/small'] }
  return { ...testEdge({ setup: { models } }), model }
}

const words = (count: number) => 'word '.repeat(count)

test('an input that alone is longer than the window of its model is refused with both figures', async () => {
  const edge = edgeOf({ contextTokens: 2000 })
  const response = await edge.ask(CHAT, { json: { messages: [{ role: 'user', content: words(5000) }] } })
  expect([response.status, await response.json()]).toEqual([
    400,
    {
      error: {
        message:
          'The input has about 5439 tokens, and the context window of the model test/small has 2000. ' +
          'Send less, in parts, or name a model with a larger window.',
        type: 'invalid_request_error',
        param: null,
        code: 'input_too_long',
      },
    },
  ])
  expect(edge.model.requests).toEqual([])
})

test('instructions and tools that leave no room for the input are refused before the model is asked', async () => {
  const edge = edgeOf({ contextTokens: 2000 })
  const parameters = { type: 'object', properties: {} }
  const tools = [{ type: 'function', function: { name: 'look', description: words(3000), parameters } }]
  const response = await edge.ask(CHAT, { json: { messages: [{ role: 'user', content: 'Hello' }], tools } })
  expect([response.status, (await response.json<{ error: object }>()).error]).toMatchObject([
    400,
    {
      code: 'input_too_long',
      message:
        'The instructions have about 0 tokens, the tools 3283 and the input 6, and the context window of the model test/small has 2000. ' +
        'Shorten them, offer fewer tools, or name a model with a larger window.',
    },
  ])
  expect(edge.model.requests).toEqual([])
})

test.each([
  ['known', { contextTokens: 2000 }],
  ['unknown', undefined],
])('a request with a long history is shortened for a model whose window is %s', async (_, window) => {
  const edge = edgeOf(window)
  const turns = Array.from({ length: 20 }, (__, turn) => [
    { role: 'user', content: `question ${turn} ${words(60)}` },
    { role: 'assistant', content: `answer ${turn} ${words(60)}` },
  ])
  const response = await edge.ask(CHAT, {
    json: { messages: [...turns.flat(), { role: 'user', content: 'And now?' }] },
  })
  expect(response.status).toBe(200)
  const [request] = edge.model.requests
  expect(request?.messages[0]).toMatchObject({
    role: 'system',
    content: expect.stringContaining('- user: "question '),
  })
  expect(request?.messages.at(-1)).toEqual({ role: 'user', content: 'And now?' })
  expect(edge.model.refused).toBe(window ? 0 : 1)
})

test('a request that cannot be made short enough fails with what to do', async () => {
  const edge = edgeOf()
  const response = await edge.ask(CHAT, { json: { messages: [{ role: 'user', content: words(5000) }] } })
  const { error } = await response.json<{ error: { code: string; message: string } }>()
  expect([response.status, error.code]).toEqual([400, 'context_length_exceeded'])
  expect(error.message).toContain(
    'Send a shorter message, offer fewer tools, or name a model with a larger context window.',
  )
})
