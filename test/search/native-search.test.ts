import { expect, onTestFinished, test } from 'vitest'
import { responses } from 'edgecall'
import { searchHook } from '../../src/search/hook.ts'
import { startModelServer } from '../fixtures/model-server.ts'
import { id, play, tool } from '../fixtures/play.ts'
import { recordedStreams } from '../fixtures/recorded.ts'
import { responsesReply } from '../fixtures/responses-events.ts'

test('a run with OpenAI’s tool search receives a tool where the search found it, and calls it', async () => {
  const recorded = recordedStreams('openai-responses')['search-call'] ?? ''
  const name = 'getWeather'
  const callItem = {
    id: 'fc_1',
    type: 'function_call',
    call_id: 'call_b',
    name,
    namespace: name,
    arguments: '{"city":"Delft"}',
  }
  const server = await startModelServer((_, index) => {
    if (index === 0) return { chunks: [recorded], end: 'close' }
    if (index === 1) return { body: { object: 'response', status: 'completed', output: [callItem] } }
    return responsesReply({ text: 'It is 18 degrees.' })
  })
  onTestFinished(() => server.close())
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

  const bodies = server.calls.map(({ body: { tools, input } }) => ({ tools, input }))
  const parameterFields = { parameters: { type: 'object', properties: {} }, strict: false }
  const search = {
    type: 'tool_search',
    execution: 'client',
    description: expect.any(String),
    parameters: expect.any(Object),
  }
  const beforehand = [search, { type: 'function', name: 'help', description: 'Test tool help', ...parameterFields }]
  const question = { role: 'user', content: 'What is the weather in Delft?' }
  const [searched, request] = [id(1, 0), id(2, 0)]
  const items = [
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
      tools: [{ type: 'function', name, description, ...parameterFields, defer_loading: true }],
    },
  ]
  expect(bodies).toEqual([
    { tools: beforehand, input: [question] },
    { tools: beforehand, input: items },
    {
      tools: beforehand,
      input: [
        ...items,
        { type: 'function_call', call_id: request, name, namespace: name, arguments: '{"city":"Delft"}' },
        { type: 'function_call_output', call_id: request, output: '18 degrees in Delft' },
      ],
    },
  ])
})
