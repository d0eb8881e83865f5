import { ToolsUnavailable } from '../../src/contract/tool.ts'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { gzipSync } from 'node:zlib'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { ToolSource } from '../../src/contract/tool.ts'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'

const hello = { messages: [{ role: 'user', content: 'Hello' }] }
const CHAT = '/v1/chat/completions'

async function errorOf(response: Response): Promise<{ status: number; code: string; param?: string }> {
  const body = (await response.json()) as Record<string, any>
  const { code: formatCode, edgecall: code = formatCode, param } = body.error ?? body
  return { status: response.status, code, ...(param !== undefined && param !== null && { param }) }
}

describe('authentication', () => {
  const key = 'ek_test'
  const apiKey = (extra: object = {}) => ({
    sha256: createHash('sha256').update(key).digest('hex'),
    tenant: 'acme',
    scopes: ['chat'],
    ...extra,
  })
  const closed = (...keys: object[]) => testEdge({ vars: { AUTH: 'keys', API_KEYS: JSON.stringify(keys) } })
  const bearer = { headers: { authorization: `Bearer ${key}` } }

  test('is not required for /health and the page', async () => {
    const edge = closed()
    expect(await (await edge.ask('/health')).json()).toEqual({ status: 'ok' })
    expect((await edge.ask('/')).headers.get('content-type')).toContain('text/html')
  })

  test('fails for everyone while no key is configured', async () => {
    expect(await errorOf(await closed().ask('/tools'))).toEqual({ status: 503, code: 'auth_not_configured' })
  })

  test('accepts a key with its scopes', async () => {
    const edge = closed(apiKey())
    expect((await edge.ask('/v1/models', bearer)).status).toBe(200)
    expect(await errorOf(await edge.ask('/tools', bearer))).toEqual({ status: 403, code: 'missing_scope' })
  })

  test.each(['', 'Bearer', 'Bearer ek_tesu', 'Basic ek_test', `Bearer ${key} x`])(
    'refuses %s',
    async (authorization) => {
      const response = await closed(apiKey()).ask('/v1/models', { headers: { authorization } })
      expect(response.headers.get('www-authenticate')).toBe('Bearer')
      expect(await errorOf(response)).toEqual({ status: 401, code: 'unauthorized' })
    },
  )

  test('refuses a key that has expired', async () => {
    const edge = closed(apiKey({ expires: '2020-01-01' }))
    expect(await errorOf(await edge.ask('/v1/models', bearer))).toEqual({ status: 401, code: 'key_expired' })
  })

  test('with AUTH=open accepts only requests over loopback', async () => {
    expect((await testEdge().ask('/v1/models')).status).toBe(200)
    expect((await testEdge().ask('http://localhost:8787/v1/models')).status).toBe(200)
    expect(await errorOf(await testEdge().ask('https://edge.example.com/v1/models'))).toEqual({
      status: 403,
      code: 'auth_open_not_local',
    })
  })
})

test('a pattern where a request names tools is refused by what was sent', async () => {
  const response = await testEdge().ask('/runs', { json: { input: 'Hi', tools: ['get*'] } })
  expect(await response.json()).toMatchObject({
    code: 'unknown_tool',
    detail: 'There is no tool "get*" at this edge. Name each tool: patterns are not read here.',
  })
})

describe('an invalid configuration', () => {
  test.each([
    [{ MAX_STEPS: 'many' }, 'MAX_STEPS must be a whole number from 1'],
    [{ AUTH: 'none' }, 'AUTH must be "keys" or "open"'],
    [{ STUDIO: 'false' }, 'STUDIO must be "on" or "off"'],
    [{ API_KEYS: '{' }, expect.stringContaining('API_KEYS must be a JSON array of { "id"?: 1 to 64 letters')],
    [{ API_KEYS: '[{ "sha256": "12", "tenant": "a", "scopes": [] }]' }, expect.stringContaining('API_KEYS must be')],
    [{ HTTP_TOOL_HOSTS: '[]' }, 'HTTP_TOOL_HOSTS must be a JSON object { host: [secret names] }'],
  ])('%j is named in a 503 for every request', async (vars, detail) => {
    const response = await testEdge({ vars }).ask('/health')
    expect(await response.json()).toMatchObject({ status: 503, code: 'misconfigured', detail })
  })

  test('is reported in the error format of each surface', async () => {
    const edge = testEdge({ vars: { MAX_STEPS: 'many' } })
    const message = 'MAX_STEPS must be a whole number from 1'
    const chat = await edge.ask(CHAT, { json: hello })
    const error = { message, type: 'server_error', param: null, code: 'misconfigured' }
    expect([chat.status, await chat.json()]).toEqual([503, { error }])
    expect(await (await edge.ask('/mcp', { json: {} })).json()).toMatchObject({ jsonrpc: '2.0', error: { message } })
  })

  test('without a model is an error, and no stand-in model answers', async () => {
    const edge = testEdge({ vars: { MODEL: '' } })
    expect(await errorOf(await edge.ask(CHAT, { json: hello }))).toEqual({
      status: 503,
      code: 'model_not_configured',
      param: 'model',
    })
  })
})

test('a base URL with a slash at its end is answered in the error format of the surface', async () => {
  const edge = testEdge()
  const message = 'There is no such route. Leave the slash at the end of the base URL out.'
  const headers = { 'anthropic-version': '2023-06-01' }
  expect(await (await edge.ask(`http://localhost/${CHAT}`, { json: hello })).json()).toMatchObject({
    error: { message },
  })
  expect(await (await edge.ask('http://localhost//v1/messages', { json: hello, headers })).json()).toMatchObject({
    type: 'error',
    error: { type: 'not_found_error', message },
  })
})

describe('bad input gets a clear error', () => {
  const json = { 'content-type': 'application/json' }
  const cases: [string, Parameters<ReturnType<typeof testEdge>['ask']>[1], object][] = [
    ['no body', { method: 'POST', headers: json }, { status: 400, code: 'malformed_body' }],
    ['bad JSON', { headers: json, body: '{"messages": [' }, { status: 400, code: 'malformed_body' }],
    [
      'text that is not UTF-8',
      { headers: json, body: new Uint8Array([0xff, 0xfe]) },
      { status: 400, code: 'malformed_body' },
    ],
    ['JSON a thousand levels deep', { headers: json, body: '['.repeat(1000) }, { status: 400, code: 'malformed_body' }],
    [
      'wrong content type',
      { headers: { 'content-type': 'text/plain' }, body: '{}' },
      { status: 415, code: 'unsupported_media_type' },
    ],
    [
      'a compressed body',
      { headers: { ...json, 'content-encoding': 'gzip' }, body: gzipSync('{"messages":[]}') },
      { status: 415, code: 'unsupported_encoding' },
    ],
    ['2 MiB', { headers: json, body: `"${'x'.repeat(2 ** 21)}"` }, { status: 413, code: 'body_too_large' }],
    [
      '2 MiB that say so',
      { headers: { ...json, 'content-length': String(2 ** 21) }, body: 'never read' },
      { status: 413, code: 'body_too_large' },
    ],
    [
      '2 MiB that say they are less',
      { headers: { ...json, 'content-length': '9' }, body: `"${'x'.repeat(2 ** 21)}"` },
      { status: 413, code: 'body_too_large' },
    ],
    ['a length that is none', { headers: { ...json, 'content-length': 'x' }, body: '[]' }, { status: 400 }],
    [
      'text that is not UTF-8, of known length',
      { headers: { ...json, 'content-length': '2' }, body: new Uint8Array([0xff, 0xfe]) },
      { status: 400, code: 'malformed_body' },
    ],
    ['an array', { json: [] }, { status: 400 }],
    ['no messages', { json: { messages: [] } }, { status: 400, param: 'messages' }],
    [
      'an unknown model',
      { json: { ...hello, model: 'test/other' } },
      { status: 404, code: 'unknown_model', param: 'model' },
    ],
    ['an unknown tool', { json: { ...hello, edgecall: { tools: ['nope'] } } }, { status: 400, code: 'unknown_tool' }],
    ['n > 1', { json: { ...hello, n: 2 } }, { status: 400, code: 'unsupported_parameter', param: 'n' }],
    [
      'an assistant’s last word',
      { json: { messages: [...hello.messages, { role: 'assistant', content: 'Hi' }] } },
      { status: 400, param: 'messages[1]' },
    ],
    [
      'a tool with a bad schema',
      { json: { ...hello, tools: [{ type: 'function', function: { name: 'x', parameters: { type: 'string' } } }] } },
      { status: 400, param: 'tools[0].function.parameters' },
    ],
    [
      'a context over 16 KiB',
      { json: { ...hello, edgecall: { context: { text: 'x'.repeat(17_000) } } } },
      { status: 400, param: 'edgecall.context' },
    ],
    ['a conversation’s id with a slash', { json: { ...hello, edgecall: { conversation: 'a/b' } } }, { status: 400 }],
    ['a conversation’s id with NUL', { json: { ...hello, edgecall: { conversation: 'a\0b' } } }, { status: 400 }],
    [
      'a conversation’s id of 10 kB',
      { headers: { 'x-conversation-id': 'a'.repeat(10_000) }, json: hello },
      { status: 400 },
    ],
  ]

  test.each(cases)('on the OpenAI surface: %s', async (_name, request, expected) => {
    const edge = testEdge({ tools: [tool('add')] })
    expect(await errorOf(await edge.ask(CHAT, request))).toMatchObject(expected)
    expect(edge.requests).toEqual([])
  })

  test.each([
    ['no input', {}, { status: 400, param: 'input' }],
    ['an empty input', { input: '' }, { status: 400, param: 'input' }],
    ['an unknown member', { input: 'Hi', temprature: 1 }, { status: 400, param: 'temprature' }],
    ['an unknown tool', { input: 'Hi', tools: ['nope'] }, { status: 400, code: 'unknown_tool', param: 'tools' }],
    ['a limit of nothing', { input: 'Hi', limits: { steps: 0 } }, { status: 400, param: 'limits.steps' }],
  ])('on the native surface: %s', async (_name, json, expected) => {
    const response = await testEdge().ask('/runs', { json })
    expect(response.headers.get('content-type')).toBe('application/problem+json')
    expect(await errorOf(response)).toMatchObject(expected)
  })

  test.each(['a%2Fb', 'a%00b', 'a'.repeat(10_000)])(
    'for an invalid conversation id it is unknown_conversation: %.20s',
    async (id) => {
      expect(await errorOf(await testEdge().ask(`/conversations/${id}/runs`))).toEqual({
        status: 404,
        code: 'unknown_conversation',
      })
    },
  )

  test('for an unknown path it has the format of its surface', async () => {
    expect(await (await testEdge().ask('/v1/nope')).json()).toMatchObject({ error: { code: 'not_found' } })
    expect(await (await testEdge().ask('/nope')).json()).toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('a streamed answer', () => {
  test('sends the events before the first token in one chunk with it', async () => {
    const edge = testEdge({ script: [say('Hello')] })
    const response = await edge.ask('/runs', { json: { input: 'Hi' }, headers: { accept: 'text/event-stream' } })
    const { value } = (await response.body?.getReader().read()) ?? {}
    const types = [...new TextDecoder().decode(value).matchAll(/^event: (.*)$/gm)].map(([, type]) => type)
    expect(types).toEqual(['run.started', 'step.started', 'text.delta'])
  })

  test('stops a run that is not stored when the client disconnects', async () => {
    const aborted = Promise.withResolvers<void>()
    const edge = testEdge({
      script: [
        async function* speaking(_request, signal) {
          signal.addEventListener('abort', () => aborted.resolve())
          yield { type: 'text', text: 'One ' }
          await aborted.promise
        },
      ],
    })
    const response = await edge.ask('/runs', { json: { input: 'Hi' }, headers: { accept: 'text/event-stream' } })
    await response.body?.cancel()
    await aborted.promise
    await Promise.all(edge.afterwards)
    expect(edge.requests).toHaveLength(1)
  })
})

test('what a run says of sampling reaches its model', async () => {
  const sampling = {
    ...{ temperature: 0.2, topP: 0.9, topK: 40, seed: 7, presencePenalty: 0.5, frequencyPenalty: -0.5, stop: ['END'] },
    ...{ maxOutputTokens: 50, reasoningEffort: 'low', verbosity: 'low', serviceTier: 'flex', parallelCalls: false },
  }
  const edge = testEdge({ script: [say('One.')] })
  await edge.ask('/runs', { json: { input: 'Hi', sampling } })
  const names = {
    ...{ temperature: 0.2, top_p: 0.9, top_k: 40, seed: 7, presence_penalty: 0.5, frequency_penalty: -0.5 },
    ...{ stop: ['END'], max_completion_tokens: 50, reasoning_effort: 'low', verbosity: 'low', service_tier: 'flex' },
    parallel_tool_calls: false,
  }
  expect(edge.requests.map((request) => request.sampling)).toEqual([names])
})

describe('the limits of a request', () => {
  test('can lower the limits of the edge but not raise them', async () => {
    const tools = [tool('add')]
    const script = [ask(['add']), ask(['add']), say('ok')]
    const run = async (steps: number) => {
      const edge = testEdge({ tools, script, vars: { MAX_STEPS: '1' } })
      return (await (await edge.ask('/runs', { json: { input: 'Hi', limits: { steps } } })).json()) as object
    }
    expect(await run(9)).toMatchObject({ finish: 'limit', which: 'steps' })
    expect(await run(1)).toMatchObject({ finish: 'limit', which: 'steps' })
  })
})

describe('tools over HTTP', () => {
  const add = tool('add', ({ a, b }) => ({
    ok: true,
    content: [{ type: 'text', text: String(Number(a) + Number(b)) }],
  }))

  test('are listed, found, and called under the same policy as in a run', async () => {
    const edge = testEdge({ tools: [add, tool('sub')] })
    const list = await edge.ask('/tools?query=ADD')
    expect(await list.json()).toEqual([
      { ...add.definition, source: 'inline', place: 'test', offered: true, available: true },
    ])
    expect(await (await edge.ask('/tools/add')).json()).toMatchObject({ name: 'add' })
    expect(await errorOf(await edge.ask('/tools/mul'))).toEqual({ status: 404, code: 'unknown_tool' })
    const outcome = await edge.ask('/tools/add/call', { json: { arguments: { a: 1, b: 2 } } })
    expect(await outcome.json()).toEqual({
      ok: true,
      content: [{ type: 'text', text: '3' }],
      durationMs: expect.any(Number),
    })
  })

  test('receive their own time limit as the deadline of a call', async () => {
    vi.useFakeTimers({ toFake: ['Date'], now: 1_000_000 })
    onTestFinished(() => void vi.useRealTimers())
    const deadlineOf = (definition: object) => tool('when', (_, { deadline }) => `${deadline}`, definition)
    const callTool = async (definition: object, vars = {}) => {
      const edge = testEdge({ tools: [deadlineOf(definition)], vars })
      return (await (await edge.ask('/tools/when/call', { json: { arguments: {} } })).json<any>()).content[0].text
    }
    expect(await callTool({ timeoutMs: 2000 })).toBe('1002000')
    expect(await callTool({ timeoutMs: 2000 }, { CALL_TIMEOUT_MS: '500' })).toBe('1000500')
    expect(await callTool({})).toBe('1030000')
  })

  test('never receive a lone surrogate, which providers would refuse in every later request', async () => {
    const edge = testEdge({ script: [say('Hi.')] })
    const body = String.raw`{"input":"a\ud83d b\ud83d\ude00"}`
    await edge.ask('/runs', { method: 'POST', headers: { 'content-type': 'application/json' }, body })
    expect(edge.requests[0]?.messages).toEqual([{ role: 'user', content: 'a\ufffd b\u{1f600}' }])
  })

  test('are listed by pages, and a large source is asked only for the page', async () => {
    const receivedRequests: unknown[] = []
    const list: ToolSource['list'] = async (page) => {
      receivedRequests.push(page)
      const unavailable = { origin: 'kv', place: 'tool:b', reason: 'Gone.', name: 'b' } as const
      return { tools: [tool('c'), tool('a'), tool('d')], unavailable: [unavailable], total: 10_000 }
    }
    const source: ToolSource = { list, offered: async () => [], find: async () => [] }
    const response = await testEdge({ setup: { tools: () => source } }).ask('/tools?limit=2&after=a&source=kv')
    expect(response.headers.get('x-total-count')).toBe('10000')
    expect(await response.json()).toMatchObject([{ name: 'b', place: 'tool:b', available: false, reason: 'Gone.' }])
    expect(receivedRequests).toEqual([{ after: 'a', limit: 3, origin: 'kv' }])
  })

  describe('searched by relevance', () => {
    const toolNamed = (name: string, description: string) => tool(name, undefined, { description })
    const forecast = toolNamed('forecast', 'Tells the weather of the next days.')
    const edge = () =>
      testEdge({
        tools: [
          ...[
            toolNamed('mail', 'Sends a mail about the weather or anything else at all.'),
            toolNamed('clock', 'Tells the time.'),
          ],
          ...[forecast, toolNamed('weather_now', 'Tells what it is like outside.')],
        ],
      })
    const answer = async (path: string, asEdge = edge()) => {
      const response = await asEdge.ask(path)
      const entries = (await response.json()) as { name: string }[]
      return { names: entries.map(({ name }) => name), total: response.headers.get('x-total-count') }
    }
    const names = async (...args: Parameters<typeof answer>) => (await answer(...args)).names

    test('come best first, with other word forms and misspellings', async () => {
      expect(await names('/tools?query=What%27s+the+weather%3F')).toEqual(['weather_now', 'forecast', 'mail'])
      expect(await names('/tools?query=forcast')).toEqual(['forecast'])
      expect(await names('/tools?query=mailing')).toEqual(['mail'])
      expect(await names('/tools?query=zebra')).toEqual([])
      expect(await names('/tools?query=+')).toEqual(['clock', 'forecast', 'mail', 'weather_now'])
      expect(await (await edge().ask('/tools?query=forecast')).json()).toEqual([
        { ...forecast.definition, source: 'inline', place: 'test', offered: true, available: true },
      ])
    })

    test('come by pages, and of one source on request', async () => {
      expect(await answer('/tools?query=weather&limit=1')).toEqual({ names: ['weather_now'], total: '3' })
      expect(await answer('/tools?query=weather&limit=1&after=weather_now')).toEqual({
        names: ['forecast'],
        total: '3',
      })
      expect(await answer('/tools?query=weather&after=mail')).toEqual({ names: [], total: '3' })
      expect(await names('/tools?query=weather&source=inline&limit=2')).toHaveLength(2)
      expect(await answer('/tools?query=weather&source=kv')).toEqual({ names: [], total: '0' })
    })

    test.each(['limit=-3', 'limit=0', 'limit=x', 'query=weather&limit=1.5'])(
      'are listed by name for the query %s',
      async (query) => {
        expect(await (await edge().ask(`/tools?${query}`)).json()).toEqual({
          status: 400,
          code: 'invalid_request',
          detail: '"limit" must be a whole number from 1.',
          param: 'limit',
        })
      },
    )

    test('are counted and listed only if the source has them, on every page', async () => {
      const receivedRequests: unknown[] = []
      const finder = {
        size: async () => 3,
        search: async (...question: unknown[]) => (receivedRequests.push(question), ['gone', 'sub', 'add', 'hidden']),
      }
      const edge = testEdge({ tools: [add, tool('sub')], setup: { finder: () => finder } })
      expect(await answer('/tools?query=sum', edge)).toEqual({ names: ['sub', 'add'], total: '2' })
      expect(await answer('/tools?query=sum&limit=1', edge)).toEqual({ names: ['sub'], total: '2' })
      expect(await answer('/tools', edge)).toEqual({ names: ['add', 'sub'], total: '2' })
      expect(receivedRequests).toEqual([
        ['sum', 1000],
        ['sum', 1000],
      ])
    })
  })

  test('return a failed call as an outcome, and invalid arguments as an error', async () => {
    const failed = (code: string) =>
      tool(code, () => ({ ok: false, error: { code, message: 'No.', detail: 'secret' } }))
    const edge = testEdge({ tools: [failed('broken'), failed('invalid_arguments')] })
    const outcome = await edge.ask('/tools/broken/call', { json: { arguments: {} } })
    expect(outcome.status).toBe(200)
    expect(await outcome.json()).toEqual({
      ok: false,
      content: [{ type: 'text', text: 'No.' }],
      error: { code: 'broken', message: 'No.' },
      durationMs: expect.any(Number),
    })
    expect(edge.reports).toEqual([expect.objectContaining({ event: 'call.failed', tool: 'broken', detail: 'secret' })])
    expect(await errorOf(await edge.ask('/tools/invalid_arguments/call', { json: { arguments: {} } }))).toEqual({
      status: 422,
      code: 'invalid_arguments',
      param: 'arguments',
    })
    expect(await errorOf(await edge.ask('/tools/broken/call', { json: { arguments: [] } }))).toMatchObject({
      status: 422,
      param: 'arguments',
    })
  })
})

describe('CORS', () => {
  test('allows only exact origins', async () => {
    const edge = testEdge({ vars: { CORS_ORIGINS: 'https://app.example.com' } })
    const allowed = await edge.ask('/health', { headers: { origin: 'https://app.example.com' } })
    expect(allowed.headers.get('access-control-allow-origin')).toBe('https://app.example.com')
    const foreign = await edge.ask('/health', { headers: { origin: 'https://app.example.com.evil.test' } })
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull()
    const preflight = await edge.ask(CHAT, { method: 'OPTIONS', headers: { origin: 'https://app.example.com' } })
    expect(preflight.status).toBe(204)
    const vary = await Promise.all(
      [edge, testEdge()].map(async (each) => (await each.ask('/health')).headers.get('vary')),
    )
    expect(vary).toEqual(['origin', null])
  })

  test('allows every method that a route has', async () => {
    const edge = testEdge({ vars: { CORS_ORIGINS: 'https://app.example.com' } })
    const { headers } = await edge.ask('/schedules/daily', { method: 'OPTIONS' })
    const { paths } = JSON.parse(
      readFileSync(new URL('../../src/http/openapi.txt', import.meta.url).pathname, 'utf8'),
    ) as Record<'paths', Record<string, object>>
    const methods = Object.values(paths).flatMap((route) => Object.keys(route))
    const documented = [...new Set(methods)].map((method) => method.toUpperCase()).sort()
    expect(headers.get('access-control-allow-methods')?.split(', ')).toEqual(documented)
    expect(documented).toContain('PATCH')
  })

  test('exposes the headers that clients need', async () => {
    const origin = 'https://app.example.com'
    const edge = testEdge({ vars: { CORS_ORIGINS: origin } })
    const { headers } = await edge.ask(CHAT, { json: hello, headers: { origin } })
    expect(headers.get('access-control-expose-headers')?.split(', ')).toEqual([
      'x-run-id',
      'x-conversation-id',
      'x-total-count',
      'x-run-joined',
      'x-should-retry',
      'x-model-attempts',
      'idempotent-replayed',
      'edgecall-error',
      'edgecall-ignored',
      'mcp-session-id',
      'etag',
      'location',
      'retry-after',
      'www-authenticate',
    ])
  })
})

test('stored tools that cannot be read now give 503, after which the request may be sent again', async () => {
  const unreadable = () => Promise.reject(new ToolsUnavailable('The stored tools of this edge cannot be read now.'))
  const source = { list: async () => ({ tools: [], unavailable: [] }), offered: unreadable, find: unreadable }
  const edge = testEdge({ setup: { tools: () => source } })
  for (const json of [hello, { ...hello, edgecall: { tools: ['shout'] } }]) {
    const response = await edge.ask('/v1/chat/completions', { json })
    const { headers } = response
    expect([response.status, headers.get('retry-after'), headers.get('x-should-retry')]).toEqual([503, '5', 'true'])
    expect(await response.json()).toMatchObject({ error: { code: 'tools_unavailable' } })
  }
  expect(edge.requests).toEqual([])
})
