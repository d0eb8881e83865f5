import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from '@modelcontextprotocol/client'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { mcpService } from '../../tools/mcp/service.ts'
import { ask, say } from '../fixtures/play.ts'
import { controlledEdge, type ControlledEdge } from '../security/controlled-edge.ts'
import { LIFETIME, McpServer, Refusal } from './mcp-server.ts'

const KEY = 'acme: chat tools:read'
const DOCTOR = 'acme: chat tools:read health'
const ADMIN = 'ops: chat tools:read tools:admin'
const UI = 'io.modelcontextprotocol/ui'
const PAGE_TYPE = 'text/html;profile=mcp-app'
const inputSchema = { type: 'object' }

const show = {
  name: 'show',
  description: 'Shows it',
  inputSchema,
  _meta: { ui: { resourceUri: 'ui://app/main.html' } },
}
const refresh = { name: 'refresh', description: 'For apps', inputSchema, _meta: { ui: { visibility: ['app'] } } }
const plain = { name: 'plain', description: 'Has no page', inputSchema }

/** A server with a page of an app, a tool for apps alone, prompts, resources and a template. */
async function appServer(name: string, revision?: '2026-07-28' | '2025-11-25'): Promise<McpServer> {
  const server = await new McpServer(revision).listen()
  server.tools = [show, refresh, plain]
  server.call = ({ name: tool }) => ({ content: [{ type: 'text', text: `${tool} of ${name}` }] })
  const resources = new Map([
    ['ui://app/main.html', { mimeType: PAGE_TYPE, text: `<p>${name}</p>` }],
    ['ui://app/other.html', { mimeType: PAGE_TYPE, text: 'unnamed' }],
    ['docs://rules', { mimeType: 'text/plain', text: `The rules of ${name}` }],
    ['docs://pages/7', { text: 'Page 7' }],
    ['docs:stamp', { mimeType: 'image/png', blob: 'iVBORw0KGgo=' }],
    ['vault://plans', { text: 'hidden' }],
  ])
  server.others = {
    'resources/list': () => ({
      resources: [
        {
          uri: 'ui://app/main.html',
          name: 'main',
          _meta: { ui: { csp: { connectDomains: [`https://${name}.example`] } } },
        },
        { uri: 'docs://rules', name: 'rules', description: 'The rules', mimeType: 'text/plain' },
        { uri: 'docs:stamp', name: 'stamp' },
        { uri: 'vault://plans', name: 'plans' },
      ],
    }),
    'resources/templates/list': () => ({ resourceTemplates: [{ uriTemplate: 'docs://pages/{page}', name: 'page' }] }),
    'resources/read': ({ uri }) => {
      const content = resources.get(uri)
      if (!content) throw new Refusal(revision === '2025-11-25' ? -32_002 : -32_602, 'No such resource')
      return { contents: [{ uri, ...content }] }
    },
    'prompts/list': () => ({
      prompts: [
        { name: 'review', description: 'Reviews', arguments: [{ name: 'code', required: true }] },
        { name: 'secret', description: 'Not selected' },
      ],
    }),
    'prompts/get': ({ name: prompt, arguments: values }) => ({
      description: `${prompt} of ${name}`,
      messages: [
        { role: 'user', content: { type: 'text', text: `Review ${values?.['code']}` } },
        { role: 'user', content: { type: 'resource_link', uri: 'docs://rules', name: 'rules' } },
        { role: 'user', content: { type: 'resource', resource: { uri: 'docs://rules', text: 'Quiet.' } } },
      ],
    }),
  }
  return server
}

/** An edge with these servers behind it, as they are configured. */
function edgeOf(
  servers: readonly object[],
  options: Partial<Parameters<typeof controlledEdge>[0]> = {},
): ControlledEdge {
  const service = mcpService(LIFETIME, { MCP_SERVERS: JSON.stringify(servers) })
  const { vars, ...rest } = options
  return controlledEdge({
    workers: {},
    keys: [KEY, DOCTOR, ADMIN],
    vars: { TOOL_MCP: service, TOOL_SEARCH: 'off', ...vars },
    ...rest,
  })
}

/** Fetches from an edge, for the client of an SDK. */
function fetchFrom(edge: ControlledEdge, key: string): typeof fetch {
  return async (url, init) => {
    const { status, headers, body } = await edge.as(key)(new URL(url instanceof Request ? url.url : url).pathname, {
      method: init?.method ?? 'GET',
      headers: Object.fromEntries(new Headers(init?.headers)),
      ...(typeof init?.body === 'string' && { text: init.body }),
    })
    return new Response(status === 202 ? null : typeof body === 'string' ? body : JSON.stringify(body), {
      status,
      headers,
    })
  }
}

const ADDRESS = new URL('https://edge.example/mcp')
const EXTENSIONS = { [UI]: { mimeTypes: [PAGE_TYPE] } }

async function modernClient(edge: ControlledEdge, key = KEY, extensions: Partial<typeof EXTENSIONS> = EXTENSIONS) {
  const client = new ModernClient(
    { name: 'test', version: '1' },
    { capabilities: { extensions }, versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  await client.connect(new ModernTransport(ADDRESS, { fetch: fetchFrom(edge, key) }))
  return client
}

async function olderClient(edge: ControlledEdge, key = KEY) {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(ADDRESS, { fetch: fetchFrom(edge, key) }))
  return client
}

const clients = { '2026-07-28': modernClient, '2025-11-25': olderClient }

/** Sends a request of an older revision, which needs no client. */
async function post(edge: ControlledEdge, method: string, params: object = {}, key = KEY) {
  const { body } = await edge.as(key)('/mcp', { json: { jsonrpc: '2.0', id: 1, method, params } })
  return body
}

/** The entries that are logged for operators are of no interest here. */
beforeEach(() => void vi.spyOn(console, 'error').mockImplementation(() => {}))

let first: McpServer
let second: McpServer
const opened: McpServer[] = []

const configOf = (more: object = {}) => [
  { name: 'first', url: first.url, prompts: ['review*'], resources: ['docs:*'], ...more },
  { name: 'second', url: second.url, prefix: 'two_' },
]

/** A server of which nothing but a plain tool is on offer. Its list is cached by its name. */
const bareConfig = () => ({ name: 'bare', url: first.url, tools: ['plain'] })

beforeAll(async () => {
  first = await appServer('first')
  second = await appServer('second', '2025-11-25')
})
afterAll(() => [first, second].forEach((server) => server.close()))
afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
  for (const server of opened.splice(0)) server.close()
})

describe.each(Object.entries(clients))('a client of the SDK for %s', (revision, connect) => {
  test('is told of what the servers behind the edge have beside tools', async () => {
    const client = await connect(edgeOf(configOf()))
    expect(client.getServerCapabilities()).toMatchObject({ resources: {}, prompts: {}, extensions: { [UI]: {} } })
    const bare = await connect(edgeOf([bareConfig()]))
    const { resources, prompts, extensions = {} } = bare.getServerCapabilities() ?? {}
    expect([resources, prompts, UI in extensions]).toEqual([undefined, undefined, false])
  })

  test('lists tools with the pages of their apps, and reads the page of each server', async () => {
    const client = await connect(edgeOf(configOf()))
    const { tools } = await client.listTools()
    const pageOf = (name: string) => tools.find((tool) => tool.name === name)?.['_meta']
    expect(tools.map(({ name }) => name).sort()).toEqual(
      ['list_resources', 'plain', 'read_resource', 'refresh', 'show', 'two_plain', 'two_refresh', 'two_show'].sort(),
    )
    expect(pageOf('show')).toEqual({
      ui: { resourceUri: 'ui://first/app/main.html' },
      'ui/resourceUri': 'ui://first/app/main.html',
    })
    expect(pageOf('two_show')).toMatchObject({ ui: { resourceUri: 'ui://second/app/main.html' } })
    expect(pageOf('refresh')).toEqual({ ui: { visibility: ['app'] } })
    expect(pageOf('plain')).toBeUndefined()
    for (const server of ['first', 'second']) {
      const uri = `ui://${server}/app/main.html`
      expect((await client.readResource({ uri })).contents).toEqual([
        {
          uri,
          mimeType: PAGE_TYPE,
          text: `<p>${server}</p>`,
          _meta: { ui: { csp: { connectDomains: [`https://${server}.example`] } } },
        },
      ])
    }
  })

  test('calls a tool that is for apps alone, for the app', async () => {
    const client = await connect(edgeOf(configOf()))
    expect(await client.callTool({ name: 'refresh', arguments: {} })).toMatchObject({
      content: [{ type: 'text', text: 'refresh of first' }],
    })
  })

  test('lists and reads the resources that the operator has selected', async () => {
    const client = await connect(edgeOf(configOf()))
    expect((await client.listResources()).resources).toEqual([
      { uri: 'docs://first/rules', name: 'rules', description: 'The rules', mimeType: 'text/plain' },
      { uri: 'docs:first/stamp', name: 'stamp' },
    ])
    expect((await client.listResourceTemplates()).resourceTemplates).toEqual([
      { uriTemplate: 'docs://first/pages/{page}', name: 'page' },
    ])
    const read = async (uri: string) => (await client.readResource({ uri })).contents
    expect(await read('docs://first/rules')).toEqual([
      { uri: 'docs://first/rules', mimeType: 'text/plain', text: 'The rules of first' },
    ])
    expect(await read('docs://first/pages/7')).toEqual([{ uri: 'docs://first/pages/7', text: 'Page 7' }])
    expect(await read('docs:first/stamp')).toEqual([
      { uri: 'docs:first/stamp', mimeType: 'image/png', blob: 'iVBORw0KGgo=' },
    ])
  })

  test.each([
    ['of a server that does not have it', 'docs://first/none'],
    ['that is not selected', 'vault://first/plans'],
    ['that climbs out of the selected ones', 'docs://first/../plans'],
    ['of a server that has none selected', 'docs://second/rules'],
    ['of an unknown server', 'docs://third/rules'],
    ['without a server', 'docs:rules'],
    ['that is a page which no tool names', 'ui://first/app/other.html'],
  ])('is refused a resource %s', async (_, uri) => {
    const client = await connect(edgeOf(configOf()))
    await expect(client.readResource({ uri })).rejects.toMatchObject({
      code: revision === '2025-11-25' && !/none|plans/.test(uri) ? -32_002 : -32_602,
    })
  })

  test('lists and gets the prompts that the operator has selected', async () => {
    const client = await connect(edgeOf(configOf()))
    expect((await client.listPrompts()).prompts).toEqual([
      { name: 'first.review', description: 'Reviews', arguments: [{ name: 'code', required: true }] },
    ])
    expect(await client.getPrompt({ name: 'first.review', arguments: { code: 'x = 1' } })).toMatchObject({
      description: 'review of first',
      messages: [
        { role: 'user', content: { type: 'text', text: 'Review x = 1' } },
        { role: 'user', content: { type: 'resource_link', uri: 'docs://first/rules', name: 'rules' } },
        { role: 'user', content: { type: 'resource', resource: { uri: 'docs://first/rules', text: 'Quiet.' } } },
      ],
    })
    for (const name of ['first.secret', 'second.review', 'review'])
      await expect(client.getPrompt({ name })).rejects.toMatchObject({ code: -32_602 })
  })
})

describe('tools that are for apps alone', () => {
  test('are offered to no model, whether a run names them or a search looks for them', async () => {
    const before = first.of('tools/call').length
    const edge = edgeOf(configOf(), {
      vars: { TOOL_SEARCH: 'on' },
      script: [ask(['tool_search', { query: 'refresh for apps', maxResults: 9 }]), ask(['refresh']), say('Done.')],
    })
    const { body } = await edge.as(KEY)('/runs', { json: { input: 'Go' } })
    expect(JSON.stringify(edge.requests.map(({ tools, messages }) => [tools, messages]))).not.toMatch(
      /For apps|list_prompts|get_prompt|read_ui/,
    )
    expect(body.status).toBe('completed')
    expect(first.of('tools/call')).toHaveLength(before)
    const refusal = await edge.as(KEY)('/runs', { json: { input: 'Go', tools: ['refresh'] } })
    expect([refusal.status, refusal.body.code]).toEqual([400, 'unknown_tool'])
  })

  test.each(['/tools/refresh/call', '/tools/read_ui/call', '/tools/get_prompt/call'])(
    'cannot be called by %s',
    async (path) => {
      const { status, body } = await edgeOf(configOf()).as(KEY)(path, { json: { arguments: {} } })
      expect([status, body.code]).toEqual([404, 'unknown_tool'])
    },
  )

  test('are not listed to a client of 2026-07-28 that does not know apps, and can have no alias', async () => {
    const edge = edgeOf(configOf())
    const { tools } = await (await modernClient(edge, KEY, {})).listTools()
    expect(tools.map(({ name }) => name)).not.toContain('refresh')
    const alias = { description: 'Another.', inputSchema, binding: 'TOOL_MCP', call: 'refresh' }
    const { status, body } = await edge.as(ADMIN)('/tools/other', { method: 'PUT', json: alias })
    expect([status, body.code]).toEqual([422, 'invalid_definition'])
  })
})

describe('the tools by which the edge reads from servers', () => {
  test.each(['read_ui', 'list_prompts', 'get_prompt'])('cannot be called by a client: %s', async (name) => {
    expect(
      await post(edgeOf(configOf()), 'tools/call', { name, arguments: { uri: 'ui://app/main.html' } }),
    ).toMatchObject({
      error: { code: -32_602, message: `Unknown tool: ${name}` },
    })
  })

  test('read no page that no tool of the server names', async () => {
    const service = mcpService(LIFETIME, { MCP_SERVERS: JSON.stringify(configOf()) })
    const reader = (await service.describe()).tools.find(({ name }) => name === 'read_ui')
    const { caller } = { caller: { tenant: 'acme', scopes: [] } }
    const context = {
      runId: 'r',
      callId: 'c',
      idempotencyKey: 'k',
      attempt: 1,
      deadline: Date.now() + 5000,
      caller,
      values: {},
    }
    const read = (uri: string) =>
      service.call(
        { name: 'read_ui', hash: reader?.hash ?? '', arguments: { uri }, context },
        {
          whenAborted: () => new Promise(() => {}),
          progress: async () => {},
        },
      )
    expect(await read('ui://app/main.html')).toMatchObject({ ok: true })
    expect(await read('ui://app/other.html')).toMatchObject({
      ok: false,
      error: { message: expect.stringContaining('No tool names the page "ui://app/other.html".') },
    })
  })

  test('do not exist for a server that has nothing for them', async () => {
    const service = mcpService(LIFETIME, {
      MCP_SERVERS: JSON.stringify([bareConfig()]),
    })
    expect((await service.describe()).tools.map(({ name }) => name)).toEqual(['plain'])
    expect(await post(edgeOf([bareConfig()]), 'resources/list')).toMatchObject({
      error: { code: -32_601 },
    })
  })
})

describe('a caller who may not use', () => {
  const uri = 'ui://first/app/main.html'
  const unknown = { error: { code: -32_002, message: `Unknown resource: ${uri}` } }

  test.each([
    ['the tool with the page', { show: { scopes: ['health'] } }],
    ['the tool that reads pages', { read_ui: { scopes: ['health'] } }],
    ['any tool of the Worker', { '@TOOL_MCP': { scopes: ['health'] } }],
  ])('%s cannot read the page', async (_, TOOL_POLICY) => {
    const edge = edgeOf(configOf(), { vars: { TOOL_POLICY } })
    const answer = await post(edge, 'resources/read', { uri })
    expect(answer.error.code).toBe('@TOOL_MCP' in TOOL_POLICY ? -32_601 : -32_002)
    expect(await post(edge, 'resources/read', { uri }, DOCTOR)).toMatchObject({ result: { contents: [{ uri }] } })
  })

  test('the tools for resources or prompts gets neither', async () => {
    const scopes = ['health']
    const edge = edgeOf(configOf(), {
      vars: {
        TOOL_POLICY: { read_resource: { scopes }, list_resources: { scopes }, get_prompt: { tenants: ['ops'] } },
      },
    })
    expect(await post(edge, 'resources/list')).toMatchObject({ result: { resources: [] } })
    expect(await post(edge, 'resources/read', { uri: 'docs://first/rules' })).toMatchObject({
      error: { code: -32_002 },
    })
    expect(await post(edge, 'prompts/get', { name: 'first.review' })).toMatchObject({ error: { code: -32_602 } })
    expect(await post(edge, 'prompts/get', { name: 'first.review' }, ADMIN)).toMatchObject({
      result: { description: 'review of first' },
    })
    expect((await post(edge, 'resources/list', {}, DOCTOR)).result.resources).toHaveLength(2)
  })

  test('a stored tool cannot name a page in place of a tool of its server', async () => {
    const edge = edgeOf(configOf(), { vars: { TOOL_POLICY: { show: { scopes: ['health'] } } } })
    const definition = {
      description: 'Names a page.',
      inputSchema,
      binding: 'TOOL_MCP',
      call: 'plain',
      metadata: { server: 'first', ui: { resourceUri: 'ui://app/main.html' } },
    }
    expect((await edge.as(ADMIN)('/tools/mine', { method: 'PUT', json: definition })).status).toBe(201)
    expect(await post(edge, 'resources/read', { uri })).toMatchObject(unknown)
  })
})

describe('a tool whose page changes', () => {
  test('is held back with its page until a person accepts it', async () => {
    vi.useFakeTimers({ toFake: ['Date'] })
    const server = await appServer('third')
    opened.push(server)
    const edge = edgeOf([{ name: 'third', url: server.url, ttlMs: 1 }])
    const read = (page: string) => post(edge, 'resources/read', { uri: `ui://third/app/${page}` }, ADMIN)
    expect(await read('main.html')).toMatchObject({ result: { contents: [{ text: '<p>third</p>' }] } })
    server.tools = [{ ...show, _meta: { ui: { resourceUri: 'ui://app/other.html' } } }, plain]
    vi.setSystemTime(Date.now() + 61_000)
    expect(await read('main.html')).toMatchObject({ error: { code: -32_002 } })
    expect(await read('other.html')).toMatchObject({ error: { code: -32_002 } })
    const { body } = await edge.as(ADMIN)('/tools/show')
    const acceptance = await edge.as(ADMIN)('/tools/show/accept', { json: { hash: body.hash } })
    expect(acceptance.status).toBeLessThan(300)
    vi.setSystemTime(Date.now() + 11_000)
    expect(await read('other.html')).toMatchObject({ result: { contents: [{ text: 'unnamed' }] } })
  })
})

describe('a server that', () => {
  async function broken(others: McpServer['others'], config: object = {}) {
    const server = await appServer('third')
    opened.push(server)
    server.others = { ...server.others, ...others }
    return { server, edge: edgeOf([{ name: 'third', url: server.url, prompts: ['*'], resources: ['*'], ...config }]) }
  }

  test('answers too much is cut off with an error', async () => {
    const { edge } = await broken({
      'resources/read': ({ uri }) => ({ contents: [{ uri, text: 'x'.repeat(2 ** 20 + 1), _meta: { ui: {} } }] }),
    })
    for (const uri of ['ui://third/app/main.html', 'docs://third/rules'])
      expect(await post(edge, 'resources/read', { uri })).toMatchObject({
        error: { code: -32_603, message: 'The answer of the server is too large.' },
      })
  })

  test('answers more than a model may read is passed on whole', async () => {
    const text = 'x'.repeat(500_000)
    const { edge } = await broken({ 'resources/read': ({ uri }) => ({ contents: [{ uri, text }] }) })
    for (const uri of ['ui://third/app/main.html', 'docs://third/rules'])
      expect(await post(edge, 'resources/read', { uri })).toMatchObject({ result: { contents: [{ text }] } })
  })

  test('does not have a resource is believed, whatever its revision says that by', async () => {
    const { edge } = await broken({
      'resources/read': () => {
        throw new Refusal(-32_002, 'Resource not found')
      },
    })
    const message = 'The server refused the call: Resource not found'
    const answer = await post(edge, 'resources/read', { uri: 'docs://third/rules' })
    expect(answer).toMatchObject({ error: { code: -32_602, message } })
  })

  test('does not answer is given up after its time limit', async () => {
    const { edge } = await broken({ 'prompts/get': () => new Promise(() => {}) }, { timeoutMs: 50 })
    expect(await post(edge, 'prompts/get', { name: 'third.review' })).toMatchObject({
      // The edge and its Worker have the same limit.
      error: { code: -32_603, message: expect.stringMatching(/did not answer within 50 ms|took too long to answer/) },
    })
  })

  test('fails hides nothing of another', async () => {
    const { server } = await broken({
      'prompts/list': () => {
        throw new Refusal(-32_603, 'Broken')
      },
    })
    const edge = edgeOf([...configOf(), { name: 'third', url: server.url, prompts: ['*'] }])
    expect((await post(edge, 'prompts/list')).result.prompts.map(({ name }: { name: string }) => name)).toEqual([
      'first.review',
    ])
  })

  test('sends a secret of its configuration does not pass it on', async () => {
    const server = await appServer('third')
    opened.push(server)
    server.others = {
      ...server.others,
      'prompts/get': () => ({ description: 'The key is s3cret-value', messages: [] }),
    }
    const MCP_SERVERS = JSON.stringify([
      { name: 'third', url: server.url, headers: { 'x-key': '{SECRET_KEY}' }, prompts: ['*'] },
    ])
    const service = mcpService(LIFETIME, { MCP_SERVERS, SECRET_KEY: 's3cret-value' })
    const edge = edgeOf([], { vars: { TOOL_MCP: service } })
    const { result } = await post(edge, 'prompts/get', { name: 'third.review' })
    expect(result.description).not.toContain('s3cret-value')
  })

  test('has the name of another in a second Worker is asked for nothing', async () => {
    const { edge: _, server } = await broken({})
    const vars = {
      TOOL_MCP_TOO: mcpService(LIFETIME, {
        MCP_SERVERS: JSON.stringify([{ name: 'first', url: server.url, prefix: 'x_', prompts: ['*'] }]),
      }),
    }
    const edge = edgeOf(configOf(), { vars })
    expect(await post(edge, 'prompts/list')).toMatchObject({ error: { code: -32_601 } })
    expect(await post(edge, 'resources/read', { uri: 'ui://first/app/main.html' })).toMatchObject({
      error: { code: -32_002 },
    })
  })
})

test('a listing of tools asks no Worker more than once, whatever its servers have', async () => {
  let descriptions = 0
  const service = mcpService(LIFETIME, { MCP_SERVERS: JSON.stringify(configOf()) })
  const TOOL_MCP = {
    ...service,
    describe: () => {
      descriptions += 1
      return service.describe()
    },
  }
  const before = first.requests.length
  const edge = edgeOf([], { vars: { TOOL_MCP } })
  await post(edge, 'initialize', { protocolVersion: '2025-11-25' })
  await post(edge, 'tools/list')
  expect([descriptions, first.methods.slice(before).filter((method) => !/list|discover/.test(method))]).toEqual([1, []])
})

test('what servers have is found without reading stored tools, also for a caller to whom policies hide some', async () => {
  const edge = edgeOf(configOf(), { vars: { TOOL_POLICY: { elsewhere: { scopes: ['health'] } } } })
  const definition = { description: 'Is stored.', inputSchema, binding: 'TOOL_MCP', call: 'plain' }
  expect((await edge.as(ADMIN)('/tools/greeting', { method: 'PUT', json: definition })).status).toBe(201)
  const names = async () => (await post(edge, 'tools/list')).result.tools.map(({ name }: { name: string }) => name)
  expect(await names()).toContain('greeting')
  vi.useFakeTimers({ toFake: ['Date'] })
  vi.setSystemTime(Date.now() + 11_000)
  const before = edge.kv.operations.length
  const { result } = await post(edge, 'initialize', { protocolVersion: '2025-11-25' })
  expect(result.capabilities).toMatchObject({ resources: {}, prompts: {} })
  expect(edge.kv.operations).toHaveLength(before)
  // A listing reads them again, since what is cached has expired.
  await names()
  expect(edge.kv.operations.length).toBeGreaterThan(before)
})
