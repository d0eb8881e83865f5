import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text as consume } from 'node:stream/consumers'
import fc from 'fast-check'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Tool, ToolFailure, ToolOutcome } from '../../../src/contract/tool.ts'
import { callHttp, type HttpOptions } from '../../../src/definitions/http/call.ts'
import type { HttpCall } from '../../../src/definitions/http/definition.ts'
import { parseStored } from '../../../src/definitions/definition.ts'
import { CONTROL, executeCall, text, toolRequest } from '../../host/source/calls.ts'

const SECRET = 's3cr+t/"é\\'

type Handler = (request: IncomingMessage, response: ServerResponse, body: string) => void

/** What the server answers next. Until a test says otherwise: what it was asked, with every header. */
let handler: Handler
let origin: string

const echo: Handler = (request, response, body) => {
  response.setHeader('content-type', 'application/json')
  response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }))
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = []
  request.on('data', (chunk: Buffer) => chunks.push(chunk))
  request.on('end', () => handler(request, response, Buffer.concat(chunks).toString()))
})

const silent: Handler = () => {}
const dripping: Handler = (_, response) => void response.writeHead(200, { 'content-type': 'text/plain' }).write('x')

/** For calls that must not come to a request. */
const refuse = () => Promise.reject(new Error('sent'))

beforeAll(async () => {
  // On a busy machine the server would close an idle connection just as the next request goes out on it.
  server.keepAliveTimeout = 120_000
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
})

afterEach(() => void vi.useRealTimers())

afterAll(async () => {
  server.closeAllConnections()
  await new Promise((resolve) => server.close(resolve))
})

const NAMES = ['id', 'q', 'list', 'n', 'meta', 'items', 'none', 'año', 'first name']
const PROPERTIES = Object.fromEntries(NAMES.map((name) => [name, {}]))

function stored(http: Record<string, unknown>, required = ['id']): HttpCall {
  const parsed = parseStored({
    name: 't',
    description: 'A test.',
    inputSchema: { type: 'object', properties: PROPERTIES, required },
    http: { method: 'GET', url: `${origin}/items/{id}`, ...http },
  })
  if (!parsed.ok || !('http' in parsed.stored)) throw new Error(JSON.stringify(parsed))
  return parsed.stored.http
}

function options(rest: Partial<HttpOptions> = {}): HttpOptions {
  return { hosts: { [origin]: ['SECRET_A'] }, secret: (name) => (name === 'SECRET_A' ? SECRET : undefined), ...rest }
}

function run(
  http: Record<string, unknown>,
  args: Record<string, unknown> = { id: 'a' },
  use = echo,
): Promise<ToolOutcome> {
  handler = use
  return callHttp('t', stored(http), options())(toolRequest('t', args), CONTROL)
}

/** What reached the server. */
async function requestFor(
  http: Record<string, unknown>,
  args: Record<string, unknown>,
): Promise<Record<string, unknown>> {
  const outcome = await run(http, args)
  if (!outcome.ok) throw new Error(JSON.stringify(outcome))
  return outcome.structured as Record<string, unknown>
}

function answer(status: number, type: string, body: string | Buffer): Handler {
  return (_, response) => response.writeHead(status, type === '' ? {} : { 'content-type': type }).end(body)
}

describe('arguments are encoded for their places:', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ['a path segment', {}, { id: 'a/b?c#d&e=f g%2F é' }, '/items/a%2Fb%3Fc%23d%26e%3Df%20g%252F%20%C3%A9'],
    ['a number in a path', {}, { id: 5 }, '/items/5'],
    ['a segment after an empty one', { url: '@//{id}/x' }, { id: 'evil.example' }, '//evil.example/x'],
    ['part of a segment', { url: '@/v1:{id}.json' }, { id: '..' }, '/v1:...json'],
    [
      'a query',
      { query: { q: '{q}', fixed: 'x y' } },
      { id: 1, q: 'a&b=c #d' },
      '/items/1?q=a%26b%3Dc%20%23d&fixed=x%20y',
    ],
    ['a query in the URL', { url: '@/x?q=in:{q}&units=m%2Fs' }, { id: 1, q: 'a b' }, '/x?q=in%3Aa%20b&units=m%2Fs'],
    [
      'a key that every object has',
      { query: { constructor: '{q}', prototype: 'x' } },
      { id: 1, q: 'a' },
      '/items/1?constructor=a&prototype=x',
    ],
    ['a query left out', { query: { q: '{q}', n: 'from {n} to {q}' } }, { id: 1, n: 2 }, '/items/1'],
    ['a query of null', { query: { q: '{q}' } }, { id: 1, q: null }, '/items/1'],
    ['a list', { query: { q: '{list}' } }, { id: 1, list: ['a', 2, { b: 3 }] }, '/items/1?q=a&q=2&q=%7B%22b%22%3A3%7D'],
    ['a list in text', { query: { q: 'x{list}' } }, { id: 1, list: [1, 2] }, '/items/1?q=x%5B1%2C2%5D'],
    ['a lone surrogate', { query: { q: '{q}' } }, { id: '\ud800', q: '\udc00' }, '/items/%EF%BF%BD?q=%EF%BF%BD'],
  ])('%s', async (_, http, args, url) => {
    const template = typeof http['url'] === 'string' ? { url: http['url'].replace('@', origin) } : {}
    expect(await requestFor({ ...http, ...template }, args)).toMatchObject({ method: 'GET', url })
  })

  test('in headers', async () => {
    const headers = { Accept: 'text/x', 'X-Id': 'id={id}', 'X-Q': '{q}', Authorization: 'Bearer {SECRET_A}' }
    handler = (request, response) =>
      answer(200, 'text/plain', `${request.rawHeaders.join('\n')}\n`)(request, response, '')
    const definition = stored({ headers: { ...headers, Authorization: 'Bearer x' } })
    const outcome = await callHttp('t', definition, options())(toolRequest('t', { id: 'é' }), CONTROL)
    const raw = outcome.ok && outcome.content[0]?.type === 'text' ? outcome.content[0].text.split('\n') : []
    const headerFields = Object.fromEntries(
      raw.flatMap((name, index) => (index % 2 === 0 ? [[name.toLowerCase(), raw[index + 1]]] : [])),
    )
    expect(headerFields).toMatchObject({
      accept: 'text/x',
      'x-id': 'id=\u00e9',
      authorization: 'Bearer x',
      'user-agent': 'edgecall',
    })
    expect(headerFields).not.toHaveProperty('x-q')
    expect(headerFields).not.toHaveProperty('idempotency-key')
  })

  test('in a body, where a lone placeholder keeps its type', async () => {
    const body = {
      whole: '{n}',
      list: '{list}',
      inText: 'n={n} list={list} q={q}',
      gone: '{q}',
      nested: [{ gone: '{q}', id: '{id}' }, '{q}', 'fixed', 7, null],
      graphql: 'query { user(id: $id) { name } }',
    }
    const {
      method,
      headers,
      body: sent,
    } = await requestFor({ method: 'POST', body }, { id: 'x', n: 5, list: [1, { a: null }] })
    expect({ method, body: JSON.parse(String(sent)) }).toEqual({
      method: 'POST',
      body: {
        whole: 5,
        list: [1, { a: null }],
        nested: [{ id: 'x' }, 'fixed', 7, null],
        graphql: 'query { user(id: $id) { name } }',
      },
    })
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'idempotency-key': 'key_1' })
  })

  test('in a form, whose lists and objects are written as servers read them', async () => {
    const body = { n: '{n}', to: '{list}', meta: '{meta}', items: '{items}', no: '{none}', joined: '{list|,}' }
    const args = { id: 'x', n: 1.5, list: ['a&b', 'ü'], meta: { a: true, b: ['c', 'd'] }, items: [{ q: 1 }, { q: 2 }] }
    const { headers, body: sent } = await requestFor({ method: 'POST', body, bodyType: 'form' }, args)
    expect(headers).toMatchObject({ 'content-type': 'application/x-www-form-urlencoded' })
    expect([...new URLSearchParams(String(sent))]).toEqual([
      ...[
        ['n', '1.5'],
        ['to', 'a&b'],
        ['to', 'ü'],
        ['meta[a]', 'true'],
        ['meta[b][]', 'c'],
        ['meta[b][]', 'd'],
      ],
      ...[
        ['items[0][q]', '1'],
        ['items[1][q]', '2'],
        ['joined', 'a&b,ü'],
      ],
    ])
  })

  test.each(['form', 'multipart'])('in a form of the kind %s whose fields have styles', async (bodyType) => {
    const args = {
      id: 'x',
      meta: { a: 'b&c' },
      items: [{ q: 1 }, 'x'],
      q: { a: 'b&c' },
      list: ['a,b', 'd'],
      n: ['e|', 'f'],
    }
    const styles = {
      meta: { style: 'json' },
      items: { style: 'json', explode: true },
      q: { style: 'form' },
      list: { style: 'form', explode: false },
      n: { style: 'pipeDelimited' },
      none: { style: 'json' },
    }
    const body = Object.fromEntries(Object.keys(styles).map((name) => [`${name}_`, `{${name}}`]))
    const { headers, body: text } = await requestFor({ method: 'POST', body, bodyType, styles }, args)
    const formText = String(text)
    const form = await new Response(formText, {
      headers: { 'content-type': String(Object(headers)['content-type']) },
    }).formData()
    expect([...form]).toEqual([
      ['meta_', '{"a":"b&c"}'],
      ['items_', '{"q":1}'],
      ['items_', 'x'],
      ['a', 'b&c'],
      ['list_', 'a,b,d'],
      ['n_', 'e||f'],
    ])
    expect([formText.match(/&list_=.*/)?.[0], formText.match(/name="\w+"\r\ncontent-type: .*/g)]).toEqual(
      bodyType === 'form'
        ? ['&list_=a%2Cb,d&n_=e%7C%7Cf', null]
        : [undefined, ['meta_', 'items_'].map((name) => `name="${name}"\r\ncontent-type: application/json`)],
    )
  })

  test('in a multipart form, where no field can end its part', async () => {
    const args = { id: 'x', n: '--edgecall-form--\r\n', list: ['ü'] }
    const body = { 'a"\n': '{n}', list: '{list}' }
    const { headers, body: sent } = await requestFor({ method: 'POST', body, bodyType: 'multipart' }, args)
    const type = String(Object(headers)['content-type'])
    const form = await new Response(String(sent), { headers: { 'content-type': type } }).formData()
    expect([...form]).toEqual([
      ['a"\n', '--edgecall-form--\r\n'],
      ['list', 'ü'],
    ])
  })

  test('under names of other scripts and of several words', async () => {
    const args = { id: 'x', año: 2026, 'first name': 'Ada' }
    const request = await requestFor(
      {
        method: 'POST',
        query: { y: '{año}', n: '{first name}' },
        body: { y: '{año}', n: '{first name}', text: '{ id }' },
      },
      args,
    )
    expect(request).toMatchObject({
      url: expect.stringMatching(/\?y=2026&n=Ada$/),
      body: '{"y":2026,"n":"Ada","text":"{ id }"}',
    })
  })

  test('as the whole body', async () => {
    expect(await requestFor({ method: 'PUT', body: '{n}' }, { id: 1, n: { a: [true] } })).toMatchObject({
      body: '{"a":[true]}',
    })
    expect(await requestFor({ method: 'PUT', body: '{n}' }, { id: 1, n: null })).toMatchObject({ body: 'null' })
    expect(await requestFor({ method: 'DELETE', body: '{n}' }, { id: 1 })).toMatchObject({ method: 'DELETE', body: '' })
  })
})

describe('an argument that would leave its place is refused, and nothing is sent,', () => {
  test.each<[string, Record<string, unknown>, Record<string, unknown>, string]>([
    ['one up', {}, { id: '..' }, 'Expected one name or number for the path of the request, received "id" = "..".'],
    ['here', {}, { id: '.' }, 'Expected one name or number for the path of the request, received "id" = ".".'],
    ['nothing', {}, { id: '' }, 'Expected one name or number for the path of the request, received "id" = "".'],
    ['null', {}, { id: null }, 'Expected one name or number for the path of the request, received "id" = undefined.'],
    [
      'an object',
      {},
      { id: { a: 1 } },
      'Expected one name or number for the path of the request, received "id" = Object.',
    ],
    [
      'two halves',
      { url: '@/a/{id}{q}/b' },
      { id: '.', q: '.' },
      'Expected one name or number for the path of the request, received "id" = ".", "q" = ".".',
    ],
    [
      'a line end',
      { headers: { 'X-Q': '{q}' } },
      { id: 1, q: 'a\r\nHost: evil' },
      'Expected one line of Latin-1 text for the header "X-Q".',
    ],
    [
      'a control',
      { headers: { 'X-Q': '{q}' } },
      { id: 1, q: 'a\0' },
      'Expected one line of Latin-1 text for the header "X-Q".',
    ],
    [
      'another script',
      { headers: { 'X-Q': '{q}' } },
      { id: 1, q: '中' },
      'Expected one line of Latin-1 text for the header "X-Q".',
    ],
  ])('%s', async (_, http, args, message) => {
    const url = typeof http['url'] === 'string' ? { url: http['url'].replace('@', origin) } : {}
    const tool = stored({ ...http, ...url }, ['id', 'q'])
    expect(await callHttp('t', tool, options({ fetch: refuse }))(toolRequest('t', args), CONTROL)).toEqual({
      ok: false,
      error: { code: 'invalid_arguments', message: `The arguments of "t" do not fit: ${message}` },
    })
  })

  test('so that every request stays within its path', async () => {
    const tool = stored({ url: `${origin}/v1/{id}/x`, query: { q: '{q}' } })
    const urls: URL[] = []
    const fetch = async (url: string) => {
      urls.push(new URL(url))
      return new Response(null, { status: 204 })
    }
    const send = callHttp('t', tool, options({ fetch }))
    const value = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.constantFrom('..', '%2e%2e', '../x', '..\\x', '//h', '?', '#', '@h', '\t..'),
    )
    await fc.assert(
      fc.asyncProperty(value, value, async (id, q) => {
        urls.length = 0
        await send(toolRequest('t', { id, q }), CONTROL)
        for (const url of urls) {
          const [, version, segment = '', last, ...more] = url.pathname.split('/')
          expect([url.origin, version, last, more, url.hash]).toEqual([origin, 'v1', 'x', [], ''])
          expect(decodeURIComponent(segment)).toBe(id.toWellFormed())
          expect([...url.searchParams]).toEqual([['q', q.toWellFormed()]])
        }
      }),
    )
  })
})

describe('the response of a server', () => {
  const BIG = 1024 * 1024

  test.each<[string, Record<string, unknown>, Handler, ToolOutcome]>([
    [
      'JSON',
      {},
      answer(200, 'application/json; charset=utf-8', '{"a": [1]}'),
      { ok: true, content: [{ type: 'text', text: '{"a":[1]}' }], structured: { a: [1] } },
    ],
    [
      'JSON of a vendor',
      {},
      answer(201, 'application/vnd.api+json', '1'),
      { ok: true, content: [{ type: 'text', text: '1' }], structured: 1 },
    ],
    ['a part of it', { result: '/a/0/b~1c' }, answer(200, 'application/json', '{"a":[{"b/c":"x"}]}'), text('x')],
    [
      'a part that is null',
      { result: '/a' },
      answer(200, 'application/json', '{"a":null}'),
      { ok: true, content: [{ type: 'text', text: 'null' }], structured: null },
    ],
    ['text', {}, answer(200, 'text/html; charset=utf-8', '<p>é'), text('<p>é')],
    [
      'text of a charset',
      {},
      answer(200, 'text/plain; charset="ISO-8859-1"', Buffer.from('5 °C', 'latin1')),
      text('5 °C'),
    ],
    ['text of no known charset', {}, answer(200, 'text/plain; charset=klingon', 'é'), text('é')],
    [
      'JSON of a charset',
      { result: '/a' },
      answer(200, 'application/json;charset=utf-16le', Buffer.from('{"a":"é"}', 'utf16le')),
      text('é'),
    ],
    ['JSON as text', { result: 'text' }, answer(200, 'application/json', '{ "a": 1 }'), text('{ "a": 1 }')],
    ['JSON that calls itself text', { result: '/a' }, answer(200, 'text/plain', '{"a":"x"}'), text('x')],
    ['nothing', {}, answer(204, '', ''), text('Success')],
    ['an empty body', {}, answer(200, '', ''), text('Success')],
    ['1 MiB', {}, answer(200, 'text/plain', 'x'.repeat(BIG)), text('x'.repeat(BIG))],
    [
      'more than 1 MiB',
      {},
      answer(200, 'text/plain', 'x'.repeat(BIG + 1)),
      failed('result_too_large', 'answered with more than 1048576 bytes.'),
    ],
    [
      'an image',
      {},
      answer(200, 'image/png', Buffer.from([0x89, 0x50])),
      failed('unsupported_content', 'answered with neither JSON nor text.'),
    ],
    ['no type', {}, answer(200, '', 'x'), text('x')],
    [
      'JSON of no type',
      {},
      answer(200, '', '[9007199254740993]'),
      { ok: true, content: [{ type: 'text', text: '[9007199254740993]' }], structured: ['9007199254740993'] },
    ],
    ['broken JSON where nothing asks for a part', {}, answer(200, 'application/json', '{"a"'), text('{"a"')],
    [
      'no such part',
      { result: '/b' },
      answer(200, 'application/json', '{"a":1}'),
      failed('result_missing', 'answered without "/b".'),
    ],
    [
      'a part that only objects have',
      { result: '/constructor' },
      answer(200, 'application/json', '{}'),
      failed('result_missing', 'answered without "/constructor".'),
    ],
    [
      'broken JSON',
      { result: '/a' },
      answer(200, 'application/json', '{"a"'),
      failed('result_not_json', 'answered with JSON that does not parse.', '{"a"'),
    ],
    [
      'JSON 10,000 deep',
      {},
      answer(200, 'application/json', '['.repeat(10_000) + ']'.repeat(10_000)),
      failed('result_unusable', 'answered with unusable JSON.', 'expected at most 64 levels'),
    ],
    [
      'an error',
      {},
      answer(404, 'application/json', '{"error":\n "no such item"}'),
      failed('http_404', 'answered 404: {"error": "no such item"}'),
    ],
    [
      'a long error',
      {},
      answer(400, 'text/plain', 'x'.repeat(5000)),
      failed('http_400', `answered 400: ${'x'.repeat(299)}…`),
    ],
    ['an error without words', {}, answer(403, 'image/png', Buffer.from([1])), failed('http_403', 'answered 403.')],
    [
      'too many requests',
      {},
      answer(429, 'text/plain', 'slow'),
      failed('http_429', 'answered 429: slow', undefined, true),
    ],
    ['an error of the server', {}, answer(503, '', ''), failed('http_503', 'answered 503.', undefined, true)],
  ])('%s', async (_, http, use, expected) => {
    const outcome = await run(http, { id: 'a' }, use)
    if (!outcome.ok && outcome.error.detail !== undefined && !expected.ok) {
      expect(outcome.error.detail).toContain(expected.error.detail)
      expect({ ...outcome.error, detail: '' }).toEqual({ ...expected.error, detail: '' })
    } else expect(outcome).toEqual(expected)
  })

  test('that breaks off is a failure, which may be tried again', async () => {
    const outcome = await run({}, { id: 'a' }, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': '100' })
      response.write('x', () => response.destroy())
    })
    expect(outcome).toMatchObject({ ok: false, error: { code: 'http_unreachable', retryable: true } })
  })

  test('is read only up to the limit', async () => {
    const stopped = Promise.withResolvers<void>()
    const outcome = await run({}, { id: 'a' }, (_, response) => {
      response.writeHead(200, { 'content-type': 'text/plain' })
      const pour = () => {
        while (response.write('x'.repeat(65_536)));
        response.once('drain', pour)
      }
      response.on('close', () => stopped.resolve())
      pour()
    })
    expect(outcome).toEqual(failed('result_too_large', 'answered with more than 1048576 bytes.'))
    await stopped.promise
  })

  test('is a failure if the server cannot be reached', async () => {
    const failure = new TypeError('fetch failed', { cause: new Error(`refused ${SECRET}`) })
    const tool = stored({ headers: { a: '{SECRET_A}' }, secrets: ['SECRET_A'] })
    const fetch = () => Promise.reject(failure)
    expect(await callHttp('t', tool, options({ fetch }))(toolRequest('t', { id: 1 }), CONTROL)).toEqual({
      ok: false,
      error: {
        code: 'http_unreachable',
        message: 'The service of "t" could not be reached.',
        detail: 'fetch failed (refused [redacted])',
        retryable: true,
      },
    })
  })
})

describe('a redirect of an HTTP tool', () => {
  const headers = { 'X-Key': '{SECRET_A}', 'X-Id': '{id}', Accept: 'x/{SECRET_A}' }
  const call = { headers, secrets: ['SECRET_A'] }
  const NOT_FOLLOWED = (status: number) => failed(`http_${status}`, 'answered with a redirect, which is not followed.')
  /** Another host that the deployment allows, and what it was asked. */
  let away: string
  let others: (Pick<IncomingMessage, 'method' | 'url' | 'headers'> & { body: string })[] = []
  const other = createServer((request, response) => {
    const { method, url, headers } = request
    void consume(request).then((body) => {
      others.push({ method, url, headers, body })
      if (url === '/back') response.writeHead(302, { location: `${origin}/home` }).end()
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('away')
    })
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
    away = `http://127.0.0.1:${(other.address() as AddressInfo).port}`
  })
  afterAll(() => void other.close())

  /** Calls the tool at `/items/a`, where the server sends whoever asks on; gives the outcome and what the server was asked. */
  async function sendRedirected(
    http: Record<string, unknown>,
    { status = 302, to, hosts = {} }: { status?: number; to: (url: string) => string | undefined; hosts?: object },
  ): Promise<[outcome: ToolOutcome, asked: string[]]> {
    const inputs: string[] = []
    others = []
    handler = (request, response, body) => {
      const { url = '', method = '', headers } = request
      inputs.push([method, url, headers['x-key'] && 'key', headers['idempotency-key'], body].filter(Boolean).join(' '))
      const location = to(url)
      if (location === undefined) response.writeHead(200, { 'content-type': 'text/plain' }).end('here')
      else response.writeHead(status, { location }).end('on')
    }
    const hostGrants = { ...options().hosts, [away]: [], ...hosts }
    const tool = callHttp('t', stored({ ...call, ...http }), options({ hosts: hostGrants, secret: () => 'key-value' }))
    return [await tool(toolRequest('t', { id: 'a' }), CONTROL), inputs]
  }
  const once = (location: string) => (url: string) => (url === '/items/a' ? location : undefined)

  test.each([301, 302, 303, 307, 308])(
    'of %i is followed within the host, with the headers of the definition',
    async (status) => {
      expect(await sendRedirected({}, { status, to: once('/moved?x=1#y') })).toEqual([
        text('here'),
        ['GET /items/a key', 'GET /moved?x=1 key'],
      ])
    },
  )

  test('to another allowed host loses the headers of the definition, also on the way back', async () => {
    expect(await sendRedirected({}, { to: once(`${away}/x`) })).toEqual([text('away'), ['GET /items/a key']])
    expect(others).toMatchObject([{ method: 'GET', url: '/x', body: '' }])
    const headers = others[0]?.headers ?? {}
    expect(Object.keys(headers).filter((name) => name.startsWith('x-'))).toEqual([])
    expect(headers.accept).toBe('application/json, text/*;q=0.9, */*;q=0.1')
    expect(await sendRedirected({}, { to: once(`${away}/back`) })).toEqual([
      text('here'),
      ['GET /items/a key', 'GET /home'],
    ])
  })

  test.each<[string, string]>([
    ['a host that may not be reached', 'https://evil.example/'],
    ['such a host, without its scheme', '//evil.example/'],
    ['an address of the network', 'http://169.254.169.254/latest'],
    ['another scheme', 'file:///etc/passwd'],
    ['a user name', 'http://me@127.0.0.1/'],
    ['nowhere', 'http://['],
    ['a place that says a secret', '/?key=key-value'],
  ])('to %s is not followed', async (_, location) => {
    expect(await sendRedirected({}, { to: once(location) })).toEqual([NOT_FOLLOWED(302), ['GET /items/a key']])
  })

  test('is followed at most three times', async () => {
    const [outcome, request] = await sendRedirected({}, { to: (url) => `${url}x` })
    expect([outcome, request.length]).toEqual([NOT_FOLLOWED(302), 4])
  })

  test('of a request with an effect is followed only to the location of its answer', async () => {
    const post = { method: 'POST', body: { a: '{id}' } }
    expect(await sendRedirected(post, { status: 307, to: once('/moved') })).toEqual([
      NOT_FOLLOWED(307),
      ['POST /items/a key key_1 {"a":"a"}'],
    ])
    expect(await sendRedirected(post, { status: 303, to: once('/done') })).toEqual([
      text('here'),
      ['POST /items/a key key_1 {"a":"a"}', 'GET /done key'],
    ])
  })
})

describe('a request with an effect that is answered', () => {
  test.each<[what: string, redirect: [number, string], page: Handler, error: [code: string, problem: string]]>([
    [
      'a page',
      [302, '/done'],
      answer(200, 'text/plain', 'Done'),
      ['http_302', 'with a redirect, which is not followed.'],
    ],
    [
      'a page elsewhere',
      [303, 'https://evil.example/'],
      answer(200, 'text/plain', 'Done'),
      ['http_303', 'with a redirect, which is not followed.'],
    ],
    ['a page that is not there', [303, '/done'], answer(404, 'text/plain', 'gone'), ['http_404', '404: gone']],
    ['a page that fails', [303, '/done'], answer(503, 'text/plain', 'down'), ['http_503', '503: down']],
  ])('with %s leaves open whether it took effect, and is not repeated', async (_, redirect, page, error) => {
    const [[status, location], [code, problem]] = [redirect, error]
    const outcome = await run({ method: 'POST' }, { id: 'a' }, (request, response, body) =>
      request.method === 'POST' ? void response.writeHead(status, { location }).end() : page(request, response, body),
    )
    const doubt = `The request itself was answered ${status}: whether the call took effect is unknown.`
    expect(outcome).toEqual(failed(code, `answered ${problem} ${doubt}`))
  })

  test.each([301, 308])(
    'with a move for good (%i) names the address, without what only the request may say',
    async (status) => {
      const moved: Handler = (_, response) =>
        void response
          .writeHead(status, { location: 'https://me:pw@new.example/v2/s3cr%2Bt-value/items?key=x#y' })
          .end('moved')
      handler = moved
      const tool = stored({ method: 'POST', headers: { a: '{SECRET_A}' }, secrets: ['SECRET_A'] })
      const call = callHttp('t', tool, options({ secret: () => 's3cr+t-value' }))
      expect(await call(toolRequest('t', { id: 'a' }), CONTROL)).toEqual(
        failed(
          `http_${status}`,
          `answered ${status}: it has moved to https://new.example/v2/[redacted]/items for good. Nothing was sent there: the definition of the tool must name that address.`,
        ),
      )
    },
  )

  const UNSHOWN = (status: number, problem: string) =>
    text(`The service of "t" answered ${status} ${problem}; its content cannot be shown.`)
  const PNG = Buffer.from([0x89, 0x50, 0x4e, 0x47])
  const latin1 = Buffer.from('5 °C', 'latin1')
  const broken =
    (status: number, type: string): Handler =>
    (_, response) => {
      response.writeHead(status, { 'content-type': type, 'content-length': '100' })
      response.write('{"id":', () => response.destroy())
    }

  test.each<[string, Record<string, unknown>, Handler, ToolOutcome]>([
    ['a blank body that says JSON', {}, answer(201, 'application/json', ''), text('Success')],
    ['a blank line that says JSON', {}, answer(200, 'application/json', ' \r\n'), text('Success')],
    ['a blank body where a part is wanted', { result: '/id' }, answer(201, 'application/json', ''), text('Success')],
    ['where what was made is', {}, located(201, '/payments/17'), text('Success: /payments/17')],
    ['where the answer will be', {}, located(202, '/jobs/17'), text('Success: /jobs/17')],
    [
      'JSON without a type',
      {},
      answer(200, '', '{"id": 1.50}'),
      { ok: true, content: [{ type: 'text', text: '{"id":1.50}' }], structured: { id: 1.5 } },
    ],
    ['a number without a type', {}, answer(200, '', '007'), text('007')],
    ['a sequence of JSON', {}, answer(200, 'application/json-seq', '\u001e{"a":1}\n'), text('\u001e{"a":1}\n')],
    ['lines of JSON', {}, answer(200, 'application/x-ndjson', '{"a":1}\n{"a":2}\n'), text('{"a":1}\n{"a":2}\n')],
    ['JavaScript', {}, answer(200, 'application/x-javascript', 'f({})'), text('f({})')],
    ['raw text', {}, answer(200, 'application/vnd.github.v3.raw; charset=utf-8', '# Hé'), text('# Hé')],
    ['raw text that says JSON', {}, answer(200, 'application/vnd.github.raw+json', '# Hé'), text('# Hé')],
    ['a page', {}, answer(200, 'text/html', '<p>Done'), text('<p>Done')],
    ['JSON that does not parse', {}, answer(201, 'application/json', '{"a"'), text('{"a"')],
    ['JSON without the part', { result: '/b' }, answer(201, 'application/json', '{"a":1}'), text('{"a":1}')],
    ['text where a part is wanted', { result: '/b' }, answer(201, 'text/plain', 'ok'), text('ok')],
    [
      'JSON too deep',
      {},
      answer(201, 'application/json', '['.repeat(99) + ']'.repeat(99)),
      text('['.repeat(99) + ']'.repeat(99)),
    ],
    [
      'UTF-16 with a byte order mark',
      {},
      answer(200, 'application/json', Buffer.from('\ufeff"é"', 'utf16le')),
      text('é'),
    ],
    ['text in Latin-1', {}, answer(201, 'text/plain', latin1), text('5 °C')],
    [
      'text in UTF-8 with a byte too many',
      {},
      answer(201, 'text/plain', Buffer.concat([Buffer.from('5 °C'), latin1])),
      text('5 °C5 \ufffdC'),
    ],
    ['text whose type quotes the charset', {}, answer(201, "text/plain; charset='latin1'", latin1), text('5 °C')],
    [
      'XML that names its encoding',
      {},
      answer(201, 'text/xml', Buffer.from('<?xml version="1.0" encoding="ISO-8859-2"?><a>\xb1</a>', 'latin1')),
      text('<?xml version="1.0" encoding="ISO-8859-2"?><a>ą</a>'),
    ],
    [
      'XML that names UTF-16 and is in UTF-8',
      {},
      answer(201, 'application/xml', '<?xml version="1.0" encoding="utf-16"?><a>é</a>'),
      text('<?xml version="1.0" encoding="utf-16"?><a>é</a>'),
    ],
    [
      'HTML that names its charset',
      {},
      answer(201, 'text/html', Buffer.from('<meta http-equiv="x" content="text/html; charset=koi8-r">\xf0', 'latin1')),
      text('<meta http-equiv="x" content="text/html; charset=koi8-r">П'),
    ],
    ['bytes that are no UTF-8', {}, answer(201, '', latin1), UNSHOWN(201, 'with neither JSON nor text')],
    ['an image', {}, answer(201, 'image/png', PNG), UNSHOWN(201, 'with neither JSON nor text')],
    ['zeros', {}, answer(201, '', Buffer.alloc(4)), UNSHOWN(201, 'with neither JSON nor text')],
    [
      'a body that breaks off',
      {},
      broken(201, 'application/json'),
      UNSHOWN(201, 'with a body that did not come to its end'),
    ],
    [
      'more than 1 MiB',
      {},
      answer(200, 'application/json', `{"id":7,"x":"${'é'.repeat(2 ** 20)}"}`),
      text(
        `The service of "t" answered 200 with more than 1048576 bytes, which begin:\n{"id":7,"x":"${'é'.repeat(16_384 - 13)}`,
      ),
    ],
    [
      'more than 1 MiB of an image',
      {},
      answer(200, 'image/png', Buffer.alloc(2 ** 20 + 1, PNG)),
      UNSHOWN(200, 'with neither JSON nor text'),
    ],
  ])('with 2xx has succeeded: %s', async (_, http, use, expected) => {
    for (const method of ['POST', 'PUT', 'PATCH', 'DELETE'])
      expect(await run({ method, ...http }, { id: 'a' }, use)).toEqual(expected)
  })

  test('with 2xx has succeeded, even if its body has no end before the deadline', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const body = new ReadableStream({ start: (stream) => stream.enqueue(new TextEncoder().encode('x')) })
    const use = options({ fetch: async () => new Response(body) })
    const outcome = callHttp('t', stored({ method: 'POST' }), use)(toolRequest('t', { id: 1 }), CONTROL)
    // Beside the timer of the call, that of the body has begun.
    while (vi.getTimerCount() < 2) await new Promise(setImmediate)
    vi.advanceTimersByTime(19_500)
    expect(await outcome).toEqual(UNSHOWN(200, 'with a body that did not come to its end'))
  })

  test('and the connection that breaks before an answer leaves open whether it took effect', async () => {
    const outcome = await run({ method: 'POST' }, { id: 'a' }, (request) => request.socket.destroy())
    expect(outcome).toMatchObject({
      ok: false,
      error: {
        code: 'http_unreachable',
        message:
          'The service of "t" could not be reached, or broke off before it answered; whether the call took effect is unknown.',
      },
    })
  })

  test('is one whose definition says so, whatever its method', async () => {
    handler = answer(200, 'image/png', PNG)
    const request = toolRequest('t', { id: 'a' })
    const read = await callHttp('t', stored({ method: 'POST' }), options({ hasEffect: false }))(request, CONTROL)
    expect(read).toEqual(failed('unsupported_content', 'answered with neither JSON nor text.'))
    const changed = await callHttp('t', stored({}), options({ hasEffect: true }))(request, CONTROL)
    expect(changed).toEqual(UNSHOWN(200, 'with neither JSON nor text'))
  })
})

test('a page that tells of a failure is shown without what browsers do not show', async () => {
  const page =
    '<!DOCTYPE html><title>502</title><style>p { color: red }</style><script>x()</script><h1>Upstream</h1>\n<p>is down'
  expect(await run({}, { id: 'a' }, answer(502, 'text/html', page))).toMatchObject({
    error: { code: 'http_502', message: 'The service of "t" answered 502: 502 Upstream is down' },
  })
})

describe('how long a service asks to wait', () => {
  const at = Date.parse('2026-01-01T12:00:00Z')
  beforeEach(() => void vi.useFakeTimers({ now: at, toFake: ['Date'] }))

  test.each<[string, number, Record<string, string>, number | undefined]>([
    ['seconds', 429, { 'retry-after': '60' }, 60_000],
    ['a date', 503, { 'retry-after': 'Thu, 01 Jan 2026 12:02:00 GMT' }, 120_000],
    ['a date that has passed', 503, { 'retry-after': 'Thu, 01 Jan 2026 11:00:00 GMT' }, 0],
    ['GitHub, of too many at once', 403, { 'retry-after': '30', 'x-ratelimit-remaining': '10' }, 30_000],
    [
      'GitHub, of too many in an hour',
      403,
      { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${at / 1000 + 90}` },
      90_000,
    ],
    ['a draft of the IETF', 429, { 'ratelimit-remaining': '0', 'ratelimit-reset': '50' }, 50_000],
    ['fractions', 429, { 'x-ratelimit-remaining': '0.0', 'x-ratelimit-reset': '345.5' }, 345_500],
    [
      'the last of them, which was refused for another reason',
      422,
      { 'ratelimit-remaining': '0', 'ratelimit-reset': '50' },
      undefined,
    ],
    ['some are left', 403, { 'x-ratelimit-remaining': '10', 'x-ratelimit-reset': `${at / 1000 + 90}` }, undefined],
    ['nothing', 403, {}, undefined],
    ['no number', 429, { 'retry-after': 'soon' }, undefined],
  ])('is in the outcome: %s', async (_, status, headers, retryAfterMs) => {
    const outcome = await run(
      { method: 'POST' },
      { id: 'a' },
      (__, response) => void response.writeHead(status, { 'content-type': 'text/plain', ...headers }).end('slow'),
    )
    const wish =
      retryAfterMs === undefined
        ? ''
        : ` and asks to wait ${Math.ceil(retryAfterMs / 1000)} seconds before the next call`
    const { error } = failed(`http_${status}`, `answered ${status}${wish}: slow`) as ToolFailure
    const isRetryable = status === 429 || status >= 500 || retryAfterMs !== undefined
    expect(outcome).toEqual({
      ok: false,
      error: { ...error, ...(isRetryable && { retryable: true }), ...(retryAfterMs !== undefined && { retryAfterMs }) },
    })
  })

  test('is a minute for GitHub’s second limit, which may have no header for it', async () => {
    const body =
      '{"message":"You have exceeded a secondary rate limit. Please wait a few minutes before you try again."}'
    const outcome = await run({ method: 'POST' }, { id: 'a' }, answer(403, 'application/json', body))
    const message = `answered 403 and asks to wait 60 seconds before the next call: ${body}`
    const { error } = failed('http_403', message) as ToolFailure
    expect(outcome).toEqual({ ok: false, error: { ...error, retryable: true, retryAfterMs: 60_000 } })
  })

  test('and a status hold even if the body breaks off', async () => {
    const outcome = await run({ method: 'POST' }, { id: 'a' }, (_, response) => {
      response.writeHead(429, { 'content-type': 'text/plain', 'content-length': '100', 'retry-after': '2' })
      response.write('slow', () => response.destroy())
    })
    expect(outcome).toMatchObject({ error: { code: 'http_429', retryAfterMs: 2000 } })
  })
})

describe('a call of an HTTP tool ends', () => {
  const tool = (): Tool => ({
    definition: { name: 't', description: '', inputSchema: {}, version: '1', hash: '', annotations: {} },
    origin: 'kv',
    place: 'tool:t',
    offered: false,
    call: callHttp('t', stored({}), options()),
  })

  /** Settles once the server sees that nobody waits for its answer any more. */
  function leaving(use: Handler): { arrived: Promise<void>; left: Promise<void> } {
    const arrived = Promise.withResolvers<void>()
    const departure = Promise.withResolvers<void>()
    handler = (request, response, body) => {
      response.on('close', () => departure.resolve())
      use(request, response, body)
      arrived.resolve()
    }
    return { arrived: arrived.promise, left: departure.promise }
  }

  test.each([
    ['before the head', silent],
    ['before the end of the body', dripping],
  ])('at its time limit, and aborts its request, %s', async (_, use) => {
    const { arrived, left } = leaving(use)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const outcome = executeCall(tool(), toolRequest('t', { id: 1 }), { timeoutMs: 50 })
    await arrived
    vi.advanceTimersByTime(50)
    expect(await outcome).toMatchObject({ ok: false, error: { code: 'timeout' } })
    await left
  })

  test.each([
    ['before the head', silent],
    ['before the end of the body', dripping],
  ])('when its run is cancelled, and aborts its request, %s', async (_, use) => {
    const { arrived, left } = leaving(use)
    const abort = new AbortController()
    const outcome = executeCall(tool(), toolRequest('t', { id: 1 }), { signal: abort.signal })
    await arrived
    abort.abort()
    expect(await outcome).toMatchObject({ ok: false, error: { code: 'cancelled' } })
    await left
  })

  test.each([
    ['before the head', silent],
    ['before the end of the body', dripping],
  ])('at its deadline, even if its host is gone, %s', async (_, use) => {
    const { arrived, left } = leaving(use)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const control = { ...CONTROL, whenAborted: () => Promise.reject(new Error('gone')) }
    const outcome = callHttp('t', stored({}), options())(toolRequest('t', { id: 1 }), control)
    await arrived
    vi.advanceTimersByTime(20_000)
    const message = 'The tool "t" did not answer in time; whether it took effect is unknown.'
    expect(await outcome).toEqual({ ok: false, error: { code: 'timeout', message } })
    await left
  })

  test('but keeps its request if its host reports that all is settled, or is gone', async () => {
    for (const whenAborted of [async () => 'settled', () => Promise.reject(new Error('gone'))]) {
      handler = answer(200, 'text/plain', 'done')
      const control = { ...CONTROL, whenAborted }
      expect(await callHttp('t', stored({}), options())(toolRequest('t', { id: 1 }), control)).toEqual(text('done'))
    }
  })

  test('without a request if its deadline is over', async () => {
    const request = toolRequest('t', { id: 1 }, { deadline: 1000 })
    expect(
      await callHttp('t', stored({}), options({ fetch: refuse, now: () => 1000 }))(request, CONTROL),
    ).toMatchObject({
      error: { code: 'timeout' },
    })
  })
})

describe('secrets of an HTTP tool', () => {
  const call = {
    method: 'POST',
    headers: { Authorization: 'Bearer {SECRET_A}' },
    body: { key: '{SECRET_A}' },
    secrets: ['SECRET_A'],
  }

  test('reach the server and appear in no outcome, however the server returns them', async () => {
    const plain = 's3cr+t-value'
    const use = { secret: () => plain }
    const forms = [plain, encodeURIComponent(plain), btoa(plain), JSON.stringify(plain)]
    let received: unknown
    const reflect =
      (status: number, type: string): Handler =>
      (request, response, body) => {
        received = [request.headers.authorization, JSON.parse(body)]
        answer(status, type, JSON.stringify({ [plain]: forms, text: forms.join(' '), headers: request.headers }))(
          request,
          response,
          '',
        )
      }
    for (const [status, type, result] of [
      [200, 'application/json', ''],
      [200, 'text/plain', 'text'],
      [200, 'application/json', '/text'],
      [400, 'text/plain', ''],
      [500, 'application/json', ''],
    ] as const) {
      handler = reflect(status, type)
      const outcome = await callHttp(
        't',
        stored({ ...call, result }),
        options(use),
      )(toolRequest('t', { id: 1 }), CONTROL)
      expect(received).toEqual([`Bearer ${plain}`, { key: plain }])
      expect(JSON.stringify(outcome)).toContain('[redacted]')
      for (const form of forms) expect(JSON.stringify(outcome)).not.toContain(form)
    }
  })

  test('with any characters are found in JSON', async () => {
    const body = { method: 'POST', body: { key: '{SECRET_A}' }, secrets: ['SECRET_A'] }
    const outcome = await run({ ...body, result: '/body' }, { id: 1 })
    expect(outcome).toEqual(text('{"key":"[redacted]"}'))
  })

  test.each([
    ['slashes escaped, as PHP does', '{"error":"bad key s3cr+t\\/\\"é\\\\"}'],
    ['characters escaped, as Python does', '{"error":"bad key s3cr+t/\\"\\u00e9\\\\"}'],
    ['both', '{"error":"bad key s3cr+t\\/\\"\\u00E9\\\\"}'],
    ['a URL with small digits', 'bad key s3cr%2bt%2f%22%c3%a9%5c'],
    ['a form', 'bad key s3cr%2Bt%2F%22%C3%A9%5C'],
  ])('are found in texts with %s', async (_, text) => {
    for (const [status, type] of [
      [400, 'application/json'],
      [200, 'text/plain'],
    ] as const) {
      const outcome = await run({ ...call, result: 'text' }, { id: 1 }, answer(status, type, text))
      expect(JSON.stringify(outcome)).toContain('bad key [redacted]')
      expect(JSON.stringify(outcome)).not.toContain('s3cr')
    }
  })

  test('are removed from the start of a long error', async () => {
    const long: Handler = answer(500, 'text/plain', `${' '.repeat(16_384 - 3)}${SECRET}`)
    expect(await run(call, { id: 1 }, long)).toEqual(failed('http_500', 'answered 500.', undefined, true))
  })

  test('that are numbers are found as numbers', async () => {
    handler = answer(200, 'application/json', '{"pin":4711,"other":47110}')
    const outcome = await callHttp(
      't',
      stored(call),
      options({ secret: () => '4711' }),
    )(toolRequest('t', { id: 1 }), CONTROL)
    expect(outcome).toMatchObject({ structured: { pin: '[redacted]', other: 47110 } })
  })

  test.each<[string, Partial<HttpOptions>, string]>([
    ['without a value', { secret: () => undefined }, 'SECRET_A has no value'],
    ['without a grant', { hosts: {} }, 'expected an origin that HTTP_TOOL_HOSTS allows, received '],
  ])('%s, and nothing is sent', async (_, rest, detail) => {
    const outcome = await callHttp(
      't',
      stored(call),
      options({ fetch: refuse, ...rest }),
    )(toolRequest('t', { id: 1 }), CONTROL)
    expect(outcome).toMatchObject({
      error: {
        code: 'tool_misconfigured',
        message: 'The tool "t" is not set up.',
        detail: expect.stringContaining(detail),
      },
    })
  })
})

function located(status: number, location: string): Handler {
  return (_, response) => void response.writeHead(status, { location }).end()
}

function failed(code: string, what: string, detail?: string, retryable?: boolean): ToolOutcome {
  const rest = { ...(detail !== undefined && { detail }), ...(retryable !== undefined && { retryable }) }
  return { ok: false, error: { code, message: `The service of "t" ${what}`, ...rest } }
}
