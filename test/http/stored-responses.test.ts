import OpenAI, { APIError } from 'openai'
import { describe, expect, test } from 'vitest'
import { gatedTool } from '../fixtures/gated.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'

/** What OpenAI's own client does with responses that are stored, apart from reading them (`responses.test.ts`). */

const pick = { type: 'function', name: 'pick', strict: null, parameters: { type: 'object', properties: {} } } as const

function clientOf(edge: KeptEdge): OpenAI {
  return new OpenAI({
    apiKey: 'none',
    maxRetries: 0,
    baseURL: 'http://127.0.0.1:8787/v1',
    fetch: (input, init) => edge.fetch(input, init),
  })
}

async function errorOf(promise: PromiseLike<unknown>): Promise<object> {
  try {
    return { value: await promise }
  } catch (error) {
    if (!(error instanceof APIError)) throw error
    const { status, code, param } = error
    return { status, code, param }
  }
}

describe('a response in the background', () => {
  test('is returned at once, and read by its id until it is complete', async () => {
    const { slow, start, letGo } = gatedTool()
    const edge = keptEdge({ script: [ask(['slow']), say('Done.')], tools: [slow] })
    const { responses } = clientOf(edge)
    const response = await responses.create({ input: 'Go', background: true })
    expect(response).toMatchObject({ status: 'queued', background: true, output: [], usage: null })
    await start
    const progress = await responses.retrieve(response.id)
    expect(progress).toMatchObject({ status: 'in_progress', output: [{ type: 'mcp_call', status: 'in_progress' }] })
    letGo()
    await edge.settle()
    expect(await responses.retrieve(response.id)).toMatchObject({ status: 'completed', output_text: 'Done.' })
    const types: string[] = []
    const stream = await responses.retrieve(response.id, { stream: true, starting_after: 1 })
    for await (const { type } of stream) types.push(type)
    expect([types[0], types.at(-1)]).toEqual(['response.output_item.added', 'response.completed'])
  })

  test('can be cancelled', async () => {
    const { slow, start } = gatedTool()
    const edge = keptEdge({ script: [ask(['slow'])], tools: [slow] })
    const { responses } = clientOf(edge)
    const { id } = await responses.create({ input: 'Go', background: true })
    await start
    expect(await responses.cancel(id)).toMatchObject({ id, status: 'cancelled' })
  })

  test('continues another, and is streamed if the request asks for that', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Three.')] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'Count', background: true })
    await edge.settle()
    const second = await responses.create({ input: 'On', background: true, previous_response_id: first.id })
    await edge.settle()
    expect(await responses.retrieve(second.id)).toMatchObject({ status: 'completed', output_text: 'Two.' })
    const third = responses.stream({ input: 'On', background: true, previous_response_id: second.id })
    expect(await third.finalResponse()).toMatchObject({ background: true, output_text: 'Three.' })
  })

  test('must be stored', async () => {
    const { responses } = clientOf(keptEdge({ script: [] }))
    const refusal = errorOf(responses.create({ input: 'Go', background: true, store: false }))
    expect(await refusal).toEqual({ status: 400, code: 'invalid_value', param: 'background' })
  })
})

describe('deleting a response', () => {
  test('deletes what was stored for it', async () => {
    const edge = keptEdge({ script: [say('One.')] })
    const { responses } = clientOf(edge)
    const { data, response } = await responses.create({ input: 'Go' }).withResponse()
    expect(await (await edge.fetch(`/v1/responses/${data.id}`, { method: 'DELETE' })).json()).toEqual({
      id: data.id,
      object: 'response',
      deleted: true,
    })
    const missing = { status: 404, code: 'response_not_found', param: null }
    expect(await errorOf(responses.retrieve(data.id))).toEqual(missing)
    expect(await errorOf(responses.delete(data.id))).toEqual(missing)
    const conversation = response.headers.get('x-conversation-id')
    expect((await edge.fetch(`/conversations/${conversation}/messages`)).status).toBe(410)
  })

  test('is refused where others have their place in the same conversation', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Three.')] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'Go' })
    const second = await responses.create({ input: 'On', previous_response_id: first.id })
    const own = await edge.post('/v1/responses', { input: 'Go' }, { 'x-conversation-id': 'mine' })
    const { id } = (await own.json()) as { id: string }
    for (const each of [first.id, second.id, id])
      expect(await errorOf(responses.delete(each))).toEqual({ status: 409, code: 'response_in_use', param: null })
    expect(await responses.retrieve(second.id)).toMatchObject({ output_text: 'Two.' })
  })
})

describe('the input of a response', () => {
  const plain = (items: readonly object[]) => items.map((item) => ({ ...item, id: '' }))
  const messageItem = (role: string, text: string) => ({
    id: '',
    status: 'completed',
    type: 'message',
    role,
    content: [{ type: role === 'assistant' ? 'output_text' : 'input_text', text }],
  })

  test('is listed as it was sent, a page at a time, in either order', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.')] })
    const { responses } = clientOf(edge)
    const image = { type: 'input_image', image_url: 'data:image/png;base64,AAAA', detail: 'auto' } as const
    const first = await responses.create({
      input: [{ role: 'user', content: [{ type: 'input_text', text: 'See' }, image] }],
    })
    const second = await responses.create({
      previous_response_id: first.id,
      input: ['a', 'b', 'c'].map((content) => ({ role: 'user', content })),
    })
    expect(plain((await responses.inputItems.list(first.id)).data)).toEqual([
      {
        ...messageItem('user', 'See'),
        content: [
          { type: 'input_text', text: 'See' },
          { ...image, file_id: null },
        ],
      },
    ])
    const textsIn = async (order?: 'asc' | 'desc') => {
      const texts: string[] = []
      const query = { limit: 2, ...(order && { order }) }
      for await (const item of responses.inputItems.list(second.id, query)) texts.push((item as any).content[0].text)
      return texts.join('')
    }
    expect([await textsIn(), await textsIn('asc')]).toEqual(['cba', 'abc'])
    for (const query of [{ limit: 101 }, { limit: 0 }, { after: 'msg_1_9' }, { order: 'up' as 'asc' }])
      expect(await errorOf(responses.inputItems.list(second.id, query))).toMatchObject({
        status: 400,
        param: Object.keys(query)[0],
      })
  })

  test('that continued a run is the answers to its calls', async () => {
    const danger = tool('danger', () => 'boom', { approval: 'always' })
    const edge = keptEdge({ script: [ask(['danger'], ['pick']), say('Done.')], tools: [danger] })
    const { responses } = clientOf(edge)
    const first = await responses.create({ input: 'Go', tools: [pick] })
    const call = first.output.find((item) => item.type === 'function_call')
    const request = first.output.find((item) => item.type === 'mcp_approval_request')
    const answers = [
      { type: 'function_call_output', call_id: call?.call_id ?? '', output: 'this one' },
      { type: 'mcp_approval_response', approval_request_id: request?.id ?? '', approve: true },
    ] as const
    const second = await responses.create({ input: [...answers], previous_response_id: first.id, tools: [pick] })
    expect(second.output_text).toBe('Done.')
    const items = (await responses.inputItems.list(second.id, { order: 'asc' })).data
    expect(items).toMatchObject([
      { type: 'function_call_output', call_id: call?.call_id, output: [{ type: 'input_text', text: 'this one' }] },
      { type: 'mcp_approval_response', approval_request_id: request?.id, approve: true },
    ])
    expect((await responses.inputItems.list(first.id)).data).toMatchObject([{ role: 'user' }])
  })
})

test('the tokens of an input are estimated with the earlier messages of its conversation, and no model is asked', async () => {
  const edge = keptEdge({ script: [say('word '.repeat(300))] })
  const { responses } = clientOf(edge)
  const first = await responses.create({ input: 'Go', instructions: 'Be long.' })
  const count = async (members: object) => (await responses.inputTokens.count({ input: 'Go', ...members })).input_tokens
  const alone = await count({})
  expect(alone).toBeGreaterThan(0)
  expect(await count({ instructions: 'word '.repeat(100) })).toBeGreaterThanOrEqual(alone + 100)
  expect(await count({ tools: [pick] })).toBeGreaterThan(alone)
  expect(await count({ previous_response_id: first.id })).toBeGreaterThanOrEqual(alone + 300)
  expect(await errorOf(responses.inputTokens.count({ model: 'none/none', input: 'Go' }))).toMatchObject({ status: 404 })
  expect(edge.requests.length).toBe(1)
})
