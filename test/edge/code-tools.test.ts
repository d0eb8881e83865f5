import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { sha256 } from '../../src/contract/json.ts'
import { putCopy } from '../fixtures/kv-copy.ts'
import { chunksOf, type ModelServer, startModelServer } from '../fixtures/model-server.ts'
import { type Stage, startStage } from './stage.ts'

const SECRET = 'tell-nobody'
const KEYS = { acme: 'ek_acme', other: 'ek_other' }
/** Hosts that code may reach, with a secret and without, and one that it may not. */
const servers: Server[] = []
const origins = { api: '', plain: '', forbidden: '' }
interface Received {
  readonly host: string
  readonly request: string
  readonly headers: IncomingMessage['headers']
  readonly body: string
}
let receivedRequests: Received[] = []
/** What a host answers under a path. */
let routes: Readonly<Record<string, (response: ServerResponse, exchange: Received) => void>> = {}

let model: ModelServer
let stage: Stage

async function startHost(host: string): Promise<string> {
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    const one = { host, request: `${method} ${url}`, headers, body: await text(request) }
    receivedRequests.push(one)
    const route = routes[url ?? '']
    if (route) return route(response, one)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(one))
  })
  servers.push(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

beforeAll(async () => {
  origins.api = await startHost('api')
  origins.plain = await startHost('plain')
  origins.forbidden = await startHost('forbidden')
  model = await startModelServer(({ body }) => {
    const last: any = body.messages.at(-1)
    if (last.role === 'tool') return { chunks: chunksOf({ text: `It said ${last.content}` }) }
    return { chunks: chunksOf({ calls: [{ tool: last.content, arguments: '{"text":"Hello, World"}' }] }) }
  })
  const scopes = ['chat', 'tools:read', 'tools:write', 'tools:admin']
  const keys = Object.entries(KEYS).map(async ([tenant, key]) => ({ sha256: await sha256(key), tenant, scopes }))
  // The harness sends with Node's fetch, and loses that a redirect is not to be followed.
  const { fetch } = globalThis
  vi.stubGlobal('fetch', (...[url, init]: Parameters<typeof fetch>) =>
    fetch(new Request(url, init), { redirect: 'manual' }),
  )
  stage = await startStage(
    {
      API_KEYS: JSON.stringify(await Promise.all(keys)),
      MODEL: 'openai/test',
      OPENAI_BASE_URL: model.baseUrl,
      TOOL_CONTEXT: '{"plan":"gold"}',
      HTTP_TOOL_HOSTS: JSON.stringify({ [origins.api]: ['SECRET_API'], [origins.plain]: [] }),
      SECRET_API: SECRET,
    },
    { code: true },
  )
})
afterAll(async () => {
  await stage?.close()
  await model?.close()
  for (const server of servers) server.close()
  vi.unstubAllGlobals()
})

interface Rest {
  readonly hosts?: readonly string[]
  readonly secrets?: readonly string[]
}

const defined = (module: string, rest: Rest = {}, more: object = {}) => ({
  description: 'Does what its code does.',
  inputSchema: { type: 'object', properties: { text: { type: 'string' } } },
  code: { module, ...rest },
  ...more,
})
const body = (statements: string) => `export default async (input, context) => { ${statements} }`

async function ask(
  path: string,
  json: object | undefined,
  { method = 'POST', tenant = 'acme' }: { method?: string; tenant?: keyof typeof KEYS } = {},
) {
  const headers = { authorization: `Bearer ${KEYS[tenant]}` }
  const response = await stage.ask(path, { method, headers, ...(json && { json }) })
  return { status: response.status, body: (await response.json()) as any }
}
const put = (name: string, definition: object) => ask(`/tools/${name}`, definition, { method: 'PUT' })
const call = (name: string, args: object = {}, tenant: keyof typeof KEYS = 'acme') =>
  ask(`/tools/${name}/call`, { arguments: args }, { tenant })

let count = 0
/** Stores code under a new name, and calls it. */
async function run(module: string, rest: Rest = {}, more: object = {}): Promise<any> {
  const name = `code${++count}`
  const stored = await put(name, defined(module, rest, more))
  expect(stored).toMatchObject({ status: 201 })
  return (await call(name, { text: 'x' })).body
}

const ok = (structured: unknown) => ({
  ok: true,
  content: [{ type: 'text', text: JSON.stringify(structured) }],
  structured,
  durationMs: expect.any(Number),
})
const failed = (code: string, message: string) => ({
  ok: false,
  error: { code, message: expect.stringContaining(message) },
})

describe('a definition with code', () => {
  const slug = defined(
    'export default ({ text }, { values }) => ({ slug: text.toLowerCase().replace(/[^a-z]+/g, "-"), plan: values.plan })',
    {},
    {
      inputSchema: {
        type: 'object',
        properties: { text: { type: 'string' }, times: { type: 'number' } },
        required: ['text'],
      },
    },
  )

  test('is stored, listed, and called in a run and outside one', async () => {
    expect((await put('slug', slug)).status).toBe(201)
    expect((await ask('/tools/slug', undefined, { method: 'GET' })).body).toMatchObject({
      source: 'kv',
      available: true,
    })
    const { body } = await ask('/runs', { input: 'slug', tools: ['slug'] })
    expect(body.answer).toBe('It said {"slug":"hello-world","plan":"gold"}')
    expect((await call('slug', { text: 'A b' })).body).toEqual(ok({ slug: 'a-b', plan: 'gold' }))
    expect((await call('slug', { text: 5 })).body).toMatchObject({ ok: true, structured: { slug: '-' } })
    expect(await call('slug', { times: 'x' })).toMatchObject({ status: 422, body: { code: 'invalid_arguments' } })
  })

  test('from the page on stored tools does what the page says', async () => {
    const page = readFileSync('docs/stored-tools.md', 'utf8')
    const [, example = ''] = /```json[^\n]*\n([^`]*"code"[^`]*)```/.exec(page) ?? []
    await put('slug', JSON.parse(example))
    const { body } = await call('slug', { title: 'Hello, World' })
    expect(body).toMatchObject({ ok: true, content: [{ type: 'text', text: 'hello-world' }] })
  })

  test('receives its call and has no bindings or variables', async () => {
    const result = await run(`
      export default (input, context, ...others) => ({
        input,
        context: Object.keys(context).sort(),
        caller: context.caller.tenant,
        others,
        globals: ['caches', 'process', 'Buffer', 'require', 'env'].filter((name) => name in globalThis),
      })`)
    expect(result.structured).toEqual({
      input: { text: 'x' },
      context: ['attempt', 'callId', 'caller', 'deadline', 'idempotencyKey', 'runId', 'secrets', 'values'],
      caller: 'acme',
      others: [],
      globals: [],
    })
  })

  test.each([
    ['a text', 'return "plain"', 'plain'],
    ['nothing', '', 'Success'],
    [
      'what JSON does not have',
      'return [new Map([["a", 1n]]), new Set([1]), new Uint8Array([1, 2]), new Date(0)]',
      '[{"a":"1"},[1],"AQI=","1970-01-01T00:00:00.000Z"]',
    ],
  ])('may answer %s', async (_, statements, text) => {
    expect(await run(body(statements))).toMatchObject({ ok: true, content: [{ type: 'text', text }] })
  })

  test.each([
    ['throws', 'throw new TypeError("inner words")', 'tool_failed', 'failed.'],
    ['throws nothing', 'throw undefined', 'tool_failed', 'failed.'],
    ['never settles', 'await new Promise(() => {})', 'timeout', 'did not answer'],
    ['takes too long', 'await new Promise((resolve) => setTimeout(resolve, 60_000))', 'timeout', 'did not answer'],
    ['answers a function', 'return { f() {} }', 'unserialisable', 'cannot be written as JSON'],
    ['answers a stream', "return { body: new Response('x').body }", 'unserialisable', 'cannot be written as JSON'],
    ['answers a cycle', 'const a = {}; a.a = a; return a', 'unserialisable', 'cannot be written as JSON'],
    ['answers too much', 'return "x".repeat(40_000_000)', 'result_too_large', 'more than 1048576 bytes'],
    [
      'answers a prototype',
      'return JSON.parse(`{"a":{"__proto__":{"isAdmin":true}}}`)',
      'result_unusable',
      'unusable JSON',
    ],
    ['answers in the place of its Worker', 'JSON.stringify = () => "{"; return 1', 'tool_failed', 'failed.'],
    ['makes code of text', 'return new Function("return 1")()', 'tool_failed', 'failed.'],
  ])('that %s fails without details', async (_, statements, code, message) => {
    const answer = await run(body(statements), {}, { timeoutMs: 400 })
    expect(answer).toMatchObject(failed(code, message))
    expect(JSON.stringify(answer)).not.toContain('inner words')
  })

  test('must return results that fit its outputSchema', async () => {
    const outputSchema = { type: 'object', properties: { n: { type: 'number' } }, required: ['n'] }
    expect(await run(body('return { n: 1 }'), {}, { outputSchema })).toEqual(ok({ n: 1 }))
    const misfit = failed('invalid_output', 'does not fit its output schema')
    expect(await run(body('return { n: "1" }'), {}, { outputSchema })).toMatchObject(misfit)
    expect(await run(body('return "1"'), {}, { outputSchema })).toMatchObject(misfit)
  })

  test.each([
    ['does not parse', 'export default (', /^expected an ES module that loads: SyntaxError: .* at tool.js:1:16$/],
    ['throws as it loads', 'throw new Error("early")', /^expected an ES module that loads: Error: early/],
    [
      'needs another module',
      'import x from "left-pad"; export default x',
      /^expected a module that imports nothing, received import x from "left-pad"; export default$/,
    ],
    [
      'reaches out as it loads',
      'await fetch("https://example.com"); export default () => 1',
      /^expected an ES module that loads: /,
    ],
    [
      'answers for itself',
      'globalThis.Response = class extends Response { constructor() { super("x".repeat(1000)) } }; export default 1',
      /^expected a default export that is a function .*, received x{100}$/,
    ],
    [
      'has no default export',
      'export const run = () => 1',
      /^expected a default export that is a function .*, received undefined$/,
    ],
    [
      'exports something else',
      'export default { run() {} }',
      /^expected a default export that is a function .*, received object$/,
    ],
  ])('is refused if its module %s', async (_, module, message) => {
    const { status, body } = await put('refused', defined(module))
    expect([status, body.code, body.issues]).toEqual([
      422,
      'invalid_definition',
      [{ path: 'code.module', message: expect.stringMatching(message) }],
    ])
    expect((await ask('/tools/refused', undefined, { method: 'GET' })).status).toBe(404)
  })

  test('has versions, and changed code is a breaking change', async () => {
    await put('versions', defined(body('return 1')))
    const { body: changed } = await put('versions', defined(body('return 2')))
    expect(changed).toMatchObject({ change: 'breaking', breaks: [{ path: 'code.module' }] })
    expect((await call('versions')).body).toEqual(ok(2))
  })
})

describe('the network of code', () => {
  const get = (url: string) => body(`const response = await fetch(${JSON.stringify(url)}); return response.text()`)
  /** What a fetch came to, in the words of the code that asked. */
  const fetchCode = (url: string, init = '') =>
    body(
      `try { return (await fetch(${JSON.stringify(url)}, {${init}})).status } catch (error) { return error.message }`,
    )

  test('is absent unless it is granted', async () => {
    receivedRequests = []
    const refusal = 'This worker is not permitted to access the internet'
    expect((await run(fetchCode(origins.api))).content[0].text).toContain(refusal)
    const socket = body(`const opened = new Promise((resolve) => {
        const socket = new WebSocket(${JSON.stringify(origins.api.replace('http', 'ws'))})
        socket.onopen = () => resolve('open')
        socket.onerror = () => resolve('refused')
      })
      return opened`)
    expect(await run(socket)).toMatchObject(failed('tool_failed', 'failed.'))
    expect(await run(socket, { hosts: [origins.plain] })).toMatchObject({ ok: true, content: [{ text: 'refused' }] })
    expect(receivedRequests).toEqual([])
  })

  test('reaches only the hosts that the definition names', async () => {
    receivedRequests = []
    expect((await run(get(`${origins.api}/a?b=c`), { hosts: [origins.api] })).content[0].text).toContain('GET /a?b=c')
    for (const url of [
      origins.plain,
      origins.forbidden,
      'https://example.com',
      origins.api.replace('127.0.0.1', 'localhost'),
    ]) {
      const { origin } = new URL(url)
      expect((await run(fetchCode(url), { hosts: [origins.api] })).content[0].text).toBe(
        `This tool may not reach ${origin}: name the host in code.hosts.`,
      )
    }
    expect(receivedRequests.map(({ host }) => host)).toEqual(['api'])
  })

  test('follows redirects only to these hosts', async () => {
    const to = (location: string) => (response: ServerResponse) => void response.writeHead(302, { location }).end()
    routes = { '/away': to(`${origins.forbidden}/secret`), '/near': to(`${origins.plain}/b`) }
    receivedRequests = []
    const hosts = { hosts: [origins.api, origins.plain] }
    expect((await run(fetchCode(`${origins.api}/away`), hosts)).content[0].text).toContain(
      `may not reach ${origins.forbidden}`,
    )
    expect((await run(get(`${origins.api}/near`), hosts)).content[0].text).toContain('GET /b')
    expect((await run(fetchCode(`${origins.api}/away`, 'redirect: "manual"'), hosts)).structured).toBe(302)
    expect(receivedRequests.map(({ host }) => host)).toEqual(['api', 'api', 'plain', 'api'])
  })

  test('is not widened by another definition with the same code', async () => {
    const module = fetchCode(`${origins.plain}/shared`)
    expect((await run(module, { hosts: [origins.api, origins.plain] })).structured).toBe(200)
    expect((await run(module, { hosts: [origins.api] })).content[0].text).toContain('may not reach')
    expect((await run(module)).content[0].text).toContain('not permitted')
  })

  test.each([
    ['a host off the list', { hosts: ['example.com'] }, ['code.hosts.0']],
    ['an address', { hosts: ['127.0.0.1'] }, ['code.hosts.0']],
    ['a secret that none of its hosts may have', { hosts: ['plain'], secrets: ['SECRET_API'] }, ['code.secrets.0']],
    ['a secret and no host', { secrets: ['SECRET_API'] }, ['code.secrets.0']],
  ])('is refused to a definition with %s', async (_, { hosts, ...rest }: Rest, paths) => {
    const hostNames = hosts?.map((host) => (host === 'plain' ? origins.plain : host))
    const { status, body: problem } = await put(
      'refused',
      defined(body(''), { ...rest, ...(hostNames && { hosts: hostNames }) }),
    )
    expect([status, problem.issues.map(({ path }: any) => path)]).toEqual([422, paths])
  })
})

describe('a secret', () => {
  const both = () => ({ hosts: [origins.api, origins.plain], secrets: ['SECRET_API'] })
  const authorized = (url: string) =>
    `fetch(${JSON.stringify(url)}, { headers: { 'x-key': 'Key ' + context.secrets.SECRET_API } })`

  test('is sent to its host and is not in the result of the call', async () => {
    receivedRequests = []
    routes = {
      '/echo': (response, { headers }) => void response.setHeader('content-type', 'text/plain').end(headers['x-key']),
    }
    const post = `fetch(${JSON.stringify(origins.api)}, {
      method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ key: context.secrets.SECRET_API }) })`
    const answer = await run(
      body(`const echoed = await (await ${authorized(`${origins.api}/echo`)}).text()
        await ${post}
        return { echoed, spelled: [...echoed].join(' '), held: context.secrets }`),
      both(),
    )
    expect(answer.structured).toEqual({
      echoed: 'Key [redacted]',
      spelled: 'K e y   [ r e d a c t e d ]',
      held: { SECRET_API: '[redacted]' },
    })
    expect(receivedRequests.map(({ headers, body }) => [headers['x-key'], body])).toEqual([
      [`Key ${SECRET}`, ''],
      [undefined, JSON.stringify({ key: SECRET })],
    ])
  })

  test('is not sent to another host, directly or by a redirect', async () => {
    receivedRequests = []
    routes = { '/near': (response) => void response.writeHead(307, { location: `${origins.plain}/b` }).end() }
    for (const url of [origins.plain, `${origins.api}/near`]) {
      const answer = await run(
        body(`try { return (await ${authorized(url)}).status } catch (error) { return error.message }`),
        both(),
      )
      expect(answer.content[0].text).toBe(`SECRET_API may not go to ${origins.plain}.`)
    }
    expect(receivedRequests.map(({ host }) => host)).toEqual(['api'])
  })
})

test('module state is not shared between tenants', async () => {
  await put('counter', defined('let calls = 0; export default () => ++calls'))
  const counted = async (tenant: keyof typeof KEYS) => (await call('counter', {}, tenant)).body.structured
  expect([await counted('acme'), await counted('acme')]).toEqual([1, 2])
  expect(await counted('other')).toBe(1)
})

test('code of one tenant that hangs, throws or answers too much does not affect a call of another', async () => {
  const limits = { timeoutMs: 4000, annotations: { readOnly: true } }
  const modules = [
    body('await new Promise(() => {})'),
    body('throw new Error("broken")'),
    body('return "x".repeat(50_000_000)'),
    body('const all = []; for (let n = 0; n < 3e6; n++) all.push({ n }); return all.length'),
  ]
  const names = modules.map((_, at) => `neighbor${at}`)
  for (const [at, module] of modules.entries()) await put(names[at]!, defined(module, {}, limits))
  await put('calm', defined('export default ({ text }) => text'))
  const troubled = names.flatMap((name) => [call(name), call(name)])
  const calm = await Promise.all(Array.from({ length: 10 }, (_, at) => call('calm', { text: `${at}` }, 'other')))
  expect(calm.map(({ body }) => body.structured ?? body.content[0].text)).toEqual(
    Array.from({ length: 10 }, (_, at) => `${at}`),
  )
  expect((await Promise.all(troubled)).map(({ body }) => body.error?.code ?? 'ok')).toEqual(
    ['timeout', 'tool_failed', 'result_too_large', 'ok'].flatMap((code) => [code, code]),
  )
})

test.each([
  ['shared' as const, [1, 2]],
  ['call' as const, [1, 1]],
])('with isolates "%s", no work outlives its call', async (isolates, counts) => {
  const own = await startStage(
    { AUTH: 'open', HTTP_TOOL_HOSTS: JSON.stringify({ [origins.plain]: [] }) },
    { code: isolates === 'call' ? 'call' : true },
  )
  try {
    const module = `let calls = 0
      const ping = async () => {
        for (let n = 0; n < 50; n++) {
          await new Promise((resolve) => setTimeout(resolve, 20))
          await fetch('${origins.plain}/after')
        }
      }
      export default async ({ text }) => {
        const first = fetch('${origins.plain}/during')
        if (text === 'go on') void ping()
        await first
        return ++calls
      }`
    const put = await own.ask('/tools/counter', { method: 'PUT', json: defined(module, { hosts: [origins.plain] }) })
    expect(put.status).toBe(201)
    const counted = async (text: string) =>
      ((await (await own.ask('/tools/counter/call', { json: { arguments: { text } } })).json()) as any).structured
    receivedRequests = []
    expect([await counted('go on'), await counted('stop')]).toEqual(counts)
    // Work that goes on would be seen during these calls, each of which takes longer than one of its steps.
    for (let call = 0; call < 20; call++) await counted('stop')
    const requests = receivedRequests.map(({ request }) => request)
    expect(requests.filter((request) => request === 'GET /during')).toHaveLength(22)
    expect(requests.filter((request) => request === 'GET /after').length).toBeLessThanOrEqual(1)
  } finally {
    await own.close()
  }
})

test('without the binding LOADER, code is refused, and stored code is listed as unavailable', async () => {
  const bare = await startStage({ AUTH: 'open' })
  try {
    const reason = 'expected a deployment that runs code: the definitions Worker has no binding LOADER (worker_loaders)'
    const { TOOLS } = await bare.server.getWorker<{ TOOLS: KVNamespace }>('edgecall').getEnv()
    await putCopy(TOOLS, { name: 'slug', ...defined(body('return 1')) })
    const listing = await (await bare.ask('/tools?source=kv')).json()
    expect(listing).toEqual([
      { name: 'slug', source: 'kv', place: 'tool:slug', offered: false, available: false, reason },
    ])

    const refusal = await bare.ask('/tools/other', { method: 'PUT', json: defined(body('return 1')) })
    expect([refusal.status, ((await refusal.json()) as any).issues]).toEqual([422, [{ path: 'code', message: reason }]])
    expect((await bare.ask('/tools/other')).status).toBe(404)
  } finally {
    await bare.close()
  }
})
