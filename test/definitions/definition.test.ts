import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { checkCodeHosts, originsOf } from '../../src/definitions/code/definition.ts'
import { checkHosts } from '../../src/definitions/http/definition.ts'
import { parseStored } from '../../src/definitions/definition.ts'

const COMMON = {
  name: 'weather',
  description: 'Tells the weather.',
  inputSchema: {
    type: 'object',
    properties: { city: { type: 'string' }, unit: { type: 'string' } },
    required: ['city'],
  },
}
const CODE = { module: 'export default ({ city }) => city' }
const ALIAS = { ...COMMON, binding: 'TOOL_WEATHER', call: 'forecast' }

function http(call: Record<string, unknown>, rest: Record<string, unknown> = {}): Record<string, unknown> {
  return { ...COMMON, ...rest, http: { method: 'GET', url: 'https://api.example.com/v1/{city}', ...call } }
}

function issues(definition: unknown): readonly { path: string; message: string }[] {
  const parsed = parseStored(definition)
  return parsed.ok ? [] : parsed.issues
}

describe('a definition of each kind is stored unchanged', () => {
  const everything = {
    ...COMMON,
    title: 'Weather',
    outputSchema: { type: 'array', items: { type: 'number' } },
    version: '1.2.0',
    annotations: { readOnly: true, idempotent: true, destructive: false, openWorld: true },
    default: true,
    returnDirect: 'if-last',
    approval: 'always',
    timeoutMs: 5000,
    maxResultBytes: 1000,
    tags: ['weather'],
    http: {
      method: 'POST',
      url: 'https://api.example.com/v1/{city}/now?units={unit}&lang=en',
      headers: {
        Authorization: 'Bearer {SECRET_WEATHER}',
        'X-Unit': '{unit}',
        'Content-Type': 'application/vnd.api+json',
      },
      query: { q: 'in:{city}' },
      body: {
        query: 'query($c: String!) { city(name: $c) { name } }',
        variables: { c: '{city}', key: '{SECRET_WEATHER}' },
      },
      result: '/data/0',
      secrets: ['SECRET_WEATHER'],
    },
  }

  test.each<[string, Record<string, unknown>]>([
    ['http, with everything', everything],
    ['http, with the least', http({ url: 'https://api.example.com' })],
    ['an alias', ALIAS],
    ['static text', { ...COMMON, static: { text: '' } }],
    ['a static value', { ...COMMON, static: { structured: null } }],
    ['code', { ...COMMON, code: CODE }],
    [
      'code with hosts',
      { ...COMMON, code: { ...CODE, hosts: ['a.example.com', 'http://127.0.0.1:80'], secrets: ['SECRET_A'] } },
    ],
  ])('%s', (_, definition) => {
    expect(parseStored(definition)).toEqual({ ok: true, stored: definition, mends: [] })
  })

  test('as are those of this repository', () => {
    const files = readdirSync('tools/definitions').filter((name) => name.endsWith('.json'))
    expect(files.length).toBeGreaterThan(0)
    for (const file of files) {
      const definition: unknown = JSON.parse(readFileSync(`tools/definitions/${file}`, 'utf8'))
      expect(parseStored(definition)).toEqual({ ok: true, stored: definition, mends: [] })
    }
  })
})

test('schemas that mean something else than they say are mended, in what is stored', () => {
  const inputSchema = {
    type: 'object',
    properties: {
      id: { type: 'string', required: true, pattern: '/^[A-Z]+$/' },
      state: { type: 'string', enum: [] },
      path: { type: 'string', pattern: '/v1/' },
      any: { type: 'string', pattern: '/^a$/i' },
    },
  }
  expect(parseStored({ ...COMMON, inputSchema, static: { text: '' } })).toEqual({
    ok: true,
    stored: {
      ...COMMON,
      inputSchema: {
        type: 'object',
        properties: {
          id: { type: 'string', pattern: '^[A-Z]+$' },
          state: { type: 'string' },
          path: { type: 'string', pattern: '/v1/' },
          any: { type: 'string' },
        },
        required: ['id'],
      },
      static: { text: '' },
    },
    mends: [
      {
        path: 'inputSchema.properties.id.required',
        message: 'expected the names of required properties: moved to the object around it',
      },
      { path: 'inputSchema.properties.id.pattern', message: 'mended to "^[A-Z]+$"' },
      { path: 'inputSchema.properties.state.enum', message: 'left out, as it says nothing: []' },
      { path: 'inputSchema.properties.any.pattern', message: 'left out, as it says nothing: "/^a$/i"' },
    ],
  })
})

describe('the path of an invalid part is reported', () => {
  test.each<[string, unknown, string, string]>([
    ['no object', 'x', '', 'expected an object with one of http, binding, static, code, worker, received none'],
    ['no kind', COMMON, '', 'expected an object with one of http, binding, static, code, worker, received none'],
    [
      'two kinds',
      { ...ALIAS, static: { text: '' } },
      '',
      'expected an object with one of http, binding, static, code, worker, received binding and static',
    ],
    ['an unknown key', { ...ALIAS, colour: 1 }, 'colour', 'expected no such key, received "colour"'],
    ['an unknown key within', http({ path: '/x' }), 'http.path', 'expected no such key, received "path"'],
    [
      'an unknown annotation',
      { ...ALIAS, annotations: { safe: true } },
      'annotations.safe',
      'expected no such key, received "safe"',
    ],
    ['a key of another kind', http({}, { call: 'x' }), 'call', 'expected no such key, received "call"'],
    ['no name', { ...ALIAS, name: undefined }, 'name', 'is required (string)'],
    ['a bad name', { ...ALIAS, name: 'a b' }, 'name', 'expected /^[a-zA-Z0-9_-]{1,64}$/, received "a b"'],
    ['a blank description', { ...ALIAS, description: ' ' }, 'description', 'expected a text that is not blank'],
    ['an empty description', { ...ALIAS, description: '' }, 'description', 'expected a text that is not blank'],
    ['an empty title', { ...ALIAS, title: '' }, 'title', 'expected a text that is not empty'],
    [
      'a long description',
      { ...ALIAS, description: 'x'.repeat(1025) },
      'description',
      'expected <=1024, received 1025',
    ],
    [
      'hidden text',
      { ...ALIAS, description: 'Good.\u200b' },
      'description',
      'expected visible text, received control or invisible characters',
    ],
    [
      'hidden text in the schema',
      { ...ALIAS, inputSchema: { type: 'object', title: '\u2066x' } },
      'inputSchema.title',
      'expected visible text, received control or invisible characters',
    ],
    [
      'a broken schema',
      { ...ALIAS, inputSchema: { type: 'object', properties: { a: { type: 'str' } } } },
      'inputSchema.properties.a.type',
      'expected one of string, number, integer, boolean, object, array, null, or a list of them, received "str"',
    ],
    [
      'a schema of no object',
      { ...ALIAS, inputSchema: { type: 'array' } },
      'inputSchema.type',
      'expected "object" at the root, received "array"',
    ],
    [
      'a broken output schema',
      { ...ALIAS, outputSchema: { type: 5 } },
      'outputSchema.type',
      'expected one of string, number, integer, boolean, object, array, null, or a list of them, received 5',
    ],
    [
      'a binding of another kind',
      { ...ALIAS, binding: 'CONVERSATIONS' },
      'binding',
      'expected /^TOOL_[A-Z0-9_]+$/, received "CONVERSATIONS"',
    ],
    [
      'a method',
      http({ method: 'get' }),
      'http.method',
      'expected ("GET" | "HEAD" | "POST" | "PUT" | "PATCH" | "DELETE"), received "get"',
    ],
    [
      'a static answer of two kinds',
      { ...COMMON, static: { text: 'a', structured: 1 } },
      'static',
      'expected either { text } or { structured }',
    ],
    ['a static answer of none', { ...COMMON, static: {} }, 'static', 'expected either { text } or { structured }'],
    ['a pointer', http({ result: 'data' }), 'http.result', 'expected "text" or a JSON pointer such as /data/0'],
    [
      'a secret’s value',
      http({ secrets: ['sk-123'] }),
      'http.secrets.0',
      'expected /^SECRET_[A-Z0-9_]+$/, received "sk-123"',
    ],
    [
      'long code',
      { ...COMMON, code: { module: 'é'.repeat(64 * 1024 + 1) } },
      'code.module',
      'expected at most 131072 bytes of JavaScript',
    ],
    [
      'code that reads in another order than it runs',
      { ...COMMON, code: { module: 'export default () => 1 // \u202e' } },
      'code.module',
      'expected visible text, received control or invisible characters',
    ],
    [
      'code with an unknown key',
      { ...COMMON, code: { ...CODE, env: {} } },
      'code.env',
      'expected no such key, received "env"',
    ],
    ['a header that is no text', http({ headers: { a: 'x', b: 5 } }), 'http.headers.b', 'expected string, received 5'],
    [
      'one among names that every object has',
      http({ headers: { constructor: 5, b: 'x' } }),
      'http.headers.constructor',
      'expected string, received 5',
    ],
    ['a query that is none', http({ query: ['a'] }), 'http.query', 'expected an object'],
    ['a body with GET', http({ body: {} }), 'http.body', 'expected no body with GET'],
    [
      'an own __proto__',
      JSON.parse('{"__proto__":{"a":1},"static":{"text":""}}'),
      '__proto__',
      'expected a name other than __proto__',
    ],
    [
      '10,000 levels',
      { ...COMMON, static: { structured: JSON.parse('['.repeat(10_000) + ']'.repeat(10_000)) } },
      `static.structured${'.0'.repeat(62)}`,
      'expected at most 64 levels',
    ],
  ])('%s', (_, definition, path, message) => {
    expect(issues(definition)).toEqual([{ path, message }])
  })
})

describe('the hosts of code', () => {
  const codeOf = (code: object) => {
    const parsed = parseStored({ ...COMMON, code: { ...CODE, ...code } })
    if (!parsed.ok || !('code' in parsed.stored)) throw new Error(JSON.stringify(parsed))
    return parsed.stored.code
  }

  test.each([
    '',
    'a.example.com/v1',
    'https://a.example.com/',
    'u@a.example.com',
    'https://u:p@a.example.com',
    'ftp://a.example.com',
    'a.example.com?',
    'a.example.com#',
    'a .example.com',
    'a\\b',
    '*.example.com:x',
    'https://',
  ])('must be hosts or origins, which %j is not', (host) => {
    const message = 'expected a host such as api.example.com, or an origin such as https://api.example.com:8443'
    expect(issues({ ...COMMON, code: { ...CODE, hosts: ['a.example.com', host] } })).toEqual([
      { path: 'code.hosts.1', message },
    ])
  })

  test('must be among those that the deployment names, by the rules of HTTP tools', () => {
    const hosts = [
      'a.example.com',
      'A.example.com:443',
      'http://a.example.com',
      '127.0.0.1',
      'http://10.0.0.1',
      'b.example.com.',
    ]
    const allowed = { 'a.example.com': ['SECRET_A'], '127.0.0.1': [], 'http://10.0.0.1': [], 'b.example.com.': [] }
    const secrets = ['SECRET_A', 'SECRET_B']
    expect(checkCodeHosts(codeOf({ hosts, secrets }), allowed).map(({ path }) => path)).toEqual([
      'code.hosts.2',
      'code.hosts.3',
      'code.hosts.5',
      'code.secrets.1',
    ])
    expect(originsOf(codeOf({ hosts, secrets }), allowed)).toEqual({
      'https://a.example.com': ['SECRET_A'],
      'http://10.0.0.1': [],
    })
    expect(checkCodeHosts(codeOf({ secrets: ['SECRET_A'] }), allowed)).toEqual([
      {
        path: 'code.secrets.0',
        message: 'expected a secret that HTTP_TOOL_HOSTS allows for a host in code.hosts, received SECRET_A',
      },
    ])
  })
})

describe('the URL of a request', () => {
  const ABSOLUTE =
    'expected an absolute URL: https://, a fixed host, a path; no user name, fragment, space or backslash'
  const PLACE = 'expected placeholders such as {city}, each within one path segment or query value'

  test.each<[string, string]>([
    ['https://{city}.example.com/', ABSOLUTE],
    ['https://api.example.com:{city}/', ABSOLUTE],
    ['https://{city}@api.example.com/', ABSOLUTE],
    ['{city}://api.example.com/', ABSOLUTE],
    ['{city}', ABSOLUTE],
    ['/v1/{city}', ABSOLUTE],
    ['//api.example.com/', ABSOLUTE],
    ['ftp://api.example.com/', ABSOLUTE],
    ['file:///etc/passwd', ABSOLUTE],
    ['javascript:alert(1)', ABSOLUTE],
    ['https://api.example.com/#{city}', ABSOLUTE],
    ['https:///v1', ABSOLUTE],
    ['https://a%00b/', ABSOLUTE],
    ['https://[::1/', ABSOLUTE],
    ['https://user:pass@api.example.com/', ABSOLUTE],
    ['https://api.example.com@evil.example/', ABSOLUTE],
    ['https://api.example.com\\@evil.example/', ABSOLUTE],
    ['https:\\\\api.example.com/', ABSOLUTE],
    ['https://api.example.com/\n/v1', ABSOLUTE],
    ['ht\ttps://api.example.com/', ABSOLUTE],
    ['https://api.example.com/a b', ABSOLUTE],
    ['https://api.example.com/v1/../{city}', 'expected a path without the segments . and ..'],
    ['https://api.example.com/v1/%2E%2e/{city}', 'expected a path without the segments . and ..'],
    ['https://api.example.com/{city', PLACE],
    ['https://api.example.com/{}/x', PLACE],
    ['https://api.example.com/{ci/ty}', PLACE],
    ['https://api.example.com/?{city}=1', PLACE],
    ['https://api.example.com/?q={city', PLACE],
  ])('%j is checked: %s', (url, message) => {
    expect(issues(http({ url }))).toContainEqual({ path: 'http.url', message })
  })
})

describe('the placeholders of a definition', () => {
  test.each<[string, Record<string, unknown>, string, string]>([
    [
      'of no argument',
      { url: 'https://api.example.com/', query: { q: '{town}' } },
      'http.query.q',
      'expected {town} to be a property of inputSchema; braces of plain text need a space inside',
    ],
    [
      'named like something every object has',
      { query: { q: '{constructor}' } },
      'http.query.q',
      'expected {constructor} to be a property of inputSchema; braces of plain text need a space inside',
    ],
    [
      'deep in the body',
      { method: 'POST', body: { a: [{ b: 'x {town}' }] } },
      'http.body',
      'expected {town} to be a property of inputSchema; braces of plain text need a space inside',
    ],
    [
      'of an optional argument in the path',
      { url: 'https://api.example.com/{city}/{unit}' },
      'http.url',
      'expected "unit" to be required: the path needs it',
    ],
    [
      'of a secret in the path',
      { url: 'https://api.example.com/{SECRET_A}/{city}', secrets: ['SECRET_A'] },
      'http.url',
      'expected {SECRET_A} in a header or the body: URLs end up in logs',
    ],
    [
      'of a secret in the query',
      { query: { key: '{SECRET_A}' }, secrets: ['SECRET_A'] },
      'http.query.key',
      'expected {SECRET_A} in a header or the body: URLs end up in logs',
    ],
    [
      'of a secret that is not listed',
      { headers: { key: '{SECRET_A}' } },
      'http.headers.key',
      'expected SECRET_A to be listed in http.secrets',
    ],
  ])('are checked: %s', (_, call, path, message) => {
    expect(issues(http(call))).toEqual([{ path, message }])
  })

  test('must not let an argument pass for a secret', () => {
    const inputSchema = { type: 'object', properties: { city: {}, SECRET_A: {} }, required: ['city'] }
    expect(issues(http({}, { inputSchema }))).toEqual([
      { path: 'inputSchema.properties.SECRET_A', message: 'expected a name that no secret has' },
    ])
  })
})

describe('the headers of a definition', () => {
  const RESERVED = 'expected another header: this one is not for a tool to send'

  test.each<[string, string, string]>([
    ['Host', 'evil.example', RESERVED],
    ['cookie', 'a=b', RESERVED],
    ['Set-Cookie', 'a=b', RESERVED],
    ['Connection', 'close', RESERVED],
    ['Transfer-Encoding', 'chunked', RESERVED],
    ['Content-Length', '0', RESERVED],
    ['Proxy-Authorization', 'x', RESERVED],
    ['CF-Connecting-IP', '1.1.1.1', RESERVED],
    ['X-Forwarded-Host', 'x', RESERVED],
    ['Idempotency-Key', 'x', RESERVED],
    ['X-{city}', 'x', 'expected a header name'],
    ['X Y', 'x', 'expected a header name'],
    ['X:', 'x', 'expected a header name'],
    ['', 'x', 'expected a header name'],
    ['X-A', 'a\r\nX-B: c', 'expected one line of Latin-1 text'],
    ['X-A', 'a\nb', 'expected one line of Latin-1 text'],
    ['X-A', '中', 'expected one line of Latin-1 text'],
    ['Content-Type', 'text/plain', 'expected a JSON type, since the body is sent as JSON'],
  ])('%j are checked: %j', (name, value, message) => {
    expect(issues(http({ headers: { [name]: value } }))).toEqual([{ path: `http.headers.${name}`, message }])
  })

  test('must be unique', () => {
    expect(issues(http({ headers: { Accept: 'a', ACCEPT: 'b' } }))).toEqual([
      { path: 'http.headers.ACCEPT', message: 'expected each header once' },
    ])
  })
})

function hostIssues(url: string, hosts: Record<string, readonly string[]>, secrets: string[] = []): string[] {
  const headers = Object.fromEntries(secrets.map((secret, index) => [`x-${index}`, `{${secret}}`]))
  const parsed = parseStored(http({ url, headers, secrets }))
  if (!parsed.ok || !('http' in parsed.stored)) throw new Error(JSON.stringify(parsed))
  return checkHosts(parsed.stored.http, hosts).map(({ path, message }) => `${path}: ${message}`)
}

describe('the hosts of a deployment', () => {
  test.each<[string, Record<string, readonly string[]>]>([
    ['https://api.example.com/', { 'api.example.com': [] }],
    ['https://API.Example.com:443/', { 'api.example.com': [] }],
    ['https://api.example.com/', { 'api.example.com:443': [] }],
    ['https://api.example.com:8443/', { 'api.example.com:8443': [] }],
    ['https://api.example.com/', { 'https://api.example.com': [] }],
    ['https://bücher.example/', { 'bücher.example': [] }],
    ['http://127.0.0.1:8080/', { 'http://127.0.0.1:8080': [] }],
    ['http://localhost:8080/', { 'http://localhost:8080': [] }],
    ['https://10.0.0.1/', { 'https://10.0.0.1': [] }],
    ['http://api.example.com/', { 'http://api.example.com': [] }],
  ])('%s may be reached with %j', (url, hosts) => {
    expect(hostIssues(url, hosts)).toEqual([])
  })

  test.each<[string, Record<string, readonly string[]>, string]>([
    ['https://api.example.com/', {}, 'https://api.example.com'],
    ['https://evil.example/', { 'api.example.com': [] }, 'https://evil.example'],
    ['https://api.example.com.evil.example/', { 'api.example.com': [] }, 'https://api.example.com.evil.example'],
    ['https://sub.api.example.com/', { 'api.example.com': [] }, 'https://sub.api.example.com'],
    ['https://sub.example.com/', { '*.example.com': [] }, 'https://sub.example.com'],
    ['https://api.example.com:8443/', { 'api.example.com': [] }, 'https://api.example.com:8443'],
    ['http://api.example.com/', { 'api.example.com': [] }, 'http://api.example.com'],
    ['https://api.example.com/', { 'api.example.com/v1': [] }, 'https://api.example.com'],
    ['https://api.example.com/', { 'https://api.example.com/v1': [] }, 'https://api.example.com'],
    ['https://api.example.com/', { 'user@api.example.com': [] }, 'https://api.example.com'],
    ['https://api.example.com./', { 'api.example.com': [], 'api.example.com.': [] }, 'https://api.example.com.'],
    ['https://127.0.0.1/', { '127.0.0.1': [] }, 'https://127.0.0.1'],
    ['https://127.1/', { '127.1': [], '127.0.0.1': [] }, 'https://127.0.0.1'],
    ['https://0x7f.1/', { '0x7f.1': [], '127.0.0.1': [] }, 'https://127.0.0.1'],
    ['https://2130706433/', { '2130706433': [], '127.0.0.1': [] }, 'https://127.0.0.1'],
    ['https://0177.0.0.1/', { '127.0.0.1': [] }, 'https://127.0.0.1'],
    ['https://１２７.０.０.１/', { '127.0.0.1': [] }, 'https://127.0.0.1'],
    ['https://127。0。0。1/', { '127.0.0.1': [] }, 'https://127.0.0.1'],
    ['https://169.254.169.254/', { '169.254.169.254': [] }, 'https://169.254.169.254'],
    ['https://[::1]/', { '[::1]': [] }, 'https://[::1]'],
    ['https://[::ffff:127.0.0.1]/', { '[::ffff:7f00:1]': [] }, 'https://[::ffff:7f00:1]'],
    ['https://localhost/', { localhost: [] }, 'https://localhost'],
    ['https://localhost./', { 'localhost.': [] }, 'https://localhost.'],
    ['https://a.localhost/', { 'a.localhost': [] }, 'https://a.localhost'],
    ['https://metadata.google.internal/', { 'metadata.google.internal': [] }, 'https://metadata.google.internal'],
    ['https://printer.local/', { 'printer.local': [] }, 'https://printer.local'],
    ['https://intranet/', { intranet: [] }, 'https://intranet'],
    ['http://127.0.0.1:8080/', { '127.0.0.1:8080': [], 'http://127.0.0.1:8081': [] }, 'http://127.0.0.1:8080'],
  ])('%s may not be reached with %j', (url, hosts, origin) => {
    expect(hostIssues(url, hosts)).toEqual([
      `http.url: expected an origin that HTTP_TOOL_HOSTS allows, received ${origin}`,
    ])
  })

  test('get only the secrets that are granted to them', () => {
    const hosts = { 'api.example.com': ['SECRET_A'], 'other.example.com': ['SECRET_B'] }
    expect(hostIssues('https://api.example.com/', hosts, ['SECRET_A'])).toEqual([])
    expect(hostIssues('https://api.example.com/', hosts, ['SECRET_A', 'SECRET_B'])).toEqual([
      'http.secrets.1: expected a secret that HTTP_TOOL_HOSTS allows for https://api.example.com, received SECRET_B',
    ])
  })
})
