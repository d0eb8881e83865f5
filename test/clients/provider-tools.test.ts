import { createOpenAI } from '@ai-sdk/openai'
import Anthropic from '@anthropic-ai/sdk'
import { DefaultChatTransport, streamText } from 'ai'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { say } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { Chat } from './chat.ts'
import { type ServedEdge, servedEdge } from './served-edge.ts'

const model = 'test/scripted'
const PAGE = { url: 'https://yr.example/oslo', title: 'Oslo weather' }
const OPAQUE = { codec: 'anthropic', data: [{ type: 'server_tool_use', id: 'srvtoolu_1' }] }
const SEARCH: ModelEvent = {
  type: 'provider.call',
  tool: 'news',
  kind: 'web_search',
  id: 'srvtoolu_1',
  input: { query: 'weather in Oslo' },
  ok: true,
  sources: [PAGE],
}

/** An answer that searches the web after its first words, and names the source of others. */
const SEARCHED: Script = [
  { type: 'text', text: 'Let me look. ' },
  SEARCH,
  { type: 'text', text: 'In Oslo it rains.' },
  {
    type: 'finish',
    finish: 'stop',
    usage: { inputTokens: 10, outputTokens: 5, webSearches: 1 },
    citations: [{ ...PAGE, start: 21, end: 29, quote: 'Rain all day.' }],
    opaque: OPAQUE,
  },
]
const TEXT = 'Let me look. In Oslo it rains.'
const [START, END] = [TEXT.indexOf('it rains'), TEXT.indexOf('.', 20)]

const openAiOf = ({ url }: ServedEdge) => new OpenAI({ apiKey: 'none', maxRetries: 0, baseURL: `${url}/v1` })
const anthropicOf = ({ url }: ServedEdge) => new Anthropic({ apiKey: 'none', maxRetries: 0, baseURL: url })

/** What the model was sent last, without system prompts. */
function lastHistory({ requests }: ServedEdge) {
  return requests.at(-1)?.messages.filter(({ role }) => role !== 'system')
}

test('Chat Completions names the sources of its text, whole and streamed', async () => {
  const edge = await servedEdge({ script: [SEARCHED, SEARCHED, say('Bye.')] })
  const client = openAiOf(edge)
  const messages = [{ role: 'user', content: 'Does it rain?' } as const]
  const annotations = [{ type: 'url_citation', url_citation: { start_index: START, end_index: END, ...PAGE } }]
  const { choices } = await client.chat.completions.create({ model, messages })
  expect(choices[0]?.message).toEqual({ role: 'assistant', content: TEXT, refusal: null, annotations })

  const deltas: unknown[] = []
  for await (const chunk of await client.chat.completions.create({ model, messages, stream: true })) {
    deltas.push(chunk.choices[0]?.delta)
  }
  expect(deltas).toEqual([
    { role: 'assistant', content: '' },
    { content: 'Let me look. ' },
    { content: 'In Oslo it rains.' },
    { annotations },
    {},
  ])

  const answer = choices[0]?.message ?? { role: 'assistant', content: '' }
  await client.chat.completions.create({ model, messages: [...messages, answer, { role: 'user', content: 'Bye' }] })
  expect(lastHistory(edge)).toEqual([
    { role: 'user', content: 'Does it rain?' },
    { role: 'assistant', content: TEXT },
    { role: 'user', content: 'Bye' },
  ])
})

test('sources stay at their text, if text of other steps was shown before it', async () => {
  const call: ModelEvent = { type: 'call', index: 0, tool: 'missing', arguments: '{}' }
  const first: Script = [{ type: 'text', text: 'One moment.' }, call, { type: 'finish', finish: 'tool_calls' }]
  const edge = await servedEdge({ script: [first, SEARCHED, first, SEARCHED] })
  const messages = [{ role: 'user', content: 'Does it rain?' } as const]
  for (const rounds of ['all', 'final']) {
    const body = { model, messages, edgecall: { rounds } }
    const { choices } = await openAiOf(edge).chat.completions.create(body)
    const { content = '', annotations = [] } = choices[0]?.message ?? {}
    const { start_index, end_index } = annotations[0]?.url_citation ?? {}
    expect([rounds, content?.slice(start_index, end_index)]).toEqual([rounds, 'it rains'])
  }
})

test('Responses shows a search as an item, and the sources as annotations', async () => {
  const edge = await servedEdge({ script: [SEARCHED, say('Bye.')] })
  const client = openAiOf(edge)
  const stream = client.responses.stream({ model, input: 'Does it rain?' })
  const types: string[] = []
  const added: unknown[] = []
  stream.on('event', (event) => {
    types.push(event.type)
    if (event.type === 'response.output_text.annotation.added') added.push(event)
  })
  const response = await stream.finalResponse()
  const annotation = { type: 'url_citation', ...PAGE, start_index: START, end_index: END }
  const suffix = expect.stringMatching(/^ws_[A-Za-z0-9]{22}_\d+_/)
  expect(response.output).toMatchObject([
    { type: 'message', status: 'completed', content: [{ type: 'output_text', text: TEXT, annotations: [annotation] }] },
    {
      id: suffix,
      type: 'web_search_call',
      status: 'completed',
      action: {
        type: 'search',
        query: 'weather in Oslo',
        queries: ['weather in Oslo'],
        sources: [{ type: 'url', url: PAGE.url }],
      },
    },
  ])
  expect(types.slice(2)).toEqual([
    'response.output_item.added',
    'response.content_part.added',
    'response.output_text.delta',
    'response.output_item.added',
    'response.web_search_call.in_progress',
    'response.web_search_call.searching',
    'response.web_search_call.completed',
    'response.output_item.done',
    'response.output_text.delta',
    'response.output_text.annotation.added',
    'response.output_text.done',
    'response.content_part.done',
    'response.output_item.done',
    'response.completed',
  ])
  expect(added).toMatchObject([{ output_index: 0, content_index: 0, annotation_index: 0, annotation }])

  // Read later, a message has all its text at once, after the search.
  const stored = await client.responses.retrieve(response.id)
  expect(stored.output).toMatchObject([
    { type: 'web_search_call', status: 'completed' },
    { type: 'message', content: [{ text: TEXT, annotations: [annotation] }] },
  ])
  const history = [{ role: 'user', content: 'Does it rain?' } as const, ...response.output]
  const input = [...history, { role: 'user', content: 'Bye' }] as OpenAI.Responses.ResponseInput
  await client.responses.create({ model, input, store: false })
  expect(lastHistory(edge)).toEqual([
    { role: 'user', content: 'Does it rain?' },
    { role: 'assistant', content: TEXT },
    { role: 'user', content: 'Bye' },
  ])
})

test('Responses shows programs, searches of files, calls of servers and failures as items of their kinds', async () => {
  const calls: readonly ModelEvent[] = [
    { type: 'provider.call', tool: 'run_python', kind: 'code', input: { code: '1+1' }, ok: true, output: '2' },
    { type: 'provider.call', tool: 'docs', kind: 'file_search', input: { queries: ['leave'] }, ok: true },
    {
      type: 'provider.call',
      tool: 'tickets',
      kind: 'mcp',
      input: { server: 'tickets', name: 'find_ticket', arguments: { id: 7 } },
      ok: false,
      output: 'No such ticket.',
    },
    { type: 'provider.call', tool: 'page', kind: 'web_fetch', input: { url: PAGE.url }, ok: true, sources: [PAGE] },
    { type: 'provider.call', tool: 'web', kind: 'web_search', input: { queries: ['a', 'b'] }, ok: false },
    { type: 'provider.call', tool: 'draw', input: { prompt: 'a cat' }, ok: true, output: 'done' },
  ]
  const edge = await servedEdge({ script: [[...calls, ...say('Two.')], say('Bye.')] })
  const client = openAiOf(edge)
  const stream = client.responses.stream({ model, input: 'Hi', store: false })
  const states: string[] = []
  stream.on('event', ({ type }) => {
    if (/_call(_|\.)/.test(type)) states.push(type.replace('response.', ''))
  })
  const { output } = await stream.finalResponse()
  const items = output.map((item) => Object.fromEntries(Object.entries(item).filter(([name]) => name !== 'id')))
  expect(items.slice(0, 6)).toEqual([
    {
      type: 'code_interpreter_call',
      status: 'completed',
      container_id: '',
      code: '1+1',
      outputs: [{ type: 'logs', logs: '2' }],
    },
    { type: 'file_search_call', status: 'completed', queries: ['leave'], results: null },
    {
      type: 'mcp_call',
      server_label: 'tickets',
      name: 'find_ticket',
      arguments: '{"id":7}',
      status: 'failed',
      output: null,
      error: { type: 'mcp_tool_execution_error', content: [{ type: 'text', text: 'No such ticket.' }] },
      approval_request_id: null,
    },
    { type: 'web_search_call', status: 'completed', action: { type: 'open_page', url: PAGE.url } },
    {
      type: 'web_search_call',
      status: 'failed',
      action: { type: 'search', query: 'a', queries: ['a', 'b'], sources: [] },
    },
    {
      type: 'mcp_call',
      server_label: 'provider',
      name: 'draw',
      arguments: '{"prompt":"a cat"}',
      status: 'completed',
      output: 'done',
      error: null,
      approval_request_id: null,
    },
  ])
  expect(states).toEqual([
    'code_interpreter_call.in_progress',
    'code_interpreter_call_code.delta',
    'code_interpreter_call_code.done',
    'code_interpreter_call.interpreting',
    'code_interpreter_call.completed',
    'file_search_call.in_progress',
    'file_search_call.searching',
    'file_search_call.completed',
    'mcp_call.in_progress',
    'mcp_call_arguments.delta',
    'mcp_call_arguments.done',
    'mcp_call.failed',
    'web_search_call.in_progress',
    'web_search_call.searching',
    'web_search_call.completed',
    'web_search_call.in_progress',
    'web_search_call.searching',
    'mcp_call.in_progress',
    'mcp_call_arguments.delta',
    'mcp_call_arguments.done',
    'mcp_call.completed',
  ])
  const input = [...output, { role: 'user', content: 'Bye' }] as OpenAI.Responses.ResponseInput
  await client.responses.create({ model, input, store: false })
  expect(lastHistory(edge)).toEqual([
    { role: 'assistant', content: 'Two.' },
    { role: 'user', content: 'Bye' },
  ])
})

test('the AI SDK reads a search and its sources from Responses', async () => {
  const edge = await servedEdge({ script: [SEARCHED] })
  const provider = createOpenAI({ baseURL: `${edge.url}/v1`, apiKey: 'none' })
  const stream = streamText({
    model: provider.responses(model),
    prompt: 'Does it rain?',
    maxRetries: 0,
  })
  expect(await stream.text).toBe(TEXT)
  expect(await stream.sources).toMatchObject([{ sourceType: 'url', url: PAGE.url }])
  const results = (await stream.content).filter((part) => part.type === 'tool-result')
  expect(results).toMatchObject([
    {
      toolName: 'web_search',
      providerExecuted: true,
      output: { action: { type: 'search', query: 'weather in Oslo' }, sources: [{ type: 'url', url: PAGE.url }] },
    },
  ])
})

test('Messages shows a search as Anthropic does, with the sources of the text, and takes it back', async () => {
  const edge = await servedEdge({ script: [SEARCHED, SEARCHED, say('Bye.')] })
  const client = anthropicOf(edge)
  const body: Anthropic.MessageCreateParamsNonStreaming = {
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Does it rain?' }],
  }
  const caller = { type: 'direct' }
  const blocks = [
    { type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'weather in Oslo' }, caller },
    {
      type: 'web_search_tool_result',
      tool_use_id: 'srvtoolu_1',
      content: [{ type: 'web_search_result', ...PAGE, encrypted_content: '', page_age: null }],
      caller,
    },
  ]
  const location = {
    type: 'web_search_result_location',
    ...PAGE,
    cited_text: 'Rain all day.',
    encrypted_index: '',
  }
  const data = { type: 'redacted_thinking', data: expect.any(String) }
  const message = await client.messages.create(body)
  expect(message.content).toEqual([...blocks, data, { type: 'text', text: TEXT, citations: [location] }])
  expect(message.usage.server_tool_use).toEqual({ web_search_requests: 1, web_fetch_requests: 0 })
  const streamed = await client.messages.stream(body).finalMessage()
  expect(streamed.content).toEqual([
    { type: 'text', text: 'Let me look. ' },
    ...blocks,
    { type: 'text', text: 'In Oslo it rains.', citations: [location] },
    data,
  ])
  await client.messages.create({
    ...body,
    messages: [...body.messages, { role: 'assistant', content: streamed.content }, { role: 'user', content: 'Bye' }],
  })
  expect(lastHistory(edge)).toEqual([
    { role: 'user', content: 'Does it rain?' },
    { role: 'assistant', content: TEXT, opaque: OPAQUE },
    { role: 'user', content: 'Bye' },
  ])
})

test('Messages shows pages, programs and failures in the blocks that Anthropic has for them', async () => {
  const calls: readonly ModelEvent[] = [
    { type: 'provider.call', tool: 'a', kind: 'web_fetch', input: { url: PAGE.url }, ok: true, sources: [PAGE] },
    { type: 'provider.call', tool: 'b', kind: 'code', input: { code: '1/0' }, ok: false, output: 'ZeroDivisionError' },
    { type: 'provider.call', tool: 'c', kind: 'web_search', input: {}, ok: false, output: 'max_uses_exceeded' },
    { type: 'provider.call', tool: 'd', kind: 'file_search', input: { queries: [] }, ok: true },
  ]
  const edge = await servedEdge({ script: [[...calls, ...say('Done.')]] })
  const message = await anthropicOf(edge).messages.create({
    model,
    max_tokens: 100,
    messages: [{ role: 'user', content: 'Hi' }],
  })
  const contents = message.content.map((block) => ('content' in block ? block.content : block.type))
  expect(contents).toEqual([
    'server_tool_use',
    {
      type: 'web_fetch_result',
      url: PAGE.url,
      retrieved_at: expect.stringMatching(/^\d{4}-.*Z$/),
      content: {
        type: 'document',
        title: PAGE.title,
        source: { type: 'text', media_type: 'text/plain', data: '' },
      },
    },
    'server_tool_use',
    { type: 'code_execution_result', stdout: '', stderr: 'ZeroDivisionError', return_code: 1, content: [] },
    'server_tool_use',
    { type: 'web_search_tool_result_error', error_code: 'max_uses_exceeded' },
    'text',
  ])
})

test('useChat shows a search as a call that was run, and its pages as sources, each once', async () => {
  const twice: Script = [
    SEARCH,
    ...say('It rains.').slice(0, 1),
    { type: 'finish', finish: 'stop', citations: [PAGE, { ...PAGE, start: 0, end: 2 }] },
  ]
  const edge = await servedEdge({ script: [twice, say('Bye.')] })
  const chat: Chat = new Chat({ id: 'chat-1', transport: new DefaultChatTransport({ api: `${edge.url}/chat` }) })
  await chat.sendMessage({ text: 'Does it rain?' })
  expect(chat.lastMessage?.parts).toMatchObject([
    { type: 'step-start' },
    {
      type: 'tool-news',
      toolCallId: 'srvtoolu_1',
      state: 'output-available',
      input: { query: 'weather in Oslo' },
      output: { sources: [PAGE] },
      providerExecuted: true,
    },
    { type: 'text', text: 'It rains.' },
    { type: 'source-url', ...PAGE },
  ])
  await chat.sendMessage({ text: 'Bye' })
  expect([chat.error, lastHistory(edge)?.length]).toEqual([undefined, 3])
})
