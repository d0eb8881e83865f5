import { afterEach, describe, expect, test } from 'vitest'
import {
  anthropic,
  codeMode,
  type Env,
  fallingBack,
  gemini,
  makeSetup,
  openai,
  type Part,
  providerTools,
  responses,
  toolPolicies,
  toolSearch,
} from 'edgecall'
import type { ProviderFromEnv } from 'edgecall'
import { isObject } from '../../src/contract/json.ts'
import { type ModelCall, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { recordedStreams } from '../fixtures/recorded.ts'
import { tool } from '../fixtures/play.ts'
import { vmLoader } from '../fixtures/vm-loader.ts'
import { dataOf, keptEdge } from './kept-edge.ts'

const servers: ModelServer[] = []

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()))
})

const ANTHROPIC = recordedStreams('anthropic')
const RESPONSES = recordedStreams('openai-responses')
const CHAT = recordedStreams('openai-chat')
const GEMINI = recordedStreams('gemini')

const stream = (text = ''): ModelReply => ({ chunks: [text], end: 'close' })

const SEARCH = {
  web_search: {
    description: 'Searches the web.',
    anthropic: { type: 'web_search_20250305', max_uses: 3 },
    responses: { type: 'web_search' },
  },
}

/** The recorded answer with a call, of another tool. */
function callOf(name: string, args: object): string {
  const text = JSON.stringify(JSON.stringify(args)).slice(1, -1)
  return (ANTHROPIC['call'] ?? '')
    .replaceAll('"weather"', `"${name}"`)
    .replace('{\\"place\\":', () => text)
    .replace('\\"Oslo\\"}', '')
}

interface EdgeOfTest {
  readonly reply: (call: ModelCall, index: number) => ModelReply
  readonly provider: (baseUrl: string) => ProviderFromEnv
  readonly vars?: Readonly<Record<string, unknown>>
  readonly tools?: Parameters<typeof providerTools>[0]
  readonly others?: readonly ReturnType<typeof tool>[]
  /** Parts beside policies and these tools. */
  readonly parts?: readonly Part[]
}

/** An edge with provider tools, whose model is at a server of the test. */
async function searchEdge({ reply, provider, vars = {}, tools = SEARCH, others = [], parts = [] }: EdgeOfTest) {
  const server = await startModelServer(reply)
  servers.push(server)
  const entries: object[] = []
  const all = { MODEL: 'probe/probe', AUTH: 'open', MODEL_WAIT_MS: '1', DEFAULT_TOOLS: '*', ...vars }
  const setup = makeSetup(envOf(all), {
    providers: { probe: provider(server.baseUrl) },
    use: [
      toolPolicies,
      { name: 'reports', extend: () => ({ report: (entry) => entries.push(entry) }) },
      providerTools(tools),
      ...parts,
    ],
    sources: () => [
      {
        list: async () => ({ tools: others, unavailable: [] }),
        offered: async () => others,
        find: async (names) => others.filter(({ definition }) => names.includes(definition.name)),
      },
    ],
  })
  const { models, tools: toolsOf, loop } = setup
  const edge = keptEdge({ script: [], vars: all, setup: { models, tools: toolsOf, finder: setup.finder, loop } })
  await edge.post('/conversations', { id: 'a' })
  return { ...edge, calls: server.calls, entries }
}

function envOf(vars: Readonly<Record<string, unknown>>): Env {
  const nobody = () => {
    throw new Error('nobody is there')
  }
  return { CONVERSATIONS: { getByName: nobody }, DIRECTORIES: { getByName: nobody }, ...vars }
}

/** The events of a run, without what differs each time. */
async function eventsOf(response: Response): Promise<readonly Readonly<Record<string, unknown>>[]> {
  const events = dataOf(await response.text()).filter(isObject)
  return events.map(({ runId: _runId, seq: _seq, at: _at, ...event }) => event)
}

const STREAM = { accept: 'text/event-stream' }

const claude = (baseUrl: string) => () => anthropic({ baseUrl, cache: 'off' })
const gpt = (baseUrl: string) => () => responses({ baseUrl, provider: 'probe' })

const PAGE = { url: 'https://yr.example/oslo', title: 'Oslo weather' }

describe('a search that a client asks its provider for', () => {
  const bodies = {
    '/v1/responses': (tool: object) => ({ input: 'Does it rain?', tools: [{ type: 'web_search', ...tool }] }),
    '/v1/messages': (tool: object) => ({
      max_tokens: 100,
      messages: [{ role: 'user', content: 'Does it rain?' }],
      tools: [{ type: 'web_search_20250305', name: 'web_search', ...tool }],
    }),
  }
  const edgeOf = () =>
    searchEdge({ reply: () => stream(ANTHROPIC['web-search']), provider: claude, vars: { DEFAULT_TOOLS: '' } })

  test.each([
    ['/v1/responses', {}],
    ['/v1/responses', { type: 'web_search_2025_08_26' }],
    ['/v1/responses', { type: 'web_search_preview' }],
    ['/v1/messages', {}],
    ['/v1/messages', { type: 'web_search_20260209', cache_control: { type: 'ephemeral' } }],
  ] as const)('is that of the edge: %s %j', async (path, tool) => {
    const edge = await edgeOf()
    const response = await edge.post(path, bodies[path](tool))
    expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('weather in Oslo')])
    expect(edge.calls[0]?.body.tools).toEqual([{ name: 'web_search', type: 'web_search_20250305', max_uses: 3 }])
  })

  test.each([
    ['/v1/responses', { type: 'code_interpreter' }, 'tools[0]'],
    ['/v1/responses', { filters: { allowed_domains: ['a.example'] } }, 'tools[0].filters'],
    ['/v1/messages', { type: 'web_fetch_20250910', name: 'web_fetch' }, 'tools[0]'],
    ['/v1/messages', { max_uses: 9, allowed_domains: null }, 'tools[0].max_uses'],
  ] as const)(
    'is not offered if the edge has none, and what the operator sets is ignored: %s %j',
    async (path, tool, ignored) => {
      const edge = await edgeOf()
      const response = await edge.post(path, bodies[path](tool))
      expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, ignored])
      expect(edge.calls[0]?.body.tools).toEqual([{ name: 'web_search', type: 'web_search_20250305', max_uses: 3 }])
    },
  )

  test('is refused if the request forces it and the edge has none', async () => {
    const edge = await edgeOf()
    const tool = { type: 'web_fetch_20250910', name: 'web_fetch' }
    const choice = { tool_choice: { type: 'tool', name: 'web_fetch' } }
    const response = await edge.post('/v1/messages', { ...bodies['/v1/messages'](tool), ...choice })
    expect([response.status, await response.json()]).toMatchObject([400, { error: { type: 'invalid_request_error' } }])
    expect(edge.calls).toEqual([])
  })
})

describe('a search that Anthropic runs', () => {
  test('is told in the events and the record of the run, is priced, and goes back with the next message', async () => {
    const edge = await searchEdge({
      reply: () => stream(ANTHROPIC['web-search']),
      provider: claude,
      vars: { MODEL_PRICES: JSON.stringify({ 'probe/probe': { input: 0, output: 0, webSearches: 10 } }) },
    })
    const events = await eventsOf(await edge.post('/conversations/a/runs', { input: 'Does it rain?' }, STREAM))
    expect(events.map(({ type }) => type)).toEqual([
      'run.started',
      'step.started',
      'text.delta',
      'provider.call',
      ...Array.from({ length: 4 }, () => 'text.delta'),
      'step.answered',
      'step.finished',
      'run.finished',
    ])
    const usage = { inputTokens: 312, outputTokens: 58, webSearches: 1, cost: 0.01 }
    const call = {
      tool: 'web_search',
      kind: 'web_search',
      id: 'srvtoolu_1',
      input: { query: 'weather in Oslo' },
      ok: true,
      sources: [PAGE],
    }
    const citations = [{ ...PAGE, start: 21, end: 29, quote: 'Rain all day.' }]
    expect(events[3]).toEqual({ type: 'provider.call', step: 1, ...call, marks: ['untrusted'] })
    expect(events[8]).toMatchObject({ calls: [], finish: 'stop', citations, usage })
    const [listed]: any = await (await edge.fetch('/conversations/a/runs')).json()
    const record = await (await edge.fetch(`/conversations/a/runs/${listed.id}`)).json()
    expect(record).toMatchObject({ status: 'completed', calls: [], providerCalls: [call], citations, usage })

    await (await edge.post('/conversations/a/runs', { input: 'And tomorrow?' }, STREAM)).text()
    expect(edge.calls[0]?.body.tools).toEqual([{ name: 'web_search', type: 'web_search_20250305', max_uses: 3 }])
    const [, answer] = edge.calls[1]?.body.messages ?? []
    expect(answer).toEqual({
      role: 'assistant',
      content: [
        { type: 'text', text: 'Let me look. ' },
        {
          type: 'server_tool_use',
          id: 'srvtoolu_1',
          name: 'web_search',
          input: { query: 'weather in Oslo' },
          caller: { type: 'direct' },
        },
        {
          type: 'web_search_tool_result',
          tool_use_id: 'srvtoolu_1',
          content: [
            {
              type: 'web_search_result',
              ...PAGE,
              encrypted_content: 'EqgfCioIARgB',
              page_age: '2 days ago',
            },
          ],
          caller: { type: 'direct' },
        },
        { type: 'text', text: 'In Oslo ' },
        {
          type: 'text',
          text: 'it rains',
          citations: [
            {
              type: 'web_search_result_location',
              cited_text: 'Rain all day.',
              ...PAGE,
              encrypted_index: 'Eo8BCioIAhgB',
            },
          ],
        },
        { type: 'text', text: '.' },
      ],
    })
  })

  test('continues after a pause, in the same step and as one answer', async () => {
    const rest = (ANTHROPIC['web-search-failed'] ?? '').replace(
      /event: content_block_start\ndata: [^\n]*server_tool_use[\s\S]*?content_block_stop[^\n]*\n[^\n]*\n\n/,
      '',
    )
    const edge = await searchEdge({
      reply: (_, index) => stream(index === 0 ? ANTHROPIC['pause'] : rest),
      provider: claude,
    })
    const events = await eventsOf(await edge.post('/runs', { input: 'Does it rain?' }, STREAM))
    expect(events.filter(({ type }) => type === 'provider.call')).toEqual([
      {
        type: 'provider.call',
        step: 1,
        tool: 'web_search',
        kind: 'web_search',
        id: 'srvtoolu_1',
        input: { query: 'x' },
        ok: false,
        output: 'max_uses_exceeded',
        marks: ['untrusted'],
      },
    ])
    expect(events.at(-1)).toMatchObject({
      type: 'run.finished',
      status: 'completed',
      answer: 'No.',
      usage: { inputTokens: 24, outputTokens: 14 },
    })
    expect(edge.calls[1]?.body.messages).toEqual([
      { role: 'user', content: [{ type: 'text', text: 'Does it rain?' }] },
      {
        role: 'assistant',
        content: [{ type: 'server_tool_use', id: 'srvtoolu_1', name: 'web_search', input: { query: 'x' } }],
      },
    ])
  })
})

test('a search that OpenAI runs is told in the events, and its items go back in their places', async () => {
  const edge = await searchEdge({ reply: () => stream(RESPONSES['web-search']), provider: gpt })
  const events = await eventsOf(await edge.post('/conversations/a/runs', { input: 'Does it rain?' }, STREAM))
  const calls = events.filter(({ type }) => type === 'provider.call')
  expect(calls.map(({ tool: name, input }) => [name, input])).toEqual([
    ['web_search', { action: 'search', query: 'weather in Oslo', queries: ['weather in Oslo'] }],
    ['web_search', { action: 'open_page', url: 'https://yr.example/oslo' }],
  ])
  await (await edge.post('/conversations/a/runs', { input: 'And tomorrow?' }, STREAM)).text()
  const [first, second] = edge.calls.map(({ body }) => body)
  expect([first?.tools, first?.['include']]).toEqual([
    [{ type: 'web_search' }],
    ['reasoning.encrypted_content', 'web_search_call.action.sources'],
  ])
  const input = second?.['input']
  expect(Array.isArray(input) ? input.slice(1, 5) : input).toMatchObject([
    { type: 'reasoning', id: 'rs_1' },
    { type: 'web_search_call', id: 'ws_1', action: { type: 'search' } },
    { type: 'web_search_call', id: 'ws_2', action: { type: 'open_page' } },
    { role: 'assistant', content: 'It rains (yr).' },
  ])
})

describe('a search that Google runs', () => {
  const reply = () => stream(GEMINI['google-search'])
  const tools = { web: { gemini: { googleSearch: {} } }, run: { gemini: { codeExecution: {} } } }
  const oslo = (name: string) => (baseUrl: string) => () => () => gemini({ baseUrl })(name)

  test('is told in the events under its name, and asked for beside functions', async () => {
    const edge = await searchEdge({ reply, provider: oslo('gemini-3-pro'), tools, others: [tool('clock')] })
    const events = await eventsOf(await edge.post('/runs', { input: 'Does it rain?' }, STREAM))
    const source = { url: 'https://vertexaisearch.example/redirect/1', title: 'yr.example' }
    expect(events.filter(({ type }) => type === 'provider.call')).toEqual([
      {
        type: 'provider.call',
        step: 1,
        tool: 'web',
        kind: 'web_search',
        input: { queries: ['weather in Oslo'] },
        ok: true,
        sources: [source],
        marks: ['untrusted'],
      },
    ])
    expect(events.at(-2)).toMatchObject({ type: 'step.finished' })
    const [body] = edge.calls.map((call) => call.body)
    expect(body?.tools).toMatchObject([
      { functionDeclarations: [{ name: 'clock' }] },
      { googleSearch: {} },
      { codeExecution: {} },
    ])
    expect(body?.['toolConfig']).toEqual({ includeServerSideToolInvocations: true })
  })

  test('is left out for an older model that refuses it beside functions, which the log says', async () => {
    const message = 'Built-in tools ({google_search}) and Function Calling cannot be combined in the same request.'
    const refusal: ModelReply = { status: 400, body: { error: { code: 400, status: 'INVALID_ARGUMENT', message } } }
    const edge = await searchEdge({
      reply: (_, index) => (index === 0 ? refusal : reply()),
      provider: oslo('gemini-2.5-flash'),
      tools,
      others: [tool('clock')],
    })
    for (const more of [{}, { tools: ['web'] }]) {
      await (await edge.post('/runs', { input: 'Does it rain?', ...more }, STREAM)).text()
    }
    expect(edge.calls.map(({ body }) => body.tools)).toMatchObject([
      [{ functionDeclarations: [{ name: 'clock' }] }, { googleSearch: {} }, { codeExecution: {} }],
      [{ functionDeclarations: [{ name: 'clock' }] }],
      [{ googleSearch: {} }],
    ])
    expect(edge.entries).toContainEqual({
      event: 'provider_tool.left_out',
      tool: 'web',
      model: 'gemini/gemini-2.5-flash',
      format: undefined,
    })
  })
})

test('each model of a fallback list is told only of what its provider has, and the log names what was left out', async () => {
  const edge = await searchEdge({
    reply: (_, index) => (index === 0 ? { status: 404, body: {} } : stream(CHAT['text'])),
    provider: (baseUrl) => () => (name: string) =>
      fallingBack([anthropic({ baseUrl, cache: 'off' })(name), openai({ baseUrl, provider: 'other' })(name)]),
  })
  await (await edge.post('/runs', { input: 'Does it rain?' }, STREAM)).text()
  expect(edge.calls.map(({ body }) => body.tools)).toEqual([
    [{ name: 'web_search', type: 'web_search_20250305', max_uses: 3 }],
    undefined,
  ])
  expect(edge.entries).toContainEqual({
    event: 'provider_tool.left_out',
    tool: 'web_search',
    model: 'anthropic/probe',
    format: undefined,
  })
})

describe('a tool that the provider runs', () => {
  const quiet = { reply: () => stream(ANTHROPIC['text']), provider: claude }

  test('is offered by name, as any tool', async () => {
    const edge = await searchEdge({ ...quiet, vars: { DEFAULT_TOOLS: 'none' } })
    for (const more of [{}, { tools: ['web_search'] }])
      await (await edge.post('/runs', { input: 'Hi', ...more }, STREAM)).text()
    expect(edge.calls.map(({ body }) => body.tools?.length)).toEqual([undefined, 1])
  })

  test('is listed, with its kind, and cannot be called from outside', async () => {
    const edge = await searchEdge(quiet)
    expect(await (await edge.fetch('/tools')).json()).toMatchObject([
      { name: 'web_search', source: 'provider', place: 'provider', atProvider: true, offered: true },
    ])
    const call = await edge.post('/tools/web_search/call', { arguments: {} })
    expect(await call.json()).toMatchObject({ ok: false, error: { code: 'runs_at_provider' } })
  })

  test('is not there for MCP clients, which call tools themselves', async () => {
    const edge = await searchEdge({ ...quiet, others: [tool('clock')] })
    const ask = async (method: string, params: object) => {
      const response = await edge.post('/mcp', { jsonrpc: '2.0', id: 1, method, params })
      return response.json()
    }
    expect(await ask('tools/list', {})).toMatchObject({ result: { tools: [{ name: 'clock' }] } })
    expect(await ask('tools/call', { name: 'web_search', arguments: {} })).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('Not run: the provider of the model') }] },
    })
  })

  test('is not there for programs', async () => {
    const code = `return [await tools.web_search({}).catch(({ message }) => message), await tools.clock({})]`
    const edge = await searchEdge({
      reply: (_, index) => stream(index === 0 ? callOf('run_code', { code }) : ANTHROPIC['text']),
      provider: claude,
      vars: { LOADER: vmLoader(), CODE_MODE: 'also' },
      others: [tool('clock', () => '12:00')],
      parts: [codeMode()],
    })
    const events = await eventsOf(await edge.post('/runs', { input: 'Hi' }, STREAM))
    const result = events.find(({ type, tool: name }) => type === 'call.settled' && name === 'run_code')
    const unknown = 'There is no tool "web_search". Call one that is on offer, such as "clock".'
    expect(result).toMatchObject({ content: [{ text: JSON.stringify([unknown, '12:00']) }] })
    const [body] = edge.calls.map((call) => JSON.stringify(call.body.tools))
    expect([body?.includes('clock('), body?.includes('web_search(')]).toEqual([true, false])
  })

  test('is found by a search, and then offered in the form of the provider', async () => {
    const edge = await searchEdge({
      reply: (_, index) => stream(index === 0 ? callOf('tool_search', { query: 'search the web' }) : ANTHROPIC['text']),
      provider: claude,
      vars: { TOOL_SEARCH: 'on' },
      others: [tool('clock')],
      parts: [toolSearch()],
    })
    await (await edge.post('/runs', { input: 'Hi' }, STREAM)).text()
    const names = edge.calls.map(({ body }) =>
      (Array.isArray(body.tools) ? body.tools : []).map((each) => [
        Reflect.get(each, 'name'),
        Reflect.get(each, 'type'),
      ]),
    )
    expect(names).toEqual([
      [['tool_search', undefined]],
      [
        ['tool_search', undefined],
        ['web_search', 'web_search_20250305'],
      ],
    ])
  })

  test.each([
    ['has no form', { web: { description: 'x' } }, 'with a form for anthropic, responses, gemini; "web" has none'],
    ['has another name', { 'web search': SEARCH.web_search }, 'with names like web_search, not "web search"'],
    [
      'demands an approval',
      { web: { ...SEARCH.web_search, approval: 'always' } },
      'without approval of "web", since the provider of the model runs it',
    ],
  ])('that %s is refused at the start', async (_, tools, message) => {
    await expect(searchEdge({ ...quiet, tools })).rejects.toThrow(message)
  })

  test('does not exist for a caller whom a policy excludes', async () => {
    const policy = { web_search: { tenants: ['acme'] } }
    const edge = await searchEdge({ ...quiet, vars: { TOOL_POLICY: JSON.stringify(policy) } })
    await (await edge.post('/runs', { input: 'Hi' }, STREAM)).text()
    expect([edge.calls[0]?.body.tools, await (await edge.fetch('/tools')).json()]).toEqual([undefined, []])
  })

  test.each([
    [{ approval: 'always' }, 'approval'],
    [{ rate: 'SLOW' }, 'rate'],
  ])('under a policy that nothing could enforce is refused at the start: %j', async (policy, control) => {
    const vars = { TOOL_POLICY: JSON.stringify({ '*': policy }), SLOW: { limit: async () => ({ success: true }) } }
    await expect(searchEdge({ ...quiet, vars })).rejects.toThrow(
      `TOOL_POLICY must be without "${control}" at "*" for the tool "web_search", since the provider of the model runs it`,
    )
  })

  test('is left out once the run has read private data, since it may send them out in an answer', async () => {
    const diary = tool('diary', () => 'Dear diary', { annotations: { private: true } })
    const edge = await searchEdge({
      reply: (_, index) => stream(index === 0 ? callOf('diary', {}) : ANTHROPIC['text']),
      provider: claude,
      others: [diary],
    })
    await (await edge.post('/runs', { input: 'Hi' }, STREAM)).text()
    const names = edge.calls.map(({ body }) =>
      (Array.isArray(body.tools) ? body.tools : []).map((each) => Reflect.get(each, 'name')),
    )
    expect(names).toEqual([['diary', 'web_search'], ['diary']])
  })
})
