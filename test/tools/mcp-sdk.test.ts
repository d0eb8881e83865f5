import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { json } from 'node:stream/consumers'
import { setTimeout } from 'node:timers/promises'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { SSEServerTransport } from '@modelcontextprotocol/sdk/server/sse.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { afterEach, describe, expect, test, vi } from 'vitest'
import * as z from 'zod'
import { mcpService } from '../../tools/mcp/service.ts'
import { eventually } from '../fixtures/eventually.ts'
import { controlledEdge } from '../security/controlled-edge.ts'
import { LIFETIME } from './mcp-server.ts'
import { worker } from './mcp-worker.ts'

const KEY = 'acme: chat tools:read'

const PIXEL = 'iVBORw0KGgo='

/** A server made with MCP's own SDK: a tool, resources, a template and instructions. */
function libraryServer(): McpServer {
  const server = new McpServer({ name: 'library', version: '1' }, { instructions: 'Search before you lend a book.' })
  const lend = { description: 'Lends a book', inputSchema: { book: z.string() } }
  server.registerTool('lend', { ...lend, _meta: { ui: { resourceUri: 'ui://shelf/app.html' } } }, ({ book }) => ({
    content: [{ type: 'text', text: `${book} is yours` }],
  }))
  server.registerTool('fail', { description: 'Fails' }, () => {
    throw new Error('The shelf is empty.')
  })
  server.registerResource('rules', 'book://rules', { description: 'The rules', mimeType: 'text/plain' }, (uri) => ({
    contents: [{ uri: uri.href, text: 'Be quiet.' }],
  }))
  server.registerResource('stamp', 'book://stamp', { mimeType: 'image/png' }, (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'image/png', blob: PIXEL }],
  }))
  server.registerResource('secret', 'vault://plans', {}, (uri) => ({ contents: [{ uri: uri.href, text: 'hidden' }] }))
  const page = {
    mimeType: 'text/html;profile=mcp-app',
    _meta: { ui: { csp: { resourceDomains: ['https://covers.example'] } } },
  }
  server.registerResource('app', 'ui://shelf/app.html', page, (uri) => ({
    contents: [{ uri: uri.href, mimeType: page.mimeType, text: '<h1>The shelf</h1>' }],
  }))
  server.registerPrompt('summary', { description: 'Sums up', argsSchema: { book: z.string() } }, ({ book }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Sum up ${book}` } }],
  }))
  const template = new ResourceTemplate('book://shelf/{name}', { list: undefined })
  server.registerResource('book', template, { title: 'A book' }, (uri, { name }) => ({
    contents: [{ uri: uri.href, text: `The text of ${String(name)}` }],
  }))
  return server
}

const servers: Server[] = []
let count = 0

/** Serves an HTTP handler on a free port. Returns the URL of a path that no other server has. */
async function serve(handler: (...args: Parameters<Parameters<typeof createServer>[1] & object>) => unknown) {
  const server = createServer((request, response) => void handler(request, response))
  servers.push(server)
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  return `http://127.0.0.1:${typeof address === 'object' && address?.port}/${count++}`
}

afterEach(() => {
  vi.restoreAllMocks()
  for (const server of servers.splice(0)) {
    server.closeAllConnections()
    server.close()
  }
})

/** The server over Streamable HTTP, without sessions. */
function overHttp(): Promise<string> {
  return serve(async (request, response) => {
    const transport = new StreamableHTTPServerTransport({})
    await libraryServer().connect(transport)
    await transport.handleRequest(request, response)
  })
}

/** The server over HTTP with SSE, as revision 2024-11-05 has it. It answers a POST to its address with 404. */
async function overSse() {
  const transports = new Map<string, SSEServerTransport>()
  const requests: { readonly method: string | undefined; readonly authorization: string | undefined }[] = []
  const url = await serve(async (request: IncomingMessage, response) => {
    requests.push({ method: request.method, authorization: request.headers.authorization })
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost')
    const transport = transports.get(searchParams.get('sessionId') ?? '')
    if (transport) return transport.handlePostMessage(request, response)
    if (request.method !== 'GET') return response.writeHead(404).end('No such route')
    const opened = new SSEServerTransport(`${pathname}/messages`, response)
    transports.set(opened.sessionId, opened)
    response.on('close', () => transports.delete(opened.sessionId))
    await libraryServer().connect(opened)
  })
  return { url, requests, streams: () => transports.size }
}

describe('a server of MCP’s own SDK', () => {
  test('offers its resources by two tools, as far as they are selected', async () => {
    const mcp = worker([{ name: 'library', url: await overHttp(), prefix: 'lib_', resources: ['book://*'] }])
    expect(await mcp.names()).toEqual([
      'lib_lend',
      'lib_fail',
      'lib_list_resources',
      'lib_read_resource',
      'lib_read_ui',
    ])
    expect(await mcp.call('lib_list_resources')).toMatchObject({
      structured: {
        resources: [
          { uri: 'book://rules', name: 'rules', description: 'The rules', mimeType: 'text/plain' },
          { uri: 'book://stamp', name: 'stamp', mimeType: 'image/png' },
        ],
        templates: [{ uriTemplate: 'book://shelf/{name}', name: 'book', title: 'A book' }],
      },
    })
    const read = async (uri: string) => mcp.call('lib_read_resource', { uri })
    expect(await read('book://rules')).toMatchObject({ ok: true, content: [{ type: 'text', text: 'Be quiet.' }] })
    expect(await read('book://stamp')).toMatchObject({
      content: [{ type: 'image', mediaType: 'image/png', data: PIXEL }],
    })
    expect(await read('book://shelf/emma')).toMatchObject({ content: [{ type: 'text', text: 'The text of emma' }] })
    expect(await read('book://nothing')).toMatchObject({ ok: false, error: { code: 'mcp_refused' } })
  })

  test.each(['vault://plans', 'book://shelf/../../plans', 'book://shelf/%2e%2e/plans', 'book://shelf/..%2Fplans', ''])(
    'is not asked for the resource %o, which is not on offer',
    async (uri) => {
      const mcp = worker([{ name: 'library', url: await overHttp(), resources: ['book://*'] }])
      expect(await mcp.call('read_resource', { uri })).toMatchObject({
        ok: false,
        error: {
          code: 'resource_not_allowed',
          message: `The resource "${uri}" is not on offer. Call list_resources to see those that are.`,
        },
      })
    },
  )

  test('has its instructions in the definitions of its tools if they are wanted', async () => {
    const instructionsOf = async (options: object) => {
      const definitions = await worker([{ name: 'library', url: await overHttp(), ...options }]).describe()
      return definitions.map(({ instructions }) => instructions)
    }
    const text = 'Search before you lend a book.'
    expect(await instructionsOf({ instructions: true })).toEqual([text, text, undefined])
    expect(await instructionsOf({})).toEqual([undefined, undefined, undefined])
  })
})

describe.each([
  ['MCP’s own SDK', overHttp],
  ['the revision 2024-11-05', async () => (await overSse()).url],
])('what a server of %s has beside tools', (_, listen) => {
  test('is there for the clients of an edge', async () => {
    const config = [{ name: 'library', url: await listen(), resources: ['book://*'], prompts: ['*'] }]
    const TOOL_MCP = mcpService(LIFETIME, { MCP_SERVERS: JSON.stringify(config) })
    const edge = controlledEdge({ workers: {}, keys: [KEY], vars: { TOOL_MCP } })
    const request = async (method: string, params: object = {}) => {
      const { body } = await edge.as(KEY)('/mcp', { json: { jsonrpc: '2.0', id: 1, method, params } })
      return body.result
    }
    const { tools } = await request('tools/list')
    expect(tools.find(({ name }: { name: string }) => name === 'lend')).toMatchObject({
      _meta: { ui: { resourceUri: 'ui://library/shelf/app.html' } },
    })
    expect(await request('resources/read', { uri: 'ui://library/shelf/app.html' })).toEqual({
      contents: [
        {
          uri: 'ui://library/shelf/app.html',
          mimeType: 'text/html;profile=mcp-app',
          text: '<h1>The shelf</h1>',
          _meta: { ui: { csp: { resourceDomains: ['https://covers.example'] } } },
        },
      ],
    })
    expect((await request('resources/list')).resources).toMatchObject([
      { uri: 'book://library/rules' },
      { uri: 'book://library/stamp' },
    ])
    expect((await request('resources/templates/list')).resourceTemplates).toMatchObject([
      { uriTemplate: 'book://library/shelf/{name}', title: 'A book' },
    ])
    expect(await request('resources/read', { uri: 'book://library/shelf/emma' })).toEqual({
      contents: [{ uri: 'book://library/shelf/emma', text: 'The text of emma' }],
    })
    expect(await request('prompts/list')).toEqual({
      prompts: [{ name: 'library.summary', description: 'Sums up', arguments: [{ name: 'book', required: true }] }],
    })
    expect(await request('prompts/get', { name: 'library.summary', arguments: { book: 'Emma' } })).toEqual({
      messages: [{ role: 'user', content: { type: 'text', text: 'Sum up Emma' } }],
    })
  })
})

describe('a server of the revision 2024-11-05', () => {
  test('lists, calls and fails over its event stream, which is closed after each request', async () => {
    const { url, requests, streams } = await overSse()
    const headers = { authorization: 'Bearer secret' }
    const mcp = worker([{ name: 'library', url, headers, instructions: true, resources: ['book://rules'] }])
    expect(await mcp.names()).toEqual(['lend', 'fail', 'list_resources', 'read_resource', 'read_ui'])
    expect((await mcp.describe())[0]?.instructions).toBe('Search before you lend a book.')
    const lent = { ok: true, content: [{ type: 'text', text: 'Emma is yours' }] }
    expect(await mcp.call('lend', { book: 'Emma' })).toEqual(lent)
    expect(await mcp.call('fail')).toMatchObject({ ok: false, error: { message: 'The shelf is empty.' } })
    expect(await mcp.call('read_resource', { uri: 'book://rules' })).toMatchObject({
      content: [{ type: 'text', text: 'Be quiet.' }],
    })
    expect(new Set(requests.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer secret']))
    await eventually(() => expect(streams()).toBe(0))
  })

  test('gets no credentials at an address of another origin', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const elsewhere: string[] = []
    const other = await serve((request, response) => {
      elsewhere.push(String(request.method))
      response.writeHead(202).end()
    })
    const url = await serve((request, response) => {
      if (request.method !== 'GET') return response.writeHead(404).end()
      return response
        .writeHead(200, { 'content-type': 'text/event-stream' })
        .write(`event: endpoint\ndata: ${other}\n\n`)
    })
    const mcp = worker([{ name: 'library', url, headers: { authorization: 'Bearer secret' } }])
    await expect(mcp.names()).rejects.toThrow('library: it answered HTTP 404')
    expect(elsewhere).toEqual([])
  })

  test('without an event stream is reported with its first answer', async () => {
    vi.spyOn(console, 'error').mockImplementation(() => {})
    const url = await serve((_request, response) => response.writeHead(405).end())
    await expect(worker([{ name: 'library', url }]).names()).rejects.toThrow('library: it answered HTTP 405')
  })
})

/**
 * A server of the revision 2025-11-25 that answers a call on its other stream. As servers of MCP's own SDK do, it drops
 * what it sends there before the client has opened that stream.
 */
async function overOtherStream(openStream: (response: ServerResponse) => unknown) {
  const responses: unknown[] = []
  let stream: ServerResponse | undefined
  const url = await serve(async (request, response) => {
    if (request.method === 'GET') {
      await openStream(response.writeHead(200, { 'content-type': 'text/event-stream' }))
      stream = response
      return response.flushHeaders()
    }
    const { id, method, ...message } = (await json(request)) as { id?: number; method?: string }
    if (method === undefined) responses.push(message)
    if (id === undefined || method === undefined) return response.writeHead(202).end()
    const answer = (body: object) => JSON.stringify({ jsonrpc: '2.0', id, ...body })
    if (method === 'tools/call' && stream) {
      const result = { content: [{ type: 'text', text: 'on the other stream' }] }
      return stream.write(`data: ${answer({ result })}\n\n`)
    }
    const tools = [{ name: 'where', inputSchema: { type: 'object' }, description: 'Tells where' }]
    const results: Record<string, object> = {
      initialize: { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } },
      'tools/list': { tools },
      'tools/call': { content: [{ type: 'text', text: 'in its answer' }] },
    }
    const result = results[method]
    response.writeHead(result ? 200 : 404, { 'content-type': 'application/json' })
    return response.end(answer(result ? { result } : { error: { code: -32_601, message: 'No such method' } }))
  })
  const call = () => worker([{ name: 'other', url }]).call('where', {}, { context: { asks: ['elicitation/create'] } })
  return { call, responses }
}

describe('a server of an older revision', () => {
  test('may answer a call on its other stream, which is open before the call is sent', async () => {
    const { call, responses } = await overOtherStream(() => setTimeout(20))
    expect(await call()).toEqual({ ok: true, content: [{ type: 'text', text: 'on the other stream' }] })
    expect(responses).toEqual([])
  })

  test('is called all the same if its other stream does not open', async () => {
    const { call } = await overOtherStream(() => new Promise(() => {}))
    expect(await call()).toEqual({ ok: true, content: [{ type: 'text', text: 'in its answer' }] })
  })
})
