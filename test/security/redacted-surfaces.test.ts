import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { ModelEvent } from '../../src/contract/model.ts'
import { failure, type ToolOutcome } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge, workerOf } from './controlled-edge.ts'
import { ENCODERS } from './secret-forms.ts'
import { eventually } from '../fixtures/eventually.ts'

/**
 * Everything that callers, operators, models and other servers read of an edge, after its tools and the server of its
 * model have said its secret in each form, in each field in which they can say something.
 */

const KEY = 'acme: chat tools:read approve backup metrics tools:admin'
const SECRET = 'sk-Ab/9+"<é&\'zZ%\\q=='
const FORMS = Object.entries(ENCODERS).map(([name, encode]) => ({ name, form: encode(SECRET) }))
const LEAK = FORMS.map(({ form }) => `(${form})`).join(' ')

const TOOLS = [
  tool(
    'echo',
    (_input, _context, control): ToolOutcome => {
      void control.progress({ message: LEAK, data: { [LEAK]: LEAK } })
      return {
        ok: true,
        content: [
          { type: 'text', text: LEAK },
          { type: 'file', mediaType: 'text/plain', data: Buffer.from(SECRET).toString('base64') },
        ],
        structured: { [LEAK]: [LEAK] },
        metadata: { leak: LEAK },
        deployment: SECRET,
      }
    },
    {
      title: LEAK,
      description: LEAK,
      instructions: LEAK,
      version: LEAK,
      inputSchema: { type: 'object', properties: { a: { type: 'string', description: LEAK, enum: [LEAK] } } },
      inputExamples: [{ a: LEAK }],
      metadata: { leak: LEAK },
    },
  ),
  tool('fail', () => failure(SECRET, LEAK, LEAK)),
  tool('fatal', () => ({ ok: false, error: { code: SECRET, message: LEAK, detail: LEAK, fatal: true } })),
  tool('throw', () => {
    throw new TypeError(LEAK)
  }),
  tool('guarded', () => 'done', { approval: 'always', description: LEAK }),
  tool('asks', () => ({
    ok: false,
    error: { code: 'input_required', message: LEAK },
    input: {
      requests: {
        sure: {
          method: 'elicitation/create',
          params: { message: LEAK, requestedSchema: { type: 'object', properties: { a: { title: LEAK } } } },
        },
      },
      state: LEAK,
    },
  })),
]

const refusal: ModelEvent[] = [{ type: 'error', error: { code: SECRET, message: LEAK, retryable: false } }]
/** The model's answers, one after another, by the text of the user. */
const SCRIPTS: Readonly<Record<string, readonly (readonly ModelEvent[])[]>> = {
  calls: [ask(['echo'], ['fail'], ['throw']), say(LEAK)],
  waits: [ask(['guarded', { a: LEAK }], ['asks'], ['later'])],
  fatal: [ask(['fatal'])],
  refused: [refusal],
}

const SURFACES = [
  'GET /tools',
  'GET /tools/{name}',
  'GET /tools?query',
  'tools/list',
  'POST /tools/{name}/call',
  'tools/call',
  'POST /runs',
  'POST /v1/chat/completions',
  'POST /v1/chat/completions streamed',
  'POST /v1/responses',
  'POST /v1/responses streamed',
  'POST /v1/messages',
  'POST /v1/messages streamed',
  'POST /chat',
  'POST /ag-ui',
  'events',
  'stored events',
  'record',
  'call',
  'step',
  'faults',
  'messages',
  'export',
  'backup',
  'GET /approvals',
  'GET /runs',
  '/metrics',
  'posts to otlp.example',
  'posts to hook.example',
  'requests to models',
  'logs',
]

/** What was read, by the surface. */
const texts: Record<string, string> = {}

/** Reads every surface of an edge whose tools and model say the secret. */
async function readSurfaces(): Promise<void> {
  const read = (surface: string, text: string) => void (texts[surface] = `${texts[surface] ?? ''}${text}\n`)
  const log = (line: string) => read('logs', line)
  vi.spyOn(console, 'log').mockImplementation(log)
  vi.spyOn(console, 'error').mockImplementation(log)
  const fetchElsewhere = globalThis.fetch
  vi.stubGlobal('fetch', async (url: string, init: RequestInit) => {
    const request = new Request(url, init)
    const { host, hostname } = new URL(request.url)
    // The edge knows no server of this machine: another file of this process still asks its own.
    if (hostname === '127.0.0.1') return fetchElsewhere(request)
    read(`posts to ${host}`, await request.text())
    return new Response('')
  })
  let token = ''
  const later = tool(
    'later',
    (_input, { reportTo }) => {
      token = reportTo?.token ?? ''
      const deferral = { within: 60_000, state: LEAK }
      return { ok: false, error: { code: 'later', message: LEAK }, later: deferral }
    },
    { later: true },
  )
  let script: readonly (readonly ModelEvent[])[] = []
  const edge = controlledEdge({
    workers: { TOOL_LEAKS: [...TOOLS, later] },
    model: {
      name: 'test/scripted',
      requests: [],
      stream: async function* (request: unknown) {
        read('requests to models', JSON.stringify(request))
        yield* script[0] ?? []
        script = script.slice(1)
      },
    },
    vars: {
      OPENAI_API_KEY: SECRET,
      LOG: 'runs',
      INCLUDE_CONTENT: 'true',
      OTLP_ENDPOINT: 'https://otlp.example',
      WEBHOOK_SECRET: 'whsec_c2VjcmV0IG9mIHRoZSBlZGdl',
      WEBHOOK_HOSTS: 'hook.example',
      TOOL_BAD: {
        ...workerOf([]),
        describe: async () => {
          throw new Error(LEAK)
        },
      },
    },
    keys: [KEY],
  })
  const send = edge.as(KEY)
  const see = async (surface: string, ...request: Parameters<typeof send>) => {
    const { body, headers } = await send(...request)
    read(surface, `${typeof body === 'string' ? body : JSON.stringify(body)} ${JSON.stringify([...headers])}`)
    return body
  }
  const rpc = (method: string, params: object) => ({
    json: { jsonrpc: '2.0', id: 1, method, params },
    headers: { accept: 'application/json, text/event-stream' },
  })
  await see('GET /tools', '/tools')
  await see('GET /tools/{name}', '/tools/echo')
  await see('GET /tools?query', '/tools?query=leak+echo')
  await see('tools/list', '/mcp', rpc('tools/list', {}))
  for (const { definition } of TOOLS) {
    await see('POST /tools/{name}/call', `/tools/${definition.name}/call`, { json: { arguments: {} } })
    const params = { name: definition.name, arguments: {}, _meta: { progressToken: 1 } }
    await see('tools/call', '/mcp', rpc('tools/call', params))
  }
  const user = { role: 'user', content: 'Go' }
  const parts = [{ type: 'text', text: 'Go' }]
  const REQUESTS: readonly (readonly [path: string, json: object])[] = [
    ['/runs', { input: 'Go' }],
    ['/v1/chat/completions', { messages: [user] }],
    ['/v1/chat/completions', { messages: [user], stream: true }],
    ['/v1/responses', { input: 'Go' }],
    ['/v1/responses', { input: 'Go', stream: true }],
    ['/v1/messages', { max_tokens: 100, messages: [user] }],
    ['/v1/messages', { max_tokens: 100, messages: [user], stream: true }],
    ['/chat', { id: 'ui', messages: [{ role: 'user', parts }] }],
    ['/ag-ui', { threadId: 'ag', runId: 'r', messages: [{ id: 'm', ...user }] }],
  ]
  for (const [path, json] of REQUESTS) {
    for (const name of ['calls', 'refused']) {
      script = SCRIPTS[name] ?? []
      await see(`POST ${path}${'stream' in json ? ' streamed' : ''}`, path, { json })
    }
  }
  for (const [name, answers] of Object.entries(SCRIPTS)) {
    script = answers
    await send('/conversations', { json: { id: name, webhook: 'https://hook.example/' } })
    const run = `/conversations/${name}/runs`
    const stream = await see('events', run, { json: { input: 'Go' }, headers: { accept: 'text/event-stream' } })
    const [id] = /run_\w+/.exec(JSON.stringify(stream)) ?? []
    if (name === 'waits') {
      // The list follows the run.
      await eventually(async () => expect((await send('/approvals')).body).not.toEqual([]))
      await see('GET /approvals', '/approvals')
      await send(`/outcomes/${token}`, { json: { progress: { message: LEAK, data: { [LEAK]: LEAK } } } })
      await send(`/outcomes/${token}`, { json: { result: { [LEAK]: LEAK } } })
    }
    const { calls = [] } = await see('record', `${run}/${id}`)
    for (const call of calls) await see('call', `${run}/${id}/calls/${call.id}`)
    await see('stored events', `${run}/${id}/events`)
    await see('step', `${run}/${id}/steps/1/request`)
    await see('faults', `${run}/${id}/faults`)
    await see('messages', `/conversations/${name}/messages`)
    await see('export', `/conversations/${name}/export`)
    await see('backup', `/backups/${name}`)
    await edge.conversations.getByName(`v1/acme/${name}`).alarm()
  }
  await see('GET /runs', '/runs')
  await see('/metrics', '/metrics')
}

/** Texts of JSON in JSON have more backslashes than the form itself. */
const plain = (text: string) => text.replace(/\\+/g, '')
/** What is left of any form must not contain this much of it. */
const cores = FORMS.map(({ name, form }) => ({
  name,
  core: plain(JSON.stringify(form.slice(3, -5)).slice(1, -1)),
}))

beforeAll(readSurfaces, 60_000)
afterAll(() => {
  vi.unstubAllGlobals()
  vi.restoreAllMocks()
})

describe('no form of a secret that tools and models said is left in', () => {
  test.each(SURFACES)('%s', (surface) => {
    const text = texts[surface] ?? ''
    expect(text).toContain('[redacted]')
    expect(cores.filter(({ core }) => plain(text).includes(core)).map(({ name }) => name)).toEqual([])
  })

  test('any other surface that was read', () => {
    expect(Object.keys(texts).toSorted()).toEqual(SURFACES.toSorted())
  })
})
