import { readFileSync } from 'node:fs'
import OpenAI from 'openai'
import type { ResponseInputItem, ResponseOutputItem, Tool } from 'openai/resources/responses/responses'
import { responses } from 'edgecall'
import { describe, expect, test } from 'vitest'
import type { ModelCall, ModelReply } from '../fixtures/model-server.ts'
import { tool } from '../fixtures/play.ts'
import { responsesReply } from '../fixtures/responses-events.ts'
import { UPSTREAMS, upstreamEdge } from './upstream-edge.ts'

const model = 'test/scripted'
const head = { id: 'resp_1', object: 'response', created_at: 1790000000, model: 'gpt-5.5', error: null } as const
const usage = {
  input_tokens: 10,
  input_tokens_details: { cached_tokens: 0, cache_write_tokens: 0 },
  output_tokens: 5,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: 15,
}

/** OpenAI's own API, played by a server of the test. */
const openAi = (baseUrl: string) => () =>
  responses({
    provider: 'test',
    fetch: (input, init) => fetch(new Request(input, init).url.replace('https://api.openai.com/v1', baseUrl), init),
  })('gpt-5.5')

/** A call as OpenAI streams it: `open` as it begins, `deltas` of its input. */
function callReply(item: ResponseOutputItem, open: object = {}, deltas: readonly string[] = []): ModelReply {
  const events: readonly [string, object][] = [
    ['response.created', { response: { ...head, status: 'in_progress', output: [] } }],
    ['response.output_item.added', { output_index: 0, item: { ...item, ...open, status: 'in_progress' } }],
    ...deltas.map((delta): [string, object] => [
      'response.custom_tool_call_input.delta',
      { output_index: 0, item_id: item.id, delta },
    ]),
    ['response.output_item.done', { output_index: 0, item }],
    ['response.completed', { response: { ...head, status: 'completed', output: [item], usage } }],
  ]
  const chunks = events.map(
    ([type, event], at) => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: at, ...event })}\n\n`,
  )
  return { chunks, end: 'close' }
}

const done = responsesReply({ text: 'Done.' })
const patch = '*** Begin Patch\n*** Add File: ä.txt\n+"hi"\n*** End Patch\n'
const grammar = { type: 'grammar', syntax: 'lark', definition: 'start: /.+/s' } as const
const shellOutput = { stdout: 'a.txt', stderr: '', outcome: { type: 'exit', exit_code: 0 } } as const

interface Case {
  readonly tool: Tool
  readonly call: ResponseOutputItem
  readonly reply?: ModelReply
  /** What the caller sees of the call, and what OpenAI gets back of it, beside ids and status. */
  readonly item: object
  readonly output: ResponseInputItem
  readonly upstream?: object
  readonly choice?: OpenAI.Responses.ResponseCreateParams['tool_choice']
}

const customCall = {
  type: 'custom_tool_call',
  id: 'ctc_1',
  call_id: 'call_1',
  name: 'apply',
  input: patch,
  status: 'completed',
} as const

const CASES: Readonly<Record<string, Case>> = {
  custom: {
    tool: { type: 'custom', name: 'apply', description: 'Applies '.repeat(200), format: grammar },
    call: customCall,
    reply: callReply(customCall, { input: '' }, [patch.slice(0, 9), patch.slice(9, 38), patch.slice(38)]),
    item: { type: 'custom_tool_call', name: 'apply', input: patch },
    output: { type: 'custom_tool_call_output', call_id: '', output: 'Done!' },
    choice: { type: 'custom', name: 'apply' },
  },
  local_shell: {
    tool: { type: 'local_shell' },
    call: {
      type: 'local_shell_call',
      id: 'lsh_1',
      call_id: 'call_1',
      status: 'completed',
      action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: 1000, user: null, working_directory: null },
    },
    item: { type: 'local_shell_call', action: { type: 'exec', command: ['ls'], env: {}, timeout_ms: 1000 } },
    output: { type: 'local_shell_call_output', id: '', output: 'a.txt' },
  },
  shell: {
    tool: { type: 'shell', environment: { type: 'local', skills: [{ name: 's', description: 'S', path: '/s' }] } },
    call: {
      type: 'shell_call',
      id: 'sh_1',
      call_id: 'call_1',
      status: 'completed',
      action: { commands: ['ls'], timeout_ms: null, max_output_length: 4096 },
      environment: { type: 'local' },
    },
    item: { type: 'shell_call', action: { commands: ['ls'], max_output_length: 4096 }, environment: { type: 'local' } },
    output: { type: 'shell_call_output', call_id: '', output: [shellOutput], max_output_length: 4096 },
    choice: { type: 'shell' },
  },
  apply_patch: {
    tool: { type: 'apply_patch' },
    call: {
      type: 'apply_patch_call',
      id: 'apc_1',
      call_id: 'call_1',
      status: 'completed',
      operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b\n' },
    },
    item: { type: 'apply_patch_call', operation: { type: 'update_file', path: 'a.txt', diff: '@@\n-a\n+b\n' } },
    output: { type: 'apply_patch_call_output', call_id: '', status: 'failed', output: 'No such line.' },
    choice: { type: 'apply_patch' },
  },
  tool_search: {
    tool: {
      type: 'tool_search',
      execution: 'client',
      description: 'Finds.',
      parameters: { type: 'object', properties: {} },
    },
    call: {
      type: 'tool_search_call',
      id: 'tsc_1',
      call_id: 'call_1',
      execution: 'client',
      status: 'completed',
      arguments: { query: 'git' },
    },
    item: { type: 'tool_search_call', execution: 'client', arguments: { query: 'git' } },
    output: {
      type: 'tool_search_output',
      call_id: '',
      execution: 'client',
      status: 'completed',
      tools: [{ type: 'function', name: 'git_log', parameters: { type: 'object' }, strict: false }],
    },
    upstream: {
      type: 'tool_search_output',
      execution: 'client',
      status: 'completed',
      tools: [
        {
          type: 'function',
          name: 'git_log',
          description: '',
          parameters: { type: 'object', properties: {} },
          strict: false,
          defer_loading: true,
        },
      ],
    },
  },
}

const sdk = (edge: { fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response> }) =>
  new OpenAI({ apiKey: 'none', maxRetries: 0, baseURL: 'http://127.0.0.1:8787/v1', fetch: edge.fetch })

const inputOf = (call: ModelCall | undefined) => call?.body['input'] as Record<string, unknown>[]
const toolsOf = (call: ModelCall | undefined): unknown => call?.body['tools']

describe('a kind of tool that OpenAI’s models know', () => {
  const rows = Object.keys(CASES).flatMap((kind) => [true, false].map((stream) => [kind, stream] as const))

  test.each(rows)(
    'is passed to OpenAI as it is, with its calls and outputs: %s, streamed: %s',
    async (kind, stream) => {
      const { tool, call, reply = callReply(call), item, output, upstream } = CASES[kind]!
      const edge = await upstreamEdge((_, index) => (index === 0 ? reply : done), openAi)
      const client = sdk(edge)
      const body = { model, store: false, tools: [tool] }
      const question = { ...body, input: 'Go' }
      const first = stream
        ? await client.responses.stream(question).finalResponse()
        : await client.responses.create(question)
      expect(first.output).toMatchObject([{ ...item, status: 'completed' }])
      const [answer] = first.output as unknown as { readonly id: string; readonly call_id: string }[]
      const callId = answer!.call_id
      const result = kind === 'local_shell' ? { ...output, id: callId } : { ...output, call_id: callId }
      const input = [{ role: 'user', content: 'Go' }, answer, result] as ResponseInputItem[]
      const second = await client.responses.create({ ...body, input })
      expect(second.output_text).toBe('Done.')
      expect(toolsOf(edge.calls[0])).toEqual([tool])
      expect(toolsOf(edge.calls[1])).toEqual([tool])
      const { id: _, ...outputItem } = (upstream ?? output) as unknown as Record<string, unknown>
      expect(inputOf(edge.calls[1])).toEqual([
        { role: 'user', content: 'Go' },
        { ...item, call_id: callId, ...(kind !== 'custom' && { status: 'completed' }) },
        { ...outputItem, call_id: callId },
      ])
    },
  )

  test.each(Object.keys(CASES))('is a function elsewhere, also at servers of the same format: %s', async (kind) => {
    const { tool } = CASES[kind]!
    for (const provider of [UPSTREAMS.responses, UPSTREAMS.chat]) {
      const edge = await upstreamEdge(() => provider.done, provider.provider)
      const response = await edge.post('/v1/responses', { model, store: false, tools: [tool], input: 'Go' })
      expect(response.status).toBe(200)
      expect(toolsOf(edge.calls[0])).toMatchObject([{ type: 'function' }])
    }
  })

  test.each(['shell', 'custom', 'apply_patch'])('may be forced, by its type or name: %s', async (kind) => {
    const { tool, choice, call } = CASES[kind]!
    const edge = await upstreamEdge(() => callReply(call), openAi)
    const request = { model, store: false, tools: [tool], tool_choice: choice, input: 'Go' }
    expect((await edge.post('/v1/responses', request)).status).toBe(200)
    expect(edge.calls[0]?.body['tool_choice']).toEqual(choice)
  })

  test('is a function if it is forced and the format has no word for that', async () => {
    const edge = await upstreamEdge(() => done, openAi)
    const tools = [{ type: 'local_shell' }]
    await edge.post('/v1/responses', { model, store: false, tools, tool_choice: { type: 'local_shell' }, input: 'Go' })
    expect(edge.calls[0]?.body).toMatchObject({
      tools: [{ type: 'function', name: 'local_shell' }],
      tool_choice: { type: 'function', name: 'local_shell' },
    })
  })

  test.each([
    ["Tool 'apply_patch' is not supported with gpt-4.1.", 'tools'],
    ["Invalid value: 'custom'. Supported values are: 'function', 'file_search'.", 'tools[0].type'],
  ])('becomes a function for a model that refuses it: %s', async (message, param) => {
    const refusal = { status: 400, body: { error: { message, param, type: 'invalid_request_error', code: null } } }
    const isKind = ({ body }: ModelCall) => !JSON.stringify(body.tools).includes('"function"')
    const edge = await upstreamEdge((call) => (isKind(call) ? refusal : done), openAi)
    const history = [
      { role: 'user', content: 'Go' },
      { ...CASES['apply_patch']!.call, status: 'completed' },
      { ...CASES['apply_patch']!.output, call_id: 'call_1' },
    ]
    const request = { model, store: false, tools: [{ type: 'apply_patch' }], input: history }
    for (const _ of [1, 2]) expect((await edge.post('/v1/responses', request)).status).toBe(200)
    expect(edge.calls.map(isKind)).toEqual([true, false, false])
    expect(inputOf(edge.calls[2]).map(({ type }) => type)).toEqual([undefined, 'function_call', 'function_call_output'])
    expect(edge.calls[2]?.body).toHaveProperty('include', ['reasoning.encrypted_content'])
  })

  test('goes by one name if the caller has it in a namespace, where its calls go back', async () => {
    const call = { ...customCall, name: 'git__apply' }
    const edge = await upstreamEdge(() => callReply(call), openAi)
    const tools = [{ type: 'namespace', name: 'git', description: '', tools: [{ type: 'custom', name: 'apply' }] }]
    const response = await edge.post('/v1/responses', { model, store: false, tools, input: 'Go' })
    const { output } = await response.json<{ output: object[] }>()
    expect(toolsOf(edge.calls[0])).toEqual([{ type: 'custom', name: 'git__apply' }])
    expect(output).toMatchObject([{ type: 'custom_tool_call', namespace: 'git', name: 'apply', input: patch }])
  })

  test('that is a search defines what it has found, whose calls name it as OpenAI wants', async () => {
    const { tool: search, call, output, upstream } = CASES['tool_search']!
    const edge = await upstreamEdge(() => done, openAi)
    const input = [
      { role: 'user', content: 'Go' },
      call,
      { ...output, call_id: 'call_1' },
      { type: 'function_call', call_id: 'call_2', name: 'git_log', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_2', output: 'abc' },
    ]
    await edge.post('/v1/responses', { model, store: false, tools: [search], input })
    expect(toolsOf(edge.calls[0])).toEqual([search])
    expect(inputOf(edge.calls[0]).slice(2)).toEqual([
      { ...upstream, call_id: 'call_1' },
      { type: 'function_call', call_id: 'call_2', name: 'git_log', arguments: '{}', namespace: 'git_log' },
      { type: 'function_call_output', call_id: 'call_2', output: 'abc' },
    ])
  })

  test('that is a search is a function beside the search of the edge', async () => {
    const { tool: search } = CASES['tool_search']!
    const edge = await upstreamEdge(() => done, openAi, { tools: [tool('tool_search')] })
    await edge.post('/v1/responses', { model, store: false, tools: [search], input: 'Go' })
    expect(toolsOf(edge.calls[0])).toMatchObject([
      { type: 'tool_search', description: 'Test tool tool_search' },
      { type: 'function', name: 'search_tools' },
    ])
  })

  test('stays what it is in a stored conversation', async () => {
    const edge = await upstreamEdge((_, index) => (index === 0 ? CASES['custom']!.reply! : done), openAi)
    const client = sdk(edge)
    const tools = [CASES['custom']!.tool]
    const first = await client.responses.create({ model, tools, input: 'Go' })
    const [answer] = first.output as unknown as { readonly call_id: string }[]
    const output = [{ type: 'custom_tool_call_output' as const, call_id: answer!.call_id, output: 'Done!' }]
    const second = await client.responses.create({ model, tools, previous_response_id: first.id, input: output })
    expect(second.output_text).toBe('Done.')
    expect(inputOf(edge.calls[1]).slice(-2)).toEqual([
      { type: 'custom_tool_call', call_id: answer!.call_id, name: 'apply', input: patch },
      { type: 'custom_tool_call_output', call_id: answer!.call_id, output: 'Done!' },
    ])
  })
})

interface Recorded {
  readonly path: string
  readonly body: Readonly<Record<string, any>>
}

describe('the requests of Codex', () => {
  const text = readFileSync(new URL('../fixtures/recorded/codex.json', import.meta.url).pathname, 'utf8')
  const requests: readonly Recorded[] = JSON.parse(text)

  test.each(requests.map(({ body }, index) => [index, body] as const))(
    'reach OpenAI in their form: %i',
    async (_, body) => {
      const edge = await upstreamEdge(() => done, openAi)
      const response = await edge.post('/v1/responses', { ...body, model })
      expect([response.status, await response.text()]).toEqual([200, expect.stringContaining('Done.')])
      const all = [...(body['tools'] ?? []), ...body['input'].flatMap((item: { tools?: object[] }) => item.tools ?? [])]
      const flat = all.flatMap((tool) => tool.tools ?? [tool])
      const kinds = flat.filter(({ type }) => type === 'custom' || type === 'tool_search')
      const ownKinds = (toolsOf(edge.calls[0]) as { type: string }[]).filter(({ type }) => type !== 'function')
      expect(ownKinds).toEqual(kinds)
      const types = (items: readonly { type?: string }[]) =>
        items.map(({ type }) => type).filter((type) => /call/.test(type ?? ''))
      const isDeclared = kinds.some(({ name }) => name === 'apply_patch')
      const expected = types(body['input'])
      expect(types(inputOf(edge.calls[0]))).toEqual(
        isDeclared ? expected : expected.map((type) => type?.replace('custom_tool', 'function')),
      )
    },
  )
})

test('a custom tool of Chat Completions is one for OpenAI, and its call and result are of the same kind', async () => {
  const call = callReply(customCall, { input: '' }, [patch])
  const edge = await upstreamEdge((_, index) => (index === 0 ? call : done), openAi)
  const { type, ...lark } = grammar
  const custom = { name: 'apply', description: 'Applies.', format: { type, grammar: lark } }
  const tools = [{ type: 'custom', custom }]
  const user = { role: 'user', content: 'Go' }
  const first: any = await (await edge.post('/v1/chat/completions', { model, messages: [user], tools })).json()
  const { message } = first.choices[0]
  const [{ id }] = message.tool_calls
  expect(message.tool_calls).toEqual([{ id, type: 'custom', custom: { name: 'apply', input: patch } }])
  const messages = [user, message, { role: 'tool', tool_call_id: id, content: 'Applied.' }]
  expect((await edge.post('/v1/chat/completions', { model, messages, tools })).status).toBe(200)
  expect(edge.calls.map(({ body }) => body.tools)).toEqual(
    [1, 2].map(() => [{ type: 'custom', name: 'apply', description: 'Applies.', format: grammar }]),
  )
  expect(edge.calls[1]?.body['input']).toMatchObject([
    { role: 'user' },
    { type: 'custom_tool_call', name: 'apply', input: patch },
    { type: 'custom_tool_call_output', output: 'Applied.' },
  ])
})
