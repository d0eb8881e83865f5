import { readFileSync } from 'node:fs'
import { afterEach, expect, test } from 'vitest'
import type { ChatModel } from '../../src/contract/model.ts'
import { anthropic } from '../../src/model/anthropic.ts'
import { gemini } from '../../src/model/gemini.ts'
import { responses } from '../../src/model/responses.ts'
import { searchHook } from '../../src/search/hook.ts'
import { type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { id, play, tool } from '../fixtures/play.ts'
import { responsesReply } from '../fixtures/responses-events.ts'

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

/** A run of the model behind a server that answers with these bodies, one a step; and what the server was sent. */
async function played(bodies: readonly object[], make: (baseUrl: string) => ChatModel) {
  const server = await startModelServer((_, index) => ({ body: bodies[index] }))
  servers.push(server)
  const model = make(server.baseUrl)
  const script = bodies.map(() => model.stream.bind(model))
  const clock = tool('clock', ({ zone }) => {
    if (zone === 'Mars') throw new Error('No such zone.')
    return `noon in ${String(zone)}`
  })
  const { state } = await play({ script, tools: [clock] })
  return { answer: state.finished, sent: server.calls.map(({ body }) => body) }
}

const FAILED = expect.any(String)

test('a run with Anthropic’s format returns thinking and sends results to their calls', async () => {
  const content = [
    { type: 'thinking', thinking: 'Two clocks.', signature: 'sig-a' },
    { type: 'text', text: 'Let me look.' },
    { type: 'thinking', thinking: '', signature: 'sig-b' },
    { type: 'tool_use', id: 'toolu_1', name: 'clock', input: { zone: 'UTC' } },
    { type: 'tool_use', id: 'toolu_2', name: 'clock', input: { zone: 'Mars' } },
  ]
  const { answer, sent } = await played(
    [
      { type: 'message', content, stop_reason: 'tool_use' },
      { type: 'message', content: [{ type: 'text', text: 'Noon.' }], stop_reason: 'end_turn' },
    ],
    (baseUrl) => anthropic({ baseUrl, cache: false })('probe'),
  )
  const [first, second] = [id(1, 0), id(1, 1)]
  expect(answer).toMatchObject({ status: 'completed', answer: 'Noon.' })
  expect(sent[1]?.messages).toEqual([
    { role: 'user', content: [{ type: 'text', text: 'Hello' }] },
    {
      role: 'assistant',
      content: [...content.slice(0, 3), { ...content[3], id: first }, { ...content[4], id: second }],
    },
    {
      role: 'user',
      content: [
        { type: 'tool_result', tool_use_id: first, content: [{ type: 'text', text: 'noon in UTC' }] },
        { type: 'tool_result', tool_use_id: second, is_error: true, content: [{ type: 'text', text: FAILED }] },
      ],
    },
  ])
})

test('a run with Gemini’s format returns signatures and sends results to their calls', async () => {
  const parts = [
    { text: 'Let me look.' },
    { functionCall: { id: 'fc-1', name: 'clock', args: { zone: 'UTC' } }, thoughtSignature: 'sig-a' },
    { functionCall: { id: 'fc-2', name: 'clock', args: { zone: 'Mars' } } },
  ]
  const { answer, sent } = await played(
    [
      { candidates: [{ content: { role: 'model', parts }, finishReason: 'STOP' }] },
      { candidates: [{ content: { role: 'model', parts: [{ text: 'Noon.' }] }, finishReason: 'STOP' }] },
    ],
    (baseUrl) => gemini({ baseUrl })('probe'),
  )
  expect(answer).toMatchObject({ status: 'completed', answer: 'Noon.' })
  expect(sent[1]?.contents).toEqual([
    { role: 'user', parts: [{ text: 'Hello' }] },
    { role: 'model', parts },
    {
      role: 'user',
      parts: [
        { functionResponse: { id: 'fc-1', name: 'clock', response: { output: 'noon in UTC' } } },
        { functionResponse: { id: 'fc-2', name: 'clock', response: { error: FAILED } } },
      ],
    },
  ])
})

test('a run with OpenAI’s tool search receives a tool where the search found it, and calls it', async () => {
  const recorded = readFileSync('test/fixtures/openai-responses/search-call.sse', 'utf8')
  const name = 'getWeather'
  const called = {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'call_b',
    name,
    namespace: name,
    arguments: '{"city":"Delft"}',
  }
  const server = await startModelServer((_, index) => {
    if (index === 0) return { chunks: [recorded], end: 'close' }
    if (index === 1) return { body: { object: 'response', status: 'completed', output: [called] } }
    return responsesReply({ text: 'It is 18 degrees.' })
  })
  servers.push(server)
  const model = responses({ baseUrl: server.baseUrl, deferLoading: true })('probe')
  const ledgers = Array.from({ length: 60 }, (_, index) =>
    tool(`ledgerEntry${index}`, undefined, { description: `Posts ledger entry number ${index}.` }),
  )
  const description = 'Tells the weather and the temperature of a city.'
  const weather = tool(name, ({ city }) => `18 degrees in ${String(city)}`, { description })
  const stream = model.stream.bind(model)
  const { state } = await play({
    script: [stream, stream, stream],
    tools: [...ledgers, weather, tool('help', undefined, { tags: ['always'] })],
    request: { input: [{ role: 'user', content: 'What is the weather in Delft?' }] },
    loop: { hooks: [searchHook({ hint: '' })] },
  })
  expect(state.finished).toMatchObject({ status: 'completed', answer: 'It is 18 degrees.' })

  const sent = server.calls.map(({ body: { tools, input } }) => ({ tools, input }))
  const told = { parameters: { type: 'object', properties: {} }, strict: false }
  const search = {
    type: 'tool_search',
    execution: 'client',
    description: expect.any(String),
    parameters: expect.any(Object),
  }
  const beforehand = [{ type: 'function', name: 'help', description: 'Test tool help', ...told }, search]
  const question = { role: 'user', content: 'What is the weather in Delft?' }
  const [searched, asked] = [id(1, 0), id(2, 0)]
  const found = [
    question,
    {
      type: 'tool_search_call',
      execution: 'client',
      status: 'completed',
      call_id: searched,
      arguments: { query: 'weather in a city', maxResults: 3 },
    },
    {
      type: 'tool_search_output',
      execution: 'client',
      status: 'completed',
      call_id: searched,
      tools: [{ type: 'function', name, description, ...told, defer_loading: true }],
    },
  ]
  expect(sent).toEqual([
    { tools: beforehand, input: [question] },
    { tools: beforehand, input: found },
    {
      tools: beforehand,
      input: [
        ...found,
        { type: 'function_call', call_id: asked, name, namespace: name, arguments: '{"city":"Delft"}' },
        { type: 'function_call_output', call_id: asked, output: '18 degrees in Delft' },
      ],
    },
  ])
})
