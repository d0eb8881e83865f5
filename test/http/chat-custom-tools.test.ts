import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { keptEdge } from './kept-edge.ts'

const model = 'test/scripted'
const question = { role: 'user', content: 'What is 1 + 1?' } as const
const sum: OpenAI.ChatCompletionTool = { type: 'custom', custom: { name: 'sum', description: 'Adds.' } }
const look: OpenAI.ChatCompletionTool = { type: 'function', function: { name: 'look', parameters: { type: 'object' } } }
const sql = (syntax: 'lark' | 'regex'): OpenAI.ChatCompletionTool => {
  const grammar = { syntax, definition: 'start: "SELECT 1"' }
  return { type: 'custom', custom: { name: 'sql', format: { type: 'grammar', grammar } } }
}

function open(...script: readonly Script[]) {
  const edge = keptEdge({ script, tools: [tool('clock')] })
  return {
    edge,
    client: new OpenAI({ baseURL: 'http://127.0.0.1:8787/v1', apiKey: 'key', maxRetries: 0, fetch: edge.fetch }),
  }
}

test('a model is told of a custom tool as a function with one text', async () => {
  const { edge, client } = open(say('Two.'))
  const text: OpenAI.ChatCompletionTool = { type: 'custom', custom: { name: 'note', format: { type: 'text' } } }
  await client.chat.completions.create({ model, messages: [question], tools: [sum, sql('lark'), text, look] })
  const schema = (input: object) => ({ type: 'object', properties: { input }, required: ['input'] })
  const description = 'A text of this grammar (lark):\nstart: "SELECT 1"'
  expect(edge.requests[0]?.tools.map(({ name, description, inputSchema }) => [name, description, inputSchema])).toEqual(
    [
      ['clock', 'Test tool clock', { type: 'object' }],
      ['sum', 'Adds.', schema({ type: 'string' })],
      ['sql', '', schema({ type: 'string', description })],
      ['note', '', schema({ type: 'string' })],
      ['look', '', { type: 'object', properties: {} }],
    ],
  )
})

test('its call comes back as one of a custom tool, and its result continues the run', async () => {
  const { edge, client } = open(ask(['sum', { input: '1 + 1' }], ['look', { at: 'it' }]), say('Two.'))
  const tools = [sum, look]
  const { choices } = await client.chat.completions.create({ model, messages: [question], tools })
  const message = choices[0]?.message
  const [first, second] = message?.tool_calls ?? []
  expect([choices[0]?.finish_reason, message?.tool_calls]).toEqual([
    'tool_calls',
    [
      { id: first?.id, type: 'custom', custom: { name: 'sum', input: '1 + 1' } },
      { id: second?.id, type: 'function', function: { name: 'look', arguments: '{"at":"it"}' } },
    ],
  ])
  if (!message || !first || !second) throw new Error('there are no calls')
  const results = [first, second].map(({ id }) => ({ role: 'tool', tool_call_id: id, content: '2' }) as const)
  const messages = [question, message, ...results]
  const last = await client.chat.completions.create({ model, messages, tools })
  expect(last.choices[0]?.message.content).toBe('Two.')
  expect(edge.requests[1]?.messages.slice(1)).toMatchObject([
    { role: 'assistant', calls: [{ tool: 'sum', arguments: '{"input":"1 + 1"}' }, { tool: 'look' }] },
    { role: 'tool', tool: 'sum', callId: first.id, ok: true },
    { role: 'tool', tool: 'look', callId: second.id, ok: true },
  ])
})

test('its call is streamed in one piece', async () => {
  const { client } = open(ask(['sql', { input: 'SELECT 1' }]))
  const stream = client.chat.completions.stream({ model, messages: [question], tools: [sql('regex')] })
  const deltas: unknown[] = []
  for await (const { choices } of stream) deltas.push(...(choices[0]?.delta.tool_calls ?? []))
  const call = { id: expect.any(String), type: 'custom', custom: { name: 'sql', input: 'SELECT 1' } }
  expect(deltas).toEqual([{ index: 0, ...call }])
  expect((await stream.finalMessage()).tool_calls).toMatchObject([call])
})

test('a history that another server has begun may have its calls', async () => {
  const { edge, client } = open(say('Two.'))
  const call = { id: 'call_1', type: 'custom', custom: { name: 'sum', input: '1 + "1"' } } as const
  const messages: OpenAI.ChatCompletionMessageParam[] = [
    question,
    { role: 'assistant', tool_calls: [call] },
    { role: 'tool', tool_call_id: 'call_1', content: '2' },
  ]
  const { response } = await client.chat.completions.create({ model, messages, tools: [sum] }).withResponse()
  expect(response.headers.get('edgecall-ignored')).toBeNull()
  expect(edge.requests[0]?.messages).toMatchObject([
    question,
    { role: 'assistant', calls: [{ callId: 'call_1', tool: 'sum', arguments: '{"input":"1 + \\"1\\""}' }] },
    { role: 'tool', callId: 'call_1', tool: 'sum', content: [{ type: 'text', text: '2' }] },
  ])
})

test('a tool choice may name it, alone or among those that are allowed', async () => {
  const { edge, client } = open(say('Two.'), say('Two.'))
  const request = { model, messages: [question], tools: [sum, look] }
  const choice = { type: 'custom', custom: { name: 'sum' } } as const
  await client.chat.completions.create({ ...request, tool_choice: choice })
  const allowed_tools = {
    mode: 'required',
    tools: [choice, { type: 'function', function: { name: 'clock' } }],
  } as const
  const tool_choice = { type: 'allowed_tools', allowed_tools: { ...allowed_tools, tools: [...allowed_tools.tools] } }
  await client.chat.completions.create({ ...request, tool_choice } as OpenAI.ChatCompletionCreateParamsNonStreaming)
  const offers = edge.requests.map(({ tools, toolChoice }) => [tools.map(({ name }) => name), toolChoice])
  expect(offers).toEqual([
    [['clock', 'sum', 'look'], { tool: 'sum' }],
    [['clock', 'sum'], 'required'],
  ])
})

test.each([
  [[{ type: 'custom', custom: { name: 'a b' } }], 'tools[0].custom.name', 'invalid_value'],
  [[look, { type: 'custom', custom: { name: 'look' } }], 'tools[1].custom.name', 'invalid_value'],
  [[{ type: 'custom' }], 'tools[0].custom', 'missing_required_parameter'],
  [
    [{ type: 'custom', custom: { name: 'a', format: { type: 'xml' } } }],
    'tools[0].custom.format.type',
    'invalid_value',
  ],
])('one that is not well-formed is refused: %j', async (tools, param, code) => {
  const { edge } = open()
  const response = await edge.post('/v1/chat/completions', { model, messages: [question], tools })
  expect([response.status, await response.json()]).toMatchObject([400, { error: { param, code } }])
})
