import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness } from 'wrangler'
import { GuardedServer } from '../tools/mcp-oauth-server.ts'
import { McpServer } from '../tools/mcp-server.ts'
import { withMcp } from './with-mcp.ts'
import { sampleWorkers } from './stage.ts'

const TOOLS = ['clock', 'alarm', 'calculator', 'customers', 'bookings', 'mail', 'web', 'definitions']
const PREFIX = 'io.modelcontextprotocol/'

const ROOT = new URL('../..', import.meta.url).pathname
const temp = mkdtempSync(join(tmpdir(), 'edgecall-mcp-'))

const newest = new McpServer()
const guarded = new GuardedServer()
const older = new McpServer('2025-11-25', { wantsSession: true })
let harness: ReturnType<typeof createTestHarness>
let url: URL

beforeAll(async () => {
  await Promise.all([newest.listen(), older.listen(), guarded.listen()])
  const echo = { name: 'echo', description: 'Says it again', inputSchema: { type: 'object' } }
  newest.tools = [echo, { ...echo, name: 'film', execution: { taskSupport: 'required' } }]
  older.tools = [echo, { ...echo, name: 'wait' }]
  newest.call = ({ arguments: args, _meta: { progressToken } }, talk) => {
    talk.send({ method: 'notifications/progress', params: { progressToken, progress: 1, total: 2, message: 'Half' } })
    return { content: [{ type: 'text', text: `newest ${args.text}` }], structuredContent: { said: args.text } }
  }
  older.call = async ({ name, arguments: args }, talk) => {
    if (name === 'wait') await talk.closed
    return { content: [{ type: 'text', text: `older ${args.text}` }] }
  }
  harness = createTestHarness({
    root: ROOT,
    workers: [
      { configPath: withMcp(temp), bindingOverrides: { TOOL_WEATHER: 'basic-weather' }, vars: { AUTH: 'open' } },
      { configPath: 'test/fixtures/basic-weather/wrangler.toml' },
      ...sampleWorkers(...TOOLS),
      {
        configPath: 'tools/mcp/wrangler.toml',
        vars: {
          MCP_SERVERS: JSON.stringify([
            { name: 'first', url: newest.url, headers: { 'X-Key': '{SECRET_FIRST}' } },
            { name: 'second', url: older.url, tools: ['echo'] },
            {
              name: 'guarded',
              url: guarded.mcp.url,
              prefix: 'guarded_',
              oauth: { clientSecret: '{SECRET_FIRST}', clientId: 'edge' },
            },
            { name: 'third', url: older.url, tools: ['wait'], timeoutMs: 300 },
          ]),
          SECRET_FIRST: 's3cret',
          MCP_CALLBACK_URL: 'https://edge.example.com/connections/callback',
        },
      },
    ],
  })
  url = (await harness.listen()).url
})
afterAll(async () => {
  await harness.close()
  newest.close()
  guarded.close()
  older.close()
  rmSync(temp, { recursive: true })
})

/** Asks the edge as a client of the newest revision does. */
function ask(method: string, params: Record<string, any> = {}): Promise<Response> {
  const meta = { [`${PREFIX}protocolVersion`]: '2026-07-28', [`${PREFIX}clientCapabilities`]: {}, ...params['_meta'] }
  return fetch(new URL('/mcp', url), {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': method,
      ...(params['name'] && { 'mcp-name': params['name'] }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta: meta } }),
  })
}

async function resultOf(response: Promise<Response>): Promise<Record<string, any>> {
  const { result } = (await (await response).json()) as Record<string, any>
  return result
}

describe('an edge with tools of other MCP servers', () => {
  test('lists its own and theirs', async () => {
    const { tools } = await resultOf(ask('tools/list'))
    const names = tools.map(({ name }: { name: string }) => name)
    expect(names).toEqual(expect.arrayContaining(['echo', 'second_echo', 'wait', 'forecast']))
    expect(names).toEqual(names.toSorted((a: string, b: string) => (a < b ? -1 : 1)))
    expect(newest.requests[0]!.headers['x-key']).toBe('s3cret')
  })

  test('lists a tool that cannot be offered with the reason', async () => {
    const film = {
      name: 'film',
      source: 'mcp',
      place: 'TOOL_MCP',
      available: false,
      offered: false,
      reason:
        'The tool "film" of the server "first" is left out: it can only be run as a task, which this client does not do',
    }
    expect(await (await fetch(new URL('/tools/film', url))).json()).toEqual({ ...film, policies: [] })
    const entries = (await (await fetch(new URL('/tools?source=mcp', url))).json()) as { name: string }[]
    expect(entries.filter(({ name }) => name === 'film')).toEqual([film])
  })

  test('calls tools of servers of each revision for its own MCP client', async () => {
    expect(await resultOf(ask('tools/call', { name: 'echo', arguments: { text: 'Hi' } }))).toMatchObject({
      content: [{ type: 'text', text: '{"said":"Hi"}' }],
    })
    expect(await resultOf(ask('tools/call', { name: 'second_echo', arguments: { text: 'Hi' } }))).toMatchObject({
      content: [{ type: 'text', text: 'older Hi' }],
    })
  })

  test('passes their progress on', async () => {
    const params = { name: 'echo', arguments: { text: 'Hi' }, _meta: { progressToken: 'mine' } }
    const response = await ask('tools/call', params)
    const frames = (await response.text()).split('\n\n').filter((frame) => frame.startsWith('data: '))
    expect(frames.map((frame) => JSON.parse(frame.slice(6)))).toMatchObject([
      {
        method: 'notifications/progress',
        params: { progressToken: 'mine', progress: 0.5, total: 1, message: 'Half' },
      },
      { id: 1, result: { content: [{ type: 'text', text: '{"said":"Hi"}' }] } },
    ])
  })

  test('cancels a call at its server on a timeout', async () => {
    expect(await resultOf(ask('tools/call', { name: 'wait' }))).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining('whether it took effect is unknown') }],
    })
    await expect.poll(() => older.of('notifications/cancelled').length).toBe(1)
  })
})

describe('a server to which people sign in', () => {
  const connection = (init: RequestInit = {}) =>
    fetch(new URL('/connections/guarded', url), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      ...init,
    })
  const body = (value: object) => ({ body: JSON.stringify(value) })
  const stateOf = async () => {
    const list = (await (await fetch(new URL('/connections', url))).json()) as Record<string, unknown>[]
    return list.find(({ server, owner }) => server === 'guarded' && owner === 'edge')
  }
  /** Signs in as a browser does that has these cookies. */
  const open = async (address: string, cookie = '') => {
    const search = await guarded.open(address)
    return fetch(new URL(`/connections/callback${search}`, url), { headers: { cookie } })
  }

  test('gets the secret once an operator has accepted its authorization server, and is held back if that changes', async () => {
    const refusal = await connection(body({}))
    expect([refusal.status, await refusal.json()]).toMatchObject([409, { code: 'issuer_not_accepted' }])
    expect(guarded.requests).toEqual([])
    const signIn = await connection(body({ issuer: guarded.issuer }))
    const [cookie = ''] = (signIn.headers.get('set-cookie') ?? '').split(';')
    const answer = (await signIn.json()) as { issuer: string; url: string }
    expect(answer).toEqual({ issuer: guarded.issuer, url: expect.stringContaining('/authorize?') })
    expect(await (await open(answer.url, cookie)).text()).toBe('You are connected to guarded. You can close this page.')
    expect(guarded.requests.at(-1)?.authorization).toBe(`Basic ${btoa('edge:s3cret')}`)
    expect(await stateOf()).toMatchObject({ connected: true, issuer: guarded.issuer })
    const other = await new GuardedServer().listen()
    const before = guarded.issuer
    guarded.issuer = other.issuer
    guarded.valid.clear()
    expect((await connection(body({}))).status).toBe(409)
    expect(await stateOf()).toMatchObject({
      issuer: before,
      heldBack: `it names ${other.issuer} as its authorization server, but the accepted one is ${before}`,
    })
    expect(other.requests).toEqual([])
    guarded.issuer = before
    other.close()
  })

  test('is connected by another browser than the one that asked only with the code that its page shows', async () => {
    await fetch(new URL('/connections/guarded', url), { method: 'DELETE' })
    const { url: address } = (await (await connection(body({ issuer: guarded.issuer }))).json()) as { url: string }
    const text = await (await open(address)).text()
    const [code] = /[A-Z2-9]{4}-[A-Z2-9]{4}/.exec(text) ?? []
    expect(await stateOf()).toMatchObject({ connected: false })
    const wrong = await connection({ method: 'PUT', ...body({ code: 'AAAA-AAAA' }) })
    expect([wrong.status, await wrong.json()]).toMatchObject([422, { code: 'sign_in_failed' }])
    const end = await connection({ method: 'PUT', ...body({ code }) })
    expect([end.status, await end.json()]).toEqual([200, { server: 'guarded' }])
    expect(await stateOf()).toMatchObject({ connected: true })
  })
})
