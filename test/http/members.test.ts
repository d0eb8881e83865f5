import { readFileSync } from 'node:fs'
import type Anthropic from '@anthropic-ai/sdk'
import type OpenAI from 'openai'
import { describe, expect, test } from 'vitest'
import { MESSAGES_MEMBERS } from '../../src/wire/client/anthropic-messages/members.ts'
import type { Handling } from '../../src/wire/client/members.ts'
import { CHAT_MEMBERS } from '../../src/wire/client/openai-chat/members.ts'
import { RESPONSES_MEMBERS } from '../../src/wire/client/openai-responses/members.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

interface Recorded {
  readonly path: string
  readonly headers?: Record<string, string>
  readonly body: Readonly<Record<string, unknown>>
}

/** Returns the requests that an application has sent. Long texts in them are cut. */
function recorded(application: string): readonly Recorded[] {
  const text = readFileSync(new URL(`../fixtures/recorded/${application}.json`, import.meta.url).pathname, 'utf8')
  return JSON.parse(text)
}

const model = 'test/scripted'
const question = [{ role: 'user', content: 'Hello' }]
const bodies = {
  '/v1/messages': { model, max_tokens: 100, messages: question },
  '/v1/messages/count_tokens': { model, messages: question },
  '/v1/chat/completions': { model, messages: question },
  '/v1/responses': { model, input: 'Hello', store: false },
  '/v1/responses/input_tokens': { model, input: 'Hello' },
}

type Path = keyof typeof bodies

async function send(path: Path, members: object, vars: Record<string, string> = {}) {
  const edge = keptEdge({ script: [say('Done.')], vars })
  const response = await edge.post(path, { ...bodies[path], ...members })
  return { edge, response, ignored: response.headers.get('edgecall-ignored') }
}

type MessagesMember =
  | keyof Anthropic.MessageCreateParams
  | keyof Anthropic.MessageCountTokensParams
  | keyof Anthropic.Beta.MessageCreateParams
  | keyof Anthropic.Beta.MessageCountTokensParams

/** This does not compile when a vendor's schema has a member of which the table says nothing. */
const TABLES: readonly (readonly [Path, Readonly<Record<string, Handling>>])[] = [
  ['/v1/messages', MESSAGES_MEMBERS satisfies Readonly<Record<MessagesMember, Handling>>],
  ['/v1/chat/completions', CHAT_MEMBERS satisfies Readonly<Record<keyof OpenAI.ChatCompletionCreateParams, Handling>>],
  [
    '/v1/responses',
    RESPONSES_MEMBERS satisfies Readonly<Record<keyof OpenAI.Responses.ResponseCreateParams, Handling>>,
  ],
]

describe('a member of the vendor’s schema', () => {
  const rows = TABLES.flatMap(([path, table]) =>
    Object.entries(table).flatMap(([name, handling]) =>
      handling === 'honoured' || handling === 'forwarded' ? [] : [[path, name, handling] as const],
    ),
  )
  test.each(rows)('is handled as the table says: %s %s is %s', async (path, name, handling) => {
    const { response, ignored } = await send(path, { [name]: 7 })
    expect([response.status, ignored]).toEqual(handling === 'refused' ? [400, null] : [200, name])
    const strict = await send(path, { [name]: 7 }, { CLIENT_MEMBERS: 'strict' })
    expect(strict.response.status).toBe(handling === 'telemetry' ? 200 : 400)
  })
})

describe('a member that only hints', () => {
  test.each([
    ['/v1/messages', { speed: 'fast' }, 'speed'],
    ['/v1/messages', { metadata: { user_id: 'u' }, service_tier: null }, 'metadata'],
    ['/v1/messages/count_tokens', { speed: 'fast' }, 'speed'],
    ['/v1/chat/completions', { user: 'u', prompt_cache_key: 'k' }, 'user, prompt_cache_key'],
    ['/v1/responses', { reasoning: { effort: 'low', summary: 'auto' } }, 'reasoning.summary'],
    ['/v1/chat/completions', { unheard: 1, 'of\nline': 1 }, 'unheard, of?line'],
    ['/v1/responses', { context_management: [{ type: 'compaction' }] }, 'context_management'],
    ['/v1/responses/input_tokens', { prompt_cache_key: 'k' }, 'prompt_cache_key'],
    ['/v1/responses', { stream: true, user: 'u' }, 'user'],
    ['/v1/responses', { background: true, store: true, user: 'u' }, 'user'],
    ['/v1/chat/completions', { stream: true, temperature: 1, n: 1 }, null],
    ['/v1/chat/completions', { store: false, stream_options: { include_obfuscation: false } }, null],
    ['/v1/chat/completions', { enable_thinking: false }, 'enable_thinking'],
  ] as const)('is ignored, and named: %s %j', async (path, members, names) => {
    const { edge, response, ignored } = await send(path, members)
    await response.text()
    await edge.settle()
    expect([response.status, ignored]).toEqual([200, names])
  })

  test.each(['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const)(
    'is refused by an edge that ignores nothing: %s',
    async (path) => {
      const { edge, response } = await send(path, { unheard: 1 }, { CLIENT_MEMBERS: 'strict' })
      const message = 'unheard: would be ignored, which this edge does not do (`CLIENT_MEMBERS`).'
      expect([response.status, await response.json()]).toMatchObject([400, { error: { message } }])
      expect(edge.requests).toEqual([])
    },
  )
})

describe('a member for models of one vendor', () => {
  const hints = [
    'openai.prompt_cache_key',
    'openai.safety_identifier',
    'openai.reasoning.summary',
    'anthropic.metadata',
    'anthropic.anthropic-beta',
  ]

  test.each([
    [
      '/v1/chat/completions',
      { prompt_cache_key: 'k', safety_identifier: 's', user: 'u' },
      { 'openai.prompt_cache_key': 'k', 'openai.safety_identifier': 's' },
      'user',
    ],
    [
      '/v1/responses',
      { prompt_cache_key: 'k', reasoning: { effort: 'low', summary: 'auto', context: 'all_turns' } },
      { 'openai.prompt_cache_key': 'k', 'openai.reasoning.summary': 'auto' },
      'reasoning.context',
    ],
    [
      '/v1/messages',
      { metadata: { user_id: 'u' }, service_tier: 'auto' },
      {
        'anthropic.metadata': { user_id: 'u' },
        'anthropic.anthropic-beta': ['interleaved-thinking-2025-05-14', 'context-1m-2025-08-07'],
      },
      'service_tier, anthropic-beta.skills-2025-10-02',
    ],
  ] as const)('is passed to a model that takes it: %s', async (path, members, passedOn, ignored) => {
    const edge = keptEdge({ script: [say('Done.')], hints })
    const betas =
      'interleaved-thinking-2025-05-14, context-1m-2025-08-07,mcp-client-2025-04-04,skills-2025-10-02,context-management-2025-06-27'
    const response = await edge.post(path, { ...bodies[path], ...members }, { 'anthropic-beta': betas })
    expect([response.status, response.headers.get('edgecall-ignored')]).toEqual([200, ignored])
    expect(edge.requests[0]?.hints).toEqual(passedOn)
  })
})

describe('edits of the context', () => {
  const clearThinking = { type: 'clear_thinking_20251015', keep: 'all' }
  test.each(['/v1/messages', '/v1/messages/count_tokens'] as const)('are taken: %s', async (path) => {
    const keepAll = await send(path, { context_management: { edits: [clearThinking] } })
    expect([keepAll.response.status, keepAll.ignored]).toEqual([200, null])
    const edits = [clearThinking, { type: 'clear_tool_uses_20250919', keep: { type: 'tool_uses', value: 3 } }]
    const others = await send(path, { context_management: { edits: [...edits, { type: 'compact_20260112' }] } })
    expect([others.response.status, others.ignored]).toEqual([200, null])
  })
})

describe('the tools of the edge', () => {
  const own = { '/v1/messages': { type: 'none' }, '/v1/chat/completions': 'none', '/v1/responses': 'none' }
  const paths = ['/v1/messages', '/v1/chat/completions', '/v1/responses'] as const
  const parameters = { type: 'object' }
  const pick = {
    '/v1/messages': { name: 'pick', input_schema: parameters },
    '/v1/chat/completions': { type: 'function', function: { name: 'pick', parameters } },
    '/v1/responses': { type: 'function', name: 'pick', parameters },
  }
  test.each(paths)('are offered to a request without `tools`, and not to one that wants none: %s', async (path) => {
    const offered = async (members: object) => {
      const edge = keptEdge({ script: [say('Done.')], tools: [tool('clock')] })
      const response = await edge.post(path, { ...bodies[path], ...members })
      return [response.status, edge.requests[0]?.tools.map(({ name }) => name)]
    }
    const choice = { tool_choice: own[path] }
    expect(await offered({})).toEqual([200, ['clock']])
    expect(await offered({ tools: null })).toEqual([200, ['clock']])
    expect(await offered({ tools: [pick[path]] })).toEqual([200, ['clock', 'pick']])
    expect(await offered({ tools: [] })).toEqual([200, []])
    expect(await offered({ ...choice })).toEqual([200, []])
    expect(await offered({ tools: [pick[path]], ...choice })).toEqual([200, ['pick']])
    expect(await offered({ tools: [], edgecall: { tools: ['clock'] } })).toEqual([200, ['clock']])
  })

  test('are offered beside tools that the input of a response has', async () => {
    const edge = keptEdge({ script: [say('Done.')], tools: [tool('clock')] })
    const input = [{ type: 'additional_tools', role: 'developer', tools: [pick['/v1/responses']] }, ...question]
    await edge.post('/v1/responses', { ...bodies['/v1/responses'], tools: [], input })
    expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(['clock', 'pick'])
  })
})

describe('an edit that clears results', () => {
  const use = (id: string, name = 'look') => [
    { role: 'assistant', content: [{ type: 'tool_use', id, name, input: { of: id } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: id, content: 'word '.repeat(100) }] },
  ]
  const messages = [...question, ...use('a'), ...use('b', 'keep'), ...use('c'), ...use('d')]
  const edit = { type: 'clear_tool_uses_20250919', trigger: { type: 'tool_uses', value: 3 } }
  const result = (callId: string, tool: string, text: string) => ({ callId, tool, content: [{ type: 'text', text }] })
  const clearText = '[This result was cleared to make room.]'
  const longText = 'word '.repeat(100)

  async function edited(members: object, more: object = {}) {
    const { edge, response } = await send('/v1/messages', {
      messages,
      context_management: { edits: [members] },
      ...more,
    })
    const results = edge.requests[0]?.messages.filter(({ role }) => role === 'tool')
    const calls = edge.requests[0]?.messages.flatMap((each) => (each.role === 'assistant' ? (each.calls ?? []) : []))
    const text = await response.text()
    return { results, inputs: calls?.map((call) => call.arguments), text }
  }

  test('clears the oldest ones, but for those of other tools, and is told back', async () => {
    const { results, inputs, text } = await edited({
      ...edit,
      keep: { type: 'tool_uses', value: 1 },
      exclude_tools: ['keep'],
      clear_tool_inputs: true,
    })
    expect(results).toMatchObject([
      result('a', 'look', clearText),
      result('b', 'keep', longText),
      result('c', 'look', clearText),
      result('d', 'look', longText),
    ])
    expect(inputs).toEqual(['{}', '{"of":"b"}', '{}', '{"of":"d"}'])
    const applied = { type: edit.type, cleared_tool_uses: 2, cleared_input_tokens: expect.any(Number) }
    expect(JSON.parse(text).context_management).toEqual({ applied_edits: [applied] })
  })

  test('is told back at the end of a stream', async () => {
    const { text } = await edited(edit, { stream: true })
    const [, data = ''] = /^event: message_delta\ndata: (.*)$/m.exec(text) ?? []
    const applied = { type: edit.type, cleared_tool_uses: 1, cleared_input_tokens: expect.any(Number) }
    expect(JSON.parse(data).context_management).toEqual({ applied_edits: [applied] })
  })

  test.each([
    ['has not come to its trigger', { type: edit.type }],
    ['would clear too little', { ...edit, clear_at_least: { type: 'input_tokens', value: 5000 } }],
  ])('changes nothing if it %s', async (_, members) => {
    const { results, text } = await edited(members)
    expect(results).toMatchObject(['a', 'b', 'c', 'd'].map((id) => ({ callId: id, content: [{ text: longText }] })))
    expect(JSON.parse(text).context_management).toEqual({ applied_edits: [] })
  })

  test('counts in an estimate', async () => {
    const count = async (members: object) => {
      const { response } = await send('/v1/messages/count_tokens', { messages, ...members })
      return (await response.json()) as Record<string, unknown>
    }
    const { input_tokens: original_input_tokens } = await count({})
    const after = await count({ context_management: { edits: [edit] } })
    expect(after).toEqual({ input_tokens: expect.any(Number), context_management: { original_input_tokens } })
    expect(after['input_tokens']).toBeLessThan(Number(original_input_tokens) - 80)
  })
})

describe('the requests of Claude Code', () => {
  test.each(recorded('claude-code').map((request, index) => ({ ...request, index })))(
    'are answered: $index $path',
    async ({ path, headers, body }) => {
      const edge = keptEdge({ script: [say('Done.')] })
      const response = await edge.post(path, { ...body, model }, headers)
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Done.')])
      expect(response.headers.get('edgecall-ignored')?.split(', ')).toEqual(
        expect.arrayContaining(['metadata', 'anthropic-beta']),
      )
      const strictEdge = keptEdge({ script: [say('Done.')], vars: { CLIENT_MEMBERS: 'strict' } })
      const strict = await strictEdge.post(path, { ...body, model }, headers)
      expect([strict.status, await strict.text()]).toEqual([200, expect.stringContaining('Done.')])
      const { tools = [] } = body
      expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(
        Array.isArray(tools) ? tools.map(({ name }) => name) : [],
      )
    },
  )
})

test('what a search of the caller has found is told to the model', async () => {
  const reference = { type: 'tool_reference', tool_name: 'get_weather' }
  const tools = [
    { name: 'ToolSearch', input_schema: { type: 'object' } },
    { name: 'get_weather', input_schema: { type: 'object' }, defer_loading: true },
  ]
  const { edge, response } = await send('/v1/messages', {
    tools,
    messages: [
      ...question,
      { role: 'assistant', content: [{ type: 'tool_use', id: 'toolu_1', name: 'ToolSearch', input: {} }] },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: [reference] }] },
    ],
  })
  expect(response.status).toBe(200)
  expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(['ToolSearch', 'get_weather'])
  expect(edge.requests[0]?.messages.at(-1)).toMatchObject({
    role: 'tool',
    content: [{ type: 'text', text: 'Found the tool get_weather.\n' }],
  })
})

/** Returns the names of the tools of a request of Codex, as a model is told of them. */
function namesIn({ tools = [], input }: Readonly<Record<string, unknown>>): readonly string[] {
  const all = [tools, ...(input as { type: string; tools?: unknown[] }[]).map((item) => item.tools ?? [])].flat()
  return (all as { type: string; name?: string; tools?: { name: string }[] }[]).flatMap(({ type, name, tools }) => {
    if (type === 'namespace') return (tools ?? []).map((each) => (name === 'functions' ? '' : `${name}__`) + each.name)
    return type === 'web_search' ? [] : [type === 'tool_search' ? 'search_tools' : (name ?? type)]
  })
}

describe('the requests of Codex', () => {
  test.each(recorded('codex').map((request, index) => ({ ...request, index })))(
    'are answered: $index $body.model',
    async ({ path, body }) => {
      const edge = keptEdge({ script: [say('Done.')] })
      const response = await edge.post(path, { ...body, model })
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Done.')])
      expect(edge.requests[0]?.tools.map(({ name }) => name)).toEqual(namesIn(body))
      expect(response.headers.get('edgecall-ignored')?.split(', ')).toEqual(
        expect.arrayContaining(['prompt_cache_key', 'client_metadata']),
      )
    },
  )
})

test('what one agent of Codex tells another is read as the words of a user', async () => {
  const edge = keptEdge({ script: [say('Done.')] })
  const { body } = recorded('codex').at(-1)!
  expect((await edge.post('/v1/responses', { ...body, model })).status).toBe(200)
  expect(edge.requests[0]?.messages.at(-1)).toEqual({
    role: 'user',
    content: [
      { type: 'text', text: 'Message Type: NEW_TASK\nTask name: /root/counter\nSender: /root\nPayload:\n' },
      { type: 'text', text: '[inner] Count to 41 in the shell.' },
    ],
  })
})

describe('a tool that is declared in a form of its own', () => {
  const patch = '*** Begin Patch'
  const rows = [
    [
      { type: 'custom', name: 'apply', format: { type: 'grammar', syntax: 'lark', definition: 'start: "a"' } },
      ['apply', { input: patch }],
      { type: 'custom_tool_call', name: 'apply', input: patch },
      { type: 'custom_tool_call_output', output: 'Done!' },
    ],
    [
      { type: 'namespace', name: 'mcp__git__', description: '', tools: [{ type: 'function', name: 'log' }] },
      ['mcp__git__log', { of: 'a' }],
      { type: 'function_call', namespace: 'mcp__git__', name: 'log', arguments: '{"of":"a"}' },
      { type: 'function_call_output', output: 'Done!' },
    ],
    [
      { type: 'local_shell' },
      ['local_shell', { command: ['ls'] }],
      { type: 'local_shell_call', action: { type: 'exec', command: ['ls'], env: {} } },
      { type: 'local_shell_call_output', output: 'Done!' },
    ],
    [
      { type: 'shell', environment: { type: 'local' } },
      ['shell', { commands: ['ls'] }],
      { type: 'shell_call', action: { commands: ['ls'], timeout_ms: null, max_output_length: null } },
      { type: 'shell_call_output', output: [{ stdout: 'Done!', stderr: '', outcome: { type: 'exit', exit_code: 0 } }] },
    ],
    [
      { type: 'apply_patch' },
      ['apply_patch', { type: 'delete_file', path: 'a.txt' }],
      { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'a.txt' } },
      { type: 'apply_patch_call_output', status: 'completed', output: 'Done!' },
    ],
    [
      { type: 'tool_search', execution: 'client', description: 'Search', parameters: { type: 'object' } },
      ['search_tools', { query: 'git' }],
      { type: 'tool_search_call', execution: 'client', arguments: { query: 'git' } },
      { type: 'tool_search_output', execution: 'client', tools: [{ type: 'function', name: 'added', parameters: {} }] },
    ],
  ] as const

  test.each(rows)('is a function for the model, and its calls have that form: %j', async (tool, call, item, output) => {
    const edge = keptEdge({ script: [ask([...call]), say('Done.')] })
    const body = { model, store: false, tools: [tool] }
    const first = await edge.post('/v1/responses', { ...body, input: 'Go' })
    const { output: items } = (await first.json()) as { output: { call_id: string }[] }
    expect([first.status, items]).toMatchObject([200, [item]])
    const callId = items[0]?.call_id
    const input = [{ role: 'user', content: 'Go' }, ...items, { ...output, call_id: callId }]
    const second = await edge.post('/v1/responses', { ...body, input })
    expect([second.status, await second.text()]).toEqual([200, expect.stringContaining('Done.')])
    expect(edge.requests.map(({ tools }) => tools.map(({ name }) => name))).toEqual([
      [call[0]],
      [call[0], ...(item.type === 'tool_search_call' ? ['added'] : [])],
    ])
    const [, answer, result] = edge.requests[1]?.messages ?? []
    expect(answer).toMatchObject({ role: 'assistant', calls: [{ callId, tool: call[0] }] })
    expect(result).toMatchObject({ role: 'tool', callId, tool: call[0] })
  })

  test('streams the input of a custom tool by the events of the format', async () => {
    const edge = keptEdge({ script: [ask(['apply', { input: patch }])] })
    const tools = [{ type: 'custom', name: 'apply' }]
    const response = await edge.post('/v1/responses', { model, store: false, stream: true, tools, input: 'Go' })
    const events = [...(await response.text()).matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
    expect(events).toEqual([
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.custom_tool_call_input.delta',
      'response.custom_tool_call_input.done',
      'response.output_item.done',
      'response.completed',
    ])
  })

  test('may be forced, by its name or type', async () => {
    for (const [tool, tool_choice, name] of [
      [{ type: 'custom', name: 'apply' }, { type: 'custom', name: 'apply' }, 'apply'],
      [{ type: 'shell' }, { type: 'shell' }, 'shell'],
    ] as const) {
      const edge = keptEdge({ script: [ask([name])] })
      const response = await edge.post('/v1/responses', {
        model,
        store: false,
        tools: [tool],
        tool_choice,
        input: 'Go',
      })
      expect([response.status, edge.requests[0]?.toolChoice]).toEqual([200, { tool: name }])
    }
  })
})
