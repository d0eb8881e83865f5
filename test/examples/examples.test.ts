import { execFileSync } from 'node:child_process'
import { createServer } from 'node:http'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { DefaultChatTransport } from 'ai'
import { build } from 'esbuild'
import { expect, onTestFinished, test, vi } from 'vitest'
import { editor, researcher, reviewer } from '../../examples/agents/src/agents.ts'
import * as writers from '../../examples/morning-report/src/agents.ts'
import { Chat, linesOf } from '../../examples/browser-chat/page/chat.ts'
import { edgeFiles } from '../../src/cli/project/edge-files.ts'
import { readPackageVersions } from '../../src/cli/project/init.ts'
import { until } from '../clients/chat.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { McpServer } from '../tools/mcp-server.ts'
import { resultsIn, startExample } from './example.ts'
import { eventually } from '../fixtures/eventually.ts'

const ROOT = new URL('../..', import.meta.url).pathname

test.each(readdirSync(`${ROOT}examples`).filter((name) => !name.endsWith('.md')))(
  'the example %s has the dependencies of a project of `edgecall init`',
  (name) => {
    const read = (path: string) => JSON.parse(readFileSync(`${ROOT}${path}`, 'utf8'))
    const versions = readPackageVersions()
    const files = edgeFiles({ name, versions, edgecall: `^${versions.version}` })
    const { scripts: _scripts, ...manifest } = JSON.parse(files['package.json'] ?? '')
    expect(read(`examples/${name}/package.json`)).toMatchObject(manifest)
  },
)

test('the support desk makes a large refund once, after another key has approved it', async () => {
  const desk = await startExample(
    'support-desk',
    (call, index) =>
      [
        { tool: 'orderStatus', arguments: { number: 'A-1001' } },
        { tool: 'refund', arguments: { number: 'A-1001', amount: 49 } },
        'You get 49 euros back.',
        { tool: 'refund', arguments: { number: 'A-1001', amount: 5 } },
      ][index] ?? `It says: ${resultsIn(call).at(-1)}`,
    {
      edge: withKeys(
        apiKey('customer', { scopes: ['chat', 'approve'] }),
        apiKey('lead', { scopes: ['chat', 'approve', 'tools:read'] }),
      ),
    },
  )
  const [customer, lead] = [bearer('customer'), bearer('lead')]
  await desk.ask('/conversations', { id: 'c1' }, customer)
  const run = await desk.ask('/conversations/c1/runs', { input: 'My kettle of order A-1001 leaks.' }, customer)
  expect(run).toMatchObject({
    status: 'waiting',
    calls: [{ tool: 'orderStatus' }, { tool: 'refund', status: 'approval' }],
  })
  const path = `/conversations/c1/runs/${run.id}`
  const callPath = `${path}/calls/${run.calls[1].id}`
  expect(await desk.ask(callPath, { decision: 'approve' }, customer)).toMatchObject({ code: 'own_run' })
  await desk.ask(callPath, { decision: 'approve' }, lead)
  await until(() => desk.model.calls.length === 3)
  // It goes on by itself; this waits for its end.
  const events = await (await fetch(new URL(`${path}/events`, desk.url), { headers: lead })).text()
  expect(events).toContain('You get 49 euros back.')
  const repeat = await desk.ask('/conversations/c1/runs', { input: 'And 5 euros more.' }, customer)
  expect(repeat.answer).toBe('It says: The order A-1001 was refunded before.')
  const refunds = await desk.ask('/tools/listRefunds/call', { arguments: {} }, lead)
  expect(refunds.structured).toEqual({ refunds: [{ number: 'A-1001', amount: 49 }] })
})

test('the browser page chats, shows what waits, and continues after the decision', async () => {
  const edge = await startExample(
    'browser-chat',
    (_, index) =>
      [
        { tool: 'rollDice', arguments: { dice: 2 } },
        'You rolled.',
        { tool: 'placeBet', arguments: { amount: 10, number: 6 } },
        'Good luck.',
      ][index] ?? 'No.',
    { edge: { IDENTITY_PROVIDERS: '[]' } },
  )
  let lines: ReturnType<typeof linesOf> = []
  const chat = new Chat({
    id: 'chat-1',
    transport: new DefaultChatTransport({ api: new URL('/chat', edge.url).href }),
    messages: [],
    onChange: (messages) => (lines = messages.flatMap(linesOf)),
    onError: () => {},
  })
  await chat.sendMessage({ text: 'Roll two dice.' })
  expect(lines.map((line) => line.text)).toEqual([
    'Roll two dice.',
    expect.stringMatching(/^rollDice: \{"rolls":\[\d,\d\]\}$/),
    'You rolled.',
  ])
  await chat.sendMessage({ text: 'Ten on six.' })
  const waiting = lines.find(({ approval }) => approval !== undefined)
  expect(waiting?.text).toBe('placeBet {"amount":10,"number":6}')
  await chat.addToolApprovalResponse({ id: waiting?.approval ?? '', approved: true })
  await until(() => chat.status === 'ready' && edge.model.calls.length === 4)
  expect(lines.slice(-2).map((line) => line.text)).toEqual(['placeBet: "Bet 10 on 6."', 'Good luck.'])
})

test('the browser page has no type errors, and is built into what its edge serves', async () => {
  const folder = mkdtempSync(`${ROOT}test/examples/.page-`)
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const page = '../../../examples/browser-chat/page'
  const config = {
    extends: `${page}/tsconfig.json`,
    compilerOptions: { paths: { ai: ['../../node_modules/ai'] } },
    include: [page],
  }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  execFileSync(`${ROOT}node_modules/.bin/tsc`, ['-p', folder])
  const { outputFiles } = await build({
    entryPoints: [`${ROOT}examples/browser-chat/page/main.ts`],
    bundle: true,
    minify: true,
    format: 'esm',
    write: false,
    nodePaths: [`${ROOT}test/node_modules`],
  })
  expect(outputFiles[0]?.text.length).toBeGreaterThan(10_000)
  expect(readFileSync(`${ROOT}examples/browser-chat/public/index.html`, 'utf8')).toContain('src="main.js"')
})

test('the imported API is found by search and called with a secret that models do not see', async () => {
  const requests: string[] = []
  const api = createServer(async (request, response) => {
    requests.push(`${request.method} ${request.url} ${request.headers.authorization} ${await text(request)}`)
    const body = request.url?.includes('/stock') ? { pieces: 7 } : [{ number: 'K-1', name: 'Kettle' }]
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  })
  api.listen(0, '127.0.0.1')
  await once(api, 'listening')
  onTestFinished(() => void api.close())
  const host = `http://127.0.0.1:${(api.address() as AddressInfo).port}`
  const edge = await startExample(
    'api-import',
    (_, index) =>
      [
        { tool: 'tool_search', arguments: { query: 'find items by name, and pieces in stock' } },
        { tool: 'findItems', arguments: { name: 'kettle' } },
        { tool: 'stockOf', arguments: { number: 'K-1' } },
      ][index] ?? 'There are 7 kettles.',
    { edge: { HTTP_TOOL_HOSTS: JSON.stringify({ [host]: ['SECRET_WAREHOUSE'] }), SECRET_WAREHOUSE: 'warehouse-key' } },
  )
  for (const { name, definition } of importedFrom(host)) {
    const response = await fetch(new URL(`/tools/${name}`, edge.url), {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(definition),
    })
    expect(response.status, await response.text()).toBe(201)
  }
  const answer = await edge.ask('/v1/chat/completions', { messages: [{ role: 'user', content: 'How many kettles?' }] })
  expect(answer.choices[0].message.content).toBe('There are 7 kettles.')
  expect(answer.edgecall.calls.map(({ tool, ok }: any) => [tool, ok])).toEqual([
    ['tool_search', true],
    ['findItems', true],
    ['stockOf', true],
  ])
  expect(requests).toEqual([
    'GET /v1/items?name=kettle Bearer warehouse-key ',
    'GET /v1/items/K-1/stock Bearer warehouse-key ',
  ])
  expect(JSON.stringify(edge.model.calls)).not.toContain('warehouse-key')
})

/** Runs the command of the example's README for another host. Its files are those of the example, but for the host. */
function importedFrom(host: string): { name: string; definition: object }[] {
  const out = mkdtempSync(join(tmpdir(), 'api-import-'))
  onTestFinished(() => rmSync(out, { recursive: true }))
  const example = `${ROOT}examples/api-import`
  const args = ['import', 'openapi', 'api.json', '--secret', 'SECRET_WAREHOUSE', '--host', host, '--out', out]
  execFileSync(process.execPath, [`${ROOT}src/cli/main.ts`, ...args], { cwd: example })
  const files = readdirSync(out)
  expect(readdirSync(`${example}/tools/definitions`)).toEqual(expect.arrayContaining(files))
  return files.map((file) => {
    const definition = JSON.parse(readFileSync(join(out, file), 'utf8'))
    const storedText = readFileSync(`${example}/tools/definitions/${file}`, 'utf8')
    expect(definition).toEqual(JSON.parse(storedText.replaceAll('https://warehouse.example.com', host)))
    return { name: definition.name, definition }
  })
}

test('the MCP gateway gives a client the tools of another server, with its secret, until one changes', async () => {
  const tracker = new McpServer()
  const issue = { name: 'createIssue', description: 'Creates an issue.', inputSchema: { type: 'object' } }
  tracker.tools = [issue]
  tracker.call = ({ arguments: args }) => ({ content: [{ type: 'text', text: `Created ${args.title}.` }] })
  await tracker.listen()
  onTestFinished(() => tracker.close())
  const { url } = tracker
  const headers = { Authorization: 'Bearer {SECRET_TRACKER}' }
  const servers = [{ name: 'tracker', url, prefix: 'tracker_', headers, ttlMs: 1 }]
  const edge = await startExample('mcp-gateway', () => 'No model is asked.', {
    tools: { mcp: { MCP_SERVERS: JSON.stringify(servers), SECRET_TRACKER: 'tracker-key' } },
  })
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(new StreamableHTTPClientTransport(new URL('/mcp', edge.url)))
  onTestFinished(() => client.close())
  const namesOf = async () => (await client.listTools()).tools.map(({ name }) => name)
  expect(await namesOf()).toEqual(['tracker_createIssue'])
  const result = await client.callTool({ name: 'tracker_createIssue', arguments: { title: 'It leaks' } })
  expect(JSON.stringify(result.content)).toContain('Created It leaks.')
  expect(tracker.requests.every(({ headers: sent }) => sent.authorization === 'Bearer tracker-key')).toBe(true)

  tracker.tools = [{ ...issue, inputSchema: { type: 'object', properties: { password: { type: 'string' } } } }]
  const changed = await edge.ask('/tools/tracker_createIssue/call', { arguments: { title: 'Again' } })
  expect(changed).toMatchObject({ ok: false, error: { code: 'tool_changed' } })
  expect(await namesOf()).toEqual([])
  const { available, hash } = await edge.ask('/tools/tracker_createIssue')
  expect(available).toBe(false)
  await edge.ask('/tools/tracker_createIssue/accept', { hash })
  expect(await namesOf()).toEqual(['tracker_createIssue'])
})

test('the agents delegate: the editor has facts found and its text reviewed', async () => {
  const receivedRequests: string[] = []
  const agents = [editor, researcher, reviewer]
  const edge = await startExample('agents', ({ body }) => {
    const system = body.messages.find(({ role }) => role === 'system')?.content
    const results = body.messages.filter(({ role }) => role === 'tool').length
    const who = agents.find(({ instructions }) => instructions === system)?.name ?? 'caller'
    receivedRequests.push(who)
    if (who === 'caller') return { tool: 'editor', arguments: { question: 'Write about the kettle.' } }
    if (who === 'editor')
      return (
        [
          { tool: 'researcher', arguments: { question: 'What is known of the kettle?' } },
          { tool: 'reviewer', arguments: { text: 'It boils a litre in three minutes.' } },
        ][results] ?? 'It boils a litre in three minutes.'
      )
    if (results === 0) return { tool: 'searchNotes', arguments: { words: ['kettle'] } }
    return who === 'reviewer' ? 'fine' : 'kettle.md: boils a litre in three minutes.'
  })
  const answer = await edge.ask('/v1/chat/completions', {
    messages: [{ role: 'user', content: 'The kettle, please.' }],
  })
  expect(answer.choices[0].message.content).toBe('It boils a litre in three minutes.')
  expect(receivedRequests).toEqual([
    'caller',
    'editor',
    'researcher',
    'researcher',
    'editor',
    'reviewer',
    'reviewer',
    'editor',
  ])
  expect(answer.usage.total_tokens).toBe(8 * 15)
})

test('a report is written by three agents when its schedule is due, and sent once a person has read it', async () => {
  const definition = JSON.parse(readFileSync(`${ROOT}examples/morning-report/report.json`, 'utf8'))
  const report = 'The build is green. Acme has signed for 40 seats.'
  const requests: string[] = []
  const roles: Record<string, string> = {
    [writers.editor.instructions]: 'editor',
    [writers.collector.instructions]: 'collector',
  }
  const logs: string[] = []
  const log = vi.spyOn(console, 'log').mockImplementation((...words: unknown[]) => void logs.push(words.join(' ')))
  onTestFinished(() => log.mockRestore())
  const edge = await startExample(
    'morning-report',
    ({ body }) => {
      const system = String(body.messages.find(({ role }) => role === 'system')?.content)
      const results = body.messages.filter(({ role }) => role === 'tool').length
      const who = system === definition.run.system ? 'run' : (roles[system] ?? 'checker')
      requests.push(who)
      if (who === 'run')
        return (
          [
            { tool: 'editor', arguments: { question: 'Write the report.' } },
            { tool: 'sendReport', arguments: { to: 'team@example.com', text: report } },
          ][results] ?? 'The report is sent.'
        )
      if (who === 'editor')
        return (
          [
            { tool: 'collector', arguments: { question: 'What came in?' } },
            { tool: 'checker', arguments: { draft: report } },
          ][results] ?? report
        )
      if (results === 0) return { tool: 'readInbox' }
      return who === 'checker' ? 'fine' : '1: the build is green. 2: Acme has signed for 40 seats.'
    },
    { edge: { OUTCOME_SECRET: 'x'.repeat(32) } },
  )
  const put = async (name: string, body: object) => {
    const init = { method: 'PUT', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }
    return (await fetch(new URL(`/schedules/${name}`, edge.url), init)).json()
  }
  expect(await put('report', definition)).toMatchObject({ name: 'report', next: expect.any(String) })
  // The same report, in a second rather than on the next weekday.
  const at = new Date(Date.now() + 1000).toISOString()
  await put('soon', { at, run: definition.run, keepDays: definition.keepDays })
  const [approval] = await eventually(async () => {
    const calls = await edge.ask('/approvals')
    expect(calls).toHaveLength(1)
    return calls
  })
  expect(approval).toMatchObject({ tool: 'sendReport', arguments: { to: 'team@example.com', text: report } })
  const { last } = await edge.ask('/schedules/soon')
  expect(last).toMatchObject({ due: at, outcome: 'started', run: approval.run, conversation: approval.conversation })
  const path = `/conversations/${approval.conversation}/runs/${approval.run}`
  const mail = await eventually(() => {
    const [, file] = /Text: (\S+)/.exec(logs.join('\n')) ?? []
    return readFileSync(file ?? '', 'utf8')
  })
  expect(logs.join('\n')).toContain('To: chief@example.com')
  const [link = ''] = /https:\S+/.exec(mail) ?? []
  const address = new URL(new URL(link).pathname, edge.url)
  expect(await (await fetch(address)).text()).toContain(report)
  const decide = () => fetch(address, { method: 'POST', body: new URLSearchParams({ decision: 'approve' }) })
  expect([(await decide()).status, (await decide()).status]).toEqual([200, 409])
  await eventually(async () =>
    expect(await edge.ask(path)).toMatchObject({ status: 'completed', answer: 'The report is sent.' }),
  )
  const turns = ['run', 'editor', 'collector', 'collector', 'editor', 'checker', 'checker', 'editor', 'run', 'run']
  expect(requests).toEqual(turns)
})

test('a film is rendered by a Workflow, which reports to the run that waits for it', async () => {
  // The public address of the edge, which is known before the edge is.
  let edgeUrl: URL | undefined
  const reports: unknown[] = []
  const address = createServer(async (request, response) => {
    const body = await text(request)
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body }
    const { status } = await fetch(new URL(request.url ?? '', edgeUrl), init)
    reports.push([status, JSON.parse(body)])
    response.writeHead(status).end()
  })
  await once(address.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void address.close())
  const { port } = address.address() as AddressInfo
  const edge = await startExample(
    'films',
    (call, index) => (index === 0 ? { tool: 'renderFilm', arguments: { scene: 'harbour' } } : resultsIn(call).join()),
    {
      edge: { EDGE_URL: `http://127.0.0.1:${port}`, OUTCOME_SECRET: 'any long random text' },
      tools: { films: { RENDER_SECONDS: '1' } },
    },
  )
  edgeUrl = edge.url
  await edge.ask('/conversations', { id: 'c1' })
  const waiting = await edge.ask('/conversations/c1/runs', { input: 'A film of the harbour, please.' })
  expect(waiting).toMatchObject({ status: 'waiting', finish: 'waiting', calls: [{ status: 'later' }] })
  const film = { film: 'https://films.example.com/harbour.mp4' }
  const record = () => edge.ask(`/conversations/c1/runs/${waiting.id}`)
  await eventually(async () => expect(await record()).toMatchObject({ status: 'completed' }))
  expect(await record()).toMatchObject({ answer: JSON.stringify(film), calls: [{ ok: true, structured: film }] })
  expect(reports).toEqual([
    [200, { progress: { message: 'rendering', fraction: 0.1 } }],
    [200, { result: film }],
  ])
})
