import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createTestHarness, type TestHarness } from 'wrangler'
import { checkAnswer, NAMED_ANSWERS, OPERATIONS } from '../fixtures/documented-answers.ts'
import { eventually } from '../fixtures/eventually.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { chunksOf, type ModelReply, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { GuardedServer } from '../tools/mcp-oauth-server.ts'
import { McpServer } from '../tools/mcp-server.ts'

/** Every answer that the OpenAPI document names, asked of an edge on real workerd and compared with the document. */

const SCOPES = ['chat', 'tools:read', 'tools:write', 'tools:admin', 'approve', 'metrics', 'backup', 'keys', 'schedules']

/** The answers that no request here can bring about, and why. */
const NOT_ASKED: Readonly<Record<string, string>> = {
  'POST /conversations/{id}/runs/{run}/retry 200 application/json': 'a run is parked after three crashes of its object',
  'POST /backups/{id}/rewind 202 application/json': 'workerd by itself keeps no earlier states',
}

const askedNames = new Set<string>()
let events = 0
let harness: TestHarness
let model: ModelServer
let url: URL
const servers = { other: new McpServer(), guarded: new GuardedServer() }

/** Ends the answer that is under way. */
let release = () => {}

/** Answers as the last message says: `call NAME`, `fail`, `overload`, `hang`, `write`. */
function reply({
  path,
  body: { messages, input },
}: {
  path: string
  body: { messages: readonly { role?: unknown; content?: unknown }[]; input?: unknown }
}): ModelReply {
  if (path.endsWith('/embeddings')) {
    const data = [{ object: 'embedding', index: 0, embedding: [0.5] }]
    const body = { object: 'list', data, model: 'test', usage: { prompt_tokens: 1, total_tokens: 1 } }
    return input === 'fail' ? { status: 500, body: {} } : { body }
  }
  const last = messages.at(-1)
  const text = typeof last?.content === 'string' ? last.content : JSON.stringify(last?.content)
  // A request for a summary comes last, after what it is about.
  const about = /summary/i.test(text) ? JSON.stringify(messages) : text
  const [, word = '', tool = ''] = /\b(call|fail|overload|hang|write)\b ?(\w*)/.exec(about) ?? []
  if (last?.role === 'tool' || word === '')
    return { chunks: chunksOf({ text: 'Done.', usage: { inputTokens: 3, outputTokens: 2 } }) }
  if (word === 'fail') return { chunks: [], end: 'close' }
  if (word === 'overload') return { status: 529, body: { error: { message: 'Overloaded.', type: 'overloaded_error' } } }
  if (word === 'write') return { chunks: chunksOf({ text: 'x'.repeat(500_000) }) }
  if (word === 'call')
    return { chunks: chunksOf({ calls: tool.split('_and_').map((each) => ({ tool: each, arguments: '{}' })) }) }
  const rest = new Promise<void>((resolve) => void (release = resolve))
  const chunks = chunksOf({ text: 'At last. And more.' })
  return { chunks: [...chunks.slice(0, 2), rest, ...chunks.slice(2)] }
}

beforeAll(async () => {
  await Promise.all([servers.other.listen(), servers.guarded.listen()])
  servers.other.tools = [{ name: 'look_up', description: 'Looks it up.', inputSchema: { type: 'object' } }]
  model = await startModelServer(reply)
  const keys = withKeys(
    apiKey('all', { id: 'all', scopes: SCOPES }),
    apiKey('none', { id: 'none', scopes: [] }),
    apiKey('rated', { id: 'rated', scopes: SCOPES, rate: 'RATE_STANDARD' }),
    apiKey('small', { id: 'small', scopes: SCOPES, tenant: 'small' }),
  )
  const vars = { ...keys, OPENAI_BASE_URL: model.baseUrl, MODEL_WAIT_MS: '1', MODELS: 'openai/*' }
  harness = createTestHarness({
    root: new URL('../..', import.meta.url).pathname,
    workers: [
      {
        configPath: 'test/fixtures/documented-edge/wrangler.toml',
        // Without `MODEL`, only requests that name a model get an answer.
        vars: { ...vars, MAX_BODY_BYTES: '20000', MAX_SCHEDULES: '2', OUTCOME_SECRET: 'signs-what-this-edge-makes' },
      },
      {
        configPath: 'test/fixtures/bare-edge/wrangler.toml',
        vars: withKeys(apiKey('all', { id: 'all', scopes: SCOPES })),
      },
      { configPath: 'tools/definitions/wrangler.toml' },
      {
        configPath: 'tools/mcp/wrangler.toml',
        vars: {
          MCP_SERVERS: JSON.stringify([
            { name: 'other', url: servers.other.url, ttlMs: 1 },
            {
              name: 'guarded',
              url: servers.guarded.mcp.url,
              oauth: { clientSecret: '{SECRET_FIRST}', clientId: 'edge' },
            },
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
  release()
  await harness?.close()
  await model?.close()
  servers.other.close()
  servers.guarded.close()
})

interface Ask {
  readonly key?: 'all' | 'none' | 'rated' | 'small' | undefined
  readonly json?: unknown
  readonly body?: BodyInit
  readonly headers?: Record<string, string>
  readonly worker?: string
  readonly signal?: AbortSignal
}

interface ReadAnswer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body as JSON; undefined if it is none. */
  readonly body: any
}

/** Sends a request such as `GET /tools`. */
async function open(
  request: string,
  { key = 'all', json, body, headers, worker, signal }: Ask = {},
): Promise<Response> {
  const [method = '', path = ''] = request.split(' ')
  const target = new URL(path, url)
  const content = json === undefined ? body : JSON.stringify(json)
  const init = {
    method,
    headers: { ...bearer(key), ...(json !== undefined && { 'content-type': 'application/json' }), ...headers },
    ...(content !== undefined && { body: content }),
    ...(signal && { signal }),
    redirect: 'manual' as const,
  }
  if (!worker) return fetch(target, init)
  return (await harness.getWorker(worker).fetch(target.href, init as object)) as unknown as Response
}

/** Reads an answer, and compares it with the document. */
async function take(request: string, response: Response): Promise<ReadAnswer> {
  const [method = '', path = ''] = request.split(' ')
  const { name, faults, text, events: count, ...rest } = await checkAnswer(method, new URL(path, url), response)
  expect({ name, faults, text: faults.length > 0 && text }).toEqual({ name, faults: [], text: false })
  askedNames.add(name)
  events += count
  const isJson = response.headers.get('content-type')?.includes('json') && !path.startsWith('/backups')
  return { ...rest, text, body: isJson && !path.endsWith('/export') ? JSON.parse(text) : undefined }
}

/** Sends a request, and compares its answer with the document. */
async function send(request: string, init?: Ask): Promise<ReadAnswer> {
  return take(request, await open(request, init))
}

/** The same, for a request whose status is known. Returns the body. */
async function ask(request: string, status: number, init?: Ask): Promise<any> {
  const answer = await send(request, init)
  expect({ request, status: answer.status, text: answer.text }).toEqual({ request, status, text: answer.text })
  return answer.body
}

const MODEL = 'openai/test'
const SSE = { accept: 'text/event-stream' }
const run = (input: string, more: object = {}) => ({ input, model: MODEL, ...more })
const user = (content: string) => ({ role: 'user', content })

/** Makes a conversation. */
const make = (id: string, json: object = {}) => ask('POST /conversations', 201, { json: { id, ...json } })

/** Makes a conversation with a run that waits for approval. */
async function makeWaiting(id: string, tools = 'pay'): Promise<any> {
  await make(id)
  return ask(`POST /conversations/${id}/runs`, 202, { json: run(`call ${tools}`) })
}

/** Makes a conversation with a run under way. */
async function makeBusy(id: string): Promise<any> {
  await make(id)
  const before = model.calls.length
  const record = await ask(`POST /conversations/${id}/runs`, 202, {
    json: run('hang'),
    headers: { prefer: 'respond-async' },
  })
  await eventually(() => expect(model.calls.length).toBeGreaterThan(before))
  return record
}

/** Makes a conversation with a run whose call is reported on. Returns the token for that. */
async function makeReported(id: string): Promise<string> {
  await make(id)
  const headers = { prefer: 'respond-async' }
  const record = await ask(`POST /conversations/${id}/runs`, 202, { json: run('call patient'), headers })
  return eventually(async () => {
    const at = `/conversations/${id}/runs/${record.id}`
    const [, token] = /"state":"([^"]+)"/.exec((await send(`GET ${at}/events`)).text) ?? []
    if (token === undefined) throw new Error('The tool has not been called yet')
    return token
  })
}

/** Paths of things that are not there, by the names of their parameters. */
const NOTHING: Readonly<Record<string, string>> = {
  run: 'run_0000000000000000000000',
  call: 'call_0000000000000000000000_1_0',
  hash: 'f'.repeat(64),
  step: '1',
  item: 'msg_1000000_0',
}
const place = (path: string, id = 'nothing') =>
  path.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
    path.startsWith('/v1/responses') ? 'resp_none' : (NOTHING[name] ?? id),
  )

describe('every route', () => {
  test.each(OPERATIONS.filter(({ needsKey }) => needsKey))(
    '$method $path refuses requests without a key',
    async ({ method, path }) => {
      await ask(`${method} ${place(path)}`, 401, { headers: { authorization: '' } })
    },
  )

  test.each(OPERATIONS.filter(({ needsScope }) => needsScope))(
    '$method $path refuses keys without its scope',
    async ({ method, path, hasBody }) => {
      const json = path.endsWith('/calls/{call}') ? { decision: 'approve' } : {}
      await ask(`${method} ${place(path)}`, 403, { key: 'none', ...(hasBody && { json }) })
    },
  )
})

describe('every route with a body', () => {
  const withBody = OPERATIONS.filter(({ hasBody }) => hasBody)
  let token = ''
  beforeAll(async () => {
    token = await makeReported('reported')
  })
  const at = (path: string) => place(path.replace('{token}', () => token))

  test.each(withBody)('$method $path refuses what is not JSON', async ({ method, path }) => {
    const headers = { 'content-type': 'application/json' }
    await ask(`${method} ${at(path)}`, 400, { body: '{"', headers })
    await ask(`${method} ${at(path)}`, 415, { body: 'x', headers: { 'content-type': 'text/plain' } })
    await ask(`${method} ${at(path)}`, 413, { body: `"${'x'.repeat(300_000)}"`, headers })
  })
})

/** The bodies that start runs through the other APIs, with what the model is asked, in a conversation. */
const STARTS: Readonly<Record<string, (input: string, conversation?: string) => object>> = {
  '/v1/chat/completions': (input) => ({ messages: [user(input)] }),
  '/v1/responses': (input, conversation) => ({ input, ...(conversation && { conversation }) }),
  '/v1/responses/compact': (input, conversation) => ({ input: [user(input)], ...(conversation && { conversation }) }),
  '/v1/messages': (input) => ({ max_tokens: 100, messages: [user(input)] }),
  '/chat': (input, id = `chat-${input.replace(' ', '-')}`) => ({
    id,
    messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: input }] }],
  }),
  '/ag-ui': (input, threadId = `thread-${input.replace(' ', '-')}`) => ({
    threadId,
    runId: 'r1',
    messages: [{ id: 'm1', ...user(input) }],
  }),
}

describe.each(Object.entries(STARTS))('POST %s', (path, bodyOf) => {
  const withModel = (body: object, model = MODEL) => {
    if (path === '/ag-ui') return { ...body, forwardedProps: { edgecall: { model } } }
    return path === '/chat' ? { ...body, edgecall: { model } } : { ...body, model }
  }
  const post = (status: number, json: object, more: Ask = {}) => ask(`POST ${path}`, status, { json, ...more })

  test('answers', async () => {
    await post(200, withModel(bodyOf('Hello')))
    await post(200, { ...withModel(bodyOf('call clock')), stream: path !== '/v1/responses/compact' })
  })

  test('fails as documented', async () => {
    await post(404, withModel(bodyOf('Hello'), 'openai2/none'))
    await post(503, bodyOf('Hello'))
    await post(502, withModel(bodyOf('fail')))
    // A compaction only reads its conversation.
    if (path !== '/v1/responses/compact') {
      const id = `waits-${path.replaceAll(/\W/g, '')}`
      await makeWaiting(id)
      await post(409, withModel(bodyOf('Hello', id)), { headers: { 'x-conversation-id': id } })
    }
    await eventually(async () => {
      const { status } = await send(`POST ${path}`, { key: 'rated', json: withModel(bodyOf('Hello')) })
      expect(status).toBe(429)
    })
  })
})

test('POST /v1/embeddings', async () => {
  const post = (status: number, json: object) => ask('POST /v1/embeddings', status, { json })
  await post(200, { model: MODEL, input: 'Hello' })
  await post(404, { model: 'openai2/none', input: 'Hello' })
  await post(502, { model: MODEL, input: 'fail' })
  await eventually(async () => {
    const { status } = await send('POST /v1/embeddings', { key: 'rated', json: { model: MODEL, input: 'Hello' } })
    expect(status).toBe(429)
  })
})

test('POST /v1/messages passes an overload on', async () => {
  const json = { model: MODEL, max_tokens: 100, messages: [user('overload')] }
  await ask('POST /v1/messages', 529, { json })
})

test('POST /v1/messages/count_tokens and POST /v1/responses/input_tokens', async () => {
  const count = (path: string, rest: object) => (status: number, model: string) =>
    ask(`POST ${path}`, status, { json: { model, ...rest } })
  for (const post of [
    count('/v1/messages/count_tokens', { messages: [user('Hello')] }),
    count('/v1/responses/input_tokens', { input: 'Hello' }),
  ]) {
    await post(200, MODEL)
    await post(404, 'openai2/none')
  }
})

test('stored responses', async () => {
  const create = (more: object = {}) =>
    ask('POST /v1/responses', 200, { json: { model: MODEL, input: 'Hello', ...more } })
  const { id } = await create()
  await ask(`GET /v1/responses/${id}`, 200)
  await ask(`GET /v1/responses/${id}?stream=true`, 200)
  await ask(`GET /v1/responses/${id}/input_items`, 200)
  await ask(`GET /v1/responses/${id}/input_items?limit=0`, 400)
  await ask(`POST /v1/responses/${id}/cancel`, 200)
  await ask(`DELETE /v1/responses/${id}`, 200)
  for (const request of [
    'GET /v1/responses/{id}',
    'DELETE /v1/responses/{id}',
    'GET /v1/responses/{id}/input_items',
    'POST /v1/responses/{id}/cancel',
  ])
    await ask(request.replace('{id}', id), 404)
  await make('of-responses')
  const ofConversation = await create({ conversation: 'of-responses' })
  await ask(`DELETE /v1/responses/${ofConversation.id}`, 409)
  expect((await create({ background: true })).status).toBe('queued')
})

test('OpenAI’s conversations', async () => {
  const { id } = await ask('POST /v1/conversations', 200, { json: { items: [user('Hello')] } })
  const path = `/v1/conversations/${id}`
  await ask(`GET ${path}`, 200)
  await ask(`POST ${path}`, 200, { json: { metadata: {} } })
  const { data } = await ask(`POST ${path}/items`, 200, { json: { items: [user('Hello again')] } })
  await ask(`GET ${path}/items`, 200)
  await ask(`GET ${path}/items?limit=0`, 400)
  await ask(`GET ${path}/items/${data[0].id}`, 200)
  await makeBusy('busy-items')
  await ask('POST /v1/conversations/busy-items/items', 409, { json: { items: [user('Hello')] } })
  release()
  await ask(`DELETE ${path}`, 200)
  for (const [status, each] of [
    [404, 'never'],
    [410, id],
  ] as const)
    for (const [request, json] of [
      ['GET ', undefined],
      ['POST ', { metadata: {} }],
      ['DELETE ', undefined],
      ['GET /items', undefined],
      ['POST /items', { items: [user('Hello')] }],
      ['GET /items/msg_1000000_0', undefined],
    ] as const) {
      const [method, rest = ''] = request.split(' ')
      await ask(`${method} /v1/conversations/${each}${rest}`, status, json && { json })
    }
})

test('models', async () => {
  const ofAnthropic = { 'anthropic-version': '2023-06-01' }
  for (const headers of [{ accept: '*/*' }, { accept: '*/*', ...ofAnthropic }]) {
    await ask('GET /v1/models', 200, { headers })
    await ask(`GET /v1/models/${MODEL}`, 200, { headers })
    await ask('GET /v1/models/none', 404, { headers })
    await ask('GET /v1/models', 401, { headers: { ...headers, authorization: '' } })
  }
})

test('pages of useChat and of AG-UI after a reload', async () => {
  await makeBusy('reloaded')
  const stream = await open('GET /chat/reloaded/stream')
  release()
  const { status, text } = await take('GET /chat/reloaded/stream', stream)
  expect({ status, text }).toEqual({ status: 200, text })
  await ask('GET /chat/reloaded/stream', 204)
  await ask('GET /chat/reloaded', 200)
  await ask('GET /ag-ui/reloaded', 200)
  for (const path of ['/chat/reloaded', '/ag-ui/reloaded']) await ask(`GET ${path}?before=msg_none`, 404)
  await ask('DELETE /conversations/reloaded', 204)
  for (const path of ['/chat/reloaded', '/ag-ui/reloaded']) await ask(`GET ${path}`, 410)
})

test('MCP', async () => {
  const META = 'io.modelcontextprotocol/'
  const post = (method: string, params: Record<string, unknown> = {}, id: number | null = 1) =>
    send('POST /mcp', {
      headers: {
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': method,
        ...(typeof params['name'] === 'string' && { 'mcp-name': params['name'] }),
      },
      json: {
        jsonrpc: '2.0',
        ...(id !== null && { id }),
        method,
        params: {
          ...params,
          _meta: { [`${META}protocolVersion`]: '2026-07-28', [`${META}clientCapabilities`]: {}, progressToken: 'p' },
        },
      },
    })
  const statuses = [
    await post('tools/list'),
    await post('tools/call', { name: 'clock', arguments: {} }),
    await post('notifications/cancelled', { requestId: 7 }, null),
  ].map(({ status }) => status)
  expect(statuses).toEqual([200, 200, 202])
  // The stream of notifications has no end: what came of it first is compared.
  const listener = new AbortController()
  const stream = await open('GET /mcp', { headers: { accept: 'text/event-stream' }, signal: listener.signal })
  const reader = stream.body?.pipeThrough(new TextDecoderStream()).getReader()
  const definition = { description: 'Is new.', inputSchema: { type: 'object' }, static: { text: 'New.' } }
  await ask('PUT /tools/news', 201, { json: definition })
  let text = ''
  while (!text.includes('list_changed')) text += (await reader?.read())?.value ?? ''
  listener.abort()
  const { status, headers } = stream
  await take('GET /mcp', new Response(`${text.split('\n\n').slice(0, -1).join('\n\n')}\n\n`, { status, headers }))
  await ask('GET /mcp', 400, { headers: { accept: 'text/event-stream', 'last-event-id': 'of-nobody' } })
  for (const path of ['', '/mcp']) await ask(`GET /.well-known/oauth-protected-resource${path}`, 200)
})

test('connections', async () => {
  const { guarded } = servers
  const path = '/connections/guarded'
  await ask('GET /connections', 200)
  await ask('GET /connections', 404, { worker: 'bare-edge' })
  await ask(`POST ${path}`, 409, { json: {} })
  await ask('POST /connections/none', 422, { json: {} })
  const signIn = await ask(`POST ${path}`, 200, { json: { issuer: guarded.issuer } })
  const text = (await send(`GET /connections/callback${await guarded.open(signIn.url)}`)).text
  const [code] = /[A-Z2-9]{4}-[A-Z2-9]{4}/.exec(text) ?? []
  await ask(`PUT ${path}`, 422, { json: { code: 'AAAA-AAAA' } })
  await ask(`PUT ${path}`, 200, { json: { code } })
  await ask('GET /connections/callback?state=none&code=none', 400)
  await ask(`DELETE ${path}`, 204)
  await ask('DELETE /connections/none', 404)
})

test('the edge itself', async () => {
  for (const path of ['/metrics', '/health', '/openapi.json', '/', '/caller', '/usage', '/usage?by=model'])
    await ask(`GET ${path}`, 200)
})

describe('runs', () => {
  const WITH_KEY = { 'idempotency-key': 'one' }

  test('without a conversation', async () => {
    await ask('POST /runs', 200, { json: run('call clock') })
    await ask('POST /runs', 200, { json: run('call clock'), headers: SSE })
    await ask('POST /runs', 502, { json: run('fail') })
    await ask('POST /runs', 503, { json: { input: 'Hello' } })
    await ask('POST /runs', 200, { json: run('Hello'), headers: WITH_KEY })
    await ask('POST /runs', 422, { json: run('Hello again'), headers: WITH_KEY })
    await ask('POST /runs', 504, { json: run('hang'), headers: { prefer: 'wait=1', 'idempotency-key': 'two' } })
    release()
    await eventually(async () =>
      expect((await send('POST /runs', { key: 'rated', json: run('Hello') })).status).toBe(429),
    )
  })

  test('in a conversation', async () => {
    const { body } = await send('POST /conversations', { json: { id: 'mine', system: 'Be brief.' } })
    expect(body).toEqual({ id: 'mine' })
    await ask('POST /conversations', 200, { json: { id: 'mine' } })
    await ask('POST /conversations', 409, { json: { id: 'mine', system: 'Be long.' } })
    const path = '/conversations/mine'
    const first = await ask(`POST ${path}/runs`, 200, { json: run('call clock') })
    await ask(`POST ${path}/runs`, 200, { json: run('Hello'), headers: SSE })
    await ask(`POST ${path}/runs`, 502, { json: run('fail') })
    await ask(`POST ${path}/runs`, 503, { json: { input: 'Hello' } })
    await ask(`POST ${path}/runs`, 200, { json: run('Hello'), headers: WITH_KEY })
    await ask(`POST ${path}/runs`, 422, { json: run('Hello again'), headers: WITH_KEY })
    await ask(`POST ${path}/runs`, 504, { json: run('hang'), headers: { prefer: 'wait=1' } })
    await ask(`POST ${path}/runs`, 409, { json: run('Hello', { onBusy: 'reject' }) })
    release()
    await eventually(async () =>
      expect((await send(`POST ${path}/runs`, { key: 'rated', json: run('Hello') })).status).toBe(429),
    )
    for (const each of ['', '/messages', '/usage', '/runs', `/runs/${first.id}`, '/export'])
      await ask(`GET ${each === '' ? '/conversations' : path + each}`, 200)
    const at = `${path}/runs/${first.id}`
    await ask(`GET ${at}/events`, 200, { headers: SSE })
    await ask(`GET ${at}/events?after=1000`, 400)
    const { text } = await send(`GET ${at}/events`)
    const last = [...text.matchAll(/"seq":(\d+)/g)].at(-1)?.[1]
    await ask(`GET ${at}/events?after=${last}`, 204)
    await ask(`GET ${at}/steps/1/request`, 200)
    await ask(`GET ${at}/steps/none/request`, 400)
    await ask(`GET ${at}/faults`, 200)
    await ask(`POST ${at}/cancel`, 200)
    await ask(`POST ${at}/retry`, 409)
    const messages: any[] = await ask(`GET ${path}/messages`, 200)
    const begin = messages[0].position
    const { position } = messages.find(({ message }) => message.calls)
    await ask(`POST ${path}/fork`, 201, { json: { at: begin, id: 'fork' } })
    await ask(`POST ${path}/fork`, 409, { json: { at: begin, id: 'fork' } })
    await ask(`POST ${path}/fork`, 422, { json: { at: position } })
  })

  test('that wait for people', async () => {
    const record = await makeWaiting('waits', 'pay_and_pay')
    const path = `/conversations/waits/runs/${record.id}`
    const [one, two] = record.calls
    await ask(`GET ${path}/calls/${one.id}`, 200)
    await ask(`POST ${path}/regenerate`, 409)
    await eventually(async () => expect(await ask('GET /approvals', 200)).not.toEqual([]))
    await ask(`POST ${path}/calls/${one.id}`, 202, { json: { decision: 'approve' } })
    await ask(`POST ${path}/calls/${two.id}`, 200, { json: { decision: 'approve' } })
    await ask(`POST ${path}/calls/${two.id}`, 409, { json: { decision: 'reject' } })
  })

  test('that are run again', async () => {
    await make('again')
    const latest = (json: object) => ask('POST /conversations/again/runs', 200, { json })
    const regenerate = async (input: string, status: number, more: Ask = {}) => {
      const { id } = await latest(run(input))
      return ask(`POST /conversations/again/runs/${id}/regenerate`, status, more)
    }
    await regenerate('Hello', 200)
    await regenerate('Hello', 200, { headers: SSE })
    await regenerate('Hello', 202, { headers: { prefer: 'respond-async' } })
    await eventually(async () => {
      const { id } = await latest(run('Hello'))
      expect((await send(`POST /conversations/again/runs/${id}/regenerate`, { key: 'rated' })).status).toBe(429)
    })
    for (const [input, status] of [
      ['hang', 504],
      ['fail', 502],
    ] as const) {
      const before = model.calls.length
      await make(`again-${input}`)
      const headers = { prefer: 'respond-async' }
      const { body } = await send(`POST /conversations/again-${input}/runs`, { json: run(input), headers })
      await eventually(() => expect(model.calls.length).toBeGreaterThan(before))
      release()
      const at = `/conversations/again-${input}/runs/${body.id}`
      await eventually(async () => expect((await send(`GET ${at}`)).body.status).toMatch(/completed|failed/))
      await ask(`POST ${at}/regenerate`, status, input === 'hang' ? { headers: { prefer: 'wait=1' } } : {})
      release()
    }
  })

  test('that are not there', async () => {
    await make('gone')
    const record = await ask('POST /conversations/gone/runs', 200, { json: run('Hello') })
    await ask('DELETE /conversations/gone', 204)
    await ask('POST /conversations', 410, { json: { id: 'gone' } })
    const routes: Readonly<Record<string, unknown>> = {
      'DELETE ': undefined,
      'POST /fork': { at: 1 },
      'GET /export': undefined,
      'GET /messages': undefined,
      'GET /usage': undefined,
      'GET /runs': undefined,
      'POST /runs': run('Hello'),
      'GET /runs/{run}': undefined,
      'GET /runs/{run}/events': undefined,
      'POST /runs/{run}/cancel': undefined,
      'POST /runs/{run}/regenerate': undefined,
      'GET /runs/{run}/calls/{call}': undefined,
      'POST /runs/{run}/calls/{call}': { decision: 'approve' },
      'GET /runs/{run}/steps/1/request': undefined,
      'GET /runs/{run}/faults': undefined,
      'POST /runs/{run}/retry': undefined,
    }
    for (const [status, id] of [
      [404, 'never'],
      [410, 'gone'],
    ] as const)
      for (const [route, json] of Object.entries(routes)) {
        const [method, rest = ''] = route.split(' ')
        const path = place(rest).replace(NOTHING['run'] ?? '', record.id)
        await ask(`${method} /conversations/${id}${path}`, status, json === undefined ? {} : { json })
      }
    await ask('GET /backups/never', 404)
    await ask('GET /backups/gone', 410)
  })

  test('of all conversations', async () => {
    await eventually(async () => expect(await ask('GET /runs', 200)).not.toEqual([]))
    await ask('GET /runs/counts', 200)
    await ask(`GET /runs?before=${NOTHING['run']}`, 404)
    for (const path of ['/runs/counts', '/approvals']) await ask(`GET ${path}`, 404, { worker: 'bare-edge' })
  })

  test('on whose calls a tool reports later', async () => {
    const path = `/outcomes/${await makeReported('later')}`
    await ask(`POST ${path}`, 200, { json: { progress: { message: 'half', fraction: 0.5 } } })
    await ask(`POST ${path}`, 200, { json: { result: 'There.' } })
    await ask(`POST ${path}`, 409, { json: { result: 'Elsewhere.' } })
    await ask('POST /outcomes/none', 404, { json: { result: 'There.' } })
    await eventually(async () => {
      const { status } = await send(`POST ${path}`, { json: { result: 'x'.repeat(15_000) } })
      expect(status).toBe(429)
    })
    const lateToken = await makeReported('deleted')
    await ask('DELETE /conversations/deleted', 204)
    await ask(`POST /outcomes/${lateToken}`, 410, { json: { result: 'There.' } })
  })
})

test('schedules', async () => {
  const small = { key: 'small' } as const
  const json = { cron: '0 0 1 1 *', run: run('Hello') }
  await ask('PUT /schedules/one', 201, { json, ...small })
  await ask('PUT /schedules/one', 200, { json, ...small })
  await ask('PUT /schedules/one', 404, { json: { ...json, run: { ...json.run, model: 'openai2/none' } }, ...small })
  await ask('PUT /schedules/two', 201, { json, ...small })
  await ask('PUT /schedules/three', 507, { json, ...small })
  await ask('GET /schedules', 200, small)
  await ask('GET /schedules', 404, { worker: 'bare-edge' })
  await ask('GET /schedules/one', 200, small)
  await ask('PATCH /schedules/one', 200, { json: { paused: true }, ...small })
  await ask('POST /schedules/one/run', 202, small)
  await eventually(async () => expect((await send('POST /schedules/one/run', { key: 'rated' })).status).toBe(429))
  await ask('DELETE /schedules/one', 204, small)
  for (const [request, body] of [
    ['GET ', undefined],
    ['PATCH ', { paused: true }],
    ['DELETE ', undefined],
    ['POST /run', undefined],
  ] as const) {
    const [method, rest = ''] = request.split(' ')
    await ask(`${method} /schedules/never${rest}`, 404, { ...small, ...(body && { json: body }) })
  }
})

test('backups', async () => {
  await make('copied')
  await ask('POST /conversations/copied/runs', 200, { json: run('Hello') })
  const copy = (await send('GET /backups/copied')).text
  const body = { body: copy, headers: { 'content-type': 'application/x-ndjson' } }
  await ask('PUT /backups/copied', 409, body)
  await ask('DELETE /conversations/copied', 204)
  await ask('PUT /backups/restored', 201, body)
  await make('long')
  for (let turn = 0; turn < 10; turn++) await ask('POST /conversations/long/runs', 200, { json: run('write') })
  const parts = (await send('GET /backups/long')).text.split(/(?<=\n)(?=\{"type":"conversation")/)
  await ask('PUT /backups/parted', 202, { ...body, body: parts[0] ?? '' })
  await ask('GET /backups/parted', 409)
  await ask('PUT /backups/damaged', 422, { ...body, body: copy.replace('"type"', '"kind"') })
  await ask('PUT /backups/large', 413, { ...body, body: `"${'x'.repeat(31 * 1024 * 1024)}"\n` })
  await ask('POST /backups/restored/rewind', 501, { json: { at: new Date(Date.now() - 60_000).toISOString() } })
  await ask('POST /backups/never/rewind', 404, { json: { at: new Date(Date.now() - 60_000).toISOString() } })
})

test('stored keys', async () => {
  const { id } = (await ask('POST /keys', 201, { json: { id: 'billing', tenant: 'acme', scopes: ['chat'] } })) ?? {}
  await ask('POST /keys', 409, { json: { id: 'billing', tenant: 'acme', scopes: ['chat'] } })
  await ask('GET /keys', 200)
  await ask('PATCH /keys/billing', 200, { json: { disabled: true } })
  await ask('POST /keys/billing/rotate', 200, { json: {} })
  await ask('DELETE /keys/billing', 204)
  await ask('PATCH /keys/never', 404, { json: { disabled: true } })
  await ask('POST /keys/never/rotate', 404, { json: {} })
  await ask('DELETE /keys/never', 404)
  expect(id).toBe('billing')
})

test('tools', async () => {
  const definition = { description: 'Answers.', inputSchema: { type: 'object' }, static: { text: '42' } }
  const stored = await ask('PUT /tools/answer', 201, { json: definition })
  await ask('PUT /tools/answer', 200, { json: { ...definition, static: { text: '43' } } })
  await ask('PUT /tools/answer', 412, { json: definition, headers: { 'if-none-match': '*' } })
  await ask('PUT /tools/answer', 422, { json: { ...definition, static: { text: 42 } } })
  await ask('GET /tools', 200)
  await ask('GET /tools?query=answers', 200)
  await ask('GET /tools/answer', 200)
  await ask('POST /tools/answer/check', 200, { json: definition })
  await ask('POST /tools/answer/check', 200, { json: { ...definition, static: {} } })
  await ask('GET /tools/answer/versions', 200)
  await ask(`GET /tools/answer/versions/${stored.hash}`, 200)
  const back = { json: { hash: stored.hash } }
  await ask('POST /tools/answer/rollback', 200, back)
  await ask('POST /tools/answer/rollback', 412, { ...back, headers: { 'if-match': '"none"' } })
  await ask('POST /tools/answer/rollback', 422, { json: {} })
  await ask('POST /tools/answer/call', 200, { json: { arguments: {} } })
  await ask('POST /tools/pay/call', 422, { json: { arguments: {} } })
  await ask('POST /tools/pay/call', 409, { json: { arguments: {}, decision: 'approve', argumentsHash: 'none' } })
  await ask('DELETE /tools/answer', 204)
  await ask('POST /tools/answer/rollback', 201, back)
  await ask('DELETE /tools/clock', 422)
  for (const request of [
    'GET ',
    'DELETE ',
    'GET /versions',
    'GET /versions/none',
    'POST /rollback',
    'POST /accept',
    'POST /call',
  ]) {
    const [method, rest = ''] = request.split(' ')
    const json = rest === '/call' ? { arguments: {} } : { hash: 'none' }
    await ask(`${method} /tools/never${rest}`, 404, method === 'POST' ? { json } : {})
  }
})

test('a changed tool of another server', async () => {
  await ask('GET /tools', 200)
  await ask('POST /tools/look_up/call', 200, { json: { arguments: {} } })
  servers.other.tools = [{ name: 'look_up', description: 'Looks everything up.', inputSchema: { type: 'object' } }]
  const { hash, accepted } = await eventually(async () => {
    const tool = await ask('GET /tools/look_up', 200)
    expect(tool.available).toBe(false)
    return tool
  })
  await ask('POST /tools/look_up/accept', 409, { json: { hash: accepted } })
  await ask('POST /tools/look_up/accept', 422, { json: {} })
  await ask('POST /tools/look_up/accept', 200, { json: { hash } })
})

test('every answer that the document names was asked for', () => {
  expect([...NAMED_ANSWERS].filter((name) => !askedNames.has(name))).toEqual(Object.keys(NOT_ASKED))
  expect(events).toBeGreaterThan(100)
})
