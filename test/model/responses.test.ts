import { afterEach, describe, expect, test } from 'vitest'
import type { ChatModel, ModelEvent, ModelRequest } from '../../src/contract/model.ts'
import { responses, type ResponsesOptions } from '../../src/model/openai.ts'
import { type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { responsesEvents, responsesReply } from '../fixtures/responses-events.ts'
import { modelSuite, type Scene } from '../suites/model.ts'
import { namelessCallSuite } from '../suites/nameless-call.ts'

const NEVER = new AbortController().signal
const KEY = 'sk-secret-1234567890'
const REQUEST: ModelRequest = { messages: [{ role: 'user', content: 'Hi' }], tools: [] }

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

async function serve(...replies: readonly ModelReply[]): Promise<ModelServer> {
  const server = await startModelServer((_, index) => replies[Math.min(index, replies.length - 1)]!)
  servers.push(server)
  return server
}

async function gather(model: ChatModel, request = REQUEST): Promise<ModelEvent[]> {
  const events: ModelEvent[] = []
  for await (const event of model.stream(request, NEVER)) events.push(event)
  return events
}

function replyTo(scene: Scene): ModelReply {
  const firstEvents = responsesEvents({ text: 'It is noon.' }).slice(0, 3)
  if (scene === 'cut') return { chunks: firstEvents, end: 'cut' }
  if (scene === 'endless') return { chunks: firstEvents, end: 'hang' }
  if (scene === 'refused') return { status: 400, body: { error: { message: 'No.', type: 'invalid_request_error' } } }
  return responsesReply(scene)
}

modelSuite('the Responses format', async (scene) => {
  const server = await startModelServer(() => replyTo(scene))
  return {
    model: responses({ baseUrl: server.baseUrl })('probe'),
    lastRequest: () => server.calls.at(-1)?.body,
    close: () => server.close(),
  }
})

test('a request goes to /responses with the key', async () => {
  const server = await serve(responsesReply({ text: 'Hello.' }))
  const model = responses({ baseUrl: `${server.baseUrl}/`, apiKey: KEY })('probe')
  expect(await gather(model)).toEqual([
    { type: 'text', text: 'Hello.' },
    { type: 'finish', finish: 'stop' },
  ])
  expect(model.name).toBe('responses/probe')
  expect(server.calls).toEqual([
    {
      path: '/v1/responses',
      headers: expect.objectContaining({ authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }),
      body: {
        model: 'probe',
        stream: true,
        store: false,
        include: ['reasoning.encrypted_content'],
        input: [{ role: 'user', content: 'Hi' }],
      },
    },
  ])
})

test('an answer may be complete, from a server that does not stream', async () => {
  const message = { type: 'message', content: [{ type: 'output_text', text: 'Hello.' }] }
  const body = {
    object: 'response',
    status: 'completed',
    output: [message],
    usage: { input_tokens: 1, output_tokens: 2 },
  }
  const server = await serve({ body })
  expect(await gather(responses({ baseUrl: server.baseUrl })('probe'))).toEqual([
    { type: 'text', text: 'Hello.' },
    { type: 'finish', finish: 'stop', usage: { inputTokens: 1, outputTokens: 2 } },
  ])
})

test('the opaque parts of an answer are in the next request', async () => {
  const reasoning = { id: 'rs_1', type: 'reasoning', summary: [], encrypted_content: 'gAAA' }
  const call = { id: 'fc_1', type: 'function_call', call_id: 'call_x', name: 'clock', arguments: '{}' }
  const server = await serve({ body: { object: 'response', status: 'completed', output: [reasoning, call] } })
  const model = responses({ baseUrl: server.baseUrl })('probe')
  const end = (await gather(model)).at(-1)
  const opaque = end?.type === 'finish' ? end.opaque : undefined
  const callId = 'call_own_1_0'
  await gather(model, {
    messages: [
      ...REQUEST.messages,
      {
        role: 'assistant',
        content: '',
        calls: [{ callId, tool: 'clock', arguments: '{}' }],
        ...(opaque && { opaque }),
      },
      { role: 'tool', callId, tool: 'clock', ok: true, content: [{ type: 'text', text: 'noon' }] },
    ],
    tools: [],
  })
  expect(server.calls[1]?.body.input).toEqual([
    { role: 'user', content: 'Hi' },
    reasoning,
    { type: 'function_call', call_id: callId, name: 'clock', arguments: '{}' },
    { type: 'function_call_output', call_id: callId, output: 'noon' },
  ])
})

describe('a refusal of encrypted reasoning', () => {
  const hello = responsesReply({ text: 'Hello.' })
  const refusal = (message: string) => ({ status: 400, body: { error: { message, type: 'invalid_request_error' } } })
  const included = (server: ModelServer) => server.calls.map(({ body }) => 'include' in body)

  test('by a model that does not reason is remembered', async () => {
    const server = await serve(refusal('Encrypted content is not supported with this model.'), hello)
    const provider = responses({ baseUrl: server.baseUrl })
    expect((await gather(provider('probe'))).at(-1)).toEqual({ type: 'finish', finish: 'stop' })
    await gather(provider('probe'))
    await gather(provider('other'))
    expect(included(server)).toEqual([true, false, false, true])
  })

  test('because it cannot be decrypted applies to that request only', async () => {
    const server = await serve(refusal('The encrypted content gAAA... could not be verified.'), hello)
    const provider = responses({ baseUrl: server.baseUrl })
    expect((await gather(provider('probe'))).at(-1)).toEqual({ type: 'finish', finish: 'stop' })
    await gather(provider('probe'))
    expect(included(server)).toEqual([true, false, true])
  })

  test('is not confused with another refusal', async () => {
    const server = await serve(refusal('Too long.'))
    const [event] = await gather(responses({ baseUrl: server.baseUrl })('probe'))
    expect([server.calls.length, event]).toEqual([
      1,
      {
        type: 'error',
        error: { code: 'model_refused_request', message: 'Too long.', status: 400, retryable: false },
      },
    ])
  })
})

describe('tool search', () => {
  const definition = { inputSchema: { type: 'object' }, version: '1', hash: 'h', annotations: {} }
  const tools = ['tool_search', 'clock'].map((name) => ({ ...definition, name, description: `Tool ${name}` }))
  const searched: ModelRequest = {
    messages: [
      ...REQUEST.messages,
      { role: 'assistant', content: '', calls: [{ callId: 's', tool: 'tool_search', arguments: '{}' }] },
      { role: 'tool', callId: 's', tool: 'tool_search', ok: true, content: [], found: ['clock'] },
    ],
    tools,
  }

  /** What kinds of tools each model is told of, by a server of that address. */
  async function kinds(names: readonly string[], options: ResponsesOptions): Promise<string[]> {
    const bodies: string[] = []
    const send: typeof fetch = async (_, init) => {
      if (typeof init?.body === 'string') bodies.push(init.body)
      return Response.json({ object: 'response', status: 'completed', output: [] })
    }
    const provider = responses({ ...options, fetch: send })
    for (const name of names) await gather(provider(name), { ...REQUEST, tools })
    return names.filter((_, index) => bodies[index]?.includes('"type":"tool_search"'))
  }

  const CAN = ['gpt-5.4', 'gpt-5.4-mini-2026-03-17', 'gpt-5.5-pro', 'gpt-5.6-luna', 'gpt-6-astra']
  const CANNOT = [
    'gpt-5',
    'gpt-5.1-codex',
    'gpt-5.3',
    'gpt-5.4-nano',
    'gpt-5.4-nano-2026-03-17',
    'gpt-4.1',
    'gpt-4o',
    'o3',
  ]
  const ALL = [...CAN, ...CANNOT, 'probe']

  test.each([undefined, 'https://api.openai.com/v1', 'https://eu.api.openai.com/v1/'])(
    'uses OpenAI’s own format for the models that support it, at %s',
    async (baseUrl) => expect(await kinds(ALL, { baseUrl })).toEqual(CAN),
  )

  test('is a function for other models unless set otherwise', async () => {
    expect(await kinds(ALL, { baseUrl: 'https://api.openai.com.example/v1' })).toEqual([])
    expect(await kinds(ALL, { baseUrl: 'https://models.example/v1', deferLoading: true })).toEqual(ALL)
    expect(await kinds(ALL, { deferLoading: false })).toEqual([])
  })

  const refusal = (message: string) => ({ status: 400, body: { error: { message, type: 'invalid_request_error' } } })
  const hello = responsesReply({ text: 'Hello.' })
  const native = (server: ModelServer) =>
    server.calls.map(({ body }) => /tool_search_output|"type":"tool_search"|namespace/.test(JSON.stringify(body)))

  test('becomes a function for a model that refuses it', async () => {
    const server = await serve(refusal("Tool 'tool_search' is not supported with gpt-5.4-nano."), hello)
    const provider = responses({ baseUrl: server.baseUrl, deferLoading: true })
    expect((await gather(provider('probe'), searched)).at(-1)).toEqual({ type: 'finish', finish: 'stop' })
    await gather(provider('probe'), searched)
    await gather(provider('other'), searched)
    expect(native(server)).toEqual([true, false, false, true])
    expect(server.calls[1]?.body.tools).toHaveLength(2)
  })

  test('becomes a function in a request that is refused for its namespaces', async () => {
    const server = await serve(refusal("Missing namespace for function_call 'clock'."), hello)
    const provider = responses({ baseUrl: server.baseUrl, deferLoading: true })
    await gather(provider('probe'), searched)
    await gather(provider('probe'), searched)
    expect(native(server)).toEqual([true, false, true])
  })

  test('stays as configured', async () => {
    const server = await serve(refusal('The function name tool_search is reserved for the tool_search tool.'))
    const [event] = await gather(responses({ baseUrl: server.baseUrl })('probe'), searched)
    expect([server.calls.length, event?.type]).toEqual([1, 'error'])
  })
})

namelessCallSuite('the Responses API', (baseUrl) => responses({ baseUrl })('probe'), {
  call: {
    object: 'response',
    status: 'completed',
    output: [{ type: 'function_call', call_id: 'a', arguments: '{"zone":"UTC"}', status: 'completed' }],
  },
  text: {
    object: 'response',
    status: 'completed',
    output: [{ type: 'message', content: [{ type: 'output_text', text: 'Sorry.' }] }],
  },
})
