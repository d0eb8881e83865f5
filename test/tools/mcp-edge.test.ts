import { createServer, type Server } from 'node:http'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ToolDefinition } from '../../src/contract/tool-definition.ts'
import type { Progress, ToolOutcome } from '../../src/contract/tool.ts'
import { failure } from '../../src/contract/tool.ts'
import { serviceSource } from '../../src/host/source/service.ts'
import { mcpService } from '../../tools/mcp/service.ts'
import { testEdge } from '../fixtures/edge.ts'
import { tool } from '../fixtures/play.ts'
import { CONTROL, toolRequest } from '../host/source/calls.ts'
import { LIFETIME, McpServer } from './mcp-server.ts'

const definition = {
  title: 'Weather',
  description: 'Forecasts.',
  inputSchema: {
    type: 'object',
    properties: { place: { type: 'string' } },
    required: ['place'],
    additionalProperties: false,
  },
  outputSchema: { type: 'object', properties: { summary: { type: 'string' } } },
  annotations: { readOnly: true, idempotent: true, openWorld: true },
}
const image = { type: 'image' as const, mediaType: 'image/png', data: 'AAAA' }
const contexts: object[] = []
const tools = [
  tool(
    'forecast',
    async ({ place }, { values }, control) => {
      contexts.push(values)
      await control.progress({ message: 'Looking', fraction: 0.5 })
      const structured = { summary: `Rain in ${String(place)}` }
      return { ok: true, content: [{ type: 'text', text: JSON.stringify(structured) }], structured }
    },
    definition,
  ),
  tool('map', () => ({ ok: true, content: [{ type: 'text', text: 'The map:' }, image] })),
  tool('broken', () => failure('tool_error', 'The mast is down.')),
]

let server: Server
let url: string

/** An edge on a port, whose `/mcp` another edge asks. `older` has it not know the newest revision, as edges of before. */
async function listen(older: boolean): Promise<void> {
  const edge = testEdge({ tools })
  server = createServer((request, response) => {
    void (async () => {
      const body = await text(request)
      const headers = Object.fromEntries(
        Object.entries(request.headers).filter(([name]) => !older || name !== 'mcp-protocol-version'),
      ) as Record<string, string>
      const isDiscovery = older && body.includes('server/discover')
      const answer = isDiscovery
        ? Response.json({ jsonrpc: '2.0', error: { code: -32_000, message: 'Bad Request' } }, { status: 400 })
        : await edge.ask('/mcp', { method: 'POST', headers, body })
      response.writeHead(answer.status, Object.fromEntries(answer.headers)).end(await answer.text())
    })()
  })
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  url = `http://127.0.0.1:${typeof address === 'object' && address?.port}/mcp`
}

describe.each([
  ['the newest revision', false],
  ['an older revision', true],
])('an edge’s tools, brought into another by %s', (_, older) => {
  beforeAll(() => listen(older))
  afterAll(() => {
    server.closeAllConnections()
    server.close()
  })

  const service = () =>
    mcpService(LIFETIME, { MCP_SERVERS: [{ name: 'far', url, prefix: 'far_', context: ['timeZone'] }] })

  async function call(name: string, args: object, progress: Progress[] = []): Promise<ToolOutcome> {
    const { tools } = await service().describe()
    const hash = tools.find((each) => each.name === name)?.hash ?? ''
    const values = { timeZone: 'Asia/Tokyo', tenantId: '7' }
    return service().call(toolRequest(name, { ...args }, { hash, values }), {
      ...CONTROL,
      progress: async (news) => void progress.push(news),
    })
  }

  test('have the same definitions', async () => {
    const { tools } = await service().describe()
    const forecast: ToolDefinition | undefined = tools.find(({ name }) => name === 'far_forecast')
    expect(tools.map(({ name }) => name)).toEqual(['far_broken', 'far_forecast', 'far_map'])
    expect(forecast).toMatchObject(definition)
  })

  test('give the same results, progress and errors', async () => {
    const progress: Progress[] = []
    const structured = { summary: 'Rain in Lisbon' }
    expect(await call('far_forecast', { place: 'Lisbon' }, progress)).toEqual({
      ok: true,
      content: [{ type: 'text', text: JSON.stringify(structured) }],
      structured,
    })
    expect(progress).toEqual([{ message: 'Looking', fraction: 0.5 }])
    expect(contexts.at(-1)).toEqual({ timeZone: 'Asia/Tokyo' })
    expect(await call('far_map', {})).toEqual({ ok: true, content: [{ type: 'text', text: 'The map:' }, image] })
    expect(await call('far_broken', {})).toEqual({
      ok: false,
      error: { code: 'tool_error', message: 'The mast is down.' },
    })
  })
})

test('a changed list of a server’s tools is noticed within the time that it is cached and a minute', async () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const far = await new McpServer().listen()
  onTestFinished(() => far.close())
  const toolOf = (name: string, description: string) => ({ name, description, inputSchema: { type: 'object' } })
  far.tools = [toolOf('echo', 'Says it.'), toolOf('old', 'Is removed.')]
  far.call = ({ name }) => ({ content: [{ type: 'text', text: `called ${name}` }] })
  const binding = mcpService(LIFETIME, { MCP_SERVERS: [{ name: 'far', url: far.url, ttlMs: 30_000 }] })
  const source = serviceSource({ bindings: { TOOL_MCP: binding }, offered: () => true })
  const edge = testEdge({ setup: { tools: () => source } })
  const offer = async () => {
    const list = await (await edge.ask('/tools')).json<readonly ToolDefinition[]>()
    const calls = ['old', 'more'].map(async (name) => {
      const answer = await edge.ask(`/tools/${name}/call`, { json: { arguments: {} } })
      return answer.status
    })
    return [...list.map(({ name, description }) => [name, description]), ...(await Promise.all(calls))]
  }
  const before = [['echo', 'Says it.'], ['old', 'Is removed.'], 200, 404]
  // The latest that an edge can notice it: it reads the list just before the Worker of the servers reads it again.
  await binding.describe()
  vi.advanceTimersByTime(29_999)
  expect(await offer()).toEqual(before)
  far.tools = [toolOf('echo', 'Says it twice.'), toolOf('more', 'Is new.')]
  vi.advanceTimersByTime(59_999)
  expect(await offer()).toEqual(before)
  vi.advanceTimersByTime(1)
  expect(await offer()).toEqual([['echo', 'Says it twice.'], ['more', 'Is new.'], 404, 200])
})
