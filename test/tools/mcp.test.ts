import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseShallow } from '../../src/contract/json.ts'
import type { Progress, ToolOutcome } from '../../src/contract/tool.ts'
import { mcpService } from '../../tools/mcp/service.ts'
import { LIFETIME, McpServer, Refusal } from './mcp-server.ts'
import { worker } from './mcp-worker.ts'
import { changesIn, NUMBER_PARTS } from '../fixtures/json-numbers.ts'
import { eventually } from '../fixtures/eventually.ts'

const servers: McpServer[] = []
const logs: Record<string, unknown>[] = []

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation((text: string) => void logs.push(logOf(text)))
})
afterEach(() => {
  vi.restoreAllMocks()
  vi.useRealTimers()
  servers.splice(0).forEach((server) => server.close())
  logs.splice(0)
})

function logOf(text: string): Record<string, unknown> {
  return text.startsWith('{') ? (JSON.parse(text) as Record<string, unknown>) : { text }
}

async function start(...options: ConstructorParameters<typeof McpServer>): Promise<McpServer> {
  const server = await new McpServer(...options).listen()
  servers.push(server)
  return server
}

const LOST = 'The server accepted the call, but its answer was lost; whether it took effect is unknown.'
const OBJECT = { type: 'object' }
const echo = { name: 'echo', description: 'Says it again', inputSchema: OBJECT }

describe('a server of the newest revision', () => {
  test('is asked for its revision once, and receives its context with each request', async () => {
    const server = await start()
    server.tools = [echo]
    server.call = ({ arguments: args }) => ({
      resultType: 'complete',
      content: [{ type: 'text', text: String(args.text) }],
    })
    const mcp = worker(server)
    expect(await mcp.call('echo', { text: 'Hi' })).toEqual({ ok: true, content: [{ type: 'text', text: 'Hi' }] })
    expect(server.methods).toEqual(['server/discover', 'tools/list', 'tools/call'])
    const [call] = server.of('tools/call')
    expect(call!.params).toEqual({
      name: 'echo',
      arguments: { text: 'Hi' },
      _meta: {
        progressToken: 'call_1',
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientInfo': { name: 'edgecall', version: '1' },
        'io.modelcontextprotocol/clientCapabilities': {},
      },
    })
    expect(call!.headers).toMatchObject({
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'echo',
    })
  })

  test('that refuses a revision and offers the same one is answered in it', async () => {
    const server = await start()
    server.tools = [echo]
    let wasRefused = false
    server.intercept = (_, response) => {
      if (wasRefused) return false
      wasRefused = true
      const data = { supported: ['2026-07-28'], requested: '2026-07-28' }
      const error = { code: -32022, message: 'Unsupported', data }
      return Boolean(response.writeHead(400).end(JSON.stringify({ jsonrpc: '2.0', error })))
    }
    expect(await worker(server).names()).toEqual(['echo'])
    expect(server.methods).toEqual(['tools/list'])
  })

  test('that turns out to be older is connected again', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const [server, replaced] = [await start(), await start('2025-11-25', { wantsSession: true })]
    server.tools = [echo]
    replaced.tools = [echo, { ...echo, name: 'more' }]
    const mcp = worker(server)
    await mcp.names()
    // The same address, another server behind it.
    server.intercept = (request, response) => replaced.hear(request, response)
    vi.advanceTimersByTime(60_000)
    expect(await mcp.names()).toEqual(['echo'])
    vi.advanceTimersByTime(2000)
    expect(await mcp.names()).toEqual(['echo', 'more'])
  })

  test('returns all pages of its list', async () => {
    const server = await start()
    server.tools = Array.from({ length: 7 }, (_, index) => ({ ...echo, name: `tool${index}` }))
    server.page = 3
    expect(await worker(server).names()).toEqual(server.tools.map((tool) => (tool as { name: string }).name))
    expect(server.of('tools/list').map(({ params }) => params['cursor'])).toEqual([undefined, '3', '6'])
  })

  test('ends a list whose cursors form a circle', async () => {
    const server = await start()
    server.tools = [echo, { ...echo, name: 'more' }]
    server.page = 1
    server.after = (page) => String((page + 1) % 2)
    expect(await worker(server).names()).toEqual(['echo', 'more'])
    expect(server.of('tools/list').map(({ params }) => params['cursor'])).toEqual([undefined, '1', '0'])
  })

  test('receives arguments in headers if a schema asks for it, and invalid markers refuse the tool', async () => {
    const server = await start()
    const marked = (name: string, type: string, more = {}) => ({ type, 'x-mcp-header': name, ...more })
    const schema = {
      ...OBJECT,
      properties: {
        region: marked('Region', 'string', { description: 'Where' }),
        deep: { type: 'object', properties: { count: marked('Count', 'integer') } },
        note: marked('Note', 'string'),
        left: marked('Left', 'boolean'),
      },
    }
    server.tools = [
      { ...echo, name: 'marked', inputSchema: schema },
      { ...echo, name: 'number', inputSchema: { ...OBJECT, properties: { a: marked('A', 'number') } } },
      { ...echo, name: 'empty', inputSchema: { ...OBJECT, properties: { a: marked('', 'string') } } },
      { ...echo, name: 'spaced', inputSchema: { ...OBJECT, properties: { a: marked('a b', 'string') } } },
      {
        ...echo,
        name: 'twice',
        inputSchema: { ...OBJECT, properties: { a: marked('A', 'string'), b: marked('a', 'string') } },
      },
      { ...echo, name: 'listed', inputSchema: { ...OBJECT, properties: { a: { items: marked('A', 'string') } } } },
    ]
    const mcp = worker(server)
    const [tool, ...others] = await mcp.describe()
    expect(others).toEqual([])
    expect(JSON.stringify(tool)).not.toContain('x-mcp-header')
    expect(logs.map(({ event, tool }) => [event, tool])).toEqual(
      ['number', 'empty', 'spaced', 'twice', 'listed'].map((name) => ['mcp.tool_refused', name]),
    )
    await mcp.call('marked', { region: 'us-west1', deep: { count: 42 }, note: 'Hello, 世界' })
    const { headers } = server.of('tools/call')[0]!
    expect(Object.entries(headers).filter(([name]) => name.startsWith('mcp-param'))).toEqual([
      ['mcp-param-region', 'us-west1'],
      ['mcp-param-count', '42'],
      ['mcp-param-note', '=?base64?SGVsbG8sIOS4lueVjA==?='],
    ])
  })

  test('that requires other headers than its list said is listed again and asked once more', async () => {
    const server = await start()
    server.tools = [echo]
    let refusals = 0
    server.call = () => {
      if (refusals++ === 0) throw new Refusal(-32020, 'Header mismatch', { status: 400 })
      return { content: [{ type: 'text', text: 'Done' }] }
    }
    expect(await worker(server).call('echo')).toEqual({ ok: true, content: [{ type: 'text', text: 'Done' }] })
    expect(server.methods.slice(2)).toEqual(['tools/call', 'tools/list', 'tools/call'])
  })
})

describe('a server of an older revision', () => {
  test.each(['2025-11-25', '2025-06-18'] as const)('%s is initialized first', async (revision) => {
    const server = await start(revision, { wantsSession: true })
    server.tools = [echo]
    const mcp = worker(server)
    await mcp.call('echo')
    await mcp.call('echo')
    const greeting = ['initialize', 'notifications/initialized']
    // The list has a session of its own: no tenant's.
    expect(server.methods).toEqual([
      'server/discover',
      ...greeting,
      'tools/list',
      ...greeting,
      'tools/call',
      'tools/call',
    ])
    expect(server.of('initialize')[0]!.params).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: { elicitation: { form: {}, url: {} } },
      clientInfo: { name: 'edgecall', version: '1' },
    })
    const [call] = server.of('tools/call')
    expect(call!.headers).toMatchObject({ 'mcp-protocol-version': revision, 'mcp-session-id': 'session-2' })
    expect(call!.headers).not.toHaveProperty('mcp-method')
    expect(call!.params).toEqual({ name: 'echo', arguments: {}, _meta: { progressToken: 'call_1' } })
  })

  test('gets a session for each tenant', async () => {
    const server = await start('2025-11-25', { wantsSession: true })
    server.tools = [echo]
    const mcp = worker(server)
    for (const tenant of ['acme', 'globex', 'acme']) {
      await mcp.call('echo', {}, { context: { caller: { tenant, scopes: [] } } })
    }
    expect(server.of('tools/call').map(({ headers }) => headers['mcp-session-id'])).toEqual([
      'session-2',
      'session-3',
      'session-2',
    ])
  })

  test.each([
    [404, -32001],
    // The samples of the SDK for TypeScript, and of that for Python.
    [400, -32000],
    [400, -32600],
  ])('that lost a session (%i, %i) gets another, and the call runs once', async (status, code) => {
    const server = await start('2025-11-25', { wantsSession: true, lost: { status, code } })
    server.tools = [echo]
    let calls = 0
    server.call = () => ({ content: [{ type: 'text', text: `call ${++calls}` }] })
    const mcp = worker(server)
    await mcp.call('echo')
    server.sessions.clear()
    expect(await mcp.call('echo')).toEqual({ ok: true, content: [{ type: 'text', text: 'call 2' }] })
    expect(server.methods.slice(-4)).toEqual(['tools/call', 'initialize', 'notifications/initialized', 'tools/call'])
  })

  test('whose schemas have numbers that JavaScript cannot hold keeps their digits, without such limits', async () => {
    const id = { type: ['integer', 'string'], enum: [0], maximum: 1 }
    const server = await start('2025-11-25')
    server.intercept = (request, response) => {
      if (request.method !== 'POST') return false
      const end = response.end.bind(response)
      response.end = ((body?: string) =>
        end(
          body?.replaceAll('"enum":[0],"maximum":1', '"enum":[9007199254740993],"maximum":9223372036854775807'),
        )) as never
      return false
    }
    server.tools = [
      { ...echo, inputSchema: { ...OBJECT, properties: { id } }, outputSchema: { ...OBJECT, properties: { id } } },
    ]
    const tools = await worker(server).describe()
    const exact = { ...OBJECT, properties: { id: { type: ['integer', 'string'], enum: ['9007199254740993'] } } }
    expect(tools.map(({ inputSchema, outputSchema }) => [inputSchema, outputSchema])).toEqual([[exact, exact]])
  })

  test('gets and answers every number of 10,000', async () => {
    for (const { numbers, list, text } of NUMBER_PARTS) {
      const server = await start('2025-11-25')
      server.intercept = (request, response) => {
        if (request.method !== 'POST') return false
        const end = response.end.bind(response)
        response.end = ((body?: string) => end(body?.replace('"NUMBERS"', () => list))) as never
        return false
      }
      server.tools = [echo]
      server.call = () => ({ content: [{ type: 'text', text: JSON.parse(text) }], structuredContent: 'NUMBERS' })
      const outcome = await worker(server).call('echo', parseShallow(list) as Record<string, unknown>)
      expect(changesIn(outcome, numbers)).toEqual([[], []])
      expect(changesIn(server.of('tools/call')[0]?.params['arguments'], numbers)).toEqual([[]])
    }
  })

  test('that refuses the arguments with 400 is not asked again', async () => {
    const server = await start('2025-11-25', { wantsSession: true })
    server.tools = [echo]
    server.call = () => {
      throw new Refusal(-32602, 'No such city', { status: 400 })
    }
    expect(await worker(server).call('echo')).toMatchObject({ ok: false, error: { code: 'mcp_refused' } })
    expect(server.of('tools/call')).toHaveLength(1)
  })

  test('may close a stream, which is then resumed', async () => {
    const server = await start('2025-11-25')
    server.tools = [echo]
    server.call = (_, talk) => {
      talk.drop('id: 7\nretry: 10\ndata:\n\n')
      return { content: [{ type: 'text', text: 'The rest' }] }
    }
    expect(await worker(server).call('echo')).toEqual({ ok: true, content: [{ type: 'text', text: 'The rest' }] })
    expect(server.of('GET').map(({ headers }) => headers['last-event-id'])).toEqual(['7'])
  })

  test('is not asked to resume before the delay that it names, however long', async () => {
    const server = await start('2025-11-25')
    server.tools = [echo]
    server.call = (_, talk) => talk.drop(`id: 7\nretry: ${'9'.repeat(400)}\ndata:\n\n`)
    const mcp = worker([{ name: 'test', url: server.url, timeoutMs: 200 }])
    expect(await mcp.call('echo')).toMatchObject({ ok: false, error: { code: 'mcp_timeout' } })
    expect(server.of('GET')).toEqual([])
  })

  test('may break off within an event, which is then requested again', async () => {
    const server = await start('2025-11-25')
    server.tools = [echo]
    server.call = (_, talk) => {
      talk.drop('id: 7\nretry: 10\ndata:\n\nid: 8\ndata: {"jsonrpc":')
      return { content: [{ type: 'text', text: 'The rest' }] }
    }
    expect(await worker(server).call('echo')).toEqual({ ok: true, content: [{ type: 'text', text: 'The rest' }] })
    expect(server.of('GET').map(({ headers }) => headers['last-event-id'])).toEqual(['7'])
  })

  test('that lost the session of a closed stream is not called again', async () => {
    const server = await start('2025-11-25', { wantsSession: true })
    server.tools = [echo]
    let calls = 0
    server.call = (_, talk) => {
      talk.drop('id: 7\nretry: 10\ndata:\n\n')
      return { content: [{ type: 'text', text: `call ${++calls}` }] }
    }
    server.intercept = ({ method }, response) => method === 'GET' && Boolean(response.writeHead(404).end())
    expect(await worker(server).call('echo')).toMatchObject({
      ok: false,
      error: {
        code: 'mcp_unavailable',
        message: LOST,
      },
    })
    expect(server.of('tools/call')).toHaveLength(1)
    expect(calls).toBe(1)
  })

  test('that breaks off in the middle has received the call', async () => {
    const server = await start('2025-11-25')
    server.tools = [echo]
    server.call = async ({ _meta: { progressToken } }, talk) => {
      talk.send({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2 } })
      await talk.closed
    }
    const progress = Object.assign<Progress[], object>([], { push: () => server.cut() })
    expect(await worker(server).call('echo', {}, { progress })).toMatchObject({
      ok: false,
      error: { code: 'mcp_unavailable', message: LOST },
    })
  })

  test('gets an answer to its ping, and an error for other requests', async () => {
    const server = await start('2025-11-25')
    server.tools = [echo]
    server.call = async (_, talk) => {
      talk.send({ id: 'p', method: 'ping' })
      talk.send({ id: 's', method: 'sampling/createMessage', params: {} })
      await eventually(() => expect(server.of('response')).toHaveLength(2))
      return { content: [] }
    }
    await worker(server).call('echo')
    expect(server.of('response').map(({ params }) => params)).toEqual(
      expect.arrayContaining([
        { jsonrpc: '2.0', id: 'p', result: {} },
        { jsonrpc: '2.0', id: 's', error: { code: -32601, message: expect.any(String) } },
      ]),
    )
  })
})

describe('the definitions of MCP tools', () => {
  test('have the texts of the server, under names that every provider accepts', async () => {
    const server = await start()
    const outputSchema = { type: 'object', properties: { a: { type: 'number' } } }
    server.tools = [
      {
        name: 'files.read',
        title: 'Read a file',
        description: 'Reads.\u200b',
        inputSchema: { properties: { path: { type: 'string' } } },
        outputSchema,
        annotations: { readOnlyHint: true, destructiveHint: false, idempotentHint: true, openWorldHint: false },
      },
      { name: 'plain', inputSchema: OBJECT, annotations: { title: 'Plain one' } },
    ]
    expect(await worker(server).describe()).toEqual([
      {
        name: 'files_x2e_read',
        title: 'Read a file',
        description: 'Reads.',
        inputSchema: { type: 'object', properties: { path: { type: 'string' } } },
        outputSchema,
        version: '1',
        hash: expect.stringMatching(/^[0-9a-f]{64}$/),
        annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: true, untrusted: true },
        timeoutMs: 30_000,
        metadata: { server: 'test' },
      },
      {
        name: 'plain',
        title: 'Plain one',
        description: 'Plain one',
        inputSchema: expect.objectContaining(OBJECT),
        version: '1',
        hash: expect.any(String),
        annotations: { untrusted: true, openWorld: true },
        timeoutMs: 30_000,
        metadata: { server: 'test' },
      },
    ])
  })

  test.each<[string, object, string]>([
    [
      'a description inside the schema',
      { inputSchema: { ...OBJECT, properties: { a: { properties: { b: { description: 'Nice.\u202e evil' } } } } } },
      'properties.a.properties.b.description',
    ],
    ['a value', { inputSchema: { ...OBJECT, properties: { a: { enum: ['x\u{e0041}'] } } } }, 'properties.a.enum.0'],
    ['a name', { inputSchema: { ...OBJECT, properties: { 'a\u200b': {} } } }, 'properties.a\u200b'],
    ['the schema of the result', { outputSchema: { ...OBJECT, title: 'x\u2066' } }, 'title'],
  ])('with invisible text in %s are refused, the others are not', async (_, hidden, path) => {
    const server = await start()
    server.tools = [{ ...echo, name: 'bad', ...hidden }, echo]
    expect(await worker(server).names()).toEqual(['echo'])
    expect(logs).toMatchObject([{ event: 'mcp.tool_refused', tool: 'bad', detail: expect.stringContaining(path) }])
  })

  test('have visible names and titles', async () => {
    const server = await start()
    server.tools = [
      { ...echo, name: 'a\u200bb' },
      { ...echo, name: 'c', title: 'See\u{e0041} it\u202e' },
    ]
    const [first, second] = await worker(server).describe()
    expect([first?.name, first?.title]).toEqual([expect.stringMatching(/^[\w-]+$/), 'ab'])
    expect(second).toMatchObject({ name: 'c', title: 'See it' })
  })

  test('that are too deep or have too many schemas are refused, the others are not', async () => {
    const server = await start()
    const nested = (levels: number): object =>
      levels === 0 ? {} : { ...OBJECT, properties: { a: nested(levels - 1) } }
    const properties = Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`p${index}`, {}]))
    server.tools = [
      { ...echo, name: 'deep', inputSchema: nested(20) },
      { ...echo, name: 'wide', inputSchema: { ...OBJECT, properties } },
      echo,
    ]
    expect(await worker(server).names()).toEqual(['echo'])
    expect(logs).toMatchObject([
      { tool: 'deep', detail: expect.stringContaining('expected at most 16 levels of schemas') },
      { tool: 'wide', detail: expect.stringContaining('expected at most 500 schemas') },
    ])
  })

  test('can be selected and changed by the configuration', async () => {
    const server = await start()
    server.tools = ['get_a', 'get_b', 'set_a', 'get_a_now', 'other'].map((name) => ({
      ...echo,
      name,
      annotations: { readOnlyHint: true },
    }))
    server.call = ({ name }) => ({ content: [{ type: 'text', text: name }] })
    const mcp = worker([
      {
        name: 'test',
        url: server.url,
        tools: ['get_*', 'set_a', '*_b'],
        prefix: 'x_',
        rename: { set_a: 'put' },
        hints: false,
        trusted: true,
        approval: 'always',
        timeoutMs: 500,
      },
    ])
    const tools = await mcp.describe()
    expect(tools.map(({ name }) => name)).toEqual(['x_get_a', 'x_get_b', 'put', 'x_get_a_now'])
    expect(tools[0]).toMatchObject({ annotations: {}, approval: 'always', timeoutMs: 500, title: 'get_a' })
    expect(await mcp.call('put')).toEqual({ ok: true, content: [{ type: 'text', text: 'set_a' }] })
  })

  test('can be renamed by the configuration', async () => {
    const server = await start()
    server.tools = ['constructor', 'toString'].map((name) => ({ ...echo, name }))
    const mcp = worker([{ name: 'test', url: server.url, rename: { constructor: 'build' } }])
    expect(await mcp.names()).toEqual(['build', 'toString'])
  })

  test('of one name are distinguished by their servers, in the same way whichever answers first', async () => {
    const [first, second] = [await start(), await start()]
    first.tools = [echo]
    second.tools = [echo, { ...echo, name: 'first' }]
    second.call = () => ({ content: [{ type: 'text', text: 'second' }] })
    const config = [
      { name: 'one', url: first.url },
      { name: 'two', url: second.url },
    ]
    const mcp = worker(config)
    expect(await mcp.names()).toEqual(['echo', 'two_echo', 'first'])
    expect(await mcp.call('two_echo')).toEqual({ ok: true, content: [{ type: 'text', text: 'second' }] })
    expect(second.of('tools/call')[0]!.params['name']).toBe('echo')
    expect(await worker(config).names()).toEqual(['echo', 'two_echo', 'first'])
  })

  test('omit a tool with an invalid schema, and nothing else', async () => {
    const server = await start()
    server.tools = [
      { ...echo, name: 'wrong', inputSchema: { type: 'object', properties: { a: { type: 'nothing' } } } },
      { ...echo, name: 'remote', inputSchema: { type: 'object', $ref: 'https://example.com/schema.json' } },
      { name: 'bare' },
      ['no tool'],
      echo,
      echo,
    ]
    expect(await worker(server).names()).toEqual(['echo'])
    expect(logs.map(({ tool }) => tool)).toEqual(['bare', '', 'wrong', 'remote'])
  })
})

/** Holds the first answer with a list of tools until `end` is called. `first`: once it is there. */
function holdFirstList(answer: (response: Response) => Response) {
  const [first, end] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const send = fetch
  let isFirst = true
  const spy = vi.spyOn(globalThis, 'fetch').mockImplementation(async (url, init) => {
    const isHeld = isFirst && typeof init?.body === 'string' && init.body.includes('"tools/list"')
    if (isHeld) isFirst = false
    const response = await send(url, init)
    if (!isHeld) return response
    first.resolve()
    await end.promise
    return answer(response)
  })
  onTestFinished(() => spy.mockRestore())
  return { first: first.promise, end: end.resolve }
}

describe('a call of an MCP server that asks to wait', () => {
  test.each([
    [429, {}],
    [503, {}],
    [403, {}],
    [429, { jsonrpc: '2.0', id: 1, error: { code: -32_000, message: 'Slow down' } }],
  ])('fails for %i with the time, for the caller and the model', async (status, body) => {
    const server = await start()
    server.tools = [echo]
    const mcp = worker(server)
    const [tool] = await mcp.describe()
    server.intercept = (_, response) =>
      Boolean(
        response
          .writeHead(status, { 'retry-after': '7', 'content-type': 'application/json' })
          .end(JSON.stringify(body)),
      )
    expect(await mcp.call('echo', {}, { hash: tool!.hash })).toMatchObject({
      ok: false,
      error: {
        code: 'mcp_unavailable',
        message: `The server answered ${status} and asks to wait 7 seconds before the next call.`,
        retryable: true,
        retryAfterMs: 7000,
      },
    })
  })
})

describe('the list of an MCP server', () => {
  test('is cached for its time, or the server’s if that is longer', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const server = await start()
    server.tools = [echo]
    const mcp = worker([{ name: 'test', url: server.url, ttlMs: 5000 }])
    await mcp.names()
    vi.advanceTimersByTime(4999)
    await mcp.names()
    expect(server.of('tools/list')).toHaveLength(1)
    server.ttlMs = 20_000
    vi.advanceTimersByTime(1)
    await mcp.names()
    vi.advanceTimersByTime(19_999)
    await mcp.names()
    expect(server.of('tools/list')).toHaveLength(2)
  })

  test('is read again after the server reports a change', async () => {
    const server = await start()
    server.tools = [echo]
    server.call = (_, talk) => {
      talk.send({ method: 'notifications/tools/list_changed' })
      return { content: [] }
    }
    const mcp = worker(server)
    await mcp.call('echo')
    server.tools = [echo, { ...echo, name: 'more' }]
    expect(await mcp.names()).toEqual(['echo', 'more'])
  })

  test('is read again after a change that the server reports while an older list is on its way', async () => {
    const server = await start()
    server.tools = [echo]
    server.call = (_, talk) => {
      talk.send({ method: 'notifications/tools/list_changed' })
      return { content: [] }
    }
    const { first, end } = holdFirstList((response) => response)
    const mcp = worker(server)
    const names = mcp.names()
    await first
    await mcp.call('echo')
    server.tools = [echo, { ...echo, name: 'more' }]
    end()
    expect(await names).toEqual(['echo'])
    expect(await mcp.names()).toEqual(['echo', 'more'])
  })

  test('stays on offer if another request for it, which had begun before, fails', async () => {
    const server = await start()
    server.tools = [echo]
    const { first, end } = holdFirstList(() => Response.error())
    const mcp = worker(server)
    const names = mcp.names()
    await first
    expect(await mcp.names()).toEqual(['echo'])
    end()
    expect([await names, await mcp.names()]).toEqual([['echo'], ['echo']])
  })

  test('is read again when the host calls another definition', async () => {
    const server = await start()
    server.tools = [echo]
    const mcp = worker(server)
    const [old] = await mcp.describe()
    const changed = { ...echo, description: 'Says it once more' }
    server.tools = [changed]
    // Another isolate has seen the change: its hash is of the new definition.
    const other = await start()
    other.tools = [changed]
    const [now] = await worker(other).describe()
    expect(await mcp.call('echo', {}, { hash: now!.hash })).toMatchObject({ ok: true })
    expect(await mcp.call('echo', {}, { hash: old!.hash })).toMatchObject({ error: { code: 'schema_mismatch' } })
    expect(await mcp.call('gone', {}, { hash: old!.hash })).toMatchObject({ error: { code: 'unknown_tool' } })
    expect(server.of('tools/call')).toHaveLength(1)
  })

  test('that was cached is used when a server fails', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const server = await start()
    server.tools = [echo]
    const mcp = worker(server)
    await mcp.names()
    server.intercept = (_, response) => Boolean(response.writeHead(503).end())
    vi.advanceTimersByTime(3_600_001)
    expect(await mcp.names()).toEqual(['echo'])
    expect(logs).toEqual([{ event: 'mcp.unavailable', server: 'test', detail: 'Error: it answered HTTP 503' }])
  })

  test('that fails hides no other; if all fail, the host learns why', async () => {
    const [good, bad] = [await start(), await start()]
    good.tools = [echo]
    bad.intercept = (_, response) => Boolean(response.writeHead(401).end())
    const broken = { name: 'bad', url: bad.url }
    expect(await worker([broken, { name: 'good', url: good.url }]).names()).toEqual(['echo'])
    await expect(worker([broken]).names()).rejects.toThrow('bad: it answered HTTP 401')
    expect(await worker([]).names()).toEqual([])
  })

  test.each([
    ['seconds', '30'],
    ['a date', new Date(1_800_000_030_000).toUTCString()],
  ])('that asks to wait is not requested before, by %s', async (_, value) => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_800_000_000_000 })
    const server = await start()
    server.tools = [echo]
    server.intercept = (_, response) => Boolean(response.writeHead(429, { 'retry-after': value }).end())
    const mcp = worker(server)
    await expect(mcp.names()).rejects.toThrow('it answered HTTP 429')
    server.intercept = () => false
    vi.advanceTimersByTime(29_999)
    await expect(mcp.names()).rejects.toThrow('it answered HTTP 429')
    expect(server.methods).toEqual([])
    vi.advanceTimersByTime(1)
    expect(await mcp.names()).toEqual(['echo'])
  })

  test('that never worked is not requested for a while, whatever else is called', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const [good, bad] = [await start(), await start()]
    good.tools = [echo]
    let requestCount = 0
    bad.intercept = (_, response) => Boolean(++requestCount && response.writeHead(503).end())
    const mcp = worker([
      { name: 'bad', url: bad.url },
      { name: 'good', url: good.url },
    ])
    const [tool] = await mcp.describe()
    for (let calls = 0; calls < 3; calls++) await mcp.call('echo', {}, { hash: tool!.hash })
    expect(requestCount).toBe(1)
    vi.advanceTimersByTime(2000)
    await mcp.call('echo', {}, { hash: tool!.hash })
    expect(requestCount).toBe(2)
  })
})

describe('a tool of a server', () => {
  test.each(['2026-07-28', '2025-11-25'] as const)(
    'that asks people is listed: the client of %s says that it can ask them',
    async (revision) => {
      const server = await start(revision)
      server.tools = [echo]
      await worker(server).names()
      const isNewest = revision === '2026-07-28'
      const { params } = server.of(isNewest ? 'tools/list' : 'initialize')[0]!
      const capabilities = isNewest
        ? params['_meta']['io.modelcontextprotocol/clientCapabilities']
        : params.capabilities
      expect(capabilities).toEqual({ elicitation: { form: {}, url: {} } })
    },
  )

  test('that cannot be offered is left out of the description, which says why', async () => {
    const [server, down] = [await start(), await start()]
    down.intercept = (_, response) => Boolean(response.writeHead(500).end())
    const deep = (levels: number): object => (levels === 0 ? {} : { not: deep(levels - 1) })
    const withSchema = (name: string, schema: object) => ({ ...echo, name, inputSchema: { ...OBJECT, ...schema } })
    server.tools = [
      echo,
      { ...echo, name: 'film', execution: { taskSupport: 'required' } },
      { ...echo, name: 'a.b', inputSchema: null },
      withSchema('long', { description: 'x'.repeat(500_000) }),
      withSchema('deep', deep(64)),
      withSchema('proto', JSON.parse('{ "properties": { "__proto__": {} } }') as object),
      { ...echo, description: 'Another one' },
      echo,
      { ...echo, name: '' },
    ]
    const mcp = worker([
      { name: 'far', url: server.url, prefix: 'far_' },
      { name: 'lost', url: down.url },
    ])
    expect(await mcp.names()).toEqual(['far_echo'])
    const reasons: [name: string, own: string, why: string][] = [
      ['far_film', 'film', 'it can only be run as a task, which this client does not do'],
      ['far_a_x2e_b', 'a.b', 'it has no inputSchema'],
      ['far_proto', 'proto', 'its schema has a member named __proto__'],
      ['far_echo', 'echo', 'the server lists another tool of this name before it'],
      [
        'far_long',
        'long',
        'Tool "far_long": inputSchema: Invalid JSON Schema: it: expected at most 500000 characters of JSON',
      ],
      [
        'far_deep',
        'deep',
        `Tool "far_deep": inputSchema: Invalid JSON Schema: ${'not.'.repeat(63)}not: expected at most 64 levels`,
      ],
    ]
    const ofFar = reasons.map(([name, own, why]) => ({
      name,
      reason: `The tool "${own}" of the server "far" is left out: ${why}`,
    }))
    const missing = await mcp.missing()
    expect(missing).toHaveLength(8)
    expect(missing).toEqual(
      expect.arrayContaining([
        ...ofFar,
        { name: 'far', reason: 'A tool of the server "far" has no name.' },
        {
          name: 'lost',
          reason: 'The server "lost" cannot be reached now: the log of this Worker says why (mcp.unavailable).',
        },
      ]),
    )
  })

  test('beyond the first thousand, or the first four million characters, is left out', async () => {
    const [many, large] = [await start(), await start()]
    many.tools = Array.from({ length: 1100 }, (_, index) => ({ ...echo, name: `tool${index}` }))
    large.tools = Array.from({ length: 9 }, (_, index) => ({
      ...echo,
      name: `large${index}`,
      inputSchema: { ...OBJECT, description: 'x'.repeat(490_000) },
    }))
    const mcp = worker([
      { name: 'many', url: many.url },
      { name: 'large', url: large.url },
    ])
    const names = await mcp.names()
    expect([names.length, names.includes('tool999'), names.includes('large7')]).toEqual([1008, true, true])
    expect(await mcp.missing()).toEqual([
      { name: 'many', reason: 'The server "many" lists more than 1000 tools: the others are left out.' },
      {
        name: 'large8',
        reason:
          'The tool "large8" of the server "large" is left out: the tools of the server together are longer than 4000000 characters',
      },
    ])
    // Either server may answer first.
    expect(logs).toHaveLength(2)
    expect(logs).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ event: 'mcp.list_cut', server: 'many', tools: 1000 }),
        expect.objectContaining({ event: 'mcp.tool_refused', tool: 'large8' }),
      ]),
    )
  })

  test('that must be run as a task is left out, and the log says why, once', async () => {
    const server = await start('2025-11-25')
    server.tools = [
      { ...echo, name: 'long', execution: { taskSupport: 'required' } },
      { ...echo, name: 'either', execution: { taskSupport: 'optional' } },
    ]
    vi.useFakeTimers({ toFake: ['Date'] })
    const mcp = worker(server)
    expect(await mcp.names()).toEqual(['either'])
    vi.setSystemTime(Date.now() + 60_000)
    expect(await mcp.names()).toEqual(['either'])
    expect(server.of('tools/list').length).toBe(2)
    expect(logs).toEqual([
      {
        event: 'mcp.tool_refused',
        server: 'test',
        tool: 'long',
        detail: 'Error: it can only be run as a task, which this client does not do',
      },
    ])
  })
})

describe('a call of an MCP tool', () => {
  async function outcomeOf(result: object, revision: '2026-07-28' | '2025-11-25' = '2026-07-28'): Promise<ToolOutcome> {
    const server = await start(revision)
    server.tools = [echo]
    server.call = () => result
    return worker(server).call('echo')
  }
  const text = (...texts: string[]) => texts.map((each) => ({ type: 'text', text: each }))

  test.each<[string, object, object]>([
    ['texts', { content: text('a', 'b') }, { content: text('a', 'b') }],
    [
      'an image',
      { content: [{ type: 'image', data: 'AAAA', mimeType: 'image/png', annotations: { audience: ['user'] } }] },
      { content: [{ type: 'image', data: 'AAAA', mediaType: 'image/png' }] },
    ],
    [
      'audio',
      { content: [{ type: 'audio', data: 'AAAA', mimeType: 'audio/wav' }] },
      { content: [{ type: 'file', data: 'AAAA', mediaType: 'audio/wav' }] },
    ],
    [
      'resources',
      {
        content: [
          { type: 'resource', resource: { uri: 'file:///a', text: 'A' } },
          { type: 'resource', resource: { uri: 'file:///b', blob: 'AAAA', mimeType: 'image/gif' } },
          { type: 'resource', resource: { uri: 'file:///c', blob: 'AAAA' } },
          { type: 'resource_link', uri: 'file:///d', name: 'd', description: 'The last' },
        ],
      },
      {
        content: [
          ...text('A'),
          { type: 'image', data: 'AAAA', mediaType: 'image/gif' },
          { type: 'file', data: 'AAAA', mediaType: 'application/octet-stream' },
          ...text('d\nfile:///d\nThe last'),
        ],
      },
    ],
    ['nothing', { content: [] }, { content: text('Success') }],
    [
      'a text of a server that says what it has not',
      { content: text('Two'), structuredContent: null, isError: null },
      { content: text('Two') },
    ],
    ['something new', { content: [{ type: 'hologram' }] }, { content: text('[hologram that cannot be shown]') }],
    [
      'a structured value',
      { content: text('Two'), structuredContent: { found: [1, 2] } },
      { content: text('{"found":[1,2]}'), structured: { found: [1, 2] } },
    ],
    [
      'a structured list',
      { content: text('Two'), structuredContent: [1, 2] },
      { content: text('[1,2]'), structured: [1, 2] },
    ],
    [
      'a structured value and a picture',
      { content: [...text('x'), { type: 'image', data: 'AAAA', mimeType: 'image/png' }], structuredContent: { a: 1 } },
      { content: [...text('{"a":1}'), { type: 'image', data: 'AAAA', mediaType: 'image/png' }] },
    ],
    [
      // The tool read_media_file of the official filesystem server.
      'a picture that the structured value has too',
      {
        content: [{ type: 'image', data: 'iVBORw0K', mimeType: 'image/png' }],
        structuredContent: { content: [{ type: 'image', data: 'iVBORw0K', mimeType: 'image/png' }] },
      },
      { content: [{ type: 'image', data: 'iVBORw0K', mediaType: 'image/png' }] },
    ],
    [
      'a file that the structured value has too',
      {
        content: [...text('a.zip'), { type: 'blob', data: 'UEsDBA==', mimeType: 'application/zip' }],
        structuredContent: { content: [{ type: 'blob', data: 'UEsDBA==', mimeType: 'application/zip' }] },
      },
      { content: [...text('a.zip'), { type: 'file', data: 'UEsDBA==', mediaType: 'application/zip' }] },
    ],
  ])('returns %s', async (_, result, expected) => {
    expect(await outcomeOf(result)).toEqual({ ok: true, ...expected })
    expect(await outcomeOf(result, '2025-11-25')).toEqual({ ok: true, ...expected })
  })

  test('that fails gives the model the error of the server', async () => {
    expect(await outcomeOf({ content: text('No such city.', 'Try another.'), isError: true })).toEqual({
      ok: false,
      error: { code: 'tool_error', message: 'No such city.\nTry another.' },
    })
    expect(await outcomeOf({ content: [], isError: true })).toMatchObject({
      error: { message: 'The tool failed without giving a reason.' },
    })
  })

  test('that needs input from a user fails with a message', async () => {
    expect(await outcomeOf({ resultType: 'input_required', inputRequests: {} })).toMatchObject({
      ok: false,
      error: { code: 'input_required' },
    })
  })

  test.each<[string, (server: McpServer) => void, object]>([
    [
      'an error of the protocol',
      (server) => (server.call = () => Promise.reject(new Refusal(-32603, 'Internal secret'))),
      { code: 'mcp_error', message: 'The server failed to run the call.', detail: expect.stringContaining('secret') },
    ],
    [
      'arguments that the server refuses',
      (server) => (server.call = () => Promise.reject(new Refusal(-32602, 'text must be short'))),
      { code: 'mcp_refused', message: 'The server refused the call: text must be short' },
    ],
    [
      'a server that lets nobody in',
      (server) => (server.intercept = (_, response) => Boolean(response.writeHead(401).end('no'))),
      { code: 'mcp_unavailable', message: 'The server refused the credentials of this edge.', retryable: false },
    ],
    [
      'a server that is broken',
      (server) => (server.intercept = (_, response) => Boolean(response.writeHead(500).end('{'))),
      { code: 'mcp_unavailable', retryable: true, detail: expect.stringContaining('it answered HTTP 500') },
    ],
    [
      'an answer that is none',
      (server) =>
        (server.intercept = (_, response) =>
          Boolean(response.writeHead(200, { 'content-type': 'application/json' }).end('<p>'))),
      { code: 'mcp_unavailable' },
    ],
    [
      'a redirect, which is not followed',
      (server) =>
        (server.intercept = (_, response) => Boolean(response.writeHead(307, { location: `${server.url}/x` }).end())),
      { code: 'mcp_unavailable', detail: expect.stringContaining('it answered HTTP 307') },
    ],
    [
      'a stream that ends early',
      (server) =>
        (server.intercept = (_, response) =>
          Boolean(response.writeHead(200, { 'content-type': 'text/event-stream' }).end('data: {}\n\n'))),
      { code: 'mcp_unavailable', detail: expect.stringContaining('its stream ended without an answer') },
    ],
    [
      'a flood',
      (server) =>
        (server.intercept = (_, response) =>
          Boolean(response.writeHead(200, { 'content-type': 'application/json' }).end(' '.repeat(9 * 2 ** 20)))),
      { code: 'mcp_unavailable', detail: expect.stringContaining('over 8388608 bytes') },
    ],
    [
      'a flood of events',
      (server) =>
        (server.intercept = (_, response) =>
          Boolean(
            response
              .writeHead(200, { 'content-type': 'text/event-stream' })
              .end(`data: "${' '.repeat(2 ** 20)}"\n\n`.repeat(9)),
          )),
      { code: 'mcp_unavailable', detail: expect.stringContaining('over 8388608 bytes') },
    ],
  ])('fails after %s', async (_, prepare, error) => {
    const server = await start()
    server.tools = [echo]
    const mcp = worker(server)
    await mcp.describe()
    prepare(server)
    expect(await mcp.call('echo')).toMatchObject({ ok: false, error })
  })

  test('with invalid arguments is not sent', async () => {
    const server = await start()
    server.tools = [{ ...echo, inputSchema: { ...OBJECT, properties: { n: { type: 'integer' } } } }]
    expect(await worker(server).call('echo', { n: 'x' })).toMatchObject({ error: { code: 'invalid_arguments' } })
    expect(server.of('tools/call')).toEqual([])
  })

  test('passes on its own progress only', async () => {
    const server = await start()
    server.tools = [echo]
    server.call = ({ _meta: { progressToken } }, talk) => {
      const notice = (params: object) => talk.send({ method: 'notifications/progress', params })
      notice({ progressToken, progress: 1, total: 4, message: 'A quarter' })
      notice({ progressToken: 'other', progress: 2, total: 4 })
      notice({ progressToken, progress: 30 })
      notice({ progressToken, progress: 9, total: 4 })
      return { content: [] }
    }
    const progress: Progress[] = []
    await worker(server).call('echo', {}, { progress })
    expect(progress).toEqual([{ message: 'A quarter', fraction: 0.25 }, {}, { fraction: 1 }])
  })

  test.each([
    ['2026-07-28', ['tools/call']],
    ['2025-11-25', ['tools/call', 'notifications/cancelled']],
  ] as const)('that is aborted is closed, and a server of %s is told', async (revision, methods) => {
    const server = await start(revision)
    server.tools = [echo]
    const mcp = worker(server)
    await mcp.call('echo')
    const count = server.requests.length
    const abort = Promise.withResolvers<string>()
    const closed = Promise.withResolvers<void>()
    server.call = async (_, talk) => {
      abort.resolve('cancelled')
      await talk.closed
      closed.resolve()
      return { content: [] }
    }
    expect(await mcp.call('echo', {}, { whenAborted: abort.promise })).toMatchObject({
      ok: false,
      error: { code: 'cancelled' },
    })
    await closed.promise
    expect(server.methods.slice(count)).toEqual(methods)
  })

  test('has the time limit of its server', async () => {
    const server = await start()
    server.tools = [echo]
    server.call = async (_, talk) => talk.closed
    const mcp = worker([{ name: 'test', url: server.url, timeoutMs: 50 }])
    expect(await mcp.call('echo')).toMatchObject({
      ok: false,
      error: { code: 'mcp_timeout', detail: expect.stringContaining('no answer within 50 ms') },
    })
  })

  test('passes the server the parts of the tool context that it may know', async () => {
    const server = await start()
    server.tools = [echo]
    const mcp = worker([{ name: 'test', url: server.url, context: ['timeZone', 'progressToken'] }])
    const values = { timeZone: 'Asia/Tokyo', tenantId: 'secret', progressToken: 'forged' }
    await mcp.call('echo', {}, { context: { values } })
    expect(server.of('tools/call')[0]!.params['_meta']).toMatchObject({
      timeZone: 'Asia/Tokyo',
      progressToken: 'call_1',
    })
    expect(JSON.stringify(server.of('tools/call'))).not.toContain('secret')
  })
})

describe('the configuration of MCP servers', () => {
  test('sends secrets in headers', async () => {
    const server = await start()
    server.tools = [echo]
    const config = [{ name: 'test', url: server.url, headers: { Authorization: 'Bearer {SECRET_KEY}' } }]
    await worker(config, { SECRET_KEY: 's3cret' }).describe()
    expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer s3cret', 'Bearer s3cret'])
    expect(() => worker(config)).toThrow('MCP_SERVERS: the secret SECRET_KEY is not set')
  })

  test('redacts secrets from what a server returns', async () => {
    const secret = 'token-0123456789'
    const server = await start()
    server.tools = [{ ...echo, description: `Says ${secret} again`, inputSchema: { type: 'object', title: secret } }]
    server.call = (_params, talk) => {
      const params = { progressToken: 'call_1', progress: 1, message: `sent ${secret}` }
      talk.send({ jsonrpc: '2.0', method: 'notifications/progress', params })
      return { content: [{ type: 'text', text: `It was ${btoa(secret)} of ${secret}` }] }
    }
    const headers = { Authorization: 'Bearer {SECRET_KEY}' }
    const mcp = worker([{ name: 'test', url: server.url, headers }], { SECRET_KEY: secret })
    const progress: Progress[] = []
    const outcome = await mcp.call('echo', {}, { progress })
    expect(server.requests.every(({ headers: { authorization } }) => authorization === `Bearer ${secret}`)).toBe(true)
    const described = await mcp.describe()
    expect(JSON.stringify([outcome, progress, described]).match(/\[redacted\]/g)).toHaveLength(5)
    server.call = () => {
      throw new Refusal(-32_602, `no such ${secret}`)
    }
    expect(await mcp.call('echo')).toMatchObject({
      ok: false,
      error: { message: 'The server refused the call: no such [redacted]' },
    })
  })

  test.each([
    ['{', 'MCP_SERVERS is not JSON'],
    ['{}', 'MCP_SERVERS: it: '],
    ['[{"name":"a b","url":"https://example.com"}]', 'MCP_SERVERS: 0.name: '],
    ['[{"name":"a","url":"https://example.com","timeoutMs":0}]', 'MCP_SERVERS: 0.timeoutMs: '],
    ['[{"name":"a","url":"https://example.com","rename":{"a":1}}]', 'MCP_SERVERS: 0.rename: expected texts by name'],
    ['[{"name":"a","url":"https://example.com","nope":1}]', 'MCP_SERVERS: 0.nope: '],
    ['[{"name":"a","url":"https://example.com"},{"name":"a","url":"https://example.com"}]', 'each name once'],
  ])('is refused: %s', (MCP_SERVERS, message) => {
    expect(() => mcpService(LIFETIME, { MCP_SERVERS })).toThrow(message)
  })

  const config = (url: string) => mcpService(LIFETIME, { MCP_SERVERS: [{ name: 'a', url }] })

  test.each(['https://mcp.example.com/mcp', 'http://localhost:3000/mcp', 'http://[::1]:1/', 'http://127.0.0.1/'])(
    'accepts the address %s',
    (url) => expect(() => config(url)).not.toThrow(),
  )

  test.each([
    'http://example.com/mcp',
    'https://example.com:8443/',
    'https://user:key@example.com/',
    'http://user@localhost/',
    'https://10.0.0.1/',
    'https://0xa000001/',
    'https://[fd00::1]/',
    'https://169.254.169.254/latest',
    'https://intranet/',
    'https://mcp.internal/',
    'https://example.com./',
    'file:///etc/passwd',
    'ftp://localhost/',
    'nowhere',
  ])('refuses the address %s', (url) => expect(() => config(url)).toThrow('not an https address of a public server'))
})
