import Anthropic, { APIError, InternalServerError } from '@anthropic-ai/sdk'
import { describe, expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import type { Opaque } from '../../src/contract/message.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { dataOf, type KeptEdge, keptEdge } from './kept-edge.ts'
import { UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

const model = 'test/scripted'
const hello: { model: string; max_tokens: number; messages: { role: 'user'; content: string }[] } = {
  model,
  max_tokens: 100,
  messages: [{ role: 'user', content: 'Hello' }],
}
const clock = tool('clock', () => '12:00')
const pick: Anthropic.Tool = { name: 'pick', input_schema: { type: 'object', properties: { of: { type: 'number' } } } }

function clientOf(edge: KeptEdge, options: { apiKey?: string; authToken?: string; maxRetries?: number } = {}) {
  const key = options.authToken === undefined ? { apiKey: 'any', authToken: null } : { apiKey: null }
  return new Anthropic({ baseURL: 'http://127.0.0.1:8787', maxRetries: 0, fetch: edge.fetch, ...key, ...options })
}

async function errorOf(promise: PromiseLike<unknown>): Promise<object> {
  const error: unknown = await Promise.resolve(promise).catch((error: unknown) => error)
  if (!(error instanceof APIError)) throw error
  const { status, type, errorCode, apiMessage } = error
  return { name: error.constructor.name, status, type, errorCode, apiMessage }
}

function thought(text: string, opaque: Opaque, ...events: readonly ModelEvent[]): Script {
  const calls = events.some(({ type }) => type === 'call')
  return [
    { type: 'reasoning', text },
    ...events,
    { type: 'finish', finish: calls ? 'tool_calls' : 'stop', opaque, usage: { inputTokens: 10, outputTokens: 5 } },
  ]
}

describe('a message', () => {
  test('is the answer of a run, whose tools ran at the edge', async () => {
    const edge = keptEdge({ script: [ask(['clock']), say('Noon.')], tools: [clock] })
    const { data, response, request_id } = await clientOf(edge).messages.create(hello).withResponse()
    const runId = response.headers.get('x-run-id')
    expect({ ...data }).toEqual({
      id: `msg_${runId}`,
      type: 'message',
      role: 'assistant',
      model,
      content: [{ type: 'text', text: 'Noon.' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      stop_details: null,
      container: null,
      diagnostics: null,
      usage: {
        input_tokens: 20,
        output_tokens: 10,
        cache_creation_input_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation: { ephemeral_5m_input_tokens: 0, ephemeral_1h_input_tokens: 0 },
        output_tokens_details: { thinking_tokens: 0 },
        server_tool_use: null,
        inference_geo: null,
        service_tier: null,
        speed: null,
      },
      edgecall: {
        runId,
        steps: 2,
        calls: [{ id: expect.any(String), tool: 'clock', arguments: {}, ok: true, durationMs: expect.any(Number) }],
        finish: 'stop',
      },
    })
    expect(request_id).toBe(runId)
  })

  test('is streamed event by event', async () => {
    const usage = {
      inputTokens: 100,
      outputTokens: 7,
      cachedInputTokens: 60,
      cacheWriteTokens: 30,
      longCacheWriteTokens: 10,
      reasoningTokens: 3,
    }
    const edge = keptEdge({
      script: [
        [
          { type: 'reasoning', text: 'Which ' },
          { type: 'reasoning', text: 'one?' },
          { type: 'text', text: 'This ' },
          { type: 'text', text: 'one.' },
          { type: 'call', index: 0, tool: 'pick', arguments: '{"of": 2}' },
          { type: 'finish', finish: 'tool_calls', usage },
        ],
      ],
    })
    const stream = await clientOf(edge).messages.create({ ...hello, tools: [pick], stream: true })
    const events: Anthropic.MessageStreamEvent[] = []
    for await (const event of stream) events.push(event)
    const [start, ...rest] = events
    expect(start).toMatchObject({
      type: 'message_start',
      message: { type: 'message', role: 'assistant', content: [], stop_reason: null, usage: { output_tokens: 0 } },
    })
    const call = { type: 'tool_use', id: expect.stringMatching(/^call_/), name: 'pick', caller: { type: 'direct' } }
    expect(rest).toEqual([
      { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '', signature: '' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'Which ' } },
      { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: 'one?' } },
      { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'This ' } },
      { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'one.' } },
      { type: 'content_block_stop', index: 0 },
      { type: 'content_block_stop', index: 1 },
      { type: 'content_block_start', index: 2, content_block: { ...call, input: {} } },
      { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"of": 2}' } },
      { type: 'content_block_stop', index: 2 },
      {
        type: 'message_delta',
        delta: { stop_reason: 'tool_use', stop_sequence: null, stop_details: null, container: null },
        usage: {
          input_tokens: 10,
          cache_creation_input_tokens: 30,
          cache_read_input_tokens: 60,
          output_tokens: 7,
          output_tokens_details: { thinking_tokens: 3 },
          server_tool_use: null,
        },
      },
      { type: 'message_stop' },
    ])
  })

  test('has the same content whether it is collected by the edge or by the SDK', async () => {
    const script = [ask(['clock']), say('It is noon.')]
    const [whole, streamed] = [keptEdge({ script, tools: [clock] }), keptEdge({ script, tools: [clock] })]
    const message = await clientOf(whole).messages.create(hello)
    const stream = clientOf(streamed).messages.stream(hello)
    const texts: string[] = []
    stream.on('text', (text) => texts.push(text))
    const final = await stream.finalMessage()
    expect(final.content).toEqual(message.content)
    expect([texts.join(''), final.stop_reason]).toEqual(['It is noon.', 'end_turn'])
    expect(final.usage).toEqual(message.usage)
  })

  test('begins with a ping, and its heartbeats are comments', async () => {
    const edge = keptEdge({ script: [say('Hi.')] })
    const response = await edge.post('/v1/messages', { ...hello, stream: true })
    const types = (dataOf(await response.text()) as { type: string }[]).map(({ type }) => type)
    expect(types.slice(0, 2)).toEqual(['message_start', 'ping'])
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
  })

  test.each([
    ['stop', 'end_turn', null],
    ['length', 'max_tokens', null],
    ['content_filter', 'refusal', { type: 'refusal', category: null, explanation: null }],
  ] as const)('whose model stopped for %s has the stop reason %s', async (finish, stop_reason, stop_details) => {
    const edge = keptEdge({
      script: [
        [
          { type: 'text', text: 'So' },
          { type: 'finish', finish },
        ],
      ],
    })
    expect(await clientOf(edge).messages.create(hello)).toMatchObject({ stop_reason, stop_details })
  })

  test('continues a conversation, to which only the newest message is sent', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.')] })
    const { messages } = clientOf(edge)
    const options = { headers: { 'x-conversation-id': 'counting' } }
    await messages.create({ ...hello, messages: [{ role: 'user', content: 'Count.' }] }, options)
    const second = await messages.create(
      { ...hello, system: 'Be brief.', messages: [{ role: 'user', content: 'And?' }] },
      options,
    )
    expect(second.content).toMatchObject([{ text: 'Two.' }])
    expect(edge.requests[1]?.messages).toEqual([
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Count.' },
      { role: 'assistant', content: 'One.' },
      { role: 'user', content: 'And?' },
    ])
  })

  test('says which calls wait for a person', async () => {
    const pay = tool('pay', () => 'paid', { approval: 'always' })
    const edge = keptEdge({ script: [ask(['pay'])], tools: [pay] })
    const message = await clientOf(edge).messages.create(hello, { headers: { 'x-conversation-id': 'c' } })
    expect(message).toMatchObject({
      content: [{ type: 'text', text: expect.stringMatching(/^Waiting for approval of "pay"\. Decide by POST \//) }],
      stop_reason: 'end_turn',
    })
  })
})

describe('a request', () => {
  const data = 'aGk='
  const pdf = { type: 'base64', media_type: 'application/pdf', data } as const

  test('reaches the model whole', async () => {
    const edge = keptEdge({ script: [say('Hi.')], capabilities: {} })
    const cache_control = { type: 'ephemeral' } as const
    // The newest types have them no more.
    const sampling = { temperature: 0.5, top_p: 0.9, top_k: 5 }
    await clientOf(edge).messages.create({
      ...hello,
      system: [
        { type: 'text', text: 'Be brief.' },
        { type: 'text', text: 'Be kind.', cache_control },
      ],
      messages: [
        { role: 'user', content: [{ type: 'text', text: 'Look.', cache_control }] },
        { role: 'assistant', content: [{ type: 'text', text: 'At what?' }] },
        {
          role: 'user',
          content: [
            { type: 'image', source: { type: 'base64', media_type: 'image/png', data } },
            { type: 'image', source: { type: 'url', url: 'https://example.com/cat.png' } },
            { type: 'document', source: pdf, title: 'Report', context: 'Of May' },
            { type: 'document', source: { type: 'url', url: 'https://example.com/a.pdf' } },
            { type: 'document', source: { type: 'text', media_type: 'text/plain', data: 'Plain.' } },
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'Nested.' }] } },
            { type: 'search_result', title: 'T', source: 'https://e.com', content: [{ type: 'text', text: 'Found.' }] },
          ],
        },
      ],
      tools: [{ ...pick, description: 'Picks.', strict: true, input_examples: [{ of: 1 }], cache_control }],
      tool_choice: { type: 'any', disable_parallel_tool_use: true },
      thinking: { type: 'enabled', budget_tokens: 2000 },
      output_config: { effort: 'high', format: { type: 'json_schema', schema: { type: 'object' } } },
      stop_sequences: ['END'],
      ...sampling,
      metadata: { user_id: 'someone' },
      service_tier: 'auto',
    })
    const [request] = edge.requests
    expect(request?.messages).toEqual([
      { role: 'system', content: 'Be brief.\nBe kind.' },
      { role: 'user', content: [{ type: 'text', text: 'Look.' }] },
      { role: 'assistant', content: 'At what?' },
      {
        role: 'user',
        marks: ['untrusted'],
        content: [
          { type: 'image', mediaType: 'image/png', data },
          { type: 'image', mediaType: 'image/*', url: 'https://example.com/cat.png' },
          { type: 'text', text: 'Report\nOf May' },
          { type: 'file', mediaType: 'application/pdf', data },
          { type: 'file', mediaType: 'application/pdf', url: 'https://example.com/a.pdf' },
          { type: 'text', text: 'Plain.' },
          { type: 'text', text: 'Nested.' },
          { type: 'text', text: 'T\nhttps://e.com\nFound.' },
        ],
      },
    ])
    expect(request?.tools).toMatchObject([
      { name: 'pick', description: 'Picks.', inputSchema: pick.input_schema, inputExamples: [{ of: 1 }], strict: true },
    ])
    expect(request?.toolChoice).toBe('required')
    expect(request?.responseFormat).toEqual({
      type: 'json_schema',
      name: 'answer',
      schema: { type: 'object' },
      strict: true,
    })
    expect(request?.sampling).toEqual({
      max_completion_tokens: 100,
      stop: ['END'],
      ...sampling,
      thinking: { type: 'enabled', budget_tokens: 2000 },
      reasoning_effort: 'high',
      parallel_tool_calls: false,
    })
  })

  const user = (...content: object[]) => ({ messages: [{ role: 'user', content }] })
  test.each<[what: string, members: object, code: string, message: string]>([
    ['no limit of tokens', { max_tokens: undefined }, 'missing_required_parameter', 'max_tokens: is required.'],
    ['an empty history', { messages: [] }, 'invalid_value', 'messages: must not be empty.'],
    [
      'the beginning of the answer',
      { messages: [...hello.messages, { role: 'assistant', content: '{' }] },
      'invalid_value',
      'messages[1]: must not be from the assistant, since it is the last message.',
    ],
    [
      'a result of no call, named after the place that it has in the request',
      { system: 'Hi', ...user({ type: 'tool_result', tool_use_id: 'x', content: '' }) },
      'invalid_value',
      'messages[0].content: the call "x" answers no call of the preceding message.',
    ],
    ['a thread', { thread: { type: 'create' } }, 'thread_unsupported_request', 'thread: is not supported.'],
    ['a container', { container: 'c' }, 'unsupported_parameter', 'container: is not supported.'],
    ['servers of MCP', { mcp_servers: [{}] }, 'unsupported_parameter', 'mcp_servers: is not supported.'],
    [
      'a tool that only programs may call',
      { tools: [{ ...pick, allowed_callers: ['code_execution_20260120'] }] },
      'invalid_value',
      'tools[0].allowed_callers: must include "direct".',
    ],
    [
      'a file that is stored with Anthropic',
      user({ type: 'document', source: { type: 'file', file_id: 'f' } }),
      'unsupported_value',
      'messages[0].content[0].source.file_id: names a file that this edge has not: send its content or its URL.',
    ],
    [
      'citations',
      user({ type: 'document', source: pdf, citations: { enabled: true } }),
      'unsupported_value',
      'messages[0].content[0].citations.enabled: expected false, received true.',
    ],
  ])('with %s is refused, and says why', async (_, members, errorCode, apiMessage) => {
    const edge = keptEdge({ script: [] })
    const body = { ...hello, ...members } as Anthropic.MessageCreateParamsNonStreaming
    expect(await errorOf(clientOf(edge).messages.create(body))).toMatchObject({
      status: 400,
      type: 'invalid_request_error',
      errorCode,
      apiMessage,
    })
  })
})

describe('a tool of the caller', () => {
  test.each([
    ['alone', [], ['user', 'assistant', 'tool'], ask(['pick', { of: 2 }])],
    ['beside one of the edge', [clock], ['user', 'assistant', 'tool', 'tool'], ask(['clock'], ['pick', { of: 2 }])],
  ] as const)('is called and answered, %s', async (_, tools, roles, asking) => {
    const edge = keptEdge({ script: [asking, say('Left.')], tools })
    const { messages } = clientOf(edge)
    const request = { ...hello, tools: [pick] }
    const first = await messages.create(request)
    const [call] = first.content
    expect([first.stop_reason, call]).toEqual([
      'tool_use',
      { type: 'tool_use', id: expect.any(String), name: 'pick', input: { of: 2 }, caller: { type: 'direct' } },
    ])
    const id = call?.type === 'tool_use' ? call.id : ''
    const last = await messages.create({
      ...request,
      messages: [
        ...hello.messages,
        { role: 'assistant', content: first.content },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, is_error: true, content: 'No hands.' }] },
      ],
    })
    expect(last.content).toMatchObject([{ type: 'text', text: 'Left.' }])
    expect(last.id).toMatch(/^msg_(?:run|call)_/)
    const history = edge.requests[1]?.messages ?? []
    expect(history.map(({ role }) => role)).toEqual(roles)
    expect(history.findLast((message) => message.role === 'tool' && message.tool === 'pick')).toMatchObject({
      ok: false,
    })
  })

  test('is run by the tool runner of the SDK, round after round', async () => {
    const edge = keptEdge({
      script: [ask(['pick', { of: 1 }]), ask(['pick', { of: 2 }]), say('Both.')],
      tools: [clock],
    })
    const picked: unknown[] = []
    const final = await clientOf(edge).beta.messages.toolRunner({
      ...hello,
      messages: [...hello.messages],
      tools: [
        {
          ...pick,
          type: 'custom',
          parse: (input: unknown) => input,
          run: async (input: unknown) => {
            picked.push(input)
            return 'left'
          },
        },
      ],
    })
    expect([picked, final.content]).toMatchObject([[{ of: 1 }, { of: 2 }], [{ type: 'text', text: 'Both.' }]])
  })

  test('may have been called by a name that no provider accepts', async () => {
    const edge = keptEdge({ script: [say('Yes.')] })
    await clientOf(edge).messages.create({
      ...hello,
      messages: [
        ...hello.messages,
        { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'files.read', input: {} }] },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'So?' },
            { type: 'tool_result', tool_use_id: 'a' },
          ],
        },
      ],
    })
    expect(edge.requests[0]?.messages.slice(1)).toMatchObject([
      { role: 'assistant', calls: [{ callId: 'a', tool: 'files_x2e_read', arguments: '{}' }] },
      { role: 'tool', callId: 'a', tool: 'files_x2e_read', ok: true },
      { role: 'user', content: [{ type: 'text', text: 'So?' }] },
    ])
  })
})

describe('thinking', () => {
  const block = { type: 'thinking', thinking: 'Hm.', signature: 'c2ln' }
  const ofAnthropic = { codec: 'anthropic', data: [block, 4, null] }
  const text: ModelEvent = { type: 'text', text: 'Two.' }
  const call: ModelEvent = { type: 'call', index: 0, tool: 'pick', arguments: '{}' }

  async function goBack(script: Script, stream: boolean) {
    const edge = keptEdge({ script: [script, say('Yes.')] })
    const { messages } = clientOf(edge)
    const request = { ...hello, tools: [pick] }
    const first = stream ? await messages.stream(request).finalMessage() : await messages.create(request)
    const [use] = first.content.filter((each) => each.type === 'tool_use')
    const result = { type: 'tool_result', tool_use_id: use?.id ?? '', content: 'left' } as const
    const next = use ? [result] : [{ type: 'text', text: 'Sure?' } as const]
    await messages.create({
      ...request,
      messages: [...hello.messages, { role: 'assistant', content: first.content }, { role: 'user', content: next }],
    })
    return { content: first.content, answer: edge.requests[1]?.messages[1] }
  }

  test('of Anthropic’s models is in a whole message as it came', async () => {
    const { content, answer } = await goBack(thought('Hm.', ofAnthropic, text, call), false)
    expect(content).toMatchObject([block, { type: 'text', text: 'Two.' }, { type: 'tool_use' }])
    expect(answer).toMatchObject({ content: 'Two.', reasoning: 'Hm.', opaque: ofAnthropic })
  })

  const ofOthers = { codec: 'openai-responses', data: [{ reasoning: { encrypted_content: 'x' } }] }
  const between = { codec: 'anthropic', data: [2, block, 2, null] }
  test.each([
    ['Anthropic’s models, streamed', { codec: 'anthropic', data: [block, 4] }, true],
    ['Anthropic’s models between texts', between, false],
    ['other models', ofOthers, false],
    ['other models, streamed', ofOthers, true],
  ])('of %s goes back with its data as the signature', async (_, opaque, stream) => {
    const { content, answer } = await goBack(thought('Hm.', opaque, text), stream)
    const signature = opaque.data[0] === block ? block.signature : expect.stringMatching(/^edgecall\./)
    expect(content).toMatchObject([
      { type: 'thinking', thinking: 'Hm.', signature },
      { type: 'text', text: 'Two.' },
    ])
    expect(answer).toMatchObject({ content: 'Two.', reasoning: 'Hm.', opaque })
  })

  test.each([true, false])('goes back with a call, and its data before that; streamed: %s', async (stream) => {
    for (const events of [[call], [text, call]]) {
      const { content, answer } = await goBack(thought('Hm.', ofOthers, ...events), stream)
      expect(content.at(-1)).toMatchObject({ type: 'tool_use' })
      expect(answer).toMatchObject({ reasoning: 'Hm.', opaque: ofOthers })
    }
  })

  test.each([true, false])('that the provider hides goes back, too; streamed: %s', async (stream) => {
    const { content, answer } = await goBack(thought('', ofOthers, text), stream)
    const type = stream ? 'thinking' : 'redacted_thinking'
    expect(content).toMatchObject([{ type }, { type: 'text', text: 'Two.' }])
    expect(answer).toMatchObject({ content: 'Two.', opaque: ofOthers })
  })

  test('that is first known after the text goes back, and the text is the last block that ends', async () => {
    const script: Script = [text, { type: 'finish', finish: 'stop', opaque: ofOthers }]
    const { content, answer } = await goBack(script, true)
    expect(content).toMatchObject([{ type: 'text', text: 'Two.' }, { type: 'redacted_thinking' }])
    expect(answer).toMatchObject({ content: 'Two.', opaque: ofOthers })
    const response = await keptEdge({ script: [script] }).post('/v1/messages', { ...hello, stream: true })
    const events = dataOf(await response.text()) as { type: string; index: number }[]
    expect(events.flatMap(({ type, index }) => (type === 'content_block_stop' ? index : []))).toEqual([1, 0])
  })

  test('that earlier versions of the edge put after the text is read', async () => {
    const edge = keptEdge({ script: [say('Yes.')] })
    const data = `edgecall.${btoa(JSON.stringify(ofOthers))}`
    const content: Anthropic.ContentBlockParam[] = [
      { type: 'thinking', thinking: 'Hm.', signature: '' },
      { type: 'text', text: 'Two.' },
      { type: 'redacted_thinking', data },
    ]
    const messages = [...hello.messages, { role: 'assistant' as const, content }, ...hello.messages]
    await clientOf(edge).messages.create({ ...hello, messages })
    expect(edge.requests[0]?.messages[1]).toMatchObject({ content: 'Two.', reasoning: 'Hm.', opaque: ofOthers })
  })
})

describe('the calls of the edge', () => {
  const headers = { 'anthropic-beta': 'mcp-client-2025-11-20' }

  test.each([false, true])('are shown to clients of MCP’s beta, and go back; streamed: %s', async (stream) => {
    const broken = tool('broken', () => ({ ok: false, error: { code: 'down', message: 'Down.' } }))
    const edge = keptEdge({
      script: [ask(['clock', { zone: 'CET' }], ['broken']), say('Noon.'), say('Yes.')],
      tools: [clock, broken],
    })
    const { messages } = clientOf(edge).beta
    const first = stream
      ? await messages.stream(hello, { headers }).finalMessage()
      : await messages.create(hello, { headers })
    const ids = first.content.flatMap((block) => (block.type === 'mcp_tool_use' ? block.id : []))
    const use = { type: 'mcp_tool_use', server_name: 'edgecall' }
    const resultOf = (id: string | undefined, is_error: boolean, text: string) => ({
      type: 'mcp_tool_result',
      tool_use_id: id,
      is_error,
      content: [{ type: 'text', text }],
    })
    expect(first.content.toSorted((a, b) => a.type.localeCompare(b.type))).toEqual([
      resultOf(ids[0], false, '12:00'),
      resultOf(ids[1], true, 'Down.'),
      { ...use, id: ids[0], name: 'clock', input: { zone: 'CET' } },
      { ...use, id: ids[1], name: 'broken', input: {} },
      { type: 'text', text: 'Noon.' },
    ])
    const content = first.content as Anthropic.Beta.BetaContentBlockParam[]
    const sure = { role: 'user', content: 'Sure?' } as const
    await messages.create(
      { ...hello, messages: [...hello.messages, { role: 'assistant', content }, sure] },
      { headers },
    )
    expect(edge.requests[2]?.messages).toMatchObject([
      { role: 'user', content: 'Hello' },
      { role: 'assistant', calls: [{ tool: 'clock', arguments: '{"zone":"CET"}' }, { tool: 'broken' }] },
      { role: 'tool', tool: 'clock', ok: true, content: [{ type: 'text', text: '12:00' }] },
      { role: 'tool', tool: 'broken', ok: false },
      { role: 'assistant', content: 'Noon.' },
      sure,
    ])
  })
})

describe('an error', () => {
  const vars = withKeys(apiKey('full'), apiKey('reader', { scopes: ['tools:read'] }))
  const failing = (code: string, status?: number): Script => [
    { type: 'error', error: { code, message: 'No.', retryable: false, ...(status && { status }) } },
  ]

  test('is of the class that the SDK has for its cause', async () => {
    const edge = keptEdge({ script: [failing('model_rate_limited', 429), failing('model_unavailable')], vars })
    const client = (key: string) => clientOf(edge, { apiKey: key }).messages
    expect(await errorOf(client('none').create(hello))).toMatchObject({
      name: 'AuthenticationError',
      status: 401,
      type: 'authentication_error',
      errorCode: 'unauthorized',
    })
    expect(await errorOf(client('reader').create(hello))).toMatchObject({
      name: 'PermissionDeniedError',
      type: 'permission_error',
      errorCode: 'missing_scope',
    })
    expect(await errorOf(client('full').create({ ...hello, model: 'no/such' }))).toMatchObject({
      name: 'NotFoundError',
      type: 'not_found_error',
      errorCode: 'unknown_model',
    })
    expect(await errorOf(client('full').create(hello))).toMatchObject({
      name: 'RateLimitError',
      type: 'rate_limit_error',
      errorCode: 'model_rate_limited',
    })
    expect(await errorOf(client('full').create({ ...hello, stream: true }))).toMatchObject({
      status: 502,
      type: 'api_error',
      errorCode: 'model_unavailable',
    })
    expect(await errorOf(clientOf(edge, { apiKey: 'full' }).post('/v1/messages/batches', { body: {} }))).toMatchObject({
      name: 'NotFoundError',
      errorCode: 'not_found',
    })
  })

  test('of an edge that is overloaded has the status 529', async () => {
    const overloaded = Object.assign(new Error('Too many requests.'), { overloaded: true })
    const setup = { conversations: { getByName: () => ({ settings: () => Promise.reject(overloaded) }) } as never }
    const edge = keptEdge({ script: [], setup })
    const request = clientOf(edge).messages.create(hello, { headers: { 'x-conversation-id': 'c' } })
    const failure: unknown = await request.catch((error: unknown) => error)
    expect(failure).toMatchObject({
      status: 529,
      type: 'overloaded_error',
      errorCode: 'conversation_overloaded',
      requestID: expect.stringMatching(/^req_/),
      error: { type: 'error', request_id: expect.stringMatching(/^req_/) },
    })
    expect(failure).toBeInstanceOf(InternalServerError)
  })

  test('in the middle of a stream is thrown by the SDK', async () => {
    const cut: Script = [
      { type: 'text', text: 'One ' },
      { type: 'error', error: { code: 'model_stream_cut', message: 'Cut.', retryable: false } },
    ]
    const edge = keptEdge({ script: [cut] })
    const stream = clientOf(edge).messages.stream(hello)
    const texts: string[] = []
    stream.on('text', (text) => texts.push(text))
    expect(await errorOf(stream.finalMessage())).toMatchObject({
      status: undefined,
      type: 'api_error',
      errorCode: 'model_stream_cut',
    })
    expect(texts).toEqual(['One '])
  })
})

describe('a key', () => {
  const vars = withKeys(apiKey('full'))

  test('is accepted in `x-api-key` and as a bearer, on the routes of this API alone', async () => {
    const edge = keptEdge({ script: [say('One.'), say('Two.'), say('Three.')], vars })
    await clientOf(edge, { apiKey: 'full' }).messages.create(hello)
    await clientOf(edge, { authToken: 'full' }).messages.create(hello)
    const json = { 'content-type': 'application/json' }
    const post = (path: string, headers: object) =>
      edge.fetch(path, { method: 'POST', body: JSON.stringify(hello), headers: { ...json, ...headers } })
    const statuses = [
      await post('/v1/messages', { 'x-api-key': 'wrong', ...bearer('full') }),
      await post('/v1/messages', { 'x-api-key': 'full', ...bearer('wrong') }),
      await post('/v1/chat/completions', { 'x-api-key': 'full' }),
      await post('/runs', { 'x-api-key': 'full' }),
      await edge.fetch('/v1/models', { headers: { 'x-api-key': 'full', 'anthropic-version': '2023-06-01' } }),
      await edge.fetch('/v1/models', { headers: { 'x-api-key': 'full' } }),
      await edge.fetch('/tools', { headers: { 'x-api-key': 'full' } }),
    ].map(({ status }) => status)
    expect(statuses).toEqual([200, 401, 401, 401, 200, 401, 401])
  })
})

describe('beside messages', () => {
  test('tokens are counted with the tools and instructions of the edge, and no model is asked', async () => {
    const edge = keptEdge({ script: [], tools: [clock], vars: { SYSTEM_PROMPT: 'Be brief.' } })
    const { messages } = clientOf(edge)
    const count = async (members: object = {}) => {
      const { input_tokens } = await messages.countTokens({ model, messages: [...hello.messages], ...members })
      return input_tokens
    }
    const [plain, longer, withTool] = [
      await count(),
      await count({ system: 'word '.repeat(100) }),
      await count({ tools: [pick] }),
    ]
    expect(plain).toBeGreaterThan(5)
    expect(longer).toBeGreaterThan(plain + 50)
    expect(withTool).toBeGreaterThan(plain)
    expect(await errorOf(messages.countTokens({ model: 'no/such', messages: [...hello.messages] }))).toMatchObject({
      status: 404,
      errorCode: 'unknown_model',
    })
  })

  test('models are infos as the SDK knows them, and to others as OpenAI’s', async () => {
    const edge = keptEdge({ script: [] })
    const { models } = clientOf(edge)
    const info = {
      type: 'model',
      id: model,
      display_name: model,
      created_at: '2026-01-01T00:00:00Z',
      max_input_tokens: 128_000,
      max_tokens: null,
    }
    const infos: unknown[] = []
    for await (const each of models.list()) infos.push(each)
    expect(infos).toEqual([info])
    expect(await models.retrieve(model)).toEqual(info)
    expect(await errorOf(models.retrieve('no/such'))).toMatchObject({
      type: 'not_found_error',
      errorCode: 'unknown_model',
    })
    expect(await (await edge.fetch('/v1/models')).json()).toMatchObject({ object: 'list', data: [{ object: 'model' }] })
    expect(await (await edge.fetch('/v1/models/no/such')).json()).toMatchObject({ error: { code: 'model_not_found' } })
  })
})

test('a picture in the result of a call of the client reaches the model as a picture', async () => {
  const edge = keptEdge({ script: [ask(['clock'], ['pick']), say('A cat.')], tools: [clock] })
  const { messages } = clientOf(edge)
  const request = { ...hello, tools: [pick] }
  const first = await messages.create(request)
  const use = first.content.find((each) => each.type === 'tool_use')
  const source = { type: 'base64', media_type: 'image/png', data: 'AAAA' } as const
  const result: Anthropic.ToolResultBlockParam = {
    type: 'tool_result',
    tool_use_id: use?.id ?? '',
    content: [{ type: 'image', source }],
  }
  const answer = await messages.create({
    ...request,
    messages: [...hello.messages, { role: 'assistant', content: first.content }, { role: 'user', content: [result] }],
  })
  expect(answer.content).toMatchObject([{ type: 'text', text: 'A cat.' }])
  expect(edge.requests.at(-1)?.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: [{ type: 'image', mediaType: 'image/png', data: 'AAAA' }],
  })
})

test.each([true, false])(
  'a model that stopped at a sequence of the request says so; streamed: %s',
  async (isStreamed) => {
    const script: Script[] = [
      [
        { type: 'text', text: 'One' },
        { type: 'finish', finish: 'stop', stopSequence: '###' },
      ],
      say('Two.'),
    ]
    const { messages } = clientOf(keptEdge({ script }))
    const request = { ...hello, stop_sequences: ['###'] }
    const ends = []
    for (const _ of script) {
      const message = isStreamed ? await messages.stream(request).finalMessage() : await messages.create(request)
      ends.push([message.stop_reason, message.stop_sequence])
    }
    expect(ends).toEqual([
      ['stop_sequence', '###'],
      ['end_turn', null],
    ])
  },
)

test('an effort without thinking has a model of Anthropic’s not think, as its API says, and is an effort for others', async () => {
  const bodies: unknown[][] = []
  for (const { provider, done } of Object.values(UPSTREAMS)) {
    const edge = await upstreamEdge(() => done, provider)
    await edge.post('/v1/messages', { ...hello, output_config: { effort: 'low' } })
    const [{ body } = { body: undefined }] = edge.calls
    bodies.push([body?.['thinking'], body?.['output_config'], body?.['reasoning'], body?.['reasoning_effort']])
  }
  expect(bodies).toEqual([
    [undefined, { effort: 'low' }, undefined, undefined],
    [undefined, undefined, { effort: 'low' }, undefined],
    [undefined, undefined, undefined, 'low'],
  ])
})
