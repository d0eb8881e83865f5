import { describe, expect, test } from 'vitest'
import type { ModelCall } from '../fixtures/model-server.ts'
import { tool } from '../fixtures/play.ts'
import { type Block, messageReply, textReply, UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

const model = 'test/scripted'
const question = { role: 'user', content: 'What is the weather?' }
const schema = { type: 'object', properties: { city: { type: 'string' } } }
const weather = { name: 'get_weather', description: 'Tells the weather.', input_schema: schema }
const mail = { name: 'send_mail', description: 'Sends mail.', input_schema: schema }
const search = { name: 'ToolSearch', description: 'Finds tools.', input_schema: { type: 'object', properties: {} } }
const deferred = [weather, mail].map((each) => ({ ...each, defer_loading: true }))
const body = { model, max_tokens: 100, tools: [search, ...deferred] }

const use = { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: {} }] }
const result = (...content: object[]) => ({
  role: 'user',
  content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content }],
})
const reference = { type: 'tool_reference', tool_name: 'get_weather' }

function toolNames({ body }: ModelCall): readonly string[] {
  const tools = (body.tools ?? []) as readonly { name?: string; function?: { name: string } }[]
  return tools.map(({ name, function: { name: inner } = { name: '' } }) => name ?? inner)
}

describe('a tool that the caller defers, and finds by a search of its own', () => {
  test('is declared to Anthropic as deferred once it is found, and named by reference', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    await edge.post('/v1/messages', { ...body, messages: [question] })
    const second = await edge.post('/v1/messages', { ...body, messages: [question, use, result(reference)] })
    expect([second.status, second.headers.get('edgecall-ignored')]).toEqual([200, null])
    expect(edge.calls.map(({ body: { tools } }) => tools)).toEqual([[search], [search, deferred[0]]])
    expect(edge.calls[1]?.body.messages.at(-1)).toEqual(result(reference))
  })

  test('is found in the run that waits for the search, and in those after it', async () => {
    const call = { type: 'tool_use', id: 'toolu_9', name: 'ToolSearch', input: {} }
    const edge = await upstreamEdge((_, index) =>
      index === 0 ? messageReply([call], 'tool_use') : textReply(`Answer ${index}.`),
    )
    const first: any = await (await edge.post('/v1/messages', { ...body, messages: [question] })).json()
    const [{ id }] = first.content
    const results = { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: [reference] }] }
    const messages = [question, { role: 'assistant', content: first.content }, results]
    const second: any = await (await edge.post('/v1/messages', { ...body, messages })).json()
    const next = [...messages, { role: 'assistant', content: second.content }, { role: 'user', content: 'Again.' }]
    expect((await edge.post('/v1/messages', { ...body, messages: next })).status).toBe(200)
    expect(edge.calls.map(toolNames)).toEqual([
      ['ToolSearch'],
      ['ToolSearch', 'get_weather'],
      ['ToolSearch', 'get_weather'],
    ])
    expect(edge.calls[2]?.body.messages[2]).toMatchObject({ content: [{ content: [reference] }] })
  })

  test('keeps what the caller says beside the reference', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    const text = { type: 'text', text: 'One of two.' }
    await edge.post('/v1/messages', { ...body, messages: [question, use, result(reference, text)] })
    expect(edge.calls[0]?.body.messages.at(-1)).toEqual(result(reference, text))
  })

  test('is not named to a model that has no definition of it', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    const messages = [question, use, result(reference)]
    await edge.post('/v1/messages', { ...body, tools: [search], messages })
    await edge.post('/v1/messages', { ...body, tools: [], messages })
    const text = result({ type: 'text', text: 'Found the tool get_weather.\n' })
    expect(edge.calls.map(({ body: { messages } }) => messages.at(-1))).toEqual([text, text])
  })

  test.each(['chat', 'responses'] as const)(
    'is a function from then on, where none can be deferred: %s',
    async (name) => {
      const { provider, done } = UPSTREAMS[name]
      const edge = await upstreamEdge(() => done, provider)
      await edge.post('/v1/messages', { ...body, messages: [question] })
      await edge.post('/v1/messages', { ...body, messages: [question, use, result(reference)] })
      expect(edge.calls.map(toolNames)).toEqual([['ToolSearch'], ['ToolSearch', 'get_weather']])
      expect(JSON.stringify(edge.calls[1]?.body)).toContain('Found the tool get_weather.')
    },
  )

  test('is told of from the start if the model must call it', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    await edge.post('/v1/messages', { ...body, tool_choice: { type: 'tool', name: 'send_mail' }, messages: [question] })
    expect(edge.calls[0]?.body.tools).toEqual([search, mail])
  })

  test('is in an estimate once it is found', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    const count = async (tools: readonly object[], ...more: object[]) => {
      const response = await edge.post('/v1/messages/count_tokens', { model, tools, messages: [question, ...more] })
      const { input_tokens } = await response.json<{ input_tokens: number }>()
      return input_tokens
    }
    expect(await count([search, ...deferred])).toBe(await count([search]))
    const messages = [use, result(reference)]
    expect(await count([search, ...deferred], ...messages)).toBe(await count([search, weather], ...messages))
  })
})

describe('a search of tools that Anthropic runs', () => {
  const form = { type: 'tool_search_tool_bm25_20251119', name: 'tool_search_tool_bm25' }
  const request = { ...body, tools: [form, ...deferred], messages: [question] }
  const searchUse = {
    type: 'server_tool_use',
    id: 'srvtoolu_1',
    name: 'tool_search_tool_bm25',
    input: { query: 'weather' },
  }
  const searchResult = {
    type: 'tool_search_tool_result',
    tool_use_id: 'srvtoolu_1',
    content: { type: 'tool_search_tool_search_result', tool_references: [reference] },
  }
  const blocks: readonly Block[] = [
    { type: 'text', text: 'Let me see.' },
    searchUse,
    searchResult,
    { type: 'tool_use', id: 'toolu_1', name: 'get_weather', input: { city: 'Oslo' } },
  ]
  const reply = (_: ModelCall, index: number) => (index === 0 ? messageReply(blocks, 'tool_use') : textReply('Rain.'))

  test.each([false, true])(
    'is passed to it with the deferred tools, and goes back with the next message: %s',
    async (stream) => {
      const edge = await upstreamEdge(reply, undefined, { tools: [tool('clock')] })
      const response = await edge.post('/v1/messages', request)
      const answer: any = await response.json()
      expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, null])
      expect(edge.calls[0]?.body.tools).toEqual([
        { name: 'clock', description: 'Test tool clock', input_schema: { type: 'object' } },
        form,
        ...deferred,
      ])
      expect(answer.content).toEqual([
        { ...searchUse, caller: { type: 'direct' } },
        searchResult,
        { type: 'redacted_thinking', data: expect.any(String) },
        { type: 'text', text: 'Let me see.' },
        {
          type: 'tool_use',
          id: expect.any(String),
          name: 'get_weather',
          input: { city: 'Oslo' },
          caller: { type: 'direct' },
        },
      ])
      const { id } = answer.content.at(-1)
      const messages = [
        question,
        { role: 'assistant', content: answer.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'Rain' }] },
      ]
      const next = await edge.post('/v1/messages', { ...request, messages, stream })
      expect(await next.text()).toContain('Rain.')
      const uses = blocks.map((block) => (block['type'] === 'tool_use' ? { ...block, id } : block))
      expect(edge.calls[1]?.body.messages[1]).toEqual({ role: 'assistant', content: uses })
      // A request without the search, such as that for a title, has no definitions to which its result could refer.
      const title = [...messages, { role: 'assistant', content: 'Rain.' }, { role: 'user', content: 'A title?' }]
      await edge.post('/v1/messages', { ...request, tools: [], messages: title })
      expect(edge.calls[2]?.body.messages[1]).toEqual({ role: 'assistant', content: [uses[0], uses[3]] })
    },
  )

  test('is ignored by a model of another provider, which is told of all tools', async () => {
    const { provider, done } = UPSTREAMS.chat
    const edge = await upstreamEdge(() => done, provider)
    const response = await edge.post('/v1/messages', request)
    expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, 'tools[0]'])
    expect(edge.calls.map(toolNames)).toEqual([['get_weather', 'send_mail']])
  })

  test('is left out for a model that refuses it, which is told of all tools', async () => {
    const refusal = { type: 'invalid_request_error', message: 'tools.0: tool_search_tool_bm25 is not supported.' }
    const edge = await upstreamEdge((_, index) =>
      index === 0 ? { status: 400, body: { type: 'error', error: refusal } } : textReply('Done.'),
    )
    const response = await edge.post('/v1/messages', request)
    expect([response.status, edge.calls.map(({ body: { tools } }) => tools)]).toEqual([
      200,
      [
        [form, ...deferred],
        [weather, mail],
      ],
    ])
  })
})

describe('functions that a request for a response defers', () => {
  const fn = (name: string) => ({
    type: 'function',
    name,
    parameters: { type: 'object', properties: {} },
    defer_loading: true,
  })
  const tools = (execution?: string) => [
    { type: 'tool_search', ...(execution && { execution }) },
    fn('get_weather'),
    fn('send_mail'),
  ]
  const call = { type: 'tool_search_call', call_id: 'call_1', execution: 'client', arguments: { query: 'weather' } }
  const output = { type: 'tool_search_output', call_id: 'call_1', execution: 'client', tools: [fn('get_weather')] }

  test('are told of once the caller’s search has found them', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    const request = { model, store: false, tools: tools('client') }
    const first = await edge.post('/v1/responses', { ...request, input: [question] })
    const second = await edge.post('/v1/responses', { ...request, input: [question, call, output] })
    expect([first.status, second.status, edge.calls.map(toolNames)]).toEqual([
      200,
      200,
      [['search_tools'], ['search_tools', 'get_weather']],
    ])
  })

  test('are told of at once if OpenAI would search them', async () => {
    const edge = await upstreamEdge(() => textReply('Done.'))
    const response = await edge.post('/v1/responses', { model, store: false, tools: tools(), input: [question] })
    expect([response.headers.get('edgecall-ignored'), edge.calls.map(toolNames)]).toEqual([
      'tools[0]',
      [['get_weather', 'send_mail']],
    ])
  })
})
