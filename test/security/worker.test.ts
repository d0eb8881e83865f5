import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type Stage, startStage } from '../edge/stage.ts'

const SECRET = 'tell-nobody'
let host: Server
let origin: string
let requests: string[] = []
let answer: (response: ServerResponse, auth: string) => void
let stage: Stage

/** Hosts that the deployment names, as careless as they may be: addresses and local names among them. */
const hostNames = [
  'api.example.com',
  '127.0.0.1',
  '169.254.169.254',
  '[::1]',
  'localhost',
  'db.internal',
  'xn--bcher-kva.example',
]

beforeAll(async () => {
  host = createServer((request, response) => {
    requests.push(`${request.method} ${request.url}`)
    answer(response, request.headers.authorization ?? '')
  })
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(host.address() as AddressInfo).port}`
  // The harness sends with Node's fetch, and loses that a redirect is not to be followed.
  const { fetch } = globalThis
  vi.stubGlobal('fetch', (...[url, init]: Parameters<typeof fetch>) =>
    fetch(new Request(url, init), { redirect: 'manual' }),
  )
  const hosts = { [origin]: ['SECRET_A'], ...Object.fromEntries(hostNames.map((name) => [name, []])) }
  stage = await startStage({ AUTH: 'open', HTTP_TOOL_HOSTS: JSON.stringify(hosts), SECRET_A: SECRET })
})
afterAll(async () => {
  await stage?.close()
  host?.close()
  vi.unstubAllGlobals()
})

const text = { type: 'string' }
const definition = (http: object, more: object = {}) => ({
  description: 'A test.',
  inputSchema: { type: 'object', properties: { id: text, q: text }, required: ['id'] },
  http: { method: 'GET', url: `${origin}/items/{id}`, ...http },
  ...more,
})
const put = async (name: string, json: object) => {
  const response = await stage.ask(`/tools/${name}`, { method: 'PUT', json })
  const { code, issues = [] }: any = await response.json()
  return { status: response.status, code, paths: issues.map(({ path }: any) => path).join(' ') }
}
const call = async (name: string, args: object) => {
  const response = await stage.ask(`/tools/${name}/call`, { json: { arguments: args } })
  return { status: response.status, body: (await response.json()) as any }
}

describe('a stored tool can name only allowed hosts', () => {
  test.each([
    'https://127.0.0.1/',
    'https://127.1/',
    'https://2130706433/',
    'https://0x7f000001/',
    'https://0x7f.0.0.1/',
    'https://0177.0.0.1/',
    'https://017700000001/',
    'https://127.0.0.1./',
    'https://\uff11\uff12\uff17.0.0.1/',
    'https://127\u30020\u30020\u30021/',
    'https://169.254.169.254/latest/meta-data',
    'https://0/',
    'https://[::1]/',
    'https://[::ffff:127.0.0.1]/',
    'https://[::ffff:7f00:1]/',
    'https://[0:0:0:0:0:ffff:a9fe:a9fe]/',
    'https://[fe80::1%25eth0]/',
    'https://localhost/',
    'https://LOCALHOST/',
    'https://localhost./',
    'https://db.internal/',
    'https://api.example.com./',
    'https://api.example.com:8443/',
    'http://api.example.com/',
    'https://api.example.com@evil.example/',
    'https://me@api.example.com/',
    'https://api.example.com\\@evil.example/',
    'https://evil.example#@api.example.com/',
    'https://evil.example?@api.example.com/',
    'https://api.example.com.evil.example/',
    'https://\u0430pi.example.com/',
    'https://api\u00ad.example.com.evil.example/',
    'https://api.exa\u00admple.com/',
    'https://api.example.com%2eevil.example/',
    'https://api.example.com\t.evil.example/',
    'https://{id}/',
    'https://api.example.com{id}/',
    '{id}://api.example.com/',
    'file:///etc/passwd',
    'data:text/plain,x',
  ])('%s', async (url) => {
    expect(await put('refused', definition({ url }))).toMatchObject({
      status: 422,
      code: 'invalid_definition',
      paths: expect.stringContaining('http.url'),
    })
  })

  test.each([
    'https://api.example.com/',
    'https://API.example.com:443/',
    'https://b\u00fccher.example/',
    'https://xn--bcher-kva.example/',
  ])('and is accepted for %s', async (url) => {
    expect((await put('taken', definition({ url }))).status).toBeLessThan(300)
  })
})

describe('a template', () => {
  test.each<[string, object, string]>([
    ['with a header of two lines', { headers: { 'x-a': 'a\r\nhost: evil' } }, 'http.headers.x-a'],
    ['with a line end in a header’s name', { headers: { 'x-a\r\nhost': 'a' } }, 'http.headers'],
    ['with an argument for a header’s name', { headers: { '{q}': 'a' } }, 'http.headers'],
    ['for the host header', { headers: { Host: 'evil.example' } }, 'http.headers.Host'],
    ['with a secret in the URL', { url: '@/{SECRET_A}', secrets: ['SECRET_A'] }, 'http.url'],
    ['with a secret in the query', { query: { q: '{SECRET_A}' }, secrets: ['SECRET_A'] }, 'http.query.q'],
    ['with a secret that it does not list', { headers: { a: '{SECRET_A}' } }, 'http.headers.a'],
    ['with a secret of the edge', { secrets: ['SECRET_B'] }, 'http.secrets.0'],
    ['with a variable of the edge', { secrets: ['OPENAI_API_KEY'] }, 'http.secrets.0'],
    ['of the key __proto__', JSON.parse('{"headers":{"__proto__":"x"}}'), ''],
  ])('%s is not stored', async (_, http, path) => {
    const url = 'url' in http ? { url: String(http.url).replace('@', origin) } : {}
    const { status, paths } = await put('refused', definition({ ...http, ...url }))
    expect([status, paths]).toEqual([422, expect.stringContaining(path)])
  })

  // A URL parser takes what follows two slashes for a host.
  test.each(['//evil.example/x', '//{id}/x'])('with the path %s stays within its allowed path', async (path) => {
    answer = (response) => response.writeHead(204).end()
    await put('slashes', definition({ url: origin + path }))
    requests = []
    expect((await call('slashes', { id: 'evil.example' })).body).toMatchObject({ ok: true })
    expect(requests).toEqual(['GET //evil.example/x'])
  })

  test('keeps each argument in its place', async () => {
    answer = (response) => response.writeHead(204).end()
    await put('header', definition({ headers: { 'x-q': '{q}' } }))
    requests = []
    for (const q of ['a\r\nhost: evil', 'a\nb', 'a\0']) expect((await call('header', { id: 'a', q })).status).toBe(422)
    for (const id of ['..', '.', '', '%2e%2e'].slice(0, 3))
      expect((await call('header', { id, q: 'x' })).status).toBe(422)
    expect(requests).toEqual([])
    expect((await call('header', { id: '../%2e%2e/?a#b', q: '{SECRET_A}' })).body).toMatchObject({ ok: true })
    expect(requests).toEqual(['GET /items/..%2F%252e%252e%2F%3Fa%23b'])
  })
})

describe('a redirect', () => {
  const on = (location: string): typeof answer => {
    return (response) => (requests.length > 1 ? response.writeHead(204) : response.writeHead(302, { location })).end()
  }
  beforeAll(() => put('moved', definition({})))

  test('is followed if its host is allowed', async () => {
    answer = on('/there')
    requests = []
    expect((await call('moved', { id: 'a' })).body).toMatchObject({ ok: true })
    expect(requests).toEqual(['GET /items/a', 'GET /there'])
  })

  test.each([
    'http://169.254.169.254/latest/meta-data',
    'https://127.0.0.1/',
    'https://[::1]/',
    '//evil.example/',
    'https://api.example.com:8443/',
    'https://me@api.example.com/',
    'http://api.example.com/',
  ])('to %s is not followed', async (location) => {
    answer = on(location)
    requests = []
    const message = 'The service of "moved" answered with a redirect, which is not followed.'
    expect((await call('moved', { id: 'a' })).body).toMatchObject({ ok: false, error: { code: 'http_302', message } })
    expect(requests).toEqual(['GET /items/a'])
  })
})

describe('a secret that the server returns', () => {
  const forms = [SECRET, btoa(SECRET), encodeURIComponent(SECRET)]
  const json = { 'content-type': 'application/json' }

  test.each<[string, typeof answer]>([
    [
      'in a body',
      (response, auth) => response.writeHead(200, json).end(JSON.stringify({ [auth]: [auth, btoa(SECRET)] })),
    ],
    ['in an error', (response, auth) => response.writeHead(400, { 'content-type': 'text/plain' }).end(auth)],
    ['in headers', (response, auth) => response.writeHead(200, { ...json, 'x-echo': auth }).end('{}')],
    [
      'in a redirect',
      (response, auth) => response.writeHead(302, { location: `${origin}/?${encodeURIComponent(auth)}` }).end(auth),
    ],
    ['in JSON that is none', (response, auth) => response.writeHead(200, json).end(`{"${auth}`)],
  ])('%s is redacted', async (_, say) => {
    answer = say
    const http = { headers: { authorization: 'Bearer {SECRET_A}' }, secrets: ['SECRET_A'] }
    await put('secret', definition(http))
    requests = []
    const { body } = await call('secret', { id: 'a' })
    const bodyText = JSON.stringify(body)
    expect(forms.filter((form) => bodyText.includes(form))).toEqual([])
    expect(requests).toEqual(['GET /items/a'])
  })
})

describe('a schema', () => {
  const fixed = (inputSchema: object) => ({ description: 'A test.', inputSchema, static: { text: 'ok' } })
  const nest = (levels: number): object =>
    levels === 0 ? text : { type: 'object', properties: { a: nest(levels - 1) } }

  test.each(['^(a+)+$', '^(a|a)*$', '^(\\w+\\s?)*$', '(?=(a+))*b', '(.*)*x'])(
    'whose pattern %s would block the engine does not check by it',
    async (pattern) => {
      const inputSchema = { type: 'object', properties: { a: { type: 'string', pattern } } }
      expect((await put('bomb', fixed(inputSchema))).status).toBeLessThan(300)
      expect((await call('bomb', { a: `${'a'.repeat(50_000)}!` })).body).toMatchObject({ ok: true })
    },
  )

  test.each<[string, object]>([
    ['that is deep', nest(40)],
    ['that refers to itself alone', { type: 'object', properties: { a: { $ref: 'https://evil.example/schema' } } }],
    ['with text that nobody sees', { type: 'object', description: 'a\u202eb' }],
  ])('%s is not stored', async (_, inputSchema) => {
    expect((await put('refused', fixed(inputSchema))).status).toBe(422)
  })

  test('may name a property __proto__, which is data like any other and changes no prototype', async () => {
    const inputSchema = JSON.parse('{"type":"object","properties":{"__proto__":{"type":"string"}}}') as object
    expect((await put('proto', fixed(inputSchema))).status).toBe(201)
    expect((await call('proto', JSON.parse('{"__proto__":"x"}') as object)).body).toMatchObject({ ok: true })
    const { body } = await call('proto', JSON.parse('{"__proto__":{"isAdmin":true}}') as object)
    expect(body).toMatchObject({ status: 422, code: 'invalid_arguments' })
    expect(Reflect.get({}, 'isAdmin')).toBeUndefined()
  })
})
