import { describe, expect, test } from 'vitest'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { keptEdge } from './kept-edge.ts'

const clock = tool('clock', () => '12:00')
const read = tool('files_x2e_read', () => 'text', { title: 'files.read' })
const messages = [{ role: 'user', content: 'Hi' }]
const CHAT = '/v1/chat/completions'
const pick = { type: 'function', function: { name: 'pick', parameters: {} } }
const drop = { type: 'function', function: { name: 'drop', parameters: {} } }
const flat = ({ type, function: { name, parameters } }: typeof pick) => ({ type, name, parameters })

describe('a tool choice that allows some tools', () => {
  const functionsNamed = (...names: string[]) => names.map((name) => ({ type: 'function', function: { name } }))

  test('offers only these, of the caller and of the edge, with its mode', async () => {
    const edge = keptEdge({ script: [say('A'), say('B'), say('C')], tools: [clock, read] })
    const allowed = (...names: string[]) => ({
      type: 'allowed_tools',
      allowed_tools: { mode: 'required', tools: functionsNamed(...names) },
    })
    await edge.post(CHAT, { messages, tools: [pick, drop], tool_choice: allowed('pick', 'files.read') })
    await edge.post(CHAT, { messages, tools: [pick, drop], tool_choice: allowed('drop') })
    const { allowed_tools: choice, type } = allowed('pick')
    const tools = [
      { type: 'function', name: 'pick' },
      { type: 'mcp', server_label: 'edgecall', name: 'clock' },
    ]
    const json = { input: 'Hi', store: false, tools: [flat(pick), flat(drop)], tool_choice: { ...choice, type, tools } }
    const response = await edge.post('/v1/responses', json)
    expect(await response.json()).toMatchObject({ tool_choice: json.tool_choice })
    expect(edge.requests.map(({ tools, toolChoice }) => [toolChoice, ...tools.map(({ name }) => name)])).toEqual([
      ['required', 'files_x2e_read', 'pick'],
      ['required', 'drop'],
      ['required', 'clock', 'pick'],
    ])
  })

  test('is refused if it names a tool that nobody has', async () => {
    const edge = testEdge({ tools: [clock] })
    const tool_choice = { type: 'allowed_tools', allowed_tools: { mode: 'auto', tools: functionsNamed('nothing') } }
    const response = await edge.ask(CHAT, { json: { messages, tools: [pick], tool_choice } })
    expect([response.status, await response.json()]).toMatchObject([400, { error: { code: 'unknown_tool' } }])
  })
})

describe('a tool of the caller whose name is longer than all providers accept', () => {
  const name = `mcp__${'a_plugin_with_a_long_name_'.repeat(4)}list`
  const hashed = /^mcp__a_plugin.{33}_h[0-9a-f]{16}$/
  const callFirst: Script = ({ tools }) => ask([tools[0]?.name ?? ''])

  test('is called by that name in the Messages API, whole and in a stream, and named by it in history and choices', async () => {
    const edge = keptEdge({ script: [callFirst, callFirst, say('Done.')] })
    const base = { max_tokens: 10, tools: [{ name, input_schema: {} }], tool_choice: { type: 'tool', name } }
    const first: any = await (await edge.post('/v1/messages', { ...base, messages })).json()
    const [use] = first.content
    expect(use).toMatchObject({ type: 'tool_use', name })
    const stream = await (await edge.post('/v1/messages', { ...base, messages, stream: true })).text()
    expect(stream).toContain(`"name":"${name}"`)
    const result = { type: 'tool_result', tool_use_id: use.id, content: [{ type: 'tool_reference', tool_name: name }] }
    const answer = { role: 'assistant', content: first.content }
    const history = [...messages, answer, { role: 'user', content: [result] }]
    await edge.post('/v1/messages', { ...base, messages: history })
    const { tools, toolChoice, messages: sent } = edge.requests[2] ?? {}
    const modelName = tools?.[0]?.name
    expect(modelName).toMatch(hashed)
    expect([toolChoice, sent?.[1], sent?.[2]]).toMatchObject([
      { tool: modelName },
      { calls: [{ tool: modelName }] },
      { content: [{ text: `Found the tool ${modelName}.\n` }] },
    ])
  })

  test('is called by that name in the Responses API, whole and in a stream, and named by it in history and choices', async () => {
    const edge = keptEdge({ script: [callFirst, callFirst, say('Done.')] })
    const base = { store: false, tools: [{ type: 'function', name }], tool_choice: { type: 'function', name } }
    const first: any = await (await edge.post('/v1/responses', { ...base, input: messages })).json()
    expect(first.output).toMatchObject([{ type: 'function_call', name }])
    const stream = await (await edge.post('/v1/responses', { ...base, input: messages, stream: true })).text()
    expect(stream).toContain(`"name":"${name}"`)
    const output = { type: 'function_call_output', call_id: first.output[0].call_id, output: '3' }
    await edge.post('/v1/responses', { ...base, input: [...messages, ...first.output, output] })
    const { tools, toolChoice, messages: sent } = edge.requests[2] ?? {}
    const modelName = tools?.[0]?.name
    expect(modelName).toMatch(hashed)
    expect([toolChoice, sent?.[1]]).toMatchObject([{ tool: modelName }, { calls: [{ tool: modelName }] }])
  })
})

test('a tool of a type that the edge does not know is not offered, and named', async () => {
  const edge = keptEdge({ script: [say('A')] })
  const tools = [flat(pick), { type: 'mcp', server_label: 'a', server_url: 'https://a.example' }, { type: 'later' }]
  const response = await edge.post('/v1/responses', { input: 'Hi', store: false, tools })
  expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, 'tools[1], tools[2]'])
  expect(edge.requests.map(({ tools: offered }) => offered.map(({ name }) => name))).toEqual([['pick']])
})

describe('the original name of a tool, which providers refuse,', () => {
  const result = [{ type: 'text', text: 'text' }]
  test.each<[path: string, body: object]>([
    [
      CHAT,
      {
        messages: [
          ...messages,
          { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'files.read', arguments: '{}' } }] },
          { role: 'tool', tool_call_id: 'a', content: 'text' },
        ],
      },
    ],
    [
      '/v1/responses',
      {
        store: false,
        input: [
          ...messages,
          { type: 'function_call', call_id: 'a', name: 'files.read', arguments: '{}' },
          { type: 'function_call_output', call_id: 'a', output: 'text' },
        ],
      },
    ],
    [
      '/runs',
      {
        input: [
          ...messages,
          { role: 'assistant', content: '', calls: [{ callId: 'a', tool: 'files.read', arguments: '{}' }] },
          { role: 'tool', callId: 'a', content: 'text' },
        ],
      },
    ],
  ])('may stand in the history that a request to %s brings', async (path, body) => {
    const edge = keptEdge({ script: [say('Read.')], tools: [read] })
    expect((await edge.post(path, body)).status).toBe(200)
    expect(edge.requests[0]?.messages.slice(1)).toMatchObject([
      { role: 'assistant', calls: [{ callId: 'a', tool: 'files_x2e_read', arguments: '{}' }] },
      { role: 'tool', callId: 'a', tool: 'files_x2e_read', content: result },
    ])
  })

  test('selects, chooses and limits the tool', async () => {
    const edge = testEdge({ script: [ask(['files_x2e_read']), say('Read.')], tools: [clock, read] })
    const limits = { tools: { 'files.read': 1 } }
    const json = { input: 'Hi', tools: ['files.read'], toolChoice: { tool: 'files.read' }, limits }
    const run = await (await edge.ask('/runs', { json })).json<any>()
    expect([run.status, run.calls]).toMatchObject(['completed', [{ tool: 'files_x2e_read', ok: true }]])
    expect(edge.requests[0]).toMatchObject({
      toolChoice: { tool: 'files_x2e_read' },
      tools: [{ name: 'files_x2e_read' }],
    })
  })

  test('finds the tool under /tools and calls it there, and over /mcp', async () => {
    const edge = testEdge({ tools: [clock, read] })
    expect(await (await edge.ask('/tools/files.read')).json()).toMatchObject({ title: 'files.read' })
    const response = await edge.ask('/tools/files.read/call', { json: { arguments: {} } })
    expect(await response.json()).toMatchObject({ ok: true })
    const json = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'files.read', arguments: {} } }
    const headers = { accept: 'application/json, text/event-stream' }
    expect(await (await edge.ask('/mcp', { json, headers })).text()).toContain('"text":"text"')
  })
})

describe('a hook that offers tools', () => {
  const hooks = [{ name: 'static and dynamic', offer: () => ['clock'] }]

  test.each([
    [{ tools: ['files_x2e_read'] }, ['files_x2e_read', 'clock']],
    [{ tools: ['clock'] }, ['clock']],
    [{ tools: [] }, []],
    [{ tools: { remove: ['clock'] } }, ['files_x2e_read']],
  ])('adds them to those that a request names, but none that it removes: %j', async (json, names) => {
    const edge = testEdge({ script: [say('Hi.')], tools: [clock, read], setup: { loop: { hooks } } })
    await edge.ask('/runs', { json: { input: 'Hi', ...json } })
    expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(names)
  })

  test('adds them to those that the setup names for a model', async () => {
    const setup = { loop: { hooks }, toolsOf: () => ['files_x2e_read'] }
    const edge = testEdge({ script: [say('Hi.')], tools: [clock, read], setup })
    await edge.ask('/runs', { json: { input: 'Hi' } })
    expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(['files_x2e_read', 'clock'])
  })
})

test('a run without a conversation that has none of the edge’s tools may bring tools of the same names', async () => {
  const edge = testEdge({ script: [ask(['clock'])], tools: [clock] })
  const clientTools = [{ name: 'clock', description: 'Other.', inputSchema: { type: 'object' } }]
  const answer = await edge.ask('/runs', { json: { input: 'Hi', tools: [], clientTools } })
  expect(await answer.json()).toMatchObject({ finish: 'tool_calls', calls: [{ tool: 'clock', status: 'caller' }] })
  expect(edge.requests[0]?.tools.map(({ description }) => description)).toEqual(['Other.'])
})

test('the list of models has a timestamp for each, as the format requires', async () => {
  const { data } = await (await testEdge().ask('/v1/models')).json<any>()
  expect(data).toMatchObject([{ object: 'model', created: expect.any(Number) }])
  expect(data[0].created).toBeGreaterThan(1_700_000_000)
})
