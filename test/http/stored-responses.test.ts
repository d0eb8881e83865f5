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
  const outputText = (text: string) => ({ type: 'output_text', text })
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

  test('is listed with all of its items, those of the assistant and their results too', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.'), say('Again.')], tools: [tool('clock', () => '12')] })
    const { responses } = clientOf(edge)
    const input = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: 'Left or right?' },
      { type: 'function_call', call_id: 'c1', name: 'pick', arguments: '{"of":2}' },
      { type: 'function_call_output', call_id: 'c1', output: 'left' },
      { role: 'assistant', content: 'Left.' },
      { role: 'user', content: 'What time is it?' },
    ] as const
    const { id } = await responses.create({ input: [...input], tools: [pick] })
    const call = { id: '', status: 'completed', type: 'function_call', call_id: 'c1', name: 'pick' }
    const items = [
      messageItem('system', 'Be brief.'),
      messageItem('user', 'Left or right?'),
      { ...call, arguments: '{"of":2}' },
      { id: '', status: 'completed', type: 'function_call_output', call_id: 'c1', output: 'left' },
      { ...messageItem('assistant', 'Left.'), content: [{ ...outputText('Left.'), annotations: [], logprobs: [] }] },
      messageItem('user', 'What time is it?'),
    ]
    expect(plain((await responses.inputItems.list(id, { order: 'asc' })).data)).toEqual(items)
    const pages: object[] = []
    for await (const item of responses.inputItems.list(id, { limit: 4 })) pages.push(item)
    expect(plain(pages)).toEqual(items.toReversed())
    // Of a response that continues it, only its own.
    const next = await responses.create({
      previous_response_id: id,
      input: [
        { role: 'system', content: 'Be kind.' },
        { role: 'user', content: 'And now?' },
      ],
    })
    expect(plain((await responses.inputItems.list(next.id, { order: 'asc' })).data)).toEqual([
      messageItem('system', 'Be kind.'),
      messageItem('user', 'And now?'),
    ])
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
      { type: 'function_call_output', call_id: call?.call_id, output: 'this one' },
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

describe('a conversation of OpenAI’s client', () => {
  const user = (content: string) => ({ role: 'user', content }) as const
  const textsOf = (items: readonly any[]) =>
    items.map(({ type, role, content, name, output }) =>
      type === 'message' ? `${role}: ${content[0].text}` : `${type}: ${name ?? output}`,
    )

  test('is made with items, continued by responses, read, and deleted', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [tool('clock', () => '12:00')] })
    const { conversations, responses } = clientOf(edge)
    const before = Math.floor(Date.now() / 1000)
    const conversation = await conversations.create({
      items: [user('I am Ada.'), { role: 'assistant', content: 'Hello Ada.' }],
    })
    expect(conversation).toMatchObject({ object: 'conversation', metadata: {} })
    expect(conversation.created_at).toBeGreaterThanOrEqual(before)
    const response = await responses.create({ input: 'What time is it?', conversation: conversation.id })
    expect(response).toMatchObject({ output_text: 'Noon.', conversation: { id: conversation.id } })
    expect(edge.requests[0]?.messages.map(({ role, content }) => `${role}: ${JSON.stringify(content)}`)).toEqual([
      'user: "I am Ada."',
      'assistant: "Hello Ada."',
      'user: "What time is it?"',
    ])
    const history = [
      'user: I am Ada.',
      'assistant: Hello Ada.',
      'user: What time is it?',
      'function_call: clock',
      'function_call_output: 12:00',
      'assistant: Noon.',
    ]
    for (const order of ['asc', 'desc'] as const) {
      const items: object[] = []
      for await (const item of conversations.items.list(conversation.id, { order, limit: 4 })) items.push(item)
      expect(textsOf(items)).toEqual(order === 'asc' ? history : history.toReversed())
    }
    const [newest] = (await conversations.items.list(conversation.id)).data
    expect(await conversations.items.retrieve(newest?.id ?? '', { conversation_id: conversation.id })).toEqual(newest)
    expect(await conversations.retrieve(conversation.id)).toMatchObject({
      id: conversation.id,
      created_at: conversation.created_at,
    })
    expect(await conversations.delete(conversation.id)).toMatchObject({ id: conversation.id, deleted: true })
    expect(await errorOf(conversations.retrieve(conversation.id))).toMatchObject({ status: 410 })
  })

  test('gets further items after its runs, with results that count as untrusted', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.')] })
    const { conversations, responses } = clientOf(edge)
    const { id } = await conversations.create()
    await responses.create({ input: 'Count', conversation: id })
    const call = { type: 'function_call', call_id: 'c1', name: 'pick', arguments: '{}' } as const
    const output = { type: 'function_call_output', call_id: 'c1', output: 'left' } as const
    const added = await conversations.items.create(id, { items: [call, output, user('Go on')] })
    expect([textsOf(added.data), added.has_more]).toEqual([
      ['function_call: pick', 'function_call_output: left', 'user: Go on'],
      false,
    ])
    await responses.create({ input: 'Please', conversation: id })
    expect(edge.requests[1]?.messages).toEqual([
      user('Count'),
      { role: 'assistant', content: 'One.' },
      { role: 'assistant', content: '', calls: [{ callId: 'c1', tool: 'pick', arguments: '{}' }] },
      {
        role: 'tool',
        callId: 'c1',
        tool: 'pick',
        ok: true,
        content: [{ type: 'text', text: 'left' }],
        marks: ['untrusted', 'private'],
        byCaller: true,
      },
      user('Go on'),
      user('Please'),
    ])
  })

  test('takes no items while a run is in progress', async () => {
    const { slow, start, letGo } = gatedTool()
    const edge = keptEdge({ script: [ask(['slow']), say('Done.')], tools: [slow] })
    const { conversations, responses } = clientOf(edge)
    const { id } = await conversations.create()
    const response = await responses.create({ input: 'Go', conversation: id, background: true })
    await start
    const items = [user('More')]
    expect(await errorOf(conversations.items.create(id, { items }))).toMatchObject({ code: 'conversation_busy' })
    letGo()
    const types: string[] = []
    for await (const { type } of await responses.retrieve(response.id, { stream: true })) types.push(type)
    expect(types.at(-1)).toBe('response.completed')
    expect((await conversations.items.create(id, { items })).data).toHaveLength(1)
  })

  test('is refused what it cannot store', async () => {
    const { conversations } = clientOf(keptEdge({ script: [] }))
    const { id } = await conversations.create({ metadata: {} })
    expect(await conversations.update(id, { metadata: {} })).toMatchObject({ id })
    const metadata = { topic: 'x' }
    const unsupported = { status: 400, code: 'unsupported_parameter', param: 'metadata' }
    expect(await errorOf(conversations.create({ metadata }))).toEqual(unsupported)
    expect(await errorOf(conversations.update(id, { metadata }))).toEqual(unsupported)
    const refusals: [object[], string][] = [
      [[], 'items'],
      [[{ type: 'item_reference', id: 'msg_1' }], 'items[0].type'],
      [[{ type: 'function_call', call_id: 'c1', name: 'pick', arguments: '{}' }], 'items[1]'],
      [[{ type: 'function_call_output', call_id: 'c1', output: 'x' }], 'items'],
    ]
    for (const [items, param] of refusals)
      expect(await errorOf(conversations.items.create(id, { items: items as never }))).toMatchObject({
        status: 400,
        param,
      })
    expect(await errorOf(conversations.items.retrieve('msg_5_0', { conversation_id: id }))).toMatchObject({
      status: 404,
      code: 'item_not_found',
    })
    expect(await errorOf(conversations.retrieve('conv_none'))).toMatchObject({ status: 404 })
  })
})
