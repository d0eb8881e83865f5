import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { afterEach, describe, expect, test, vi } from 'vitest'
import type { ToolContext, ToolSource, ToolText } from '../../src/contract/tool.ts'
import { failure } from '../../src/contract/tool.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { testEdge } from '../fixtures/edge.ts'
import { tool } from '../fixtures/play.ts'

const PREFIX = 'io.modelcontextprotocol/'
const NEWEST = '2026-07-28'
const META = { [`${PREFIX}protocolVersion`]: NEWEST, [`${PREFIX}clientCapabilities`]: {} }
const { version } = JSON.parse(readFileSync('package.json', 'utf8')) as { version: string }
const SERVER = { name: 'edgecall', version }

type Options = Parameters<typeof testEdge>[0]

/** A client of each kind: those of the newest revision, and those of older ones. */
function client(options: Options = {}) {
  const edge = testEdge({ ...options, setup: { directories: memoryDirectories(), ...options.setup } })
  const post = (json: unknown, headers: Record<string, string> = {}) =>
    edge.ask('/mcp', { json, headers: { accept: 'application/json, text/event-stream', ...headers } })
  const newest = (method: string, params: Record<string, any> = {}, headers: Record<string, string> = {}) =>
    post(
      { jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: { ...META, ...params['_meta'] } } },
      {
        'mcp-protocol-version': NEWEST,
        'mcp-method': method,
        ...(params['name'] && { 'mcp-name': params['name'] }),
        ...headers,
      },
    )
  const older = (method: string, params?: object, headers: Record<string, string> = {}) =>
    post({ jsonrpc: '2.0', id: 1, method, params }, { 'mcp-protocol-version': '2025-11-25', ...headers })
  return { edge, post, newest, older }
}

async function read(response: Response): Promise<Record<string, any>> {
  return (await response.json()) as Record<string, any>
}

/** The messages of an event stream. */
async function messages(response: Response): Promise<Record<string, any>[]> {
  expect(response.headers.get('content-type')).toContain('text/event-stream')
  const frames = (await response.text()).split('\n\n').filter((frame) => frame !== '')
  return frames.map((frame) => JSON.parse(frame.replace(/^data: /, '')) as Record<string, any>)
}

const complete = (result: object) => ({
  jsonrpc: '2.0',
  id: 1,
  result: { resultType: 'complete', ...result, _meta: { [`${PREFIX}serverInfo`]: SERVER } },
})
const text = (words: string) => [{ type: 'text', text: words }]

describe('access to /mcp', () => {
  const key = 'ek_test'
  const sha256 = createHash('sha256').update(key).digest('hex')
  const withScopes = (...scopes: string[]) =>
    client({ vars: { AUTH: 'keys', API_KEYS: JSON.stringify([{ sha256, tenant: 'acme', scopes }]) } })
  const authorization = `Bearer ${key}`

  test('requires a key with the scopes for listing and calling', async () => {
    expect((await withScopes('chat', 'tools:read').older('ping', {}, { authorization })).status).toBe(200)
    expect((await withScopes('chat', 'tools:read').older('ping')).status).toBe(401)
    for (const scope of ['chat', 'tools:read']) {
      const refusal = await withScopes(scope).older('ping', {}, { authorization })
      expect(refusal.status).toBe(403)
      expect(await read(refusal)).toMatchObject({ jsonrpc: '2.0', error: { code: -32600 } })
    }
  })

  test('is limited to the edge’s own origin, configured origins and requests without one', async () => {
    const { older } = client({ vars: { CORS_ORIGINS: 'https://app.example.com' } })
    const statusFrom = async (origin: string) => (await older('ping', {}, { origin })).status
    expect(await statusFrom('http://127.0.0.1:8787')).toBe(200)
    expect(await statusFrom('https://app.example.com')).toBe(200)
    expect(await statusFrom('https://evil.example.com')).toBe(403)
    expect(await statusFrom('null')).toBe(403)
  })
})

describe('the transport', () => {
  test('accepts GET for a stream alone, and no DELETE, as there are no sessions', async () => {
    const { edge } = client()
    for (const method of ['GET', 'DELETE']) {
      const response = await edge.ask('/mcp', { method })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET, POST'])
    }
  })

  test('accepts a notification with an empty 202', async () => {
    const { post } = client()
    for (const method of ['notifications/initialized', 'notifications/cancelled']) {
      const response = await post({ jsonrpc: '2.0', method, params: { requestId: 1 } })
      expect([response.status, await response.text()]).toEqual([202, ''])
    }
  })

  const json = { 'content-type': 'application/json' }
  const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
  test.each<[string, { body: BodyInit; headers: Record<string, string> }, [status: number, code: number]]>([
    ['no JSON', { body: '{', headers: json }, [400, -32700]],
    ['text that is not UTF-8', { body: new Uint8Array([0xff]), headers: json }, [400, -32700]],
    ['brackets without end', { body: '['.repeat(1000), headers: json }, [400, -32700]],
    ['a batch', { body: '[]', headers: json }, [400, -32600]],
    ['2 MiB', { body: `"${'x'.repeat(2 ** 21)}"`, headers: json }, [413, -32600]],
    ['another content type', { body: '{}', headers: { 'content-type': 'text/plain' } }, [415, -32600]],
    [
      'a revision that is not spoken',
      { body: ping, headers: { ...json, 'mcp-protocol-version': '2024-11-05' } },
      [400, -32022],
    ],
  ])('refuses %s with a JSON-RPC error', async (_, request, [status, code]) => {
    const response = await client().edge.ask('/mcp', request)
    expect(response.status).toBe(status)
    expect(await read(response)).toMatchObject({ jsonrpc: '2.0', error: { code } })
  })
})

const TASKS = { tasks: { cancel: {}, requests: { tools: { call: {} } } } }

describe('a client of an older revision', () => {
  test.each([
    ['2025-06-18', '2025-06-18', {}],
    ['2025-11-25', '2025-11-25', TASKS],
    ['2026-07-28', '2025-11-25', TASKS],
    ['2024-11-05', '2025-11-25', TASKS],
  ])('that requests version %s negotiates %s', async (protocolVersion, agreed, tasks) => {
    const { post } = client()
    const params = { protocolVersion, capabilities: {}, clientInfo: { name: 'test', version: '1' } }
    const response = await post({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
    expect(response.headers.get('mcp-session-id')).toBeNull()
    expect(await read(response)).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { protocolVersion: agreed, capabilities: { tools: { listChanged: true }, ...tasks }, serverInfo: SERVER },
    })
  })

  test('may ping', async () => {
    expect(await read(await client().older('ping'))).toEqual({ jsonrpc: '2.0', id: 1, result: {} })
  })

  test.each(['resources/list', 'prompts/get', 'server/discover', 'nonsense'])(
    'gets an error for the unknown method %s',
    async (method) => {
      const response = await client().older(method)
      expect(response.status).toBe(200)
      expect(await read(response)).toMatchObject({ id: 1, error: { code: -32601 } })
    },
  )

  test('lists tools and calls one', async () => {
    const { older } = client({ tools: [tool('now', () => 'noon')] })
    expect(await read(await older('tools/list'))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: {
        tools: [{ name: 'now', description: 'Test tool now', inputSchema: { type: 'object' }, annotations: {} }],
      },
    })
    expect(await read(await older('tools/call', { name: 'now' }))).toEqual({
      jsonrpc: '2.0',
      id: 1,
      result: { content: text('noon') },
    })
  })
})

test('results of structured content are sent once, not twice, unless a schema promises the value', async () => {
  const structured = { sum: 3 }
  const json = text('{"sum":3}')
  const outputSchema = { type: 'object', properties: { sum: { type: 'number' } } }
  const { newest, older } = client({
    tools: [
      tool('plain', () => ({ ok: true, content: json, structured })),
      tool('promised', () => ({ ok: true, content: json, structured }), { outputSchema }),
    ],
  })
  expect(await read(await newest('tools/call', { name: 'plain' }))).toEqual(complete({ content: json }))
  expect((await read(await older('tools/call', { name: 'plain' })))['result']).toEqual({ content: json })
  // The specification demands the value here, and recommends the text for clients that do not know the value.
  const both = { content: json, structuredContent: structured }
  expect(await read(await newest('tools/call', { name: 'promised' }))).toEqual(complete(both))
  expect((await read(await older('tools/call', { name: 'promised' })))['result']).toEqual(both)
})

describe('a client of the newest revision', () => {
  test('discovers the supported versions', async () => {
    expect(await read(await client().newest('server/discover'))).toEqual(
      complete({
        supportedVersions: ['2026-07-28', '2025-11-25', '2025-06-18'],
        capabilities: { tools: { listChanged: true }, extensions: { 'io.modelcontextprotocol/tasks': {} } },
        ttlMs: 60_000,
        cacheScope: 'private',
      }),
    )
  })

  test.each(['initialize', 'ping', 'nonsense'])('gets an error for the unknown method %s', async (method) => {
    const response = await client().newest(method)
    expect(response.status).toBe(404)
    expect(await read(response)).toMatchObject({ id: 1, error: { code: -32601 } })
  })
})

describe('tools/list', () => {
  test('has the callable tools by name, those that always need approval where that can be given', async () => {
    const tools = [tool('b'), tool('a'), tool('c', undefined, { approval: 'always' })]
    const { result } = await read(await client({ tools }).newest('tools/list'))
    expect(result.tools.map(({ name }: { name: string }) => name)).toEqual(['a', 'b', 'c'])
    const unsigned = await read(await client({ tools, setup: { questionSigner: undefined } }).newest('tools/list'))
    expect(unsigned['result'].tools.map(({ name }: { name: string }) => name)).toEqual(['a', 'b'])
    expect(result).toMatchObject({ ttlMs: 60_000, cacheScope: 'private' })
    expect(result).not.toHaveProperty('nextCursor')
  })

  test.each(['no cursor of ours!', 7])('refuses the cursor %j', async (cursor) => {
    expect(await read(await client().older('tools/list', { cursor }))).toMatchObject({ error: { code: -32602 } })
  })
})

describe('tools/call', () => {
  test('returns the result', async () => {
    const structured = { sum: 3 }
    const add = tool('add', () => ({ ok: true, content: text('3'), structured }))
    const { newest } = client({ tools: [add] })
    expect(await read(await newest('tools/call', { name: 'add', arguments: { a: 1, b: 2 } }))).toEqual(
      complete({ content: text('3'), structuredContent: structured }),
    )
  })

  test('of an unknown tool, or with arguments that are not an object, is a protocol error', async () => {
    const { newest, older } = client({ tools: [tool('now')] })
    for (const [ask, params] of [
      [newest, { name: 'nope' }],
      [older, {}],
      [older, { name: { toString: 'now' } }],
      [newest, { name: 'now', arguments: [] }],
    ] as const) {
      const response = await ask('tools/call', params)
      expect(response.status).toBe(200)
      expect(await read(response)).toMatchObject({ id: 1, error: { code: -32602, message: expect.any(String) } })
    }
  })

  test('that fails tells the model the message and only operators the detail', async () => {
    const { newest, edge } = client({ tools: [tool('bad', () => failure('broken', 'It broke.', 'stack'))] })
    expect(await read(await newest('tools/call', { name: 'bad' }))).toEqual(
      complete({ content: text('It broke.'), isError: true }),
    )
    expect(edge.reports).toEqual([
      {
        ...{ event: 'call.failed', runId: expect.any(String), callId: expect.any(String), tool: 'bad' },
        ...{ code: 'broken', detail: 'stack', attempts: 1, durationMs: expect.any(Number) },
      },
    ])
  })

  test('that timed out is answered by what its tool says of it', async () => {
    const slow = {
      ...tool('slow', () => new Promise(() => {}), { timeoutMs: 1, reconcile: true }),
      status: async () => ({ ok: true, content: [{ type: 'text', text: 'It is done.' }] }) as const,
    }
    const { newest } = client({ tools: [slow] })
    expect(await read(await newest('tools/call', { name: 'slow' }))).toEqual(complete({ content: text('It is done.') }))
  })

  test('of a tool that needs approval is refused and does not run where nothing can be signed', async () => {
    const run = vi.fn()
    const setup = { questionSigner: undefined }
    const { newest } = client({ tools: [tool('pay', run, { approval: 'always' })], setup })
    expect(await read(await newest('tools/call', { name: 'pay' }))).toMatchObject({ result: { isError: true } })
    expect(run).not.toHaveBeenCalled()
  })

  test('obeys the limits of the edge and of its tool', async () => {
    const long = tool('long', () => 'x'.repeat(500))
    const slow = tool('slow', () => new Promise(() => {}), { timeoutMs: 5 })
    const { newest } = client({ tools: [long, slow], vars: { MAX_RESULT_BYTES: '100' } })
    const cut = await read(await newest('tools/call', { name: 'long' }))
    expect(cut['result'].content).toEqual(text(`${'x'.repeat(100)}\n[cut: 100 of 500 bytes shown]`))
    expect(await read(await newest('tools/call', { name: 'slow' }))).toMatchObject({
      result: { isError: true, content: [{ text: expect.stringContaining('within 5 ms') }] },
    })
  })

  test('passes the context of the request to its tool', async () => {
    const contexts: ToolContext[] = []
    const { newest } = client({
      tools: [tool('look', (_args, context) => void contexts.push(context))],
      vars: { TOOL_CONTEXT: '{"plan":"free","region":"eu"}' },
      setup: { trusted: ({ tenant }) => ({ tenant }) },
    })
    await newest('tools/call', {
      name: 'look',
      _meta: { timeZone: 'Asia/Tokyo', plan: 'pro', 'com.example/trace': 1, traceparent: '00' },
    })
    expect(contexts).toMatchObject([
      {
        caller: { tenant: 'local' },
        values: { timeZone: 'Asia/Tokyo', plan: 'pro', region: 'eu' },
        trusted: { tenant: 'local' },
        attempt: 1,
      },
    ])
    expect(Object.keys(contexts[0]!.values).sort()).toEqual(['plan', 'region', 'timeZone'])
    // Codex sends ids of its own without a prefix, others for each call.
    const ids = { callId: 'c', itemId: 'i', threadId: 't', sessionId: 's', windowId: 'w', 'x-codex-turn-metadata': {} }
    await newest('tools/call', { name: 'look', _meta: { ...ids, plan: 'pro' } })
    expect(contexts[1]!.values).toEqual({ plan: 'pro', region: 'eu' })
    await newest('tools/call', { name: 'look', _meta: { sessionId: 'of somebody else' } })
    expect(contexts[2]!.values).toMatchObject({ sessionId: 'of somebody else' })
    const big = { name: 'look', _meta: { big: 'x'.repeat(17 * 1024) } }
    expect(await read(await newest('tools/call', big))).toMatchObject({ error: { code: -32602 } })
  })

  const stepwise = tool('stepwise', async (_args, _context, control) => {
    await control.progress({ message: 'Half', fraction: 0.5 })
    await control.progress({ fraction: 1 })
    return 'done'
  })
  const withToken = { name: 'stepwise', _meta: { progressToken: 'p1' } }

  test('streams progress if the client asks for it', async () => {
    const { newest } = client({ tools: [stepwise] })
    const notice = (params: object) => ({
      jsonrpc: '2.0',
      method: 'notifications/progress',
      params: { progressToken: 'p1', total: 1, ...params },
    })
    expect(await messages(await newest('tools/call', withToken))).toEqual([
      notice({ progress: 0.5, message: 'Half' }),
      notice({ progress: 1 }),
      complete({ content: text('done') }),
    ])
  })

  test('answers in JSON without a progress token or without `text/event-stream`', async () => {
    const { newest } = client({ tools: [stepwise] })
    expect(await read(await newest('tools/call', { name: 'stepwise' }))).toEqual(complete({ content: text('done') }))
    const answer = await newest('tools/call', withToken, { accept: 'application/json' })
    expect(await read(answer)).toEqual(complete({ content: text('done') }))
  })

  test('ends when its stream is closed', async () => {
    const reason = Promise.withResolvers<string>()
    const endless = tool('endless', async (_args, _context, control) => {
      await control.progress({ message: 'Begun' })
      reason.resolve(await control.whenAborted())
    })
    const { newest } = client({ tools: [endless] })
    const response = await newest('tools/call', { name: 'endless', _meta: { progressToken: 1 } })
    const reader = response.body!.getReader()
    await reader.read()
    await reader.cancel()
    expect(await reason.promise).toBe('cancelled')
  })
})

describe('a call that needs input', () => {
  const ask = { method: 'elicitation/create', params: { message: 'How many?', requestedSchema: { type: 'object' } } }
  const sample = { method: 'sampling/createMessage', params: { messages: [], maxTokens: 9 } }
  const needy = tool('needy', (_args, { input }) => {
    if (input?.responses['ask']?.['action'] === 'decline') return failure('invalid_input', 'This state is not valid.')
    if (input) return `${JSON.stringify(input.responses)} ${input.state}`
    const error = { code: 'input_required', message: 'Nobody can be asked.' }
    return { ok: false, error, input: { requests: { ask, sample }, state: 'half' } }
  })
  const withCapabilities = (clientCapabilities: object) => ({ [`${PREFIX}clientCapabilities`]: clientCapabilities })

  test('asks a client of the newest revision for what it can serve, and continues with its answers', async () => {
    const { newest } = client({ tools: [needy] })
    const call = { name: 'needy', _meta: withCapabilities({ elicitation: {} }) }
    const question = await read(await newest('tools/call', call))
    const requestState = expect.stringMatching(/^[\w-]+\.[\w-]{43}$/)
    expect(question).toEqual(complete({ resultType: 'input_required', inputRequests: { ask }, requestState }))
    const inputResponses = { ask: { action: 'accept', content: { count: 3 } }, noise: 7, sample: { content: {} } }
    const answer = { ...call, inputResponses, requestState: question['result'].requestState }
    expect(await read(await newest('tools/call', answer))).toEqual(
      complete({ content: text('{"ask":{"action":"accept","content":{"count":3}}} half') }),
    )
  })

  test('keeps its id when it is sent again, so that it is not done twice', async () => {
    const ids: string[] = []
    const twice = tool('twice', (_args, { input, callId, idempotencyKey }) => {
      ids.push(callId, idempotencyKey)
      const error = { code: 'input_required', message: 'Nobody can be asked.' }
      return input ? 'done' : { ok: false, error, input: { requests: { ask } } }
    })
    const { newest } = client({ tools: [twice] })
    const call = { name: 'twice', _meta: withCapabilities({ elicitation: {} }) }
    const { result } = await read(await newest('tools/call', call))
    await newest('tools/call', {
      ...call,
      inputResponses: { ask: { action: 'accept' } },
      requestState: result.requestState,
    })
    expect([ids.length, new Set(ids).size]).toEqual([4, 1])
  })

  test('is an error for a client that can serve none of it', async () => {
    const response = await client({ tools: [needy] }).newest('tools/call', { name: 'needy' })
    expect(response.status).toBe(400)
    expect(await read(response)).toMatchObject({
      error: { code: -32021, data: { requiredCapabilities: { elicitation: {}, sampling: {} } } },
    })
  })

  test('fails for a client of an older revision, which cannot be asked', async () => {
    expect(await read(await client({ tools: [needy] }).older('tools/call', { name: 'needy' }))).toMatchObject({
      result: { content: text('Nobody can be asked.'), isError: true },
    })
  })

  test('is told which requests its client can answer', async () => {
    const contexts: ToolContext[] = []
    const spy = tool('spy', (_args, context) => contexts.push(context), { history: true })
    const capabilities = { elicitation: {}, roots: {}, tasks: {} }
    const { newest, older, edge } = client({ tools: [spy] })
    await newest('tools/call', { name: 'spy', _meta: withCapabilities(capabilities) })
    await newest('tools/call', { name: 'spy' })
    await older('tools/call', { name: 'spy', _meta: withCapabilities(capabilities) })
    await edge.ask('/tools/spy/call', { json: { arguments: {} } })
    const unsigned = client({ tools: [spy], setup: { questionSigner: undefined } })
    await unsigned.newest('tools/call', { name: 'spy', _meta: withCapabilities(capabilities) })
    expect(contexts.map(({ asks }) => asks)).toEqual([
      ['elicitation/create', 'roots/list'],
      ...[undefined, undefined, undefined, undefined],
    ])
    expect(contexts.map(({ history }) => history)).toEqual([[], [], [], [], []])
  })

  test('is a protocol error if its tool does not accept the state that comes back', async () => {
    const { newest } = client({ tools: [needy] })
    const call = { name: 'needy', _meta: withCapabilities({ elicitation: {} }) }
    const { result } = await read(await newest('tools/call', call))
    const answer = { ...call, inputResponses: { ask: { action: 'decline' } }, requestState: result.requestState }
    expect(await read(await newest('tools/call', answer))).toMatchObject({
      error: { code: -32602, message: 'This state is not valid.' },
    })
  })

  test('fails in an edge without a secret that signs the question', async () => {
    const { newest } = client({ tools: [needy], setup: { questionSigner: undefined } })
    const call = { name: 'needy', _meta: withCapabilities({ elicitation: {} }) }
    expect(await read(await newest('tools/call', call))).toMatchObject({
      result: {
        content: text('This tool asks for input, which this edge passes on only if it has an OUTCOME_SECRET.'),
        isError: true,
      },
    })
  })
})

describe('the headers of a call', () => {
  const marked = (name: string, type: string) => ({ type, 'x-mcp-header': name })
  const inputSchema = {
    type: 'object',
    properties: {
      region: marked('Region', 'string'),
      nested: { type: 'object', properties: { count: marked('Count', 'integer') } },
    },
  }
  const { newest, older } = client({ tools: [tool('go', () => 'gone', { inputSchema })] })
  const args = { region: 'Zürich', nested: { count: 3 } }
  const region = '=?base64?WsO8cmljaA==?='

  test('repeat the arguments that the schema of its tool marks', async () => {
    const headers = { 'mcp-param-region': region, 'mcp-param-count': '3' }
    expect(await read(await newest('tools/call', { name: 'go', arguments: args }, headers))).toMatchObject({
      result: { content: text('gone') },
    })
    expect(await read(await newest('tools/call', { name: 'go', arguments: {} }))).toMatchObject({
      result: { content: text('gone') },
    })
  })

  test.each<[Record<string, string>]>([
    [{}],
    [{ 'mcp-param-region': region }],
    [{ 'mcp-param-region': region, 'mcp-param-count': '4' }],
    [{ 'mcp-param-region': '=?base64?WsO8cmljaA?=', 'mcp-param-count': '3' }],
    [{ 'mcp-param-region': '=?base64?W!O8cmljaA==?=', 'mcp-param-count': '3' }],
  ])('are refused as %j, which differ from the arguments', async (headers) => {
    const response = await newest('tools/call', { name: 'go', arguments: args }, headers)
    expect(response.status).toBe(400)
    expect(await read(response)).toMatchObject({ error: { code: -32020 } })
  })

  test('are not looked at for a client of an older revision, which does not send them', async () => {
    expect(await read(await older('tools/call', { name: 'go', arguments: args }))).toMatchObject({
      result: { content: text('gone') },
    })
  })
})

describe('a change of the tools', () => {
  afterEach(() => void vi.useRealTimers())

  /** An edge whose tools change with `tools`, and a reader of a stream of it. */
  function changing() {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'Date'] })
    const tools = [tool('first')]
    let texts: readonly ToolText[] = []
    const reads = { count: 0 }
    const source: ToolSource = {
      texts: async () => {
        reads.count += 1
        if (texts.length !== tools.length) texts = tools.map(({ definition }) => definition)
        return texts
      },
      list: async () => ({ tools: [...tools], unavailable: [] }),
      offered: async () => tools,
      find: async (names) => tools.filter(({ definition }) => names.includes(definition.name)),
    }
    const { edge, newest } = client({ setup: { tools: () => source } })
    const reader = (response: Response) => {
      const stream = response.body!.pipeThrough(new TextDecoderStream()).getReader()
      return async () => {
        const { value = '' } = await stream.read()
        return value.startsWith('data: ') ? (JSON.parse(value.slice('data: '.length)) as unknown) : value
      }
    }
    return { edge, newest, tools, reader, reads }
  }

  const METHOD = 'notifications/tools/list_changed'

  test('is told on the stream of a client of an older revision', async () => {
    const { edge, tools, reader } = changing()
    const next = reader(await edge.ask('/mcp', { headers: { accept: 'text/event-stream' } }))
    await vi.advanceTimersByTimeAsync(2000)
    tools.push(tool('second'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(await next()).toEqual({ jsonrpc: '2.0', method: METHOD, params: {} })
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await next()).toBe(': alive\n\n')
  })

  test('is looked for once a second, however many streams a caller has, and told on each', async () => {
    const { edge, tools, reader, reads } = changing()
    const streams = await Promise.all(
      Array.from({ length: 20 }, () => edge.ask('/mcp', { headers: { accept: 'text/event-stream' } })),
    )
    await vi.advanceTimersByTimeAsync(1000)
    const before = reads.count
    await vi.advanceTimersByTimeAsync(10_000)
    expect(reads.count - before).toBe(10)
    tools.push(tool('second'))
    await vi.advanceTimersByTimeAsync(2000)
    const messages = await Promise.all(streams.map((stream) => reader(stream)()))
    expect(messages).toEqual(streams.map(() => ({ jsonrpc: '2.0', method: METHOD, params: {} })))
  })

  test('is told to a client of the newest revision that has subscribed to it', async () => {
    const { newest, tools, reader } = changing()
    const next = reader(await newest('subscriptions/listen', { notifications: { toolsListChanged: true } }))
    const tag = { [`${PREFIX}subscriptionId`]: '1' }
    expect(await next()).toEqual({
      jsonrpc: '2.0',
      method: 'notifications/subscriptions/acknowledged',
      params: { notifications: { toolsListChanged: true }, _meta: tag },
    })
    await vi.advanceTimersByTimeAsync(1000)
    tools.push(tool('second'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(await next()).toEqual({ jsonrpc: '2.0', method: METHOD, params: { _meta: tag } })
  })

  test('is not told to a client that has subscribed to something else', async () => {
    const { newest, tools, reader } = changing()
    const next = reader(await newest('subscriptions/listen', { notifications: { promptsListChanged: true } }))
    expect(await next()).toMatchObject({ params: { notifications: { toolsListChanged: false } } })
    await vi.advanceTimersByTimeAsync(1000)
    tools.push(tool('second'))
    await vi.advanceTimersByTimeAsync(15_000)
    expect(await next()).toBe(': alive\n\n')
  })
})
