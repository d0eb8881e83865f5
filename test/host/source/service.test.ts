import { describe, expect, test } from 'vitest'
import type { ToolDefinition } from '../../../src/contract/tool-definition.ts'
import type { ToolListing, ToolOutcome } from '../../../src/contract/tool.ts'
import type { ToolBinding } from '../../../src/host/worker/call.ts'
import { type ServiceOptions, serviceSource } from '../../../src/host/source/service.ts'
import { call, CONTROL, text, toolRequest } from './calls.ts'
import { definition, worker } from './worker.ts'

function thrown(error: unknown): never {
  throw error
}

function broken(error: unknown): ToolBinding {
  return { describe: async () => thrown(error) }
}

/** A schema of so many levels. */
function nested(levels: number): object {
  return levels === 1 ? {} : { not: nested(levels - 1) }
}

function says(description: unknown): ToolBinding {
  return { describe: async () => description }
}

const missing = (method: string) => new TypeError(`The RPC receiver does not implement the method "${method}".`)

/** A Worker without RPC: every method seems to be there until it is called. */
function foreign(fetch: (url: string, init?: RequestInit) => Promise<Response>): ToolBinding {
  return { describe: () => Promise.reject(missing('describe')), call: () => Promise.reject(missing('call')), fetch }
}

function source(bindings: Record<string, ToolBinding>, rest: Partial<ServiceOptions> = {}) {
  return serviceSource({ bindings, offered: () => true, ...rest })
}

function names({ tools }: ToolListing): string[] {
  return tools.map((tool) => tool.definition.name)
}

test('the tools of all Workers are listed, found and called', async () => {
  const clock = worker([definition('now', { title: 'Now', tags: ['time'] }), definition('shift')])
  const sums = worker([definition('add')])
  const tools = source(
    { TOOL_CLOCK: clock.binding, TOOL_SUMS: sums.binding },
    { offered: ({ name }) => name !== 'shift' },
  )
  const listing = await tools.list()
  expect(listing.unavailable).toEqual([])
  expect(listing.tools.map((tool) => [tool.definition, tool.origin, tool.offered])).toEqual([
    [definition('now', { title: 'Now', tags: ['time'] }), 'service', true],
    [definition('shift'), 'service', false],
    [definition('add'), 'service', true],
  ])
  const [add] = await tools.find(['add'])
  expect(await call(add, { a: 1 })).toEqual(text('done'))
  expect(sums.traffic.requests).toMatchObject([{ name: 'add', arguments: { a: 1 }, hash: 'h-add' }])
  expect(await tools.find(['none'])).toEqual([])
  expect(await tools.find([])).toEqual([])
})

describe('one Worker takes no other down', () => {
  const FAILED = 'it failed to describe itself'
  const self: Record<string, unknown> = {}
  self['self'] = self

  test.each<[string, ToolBinding, string, string?]>([
    [
      'absent',
      broken(new Error('Worker "shop" not found. Make sure it is running locally.')),
      FAILED,
      'Worker "shop" not found. Make sure it is running locally.',
    ],
    ['throwing text', broken('boom'), FAILED, 'boom'],
    ['throwing an object', broken({ code: 7 }), FAILED, '{"code":7}'],
    ['throwing nothing', broken(undefined), FAILED, 'nothing was said'],
    ['slow', { describe: () => new Promise(() => {}) }, 'no answer within 20 ms'],
    ['without any method', {}, FAILED, 'GET /describe was answered by nobody'],
    [
      'no tool Worker',
      foreign(async () => new Response('no', { status: 404 })),
      FAILED,
      'GET /describe was answered 404',
    ],
    [
      'redirecting',
      foreign(async () => new Response(null, { status: 302, headers: { location: 'https://evil.example/' } })),
      FAILED,
      'GET /describe was answered 302',
    ],
    [
      'answering no JSON',
      foreign(async () => new Response('<html>')),
      FAILED,
      `Unexpected token '<', "<html>" is not valid JSON`,
    ],
    [
      'saying nothing',
      says(undefined),
      'bad description: it: Invalid type: Expected Object',
      'bad description: it: Invalid type: Expected Object but received null',
    ],
    [
      'of another contract',
      says({ contract: 2, tools: [] }),
      'bad description: contract: Invalid type: Expected 1',
      'bad description: contract: Invalid type: Expected 1 but received 2',
    ],
    [
      'naming a tool badly',
      says({ contract: 1, tools: [definition('a b')] }),
      'bad description: tools.0.name: Invalid format: Expected /^[a-zA-Z0-9_-]{1,64}$/',
      'bad description: tools.0.name: Invalid format: Expected /^[a-zA-Z0-9_-]{1,64}$/ but received "a b"',
    ],
    [
      'describing a tool badly',
      says({ contract: 1, tools: [definition('a', { description: ' ' })] }),
      'bad description: tools.0.description: Invalid format: Expected /\\S/',
      'bad description: tools.0.description: Invalid format: Expected /\\S/ but received " "',
    ],
    [
      'with a schema that providers refuse',
      says({ contract: 1, tools: [definition('a', { inputSchema: { type: 'array' } })] }),
      'bad description: tools.0.inputSchema: expected a schema of type "object"',
    ],
    [
      'with one name twice',
      says({ contract: 1, tools: [definition('a'), definition('a')] }),
      'bad description: tools: expected each name once',
    ],
    [
      'with a function',
      says({ contract: 1, tools: [definition('a', { inputSchema: { type: 'object', x: () => {} } })] }),
      'bad description: "x" is not JSON',
    ],
    [
      'with a schema that is too deep',
      says({ contract: 1, tools: [definition('a', { inputSchema: { type: 'object', ...nested(65) } })] }),
      'bad description: tools.0.inputSchema: expected at most 64 levels and 500000 characters of JSON',
    ],
    [
      'with a schema that is too long',
      says({ contract: 1, tools: [definition('a', { outputSchema: { description: 'x'.repeat(500_000) } })] }),
      'bad description: tools.0.outputSchema: expected at most 64 levels and 500000 characters of JSON',
    ],
    [
      'in circles',
      says({ contract: 1, tools: [definition('a', { inputSchema: { type: 'object', self } })] }),
      expect.stringContaining('bad description: Converting circular structure'),
    ],
    [
      'with an own __proto__',
      says(JSON.parse('{"contract":1,"tools":[],"__proto__":{}}')),
      'bad description: "__proto__" is not JSON',
    ],
  ])('a Worker that fails does not affect the others: %s', async (_, bad, reason, detail = reason) => {
    const reported: object[] = []
    const tools = source(
      { TOOL_BAD: bad, TOOL_GOOD: worker([definition('now')]).binding },
      { describeMs: 20, report: (entry) => void reported.push(entry) },
    )
    const listing = await tools.list()
    await tools.list()
    expect(names(listing)).toEqual(['now'])
    expect(listing.unavailable).toEqual([{ origin: 'service', place: 'TOOL_BAD', reason }])
    // Operators are told the detail, once.
    expect(reported).toEqual([{ event: 'tools.unavailable', place: 'TOOL_BAD', detail }])
    expect(await call((await tools.find(['now']))[0])).toEqual(text('done'))
  })
})

test('tools that a Worker says it cannot offer are listed as unavailable, also where changed tools are held back', async () => {
  const missing = { name: 'film', reason: 'It can only be run as a task.' }
  const binding = says({ contract: 1, source: 'mcp', tools: [definition('now')], unavailable: [missing] })
  const changed = { origin: 'mcp', place: 'TOOL_MCP', reason: 'changed', name: 'now' }
  const gates: [ServiceOptions['gate'], string[], object[]][] = [
    [undefined, ['now'], []],
    [() => async () => ({ tools: [], unavailable: [changed] }), [], [changed]],
  ]
  for (const [gate, tools, heldTools] of gates) {
    const listing = await source({ TOOL_MCP: binding }, gate && { gate }).list()
    expect(names(listing)).toEqual(tools)
    expect(listing.unavailable).toEqual([...heldTools, { ...missing, origin: 'mcp', place: 'TOOL_MCP' }])
  }
})

describe('two Workers with a tool of one name', () => {
  test('and equal definitions are one tool, of the first Worker', async () => {
    const [a, b] = [worker([definition('now')], () => text('a')), worker([definition('now')], () => text('b'))]
    const tools = source({ TOOL_A: a.binding, TOOL_B: b.binding })
    const listing = await tools.list()
    expect([names(listing), listing.unavailable]).toEqual([['now'], []])
    expect(await call(listing.tools[0])).toEqual(text('a'))
  })

  test('and different definitions cannot be called, and both bindings are named', async () => {
    const [a, b] = [worker([definition('now'), definition('x')]), worker([definition('now', { hash: 'other' })])]
    const tools = source({ TOOL_A: a.binding, TOOL_B: b.binding })
    const reason = 'The tool "now" is defined differently by TOOL_A and TOOL_B; none of them is called.'
    const listing = await tools.list()
    expect([names(listing), listing.unavailable]).toEqual([
      ['x'],
      [
        { origin: 'service', place: 'TOOL_A', reason, name: 'now' },
        { origin: 'service', place: 'TOOL_B', reason, name: 'now' },
      ],
    ])
    expect(await tools.find(['now'])).toEqual([])
  })
})

describe('the description of a Worker', () => {
  test('is cached for a minute if it is usable, else for two seconds, for every source of the isolate', async () => {
    let at = 0
    const good = worker([definition('now')])
    let failures = 0
    const bad: ToolBinding = { describe: () => Promise.reject(new Error(`failure ${++failures}`)) }
    const list = () => source({ TOOL_GOOD: good.binding, TOOL_BAD: bad }, { now: () => at }).list()
    for (at of [0, 1999]) await list()
    expect([good.traffic.describe, failures]).toEqual([1, 1])
    at = 2000
    expect((await list()).unavailable).toMatchObject([{ reason: 'it failed to describe itself' }])
    expect(failures).toBe(2)
    at = 59_999
    await list()
    expect([good.traffic.describe, failures]).toEqual([1, 3])
    at = 60_000
    await list()
    expect(good.traffic.describe).toBe(2)
  })

  test('is read again once a failure is over', async () => {
    let at = 0
    let mended = false
    const binding: ToolBinding = {
      describe: async () => {
        if (!mended) throw new Error('not yet')
        return { contract: 1, tools: [definition('now')] }
      },
    }
    const tools = source({ TOOL_A: binding }, { now: () => at })
    expect(names(await tools.list())).toEqual([])
    mended = true
    expect(names(await tools.list())).toEqual([])
    at = 2000
    expect(names(await tools.list())).toEqual(['now'])
  })
})

test('names are those of the last description of each Worker, and cannot be told where there was none', async () => {
  let at = 0
  let isDown = false
  const binding: ToolBinding = {
    describe: async () => {
      if (isDown) throw new Error('lost')
      const unavailable = [{ name: 'gone', reason: 'no model' }]
      return { contract: 1, tools: [definition('now')], unavailable }
    },
  }
  const tools = source({ TOOL_A: binding, TOOL_B: worker([definition('add')]).binding }, { now: () => at })
  const namesOf = async (...all: string[]) => [...((await tools.names?.(all)) ?? [])]
  expect(await namesOf('now', 'none', 'add', 'gone')).toEqual([
    ['now', 'visible'],
    ['add', 'visible'],
    ['gone', 'visible'],
  ])
  isDown = true
  at = 60_000
  expect(await tools.find(['now'])).toEqual([])
  expect(await namesOf('now', 'none', 'add')).toEqual([
    ['now', 'visible'],
    ['add', 'visible'],
  ])
  const fresh = source({ TOOL_A: binding, TOOL_B: worker([definition('add')]).binding }, { now: () => at })
  expect([...((await fresh.names?.(['add'])) ?? [])]).toEqual([['add', 'visible']])
  await expect(fresh.names?.(['add', 'now'])).rejects.toThrow('cannot be described now')
})

describe('a tool that has changed', () => {
  const old = definition('now', { hash: 'old' })

  /** A Worker that was deployed anew after it was described. */
  function redeployed(now: readonly ToolDefinition[]) {
    const { binding, traffic } = worker([], (request) =>
      now.some(({ name, hash }) => name === request.name && hash === request.hash)
        ? text('new')
        : { ok: false, error: { code: 'schema_mismatch', message: 'changed' } },
    )
    return {
      traffic,
      binding: {
        ...binding,
        describe: async () => ({ contract: 1, tools: (traffic.describe += 1) === 1 ? [old] : now }),
      },
    }
  }

  test('only in its texts is called as it is now', async () => {
    const { binding, traffic } = redeployed([definition('now', { hash: 'new', description: 'Better words.' })])
    const tools = source({ TOOL_A: binding })
    expect(await call((await tools.find(['now']))[0])).toEqual(text('new'))
    expect(traffic.requests.map(({ hash }) => hash)).toEqual(['old', 'new'])
    expect((await tools.find(['now']))[0]?.definition.hash).toBe('new')
    expect(traffic.describe).toBe(2)
  })

  test.each<[string, ToolDefinition[], string, string]>([
    [
      'in its schema is not called',
      [definition('now', { hash: 'new', inputSchema: { type: 'object', required: ['x'] } })],
      'tool_changed',
      'The tool "now" has changed since it was offered; it was not called.',
    ],
    ['so far that it is gone', [definition('later')], 'tool_unavailable', 'The tool "now" is not available any more.'],
  ])('%s', async (_, now, code, message) => {
    const { binding, traffic } = redeployed(now)
    const tools = source({ TOOL_A: binding })
    expect(await call((await tools.find(['now']))[0])).toEqual({ ok: false, error: { code, message } })
    expect(traffic.requests).toHaveLength(1)
    expect(names(await tools.list())).toEqual(now.map(({ name }) => name))
  })

  test('since it was offered long ago is not called, even if only its texts changed', async () => {
    const { binding, traffic } = redeployed([old])
    const [tool] = await source({ TOOL_A: binding }).find(['now'])
    const outcome = await tool?.call(toolRequest('now', {}, { hash: 'ancient' }), CONTROL)
    expect(outcome).toMatchObject({ error: { code: 'tool_changed' } })
    expect(traffic.requests.map(({ hash }) => hash)).toEqual(['ancient'])
  })

  test('and changes again is not called', async () => {
    const { binding } = redeployed([definition('now', { hash: 'new' })])
    const never: ToolBinding = {
      ...binding,
      call: async () => ({ ok: false, error: { code: 'schema_mismatch', message: '' } }),
    }
    expect(await call((await source({ TOOL_A: never }).find(['now']))[0])).toMatchObject({
      error: { code: 'tool_changed' },
    })
  })

  test('and cannot say how is not called', async () => {
    let described = 0
    const binding: ToolBinding = {
      describe: async () => {
        if (described++ > 0) throw new Error('gone')
        return { contract: 1, tools: [old] }
      },
      call: async () => ({ ok: false, error: { code: 'schema_mismatch', message: '' } }),
    }
    expect(await call((await source({ TOOL_A: binding }).find(['now']))[0])).toEqual({
      ok: false,
      error: { code: 'tool_unreachable', message: 'The tool "now" cannot be reached.', detail: 'gone' },
    })
  })
})

describe('every end of a call becomes an outcome:', () => {
  const BAD = 'The tool "now" answered with something that is not a tool outcome.'

  test.each<[string, () => unknown, ToolOutcome]>([
    [
      'a failure',
      () => ({ ok: false, error: { code: 'x', message: 'm', detail: 'd', retryable: true, extra: 1 } }),
      { ok: false, error: { code: 'x', message: 'm', detail: 'd', retryable: true } },
    ],
    [
      'a success with all',
      () => ({
        ok: true,
        content: [{ type: 'image', mediaType: 'image/png', data: 'AA==' }],
        structured: { a: null },
        more: 1,
      }),
      { ok: true, content: [{ type: 'image', mediaType: 'image/png', data: 'AA==' }], structured: { a: null } },
    ],
    [
      'parts that say more',
      () => ({ ok: true, content: [{ type: 'text', text: 'x', annotations: { audience: ['user'] } }] }),
      { ok: true, content: [{ type: 'text', text: 'x' }] },
    ],
    ['keys that are undefined', () => ({ ok: true, content: [], structured: undefined }), { ok: true, content: [] }],
    [
      'an exception',
      () => thrown(new Error('secret stack')),
      { ok: false, error: { code: 'tool_failed', message: 'The tool "now" failed.', detail: 'secret stack' } },
    ],
    [
      'no exception',
      () => thrown({ toString: null }),
      { ok: false, error: { code: 'tool_failed', message: 'The tool "now" failed.', detail: '{"toString":null}' } },
    ],
    [
      'no Worker',
      () => thrown(new Error('Worker "x" not found.')),
      {
        ok: false,
        error: {
          code: 'tool_unreachable',
          message: 'The tool "now" cannot be reached.',
          detail: 'Worker "x" not found.',
        },
      },
    ],
    [
      'no method',
      () => thrown(missing('call')),
      {
        ok: false,
        error: {
          code: 'tool_unreachable',
          message: 'The tool "now" cannot be reached.',
          detail: missing('call').message,
        },
      },
    ],
    [
      'nothing',
      () => undefined,
      {
        ok: false,
        error: { code: 'bad_outcome', message: BAD, detail: 'it: Invalid type: Expected Object but received null' },
      },
    ],
    [
      'text',
      () => 'hello',
      {
        ok: false,
        error: { code: 'bad_outcome', message: BAD, detail: 'it: Invalid type: Expected Object but received "hello"' },
      },
    ],
    [
      'no content',
      () => ({ ok: true }),
      {
        ok: false,
        error: {
          code: 'bad_outcome',
          message: BAD,
          detail: 'content: Invalid key: Expected "content" but received undefined',
        },
      },
    ],
    [
      'odd content',
      () => ({ ok: true, content: [{ type: 'html', text: '' }] }),
      {
        ok: false,
        error: {
          code: 'bad_outcome',
          message: BAD,
          detail: 'content.0.type: Invalid type: Expected ("text" | ("image" | "file")) but received "html"',
        },
      },
    ],
    [
      'an error without words',
      () => ({ ok: false, error: { code: 'x' } }),
      {
        ok: false,
        error: {
          code: 'bad_outcome',
          message: BAD,
          detail: 'error.message: Invalid key: Expected "message" but received undefined',
        },
      },
    ],
    [
      'a value that is no JSON',
      () => ({ ok: true, content: [], structured: new Map() }),
      {
        ok: false,
        error: {
          code: 'bad_outcome',
          message: BAD,
          detail: '"structured" is not JSON',
        },
      },
    ],
  ])('%s', async (_, answer, expected) => {
    const [tool] = await source({ TOOL_A: worker([definition('now')], answer).binding }).find(['now'])
    expect(await call(tool)).toEqual(expected)
  })
})

test('a source of one binding has only its tools', async () => {
  const tools = source({
    TOOL_A: worker([definition('now')]).binding,
    TOOL_B: worker([definition('now', { hash: 'b' })]).binding,
  })
  expect((await tools.sourceOfBinding('TOOL_B')?.find(['now']))?.map((tool) => tool.definition.hash)).toEqual(['b'])
  expect(tools.sourceOfBinding('TOOL_C')).toBeUndefined()
  expect(tools.sourceOfBinding('constructor')).toBeUndefined()
})

describe('a Worker that answers over fetch', () => {
  const description = { contract: 1, tools: [definition('now')] }

  test('is described and called over HTTP', async () => {
    const inputs: unknown[] = []
    const binding = foreign(async (url, init) => {
      inputs.push([
        url,
        init?.method ?? 'GET',
        init?.redirect,
        typeof init?.body === 'string' ? JSON.parse(init.body) : undefined,
      ])
      return Response.json(url.endsWith('/describe') ? description : text('by fetch'))
    })
    const [tool] = await source({ TOOL_PY: binding }).find(['now'])
    const request = toolRequest('now', { a: 1 }, { hash: 'h-now' })
    expect(await tool?.call(request, CONTROL)).toEqual(text('by fetch'))
    expect(inputs).toEqual([
      ['https://tool/describe', 'GET', 'manual', undefined],
      ['https://tool/call', 'POST', 'manual', request],
    ])
  })

  test.each<[string, () => Promise<Response>, string, string]>([
    ['an error', async () => new Response('no', { status: 500 }), 'tool_failed', 'POST /call was answered 500'],
    ['a redirect', async () => new Response(null, { status: 302 }), 'tool_failed', 'POST /call was answered 302'],
    ['no JSON', async () => new Response('x'), 'tool_failed', `Unexpected token 'x', "x" is not valid JSON`],
    [
      'no outcome',
      async () => Response.json([]),
      'bad_outcome',
      'ok: Invalid type: Expected (true | false) but received undefined',
    ],
  ])('%s is a failure', async (_, answer, code, detail) => {
    const binding = foreign(async (url) => (url.endsWith('/describe') ? Response.json(description) : answer()))
    expect(await call((await source({ TOOL_PY: binding }).find(['now']))[0])).toMatchObject({
      ok: false,
      error: { code, detail },
    })
  })

  test('is told when the caller has gone', async () => {
    const abort = Promise.withResolvers<string>()
    const binding = foreign((url, init) => {
      if (url.endsWith('/describe')) return Promise.resolve(Response.json(description))
      abort.resolve('cancelled')
      return new Promise((_, reject) => init?.signal?.addEventListener('abort', () => reject(init.signal?.reason)))
    })
    const [tool] = await source({ TOOL_PY: binding }).find(['now'])
    const control = { ...CONTROL, whenAborted: () => abort.promise }
    expect(await tool?.call(toolRequest('now', {}, { hash: 'h-now' }), control)).toMatchObject({
      error: { code: 'tool_failed', detail: 'cancelled' },
    })
  })
})

describe('the status and the undoing of a call', () => {
  const DONE = { ok: true as const, content: [{ type: 'text' as const, text: 'booked' }] }
  const careful = definition('book', { reconcile: true, undo: true, history: true })
  const request = toolRequest('book', { room: 7 }, { hash: 'of a definition that has changed since' })

  /** A Worker that answers these, over RPC or over fetch. */
  function careless(transport: 'rpc' | 'fetch', answers: { status?: () => unknown; undo?: () => unknown }) {
    const receivedRequests: unknown[] = []
    const answer = async (method: 'status' | 'undo', ...messages: unknown[]) => {
      receivedRequests.push(messages)
      return answers[method] ? answers[method]() : thrown(missing(method))
    }
    const overFetch = async (url: string, init?: RequestInit) => {
      if (url.endsWith('/describe')) return Response.json({ contract: 1, tools: [careful] })
      receivedRequests.push([init?.method, url, typeof init?.body === 'string' ? JSON.parse(init.body) : undefined])
      const workerAnswer = answers[url.endsWith('/status') ? 'status' : 'undo']?.()
      return workerAnswer === undefined ? new Response('no', { status: 404 }) : Response.json(workerAnswer)
    }
    const overRpc: ToolBinding = {
      describe: async () => ({ contract: 1, tools: [careful] }),
      status: (...messages) => answer('status', ...messages),
      undo: (...messages) => answer('undo', ...messages),
    }
    return {
      traffic: receivedRequests,
      tools: source({ TOOL_HOTEL: transport === 'rpc' ? overRpc : foreign(overFetch) }),
    }
  }

  test('are requested over RPC', async () => {
    const { traffic, tools } = careless('rpc', { status: () => DONE, undo: () => text('undone') })
    const [tool] = await tools.find(['book'])
    expect(tool?.definition).toEqual(careful)
    expect(await tool?.status?.(request)).toEqual(DONE)
    expect(await tool?.undo?.(request, DONE)).toEqual(text('undone'))
    expect(traffic).toEqual([[request], [request, DONE]])
  })

  test('are requested over fetch', async () => {
    const { traffic, tools } = careless('fetch', { status: () => 'absent', undo: () => text('undone') })
    const [tool] = await tools.find(['book'])
    expect(await tool?.status?.(request)).toBe('absent')
    expect(await tool?.undo?.(request, DONE)).toEqual(text('undone'))
    expect(traffic).toEqual([
      ['POST', 'https://tool/status', request],
      ['POST', 'https://tool/undo', { request, outcome: DONE }],
    ])
  })

  test.each(['rpc', 'fetch'] as const)(
    'leave the call unknown, or not undone, if the answer over %s is unusable',
    async (transport) => {
      for (const useless of [undefined, () => ({ ok: 'yes' }), () => 'gone']) {
        const { tools } = careless(transport, useless ? { status: useless, undo: useless } : {})
        const [tool] = await tools.find(['book'])
        expect(await tool?.status?.(request)).toBe('unknown')
        expect(await tool?.undo?.(request, DONE)).toMatchObject({ ok: false })
      }
    },
  )

  test('are absent from a tool that does not offer them', async () => {
    const [tool] = await source({ TOOL_A: worker([definition('a', { reconcile: false })]).binding }).find(['a'])
    expect(Object.keys(Object(tool))).toEqual(['definition', 'origin', 'place', 'offered', 'checksOutput', 'call'])
  })
})

test('the usage of models inside a tool and a fatal failure reach the run', async () => {
  const usage = { inputTokens: 5, outputTokens: 6, cachedInputTokens: 1, reasoningTokens: 2 }
  const fatal = { code: 'closed', message: 'Closed.', fatal: true }
  const tools = source({
    TOOL_A: worker([definition('a')], () => ({ ok: true, content: [], usage })).binding,
    TOOL_B: worker([definition('b')], () => ({ ok: false, error: fatal })).binding,
  })
  const [a, b] = await tools.find(['a', 'b'])
  expect(await call(a)).toEqual({ ok: true, content: [], usage })
  expect(await call(b)).toEqual({ ok: false, error: fatal })
})
