import { describe, expect, test } from 'vitest'
import type { StoredTools } from '../../src/contract/catalogue.ts'
import type { ToolContext, ToolSource } from '../../src/contract/tool.ts'
import type { ModelChooser } from '../../src/contract/setup.ts'
import { agentSource } from 'edgecall/agent'
import { type Script, scripted } from '../fixtures/scripted.ts'
import { applyPolicies } from '../../src/host/policy/source.ts'
import { chain } from '../../src/host/source/chain.ts'
import { testEdge } from '../fixtures/edge.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { NOTHING_STORED } from '../../src/host/source/edge-tools.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { searchSetup } from '../fixtures/setup.ts'
import { keptEdge } from '../http/kept-edge.ts'

const toolCalls: string[] = []
const trusted: ToolContext['trusted'][] = []
const note = (name: string) =>
  tool(name, (_, context) => {
    toolCalls.push(name)
    trusted.push(context.trusted)
    return `${name} done`
  })
const TOOLS = [note('open'), note('secret')]
const KEYS = [
  apiKey('plain', { scopes: ['chat', 'tools:read'] }),
  apiKey('cleared', { scopes: ['chat', 'tools:read', 'clearance'] }),
  apiKey('writer', { scopes: ['tools:read', 'tools:write'] }),
]
const plain = bearer('plain')
const cleared = bearer('cleared')

const source: ToolSource = {
  list: async () => ({ tools: TOOLS, unavailable: [] }),
  offered: async () => TOOLS,
  find: async (names) => TOOLS.filter(({ definition }) => names.includes(definition.name)),
}
const setup = {
  tools: applyPolicies(source, { policies: { secret: { scopes: ['clearance'] } }, rates: {} }),
  trusted: ({ scopes }: { scopes: readonly string[] }) => ({ clear: scopes.includes('clearance') }),
}

function scopedEdge(script: readonly Script[]) {
  toolCalls.length = 0
  trusted.length = 0
  return keptEdge({ vars: withKeys(...KEYS), script, setup })
}

const namesOf = (tools: readonly { name: string }[] = []) => tools.map(({ name }) => name)

describe('a call of a tool that is not offered does not run', () => {
  const once = [ask(['secret'], ['open']), say('ok')]
  const history = [
    { role: 'user', content: 'Use secret.' },
    { role: 'assistant', content: '', calls: [{ callId: 'a', tool: 'secret', arguments: '{}' }] },
    { role: 'tool', callId: 'a', content: 'secret done' },
    { role: 'user', content: 'Again.' },
  ]

  test.each<[string, object, Record<string, string>, string[]]>([
    ['that the caller may not know of', {}, plain, ['open']],
    ['though a history that was sent has called it', { input: history }, plain, ['open']],
    ['that the request does not name', { tools: ['open'] }, cleared, ['open']],
    ['that the request removes', { tools: { remove: ['secret'] } }, cleared, ['open']],
    ['of a request without tools', { tools: [] }, cleared, []],
  ])('%s', async (_, json, who, expected) => {
    const edge = scopedEdge(once)
    const response = await edge.post('/runs', { input: 'Go', ...json }, who)
    const { calls }: any = await response.json()
    expect(toolCalls).toEqual(expected)
    expect(calls[0]).toMatchObject({ tool: 'secret', ok: false, error: { code: 'unknown_tool' } })
    expect(namesOf(edge.requests[0]?.tools)).toEqual(expected)
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('of the name %s', async (name) => {
    const edge = scopedEdge([ask([name], ['open']), say('ok')])
    const { calls }: any = await (await edge.post('/runs', { input: 'Go' }, plain)).json()
    expect(calls.map(({ error }: any) => error?.code)).toEqual(['unknown_tool', undefined])
    const run: any = await (await edge.post('/runs', { input: 'Go', tools: [name] }, plain)).json()
    expect(run).toMatchObject({ status: 400, code: 'unknown_tool' })
    expect((await edge.fetch(`/tools/${name}`, { headers: plain })).status).toBe(404)
    expect((await edge.post(`/tools/${name}/call`, { arguments: {} }, plain)).status).toBe(404)
  })
})

test.each(['secret', 'open'])('a client tool never reaches a tool of the edge: %s', async (name) => {
  const edge = scopedEdge([ask([name]), say('ok')])
  const clientTools = [{ name, inputSchema: { type: 'object' } }]
  const run: any = await (await edge.post('/runs', { input: 'Go', clientTools }, cleared)).json()
  expect(run).toMatchObject({ status: 400, code: 'tool_name_conflict' })
  const tools = [{ type: 'function', function: { name } }]
  const messages = [{ role: 'user', content: 'Go' }]
  expect([toolCalls, edge.requests]).toEqual([[], []])
  const chat: any = await (await edge.post('/v1/chat/completions', { messages, tools }, cleared)).json()
  expect(chat.choices[0].message.tool_calls.map((call: any) => call.function.name)).toEqual([name])
  expect(toolCalls).toEqual([])
})

describe('a run started by one key gives another key no further rights', () => {
  const begin = async (script: readonly Script[], json: object = {}) => {
    const edge = scopedEdge(script)
    await edge.post('/conversations', { id: 'c' }, cleared)
    const response = await edge.post('/conversations/c/runs', { input: 'Go', ...json }, cleared)
    return { edge, run: response.headers.get('x-run-id') ?? '' }
  }

  test.each([
    ['plain', ['open'], ['open', 'secret'], [true, false]],
    ['cleared', ['open', 'secret'], ['open', 'secret', 'secret'], [true, true, true]],
  ])('when "%s" regenerates a turn', async (key, offered, calls, clear) => {
    const { edge, run } = await begin([ask(['secret']), say('one'), ask(['secret'], ['open']), say('two')])
    await (await edge.post(`/conversations/c/runs/${run}/regenerate`, {}, bearer(key))).text()
    expect(namesOf(edge.requests[2]?.tools)).toEqual(offered)
    expect(toolCalls.toSorted()).toEqual(calls)
    expect(trusted).toEqual(clear.map((each) => ({ clear: each })))
  })

  test.each([
    ['plain', ['open'], ['open', 'secret']],
    ['cleared', ['open', 'secret'], ['open', 'secret', 'secret']],
  ])('when "%s" continues a response', async (key, offered, calls) => {
    const edge = scopedEdge([ask(['secret']), say('one'), ask(['secret'], ['open']), say('two')])
    const first: any = await (await edge.post('/v1/responses', { input: 'Go' }, cleared)).json()
    const json = { input: 'Again', previous_response_id: first.id }
    expect((await edge.post('/v1/responses', json, bearer(key))).status).toBe(200)
    expect(namesOf(edge.requests[2]?.tools)).toEqual(offered)
    expect(toolCalls.toSorted()).toEqual(calls)
  })

  test.each([
    ['plain', false],
    ['cleared', true],
  ])('when "%s" steers the run in progress: %s', async (key, joins) => {
    const { edge, run } = await begin([ask(['pick'])], { clientTools: [{ name: 'pick' }] })
    const headers = { ...bearer(key), prefer: 'respond-async' }
    const joined = await edge.post('/conversations/c/runs', { input: 'Use secret.', onBusy: 'steer' }, headers)
    expect([joined.status, joined.headers.get('x-run-id') === run]).toEqual([202, joins])
  })
})

describe('answers of one key to calls of another key’s run', () => {
  const CHAT = '/v1/chat/completions'
  const pick = { type: 'function', function: { name: 'pick', parameters: { type: 'object', properties: {} } } }
  const user = { role: 'user', content: 'Go' }
  const inConversation = { 'x-conversation-id': 'c' }
  const handed = async (headers: Record<string, string>) => {
    const edge = scopedEdge([ask(['pick']), ask(['secret']), say('ok'), say('ok')])
    const body = { messages: [user], tools: [pick] }
    const first: any = await (await edge.post(CHAT, body, { ...cleared, ...headers })).json()
    const { message } = first.choices[0]
    const result = { role: 'tool', tool_call_id: message.tool_calls[0].id, content: 'left' }
    const answer = (messages: object[], who: object) =>
      edge.post(CHAT, { messages: [...messages, result] }, { ...who, ...headers })
    return { edge, message, result, answer }
  }

  test('start a run with the rights of the other key, if they have the whole history', async () => {
    const { edge, message, result, answer } = await handed({})
    const input = [user, message, result, { role: 'user', content: 'Use secret.' }]
    const response = await edge.post(CHAT, { messages: input }, plain)
    expect([response.status, toolCalls]).toEqual([200, []])
    expect(edge.requests.slice(1).map(({ tools }) => namesOf(tools))).toEqual([['open'], ['open']])
    // The run of the first key still waits for its answer.
    expect((await answer([user, message], cleared)).status).toBe(200)
    expect(namesOf(edge.requests.at(-1)?.tools)).toContain('secret')
  })

  test('are refused in a conversation if they come with a message', async () => {
    const headers = inConversation
    const { edge, message, result, answer } = await handed(headers)
    const body = { messages: [user, message, result, { role: 'user', content: 'Use secret.' }], tools: [] }
    const refusal = await edge.post(CHAT, body, { ...plain, ...headers })
    expect([refusal.status, ((await refusal.json()) as any).error.code]).toEqual([409, 'run_waiting'])
    expect([edge.requests.length, toolCalls]).toEqual([1, []])
    expect((await answer([user, message], cleared)).status).toBe(200)
  })

  test('cannot change the terms of the run of a conversation', async () => {
    const { edge, message, answer } = await handed(inConversation)
    const systemMessage = { role: 'system', content: 'Use secret.' }
    expect((await answer([systemMessage, user, message], plain)).status).toBe(200)
    expect(edge.requests[1]?.messages.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool'])
    expect(namesOf(edge.requests[1]?.tools)).toEqual(['open', 'secret', 'pick'])
  })
})

describe('a tool that the caller may not call cannot be found', () => {
  const search = searchSetup(source)
  const asks = [ask(['tool_search', { query: 'secret' }]), ask(['secret']), say('ok')]

  test.each([
    ['plain', []],
    ['cleared', ['secret']],
  ])('over HTTP, by the key "%s": %j', async (key, names) => {
    const edge = testEdge({ vars: withKeys(...KEYS), setup: { ...setup, ...search } })
    const response = await edge.ask('/tools?query=secret', { headers: bearer(key) })
    expect(namesOf(await response.json())).toEqual(names)
    expect(response.headers.get('x-total-count')).toBe(String(names.length))
  })

  test.each([
    ['plain', [], [true, false]],
    ['cleared', ['secret'], [true, true]],
  ])('by a model’s tool search with the key "%s": %j', async (key, names, settled) => {
    toolCalls.length = 0
    const edge = testEdge({ vars: withKeys(...KEYS), setup: { ...setup, ...search }, script: asks })
    const response = await edge.ask('/runs', { json: { input: 'Go' }, headers: bearer(key) })
    const { calls }: any = await response.json()
    expect(calls[0].structured).toEqual({ tools: names })
    expect([calls.map(({ ok }: any) => ok), toolCalls]).toEqual([settled, names])
    expect(namesOf(edge.requests[1]?.tools)).toEqual(['tool_search', ...names])
  })

  test('or seen as a name that two places define', async () => {
    const other: ToolSource = {
      ...source,
      list: async () => ({ tools: [tool('secret', undefined, { hash: 'x' })], unavailable: [] }),
    }
    const policies = { secret: { scopes: ['clearance'] } }
    const edge = testEdge({
      vars: withKeys(...KEYS),
      setup: { tools: applyPolicies(chain([source, other]), { policies, rates: {} }) },
    })
    const listTools = async (key: string) =>
      (await (await edge.ask('/tools', { headers: bearer(key) })).json()) as { name: string; available: boolean }[]
    expect((await listTools('plain')).map(({ name }) => name)).toEqual(['open'])
    expect((await listTools('cleared')).map(({ name, available }) => [name, available])).toEqual([
      ['open', true],
      ['secret', false],
      ['secret', false],
    ])
  })
})

test.each([
  ['plain', []],
  ['cleared', ['secret']],
])('an agent called with the key "%s" has the tools of that key: %j', async (key, tools) => {
  const clerk = { name: 'clerk', description: 'Does it.', instructions: 'Do it.', tools: ['secret'] }
  const model = scripted([ask(['secret']), say('inner')], 'test/clerk')
  const models: ModelChooser = { list: () => [], resolve: () => ({ ok: true, name: 'test/clerk', model }) }
  const agents = agentSource([clerk], { models, tools: setup.tools })
  toolCalls.length = 0
  const edge = testEdge({
    vars: withKeys(...KEYS),
    script: [ask(['clerk', { question: 'Use secret.' }]), say('outer')],
    setup: { tools: (caller) => chain([setup.tools(caller), agents]) },
  })
  const run: any = await (await edge.ask('/runs', { json: { input: 'Go' }, headers: bearer(key) })).json()
  expect([run.answer, run.calls[0].ok]).toEqual(['outer', true])
  expect([namesOf(model.requests[0]?.tools), toolCalls]).toEqual([tools, tools])
})

describe('the versions of a tool', () => {
  const stored: StoredTools = {
    ...NOTHING_STORED,
    history: async () => [{ revision: 1, action: 'put', hash: 'h', at: '2026-01-01T00:00:00Z' }],
    version: async (name) => ({ name, description: 'How it is done.' }),
  }
  const edge = testEdge({ vars: withKeys(...KEYS), setup: { ...setup, stored: () => stored } })

  test.each([
    ['plain', 'open', 200],
    ['plain', 'secret', 404],
    ['plain', 'gone', 404],
    ['cleared', 'secret', 200],
    ['writer', 'secret', 200],
    ['writer', 'gone', 200],
  ])('are readable by the key "%s" of "%s": %i', async (key, name, status) => {
    for (const path of [`/tools/${name}/versions`, `/tools/${name}/versions/h`]) {
      expect((await edge.ask(path, { headers: bearer(key) })).status).toBe(status)
    }
  })
})

test.each([
  ['GET', '/tools', 'approver'],
  ['POST', '/runs', 'approver'],
  ['POST', '/v1/chat/completions', 'approver'],
  ['POST', '/tools/open/call', 'approver'],
  ['GET', '/conversations', 'approver'],
  ['GET', '/usage', 'approver'],
  ['PUT', '/tools/open', 'plain'],
  ['DELETE', '/tools/open', 'plain'],
  ['POST', '/tools/open/rollback', 'plain'],
  ['POST', '/tools/open/accept', 'plain'],
])('%s %s is refused for the key "%s"', async (method, path, key) => {
  const vars = withKeys(...KEYS, apiKey('approver', { scopes: ['approve', 'Chat', 'chat ', '*'] }))
  const edge = testEdge({ vars, tools: TOOLS })
  const response = await edge.ask(path, { method, headers: bearer(key), ...(method !== 'GET' && { json: {} }) })
  const { code, error }: any = await response.json()
  expect([response.status, code ?? error.code]).toEqual([403, 'missing_scope'])
})
