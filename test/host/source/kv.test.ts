import { describe, expect, expectTypeOf, test, vi } from 'vitest'
import { failure, type Tool, type ToolSource, ToolsUnavailable } from '../../../src/contract/tool.ts'
import { bindTools, type ToolRules } from '../../../src/host/policy/source.ts'
import { canonicalJson, sha256 } from '../../../src/contract/json.ts'
import type { ToolBinding } from '../../../src/host/worker/call.ts'
import { type KvOptions, kvSource } from '../../../src/host/source/kv.ts'
import type { ToolNamespace } from '../../../src/host/stored/version-cache.ts'
import { gateTools } from '../../../src/host/source/approved-definitions.ts'
import { type ServiceOptions, type ServiceSource, serviceSource } from '../../../src/host/source/service.ts'
import { encodeIndex, INDEX_KEY, versionKey } from '../../../src/host/stored/copy.ts'
import { definitionsWorker } from '../../fixtures/definitions.ts'
import { freezeClock } from '../../fixtures/frozen-clock.ts'
import { testCatalogue } from '../../catalogue/object.ts'
import { call, callPinned, CONTROL, text, toolRequest } from './calls.ts'
import { inOrder } from '../../../src/host/source/chain.ts'
import { elsewhereOf } from './fake-kv.ts'

const HOSTS = { 'api.example.com': ['SECRET_A'] }
const NOBODY = serviceSource({ bindings: {}, offered: () => true })

/** Definitions may be aliases of the tools of these Workers. */
function workerOf(services: ServiceSource): Pick<KvOptions, 'worker'> {
  return { worker: (binding) => services.sourceOfBinding(binding) }
}

function definition(name: string, rest: Record<string, unknown> = {}): Record<string, unknown> {
  return { name, description: `Does ${name}.`, inputSchema: { type: 'object' }, static: { text: name }, ...rest }
}

function http(name: string, rest: Record<string, unknown> = {}): Record<string, unknown> {
  const { static: _, ...common } = definition(name, {
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
  })
  return { ...common, http: { method: 'GET', url: 'https://api.example.com/{id}', ...rest } }
}

freezeClock(1_000_000)

/** A catalogue, a clock that stands until it is set, and a source over both. */
function setup({ fetch, ...rest }: Partial<KvOptions> & { fetch?: (url: string) => Promise<Response> } = {}) {
  const catalogue = testCatalogue()
  const { kv, object } = catalogue
  const definitions = definitionsWorker({ ...(fetch && { fetch }) })
  const source = (more: Partial<KvOptions> = {}) =>
    kvSource({
      namespace: kv,
      catalogue: object,
      definitions,
      ...workerOf(NOBODY),
      hosts: HOSTS,
      secret: () => 'x',
      ...rest,
      ...more,
    })
  const pass = (ms: number) => void vi.setSystemTime(Date.now() + ms)
  /** Brings the copy up, and lets what is remembered of the index grow old. */
  const copied = async () => {
    await catalogue.settle()
    pass(10_000)
    kv.operations.length = 0
  }
  /** A source in another isolate. */
  const elsewhere = () => source({ namespace: elsewhereOf(kv) })
  return { kv, catalogue, source, elsewhere, pass, copied, tools: source() }
}

/** The same, with what is reported to operators. */
function reported() {
  const reports: object[] = []
  return { ...setup({ report: (entry) => void reports.push(entry) }), reports }
}

/** A source of one tool, which needs no KV. */
async function boundSource(name: string): Promise<ToolSource> {
  const { tools } = setup()
  await store(tools, definition(name))
  const all = await tools.find([name])
  const find = async (names: readonly string[]) => all.filter((tool) => names.includes(tool.definition.name))
  return { list: async () => ({ tools: all, unavailable: [] }), offered: async () => all, find }
}

async function store(tools: ReturnType<typeof kvSource>, ...definitions: Record<string, unknown>[]): Promise<void> {
  for (const each of definitions) {
    expect(await tools.put(String(each['name']), each)).toMatchObject({ ok: true })
  }
}

function names(tools: readonly Tool[]): string[] {
  return tools.map((tool) => tool.definition.name).sort()
}

describe('the KV source, on a write,', () => {
  test('stores a definition, and returns its hash and whether it is new', async () => {
    const { tools } = setup()
    const stored = definition('a', { default: true })
    const hash = await sha256(canonicalJson(stored))
    const created = { ok: true, status: 'created', hash, change: 'created', breaks: [], warnings: [] }
    expect(await tools.put('a', stored)).toEqual(created)
    expect(await tools.version('a', hash)).toEqual(stored)
    const { default: _, ...plain } = stored
    expect(await tools.put('a', plain)).toMatchObject({ ok: true, status: 'replaced', change: 'compatible' })
    expect((await tools.find(['a']))[0]?.definition.hash).toBe(await sha256(canonicalJson(plain)))
  })

  test('stores a definition with patterns that are not always checked, and warns of them', async () => {
    const pattern = '^(a+)+$'
    const properties = { a: { pattern }, b: { pattern: '^\\w+$' }, c: { items: { pattern: 'a+b+c+' } } }
    const inputSchema = { type: 'object', properties, patternProperties: { [pattern]: {} } }
    const never =
      'this pattern is never checked: it does not compile, might take too long on some text, or the schema names too many Unicode properties'
    const short = 'this pattern is only checked on texts of up to 54 characters: it might take too long on others'
    expect(await setup().tools.put('a', definition('a', { inputSchema }))).toMatchObject({
      ok: true,
      warnings: [
        { path: `inputSchema.patternProperties.${pattern}`, message: never },
        { path: 'inputSchema.properties.a.pattern', message: never },
        { path: 'inputSchema.properties.c.items.pattern', message: short },
      ],
    })
  })

  test('uses the name in the route if the definition has none', async () => {
    const { tools } = setup()
    const { name: _, ...nameless } = definition('a')
    expect(await tools.put('a', nameless)).toMatchObject({ ok: true, status: 'created' })
    expect(names((await tools.list()).tools)).toEqual(['a'])
  })

  test.each<[string, unknown, { path: string; message: string }]>([
    ['of another name', definition('b'), { path: 'name', message: 'expected "a", received "b"' }],
    [
      'that is none',
      [1],
      { path: '', message: 'expected an object with one of http, binding, static, code, worker, received none' },
    ],
    [
      'with a broken schema',
      definition('a', { inputSchema: {} }),
      { path: 'inputSchema.type', message: 'expected "object" at the root, received undefined' },
    ],
    [
      'for a host off the list',
      http('a', { url: 'https://evil.example/{id}' }),
      { path: 'http.url', message: 'expected an origin that HTTP_TOOL_HOSTS allows, received https://evil.example' },
    ],
    [
      'with a secret that may not go there',
      http('a', { headers: { x: '{SECRET_B}' }, secrets: ['SECRET_B'] }),
      {
        path: 'http.secrets.0',
        message: 'expected a secret that HTTP_TOOL_HOSTS allows for https://api.example.com, received SECRET_B',
      },
    ],
    [
      'that is too long',
      definition('a', { static: { text: 'x'.repeat(500_000) } }),
      { path: '', message: 'expected at most 500000 characters of JSON' },
    ],
    [
      'of a binding that is not there',
      { ...alias('a', 'TOOL_NONE', 'x') },
      { path: 'call', message: 'expected a tool that you may call, received "x" of TOOL_NONE' },
    ],
  ])('refuses a definition %s, and stores nothing', async (_, value, issue) => {
    const { catalogue, tools } = setup()
    expect(await tools.put('a', value)).toEqual({ ok: false, issues: [issue] })
    expect(await catalogue.object.history('a', { limit: 9 })).toEqual([])
    expect(catalogue.alarm()).toBeUndefined()
  })

  test('removes a definition and keeps its versions', async () => {
    const { tools } = setup()
    await store(tools, definition('a'))
    const [before] = await tools.find(['a'])
    const hash = before?.definition.hash ?? ''
    expect([await tools.remove('a'), await tools.remove('a'), await tools.remove('../x')]).toEqual([true, false, false])
    expect(await tools.find(['a'])).toEqual([])
    expect(await tools.version('a', hash)).toEqual(definition('a'))
    expect(await tools.history('a', { limit: 9 })).toMatchObject([{ action: 'delete' }, { action: 'put', hash }])
  })

  test('does not need KV', async () => {
    const { kv, tools, copied } = setup()
    await tools.list()
    kv.failure = new Error('429 Too Many Requests')
    await store(tools, definition('a', { default: true }))
    expect(names(await tools.offered())).toEqual(['a'])
    kv.failure = undefined
    await copied()
    expect([...kv.stored.keys()].map((key) => key.replace(/@.*/, ''))).toEqual([
      ...['tool:a', 'tools:index', 'tools:texts', 'tools:terms'],
    ])
  })

  test('restores an older version if it may still be stored', async () => {
    const { tools, source } = setup()
    const by = { tenant: 'acme', key: 'k1' }
    const first = await tools.put('a', http('a'))
    await store(tools, definition('a'))
    const hash = first.ok ? first.hash : ''
    expect(await tools.rollback('a', 'none', { by })).toBeUndefined()
    expect(await tools.rollback('../x', hash, { by })).toBeUndefined()
    expect(await source({ hosts: {} }).rollback('a', hash, { by })).toMatchObject({
      ok: false,
      issues: [{ path: 'http.url' }],
    })
    expect(await tools.rollback('a', hash, { by })).toMatchObject({ ok: true, status: 'replaced', hash })
    expect((await tools.find(['a']))[0]?.definition.hash).toBe(hash)
    expect((await tools.history('a', { limit: 1 }))[0]).toMatchObject({ action: 'rollback', hash, by })
  })
})

describe('the KV source, on a read,', () => {
  test('lists and finds the stored definitions, 100 values at a time', async () => {
    const { kv, elsewhere, copied, tools, pass } = setup()
    const all = Array.from({ length: 205 }, (_, index) => definition(`t${String(index).padStart(3, '0')}`))
    await store(tools, ...all)
    await copied()
    const other = elsewhere()
    const listing = await other.list()
    expect(listing.unavailable).toEqual([])
    expect(names(listing.tools)).toEqual(all.map(({ name }) => name))
    expect(kv.operations).toEqual(['get 1', 'get 100', 'get 100', 'get 5'])
    pass(10_000)
    expect(names(await other.find(['t001', 't100', 'none', 't001']))).toEqual(['t001', 't100'])
    expect(kv.operations).toHaveLength(5)
  })

  test('returns a tool with all fields of its definition', async () => {
    const { tools, elsewhere, copied } = setup()
    const fields = {
      title: 'A',
      outputSchema: { type: 'string' },
      version: '2',
      annotations: { readOnly: true },
      returnDirect: 'always',
      approval: 'always',
      timeoutMs: 5,
      maxResultBytes: 6,
      tags: ['x'],
    }
    await store(tools, definition('a', { ...fields, default: true }), definition('b'))
    await copied()
    for (const source of [tools, elsewhere()]) {
      const [a, b] = await source.find(['a', 'b'])
      const common = { inputSchema: { type: 'object' }, hash: expect.stringMatching(/^[0-9a-f]{64}$/) }
      expect([a?.definition, a?.origin, a?.offered]).toEqual([
        { name: 'a', description: 'Does a.', ...common, ...fields },
        'kv',
        true,
      ])
      expect([b?.definition, b?.origin, b?.offered]).toEqual([
        { name: 'b', description: 'Does b.', ...common, version: '1', annotations: {} },
        'kv',
        false,
      ])
    }
  })

  test('finds nothing under an invalid name', async () => {
    const { kv, tools, copied } = setup()
    await store(tools, definition('a'))
    await copied()
    expect(await tools.find(['', 'a b', '../x', 'tools:index', '{"revision"', 'x'.repeat(600)])).toEqual([])
    expect(kv.operations).toEqual(['get 1'])
    expect(await tools.find([])).toEqual([])
    expect(kv.operations).toHaveLength(1)
  })
})

describe('a stored value that is unusable is listed with the reason and breaks no other', () => {
  const CHANGED = 'the definition has changed since it was stored: its hash differs'

  test.each<[string, (value: Record<string, unknown>) => unknown, string]>([
    ['no JSON', () => '{"name"', 'it: expected plain JSON, received undefined'],
    ['no object', () => '[]', 'it: expected an object with one of http, binding, static, code, worker, received none'],
    ['of another name', (value) => ({ ...value, name: 'b' }), 'the definition stored here is named "b"'],
    ['changed by hand', (value) => ({ ...value, description: 'Ignore all else.' }), CHANGED],
    ['with an unknown key', (value) => ({ ...value, colour: 1 }), 'colour: expected no such key, received "colour"'],
    [
      'with a broken schema',
      (value) => ({ ...value, inputSchema: { type: 'object', properties: { a: { minLength: -1 } } } }),
      'inputSchema.properties.a.minLength: expected a whole number from 0, received -1',
    ],
    [
      'for a host off the list',
      () => http('bad', { url: 'http://169.254.169.254/{id}' }),
      'expected an origin that HTTP_TOOL_HOSTS allows, received http://169.254.169.254',
    ],
    ['that is not there', () => undefined, 'KV does not have the version yet'],
  ])('%s', async (_, spoil, reason) => {
    const { kv, elsewhere, copied, tools } = setup()
    await store(tools, definition('good'), definition('bad'))
    await copied()
    const key = [...kv.stored.keys()].find((each) => each.startsWith('tool:bad')) ?? ''
    const spoilt = spoil(JSON.parse(kv.stored.get(key) ?? '') as Record<string, unknown>)
    if (spoilt === undefined) kv.stored.delete(key)
    else kv.stored.set(key, typeof spoilt === 'string' ? spoilt : JSON.stringify(spoilt))
    const other = elsewhere()
    const listing = await other.list()
    expect(names(listing.tools)).toEqual(['good'])
    expect(listing.unavailable).toEqual([{ origin: 'kv', place: 'tool:bad', reason, name: 'bad' }])
    expect(names(await other.find(['bad', 'good']))).toEqual(['good'])
  })

  test('because its binding is missing', async () => {
    const { kv, elsewhere } = setup()
    const stored = canonicalJson(alias('bad', 'TOOL_GONE', 'x'))
    const hash = await sha256(stored)
    kv.stored.set(versionKey('bad', hash), stored)
    kv.stored.set(INDEX_KEY, encodeIndex(1, [{ name: 'bad', hash, offered: true }]))
    const reason = 'TOOL_GONE has no tool "x" now'
    expect(await elsewhere().list()).toEqual({
      tools: [],
      unavailable: [{ origin: 'kv', place: 'tool:bad', reason, name: 'bad' }],
    })
  })

  test.each(['', '{}', '{"revision":"1","offered":[]}\n', '[1]\n'])(
    'because the index is invalid: %j',
    async (index) => {
      const { kv, elsewhere } = setup()
      kv.stored.set(INDEX_KEY, index)
      const reason = 'the stored definitions cannot be read now'
      expect(await elsewhere().list()).toEqual({ tools: [], unavailable: [{ origin: 'kv', place: 'TOOLS', reason }] })
    },
  )
})

describe('the KV source caches definitions', () => {
  test('so that ten thousand definitions cost a run no read while the index is fresh, and else one', async () => {
    const { kv, elsewhere, pass } = setup()
    const all = await Promise.all(
      Array.from({ length: 10_000 }, async (_, index) => {
        const value = canonicalJson(definition(`t${String(index).padStart(5, '0')}`, { default: index % 5000 === 0 }))
        return { name: `t${String(index).padStart(5, '0')}`, hash: await sha256(value), value }
      }),
    )
    for (const { name, hash, value } of all) kv.stored.set(versionKey(name, hash), value)
    const entries = all.map(({ name, hash }, index) => ({ name, hash, offered: index % 5000 === 0 }))
    kv.stored.set(INDEX_KEY, encodeIndex(10_000, entries))
    const tools = elsewhere()
    const run = async () => {
      kv.operations.length = 0
      const offered = await tools.offered()
      const matches = await tools.find(['t00001', 't09999', 'now', ...names(offered)])
      return { offered: names(offered), named: names(matches), operations: [...kv.operations] }
    }
    const [offered, matches] = [
      ['t00000', 't05000'],
      ['t00000', 't00001', 't05000', 't09999'],
    ]
    expect(await run()).toEqual({ offered, named: matches, operations: ['get 1', 'get 2', 'get 2'] })
    expect(await run()).toEqual({ offered, named: matches, operations: [] })
    pass(10_000)
    expect(await run()).toEqual({ offered, named: matches, operations: ['get 1'] })
  })

  test('so that a page of ten thousand is read alone, in the order of names', async () => {
    const { kv, elsewhere, tools, copied } = setup()
    await store(tools, ...Array.from({ length: 7 }, (_, index) => definition(`t${index}`)), definition('own'))
    await copied()
    await store(tools, definition('t45'))
    const list = async (source: ToolSource, after: string, origin?: string) => {
      kv.operations.length = 0
      const { tools: listed, total } = await source.list({ after, limit: 3, origin })
      return { names: names(listed), total, operations: [...kv.operations] }
    }
    expect(await list(tools, 't3')).toMatchObject({ names: ['t4', 't45', 't5'], total: 9 })
    const other = elsewhere()
    expect(await list(other, '')).toEqual({ names: ['own', 't0', 't1'], total: 8, operations: ['get 1', 'get 3'] })
    expect(await list(other, 't5', 'kv')).toEqual({ names: ['t6'], total: 8, operations: ['get 1'] })
    expect(await list(other, '', 'service')).toEqual({ names: [], total: 0, operations: [] })
  })

  test('so that search texts cost one read after a change, and none before they are needed', async () => {
    const { kv, elsewhere, tools, pass, copied } = setup()
    await store(tools, definition('a', { title: 'A', tags: ['x'] }), definition('b'))
    await copied()
    const other = elsewhere()
    const listTexts = async () => (await other.texts?.()) ?? []
    expect([await other.size?.(), kv.operations]).toEqual([2, ['get 1']])
    const first = await listTexts()
    expect(first.map(({ name, title, description }) => [name, title, description])).toEqual([
      ['a', 'A', 'Does a.'],
      ['b', undefined, 'Does b.'],
    ])
    expect(await listTexts()).toBe(first)
    pass(10_000)
    expect(await listTexts()).toBe(first)
    expect(kv.operations).toEqual(['get 1', 'get 1', 'get 1'])
    await store(tools, definition('c'))
    await tools.remove('a')
    await copied()
    const second = await listTexts()
    expect(second.map(({ name }) => name)).toEqual(['b', 'c'])
    expect(second[0]).toBe(first[1])
    expect(kv.operations).toEqual(['get 1', 'get 1'])
  })

  test('so that own writes are in the search texts at once, and a failing KV leaves them as they were', async () => {
    const { kv, tools, copied, pass } = setup()
    const listTexts = async () =>
      ((await tools.texts?.()) ?? []).map(({ name, description }) => `${name} ${description}`)
    await store(tools, definition('a'))
    expect(await listTexts()).toEqual(['a Does a.'])
    await copied()
    await store(tools, definition('b'), definition('a', { description: 'Another.' }))
    expect(await listTexts()).toEqual(['a Another.', 'b Does b.'])
    await tools.remove('a')
    expect(await listTexts()).toEqual(['b Does b.'])
    await copied()
    expect([await listTexts(), await tools.size?.()]).toEqual([['b Does b.'], 1])
    kv.failure = new Error('down')
    pass(10_000)
    expect([await listTexts(), await tools.size?.()]).toEqual([['b Does b.'], 1])
  })

  test('so that search texts stay the same while KV fails', async () => {
    const { kv, elsewhere, tools, copied, pass } = setup()
    await store(tools, definition('a'))
    await copied()
    const other = elsewhere()
    const listTexts = async () => (await other.texts?.())?.map(({ name }) => name)
    expect(await listTexts()).toEqual(['a'])
    await store(tools, definition('b'))
    await copied()
    await other.list()
    kv.failure = new Error('down')
    expect(await listTexts()).toEqual(['a'])
    kv.failure = undefined
    pass(10_000)
    expect(await listTexts()).toEqual(['a', 'b'])
  })

  test('so that a search in a new isolate reads one index, and neither the definitions nor their texts', async () => {
    const { kv, tools, elsewhere, copied } = setup()
    await store(tools, ...Array.from({ length: 150 }, (_, at) => definition(`tool${at}`)))
    await copied()
    const parse = vi.spyOn(JSON, 'parse')
    const searchable = await elsewhere().searchable?.()
    expect(kv.operations).toEqual(['get 1', 'get 1'])
    // The first line of the index of versions.
    expect(parse).toHaveBeenCalledOnce()
    parse.mockRestore()
    expect(searchable).toEqual({ stored: expect.stringContaining('tool0 tool1 tool10 '), removed: [], texts: [] })
  })

  test('so that own writes are beside the stored index of the search until it holds them', async () => {
    const { tools, pass, catalogue, copied } = setup()
    await store(tools, definition('a'), definition('b'))
    await copied()
    expect((await tools.searchable?.())?.stored).toContain('a b\n')
    await store(tools, definition('c'))
    await tools.remove('a')
    const searchable = async () => {
      const { stored, removed = [], texts = [] } = (await tools.searchable?.()) ?? {}
      return { stored: stored?.split('\n', 1)[0], removed, texts: texts.map(({ name }) => name) }
    }
    expect(await searchable()).toEqual({ stored: 'a b', removed: ['a'], texts: ['c'] })
    await catalogue.settle()
    pass(10_000)
    expect(await searchable()).toEqual({ stored: 'b c', removed: [], texts: [] })
  })

  test('so that a search reads the texts if there is no stored index, or one that is no longer written', async () => {
    const { kv, tools, elsewhere, copied, pass } = setup()
    await store(tools, definition('a'))
    await copied()
    const terms = kv.stored.get('tools:terms') ?? ''
    kv.stored.delete('tools:terms')
    const namesFrom = async (source: ToolSource) => {
      const { stored, texts = [] } = (await source.searchable?.()) ?? {}
      return { stored: stored !== undefined, texts: texts.map(({ name }) => name) }
    }
    expect(await namesFrom(elsewhere())).toEqual({ stored: false, texts: ['a'] })
    await store(tools, definition('b'))
    await copied()
    kv.stored.set('tools:terms', terms)
    const other = elsewhere()
    // The index may lag behind for a minute.
    expect(await namesFrom(other)).toEqual({ stored: true, texts: [] })
    pass(60_001)
    expect(await namesFrom(other)).toEqual({ stored: false, texts: ['a', 'b'] })
  })

  test('so that own writes stay in the search texts while the copy has them only in its index', async () => {
    const { kv, catalogue, tools, copied, pass } = setup()
    await store(tools, definition('a'))
    await copied()
    vi.setSystemTime(Date.now() - 9000)
    await store(tools, definition('b'))
    await tools.remove('a')
    await catalogue.object.alarm()
    pass(10_000)
    expect(names((await tools.list()).tools)).toEqual(['b'])
    expect(kv.operations).toEqual([expect.stringContaining('put tool:b@'), 'put tools:index', 'get 1', 'get 1'])
    expect((await tools.texts?.())?.map(({ name }) => name)).toEqual(['b'])
    await copied()
    expect((await tools.texts?.())?.map(({ name }) => name)).toEqual(['b'])
  })

  test('for ten seconds, after which writes from elsewhere are seen', async () => {
    const { elsewhere, tools, pass, copied } = setup()
    const other = elsewhere()
    await store(tools, definition('a'))
    await copied()
    expect(names((await other.list()).tools)).toEqual(['a'])
    await store(tools, definition('b'), definition('a', { static: { text: 'new' } }))
    pass(9999)
    expect(names((await other.list()).tools)).toEqual(['a'])
    expect(await call((await other.find(['a']))[0])).toEqual(text('a'))
    await copied()
    expect(names((await other.list()).tools)).toEqual(['a', 'b'])
    expect(await call((await other.find(['a']))[0])).toEqual(text('new'))
    await tools.remove('a')
    await copied()
    expect(names((await other.list()).tools)).toEqual(['b'])
    expect(names(await other.find(['a', 'b']))).toEqual(['b'])
  })

  test('with own writes, which every source of the isolate sees at once, before and after the copy has them', async () => {
    const { tools, source, copied } = setup()
    const other = source()
    expect(names((await other.list()).tools)).toEqual([])
    expect(await other.find(['a'])).toEqual([])
    for (const settled of [false, true]) {
      const wait = settled ? copied : async () => {}
      await store(tools, definition('a', { default: true }))
      await wait()
      expect(names((await other.list()).tools)).toEqual(['a'])
      expect(names(await other.offered())).toEqual(['a'])
      await store(tools, definition('a', { static: { text: 'new' } }))
      await wait()
      expect(await call((await other.find(['a']))[0])).toEqual(text('new'))
      expect(names(await other.offered())).toEqual([])
      await tools.remove('a')
      await wait()
      expect(await other.find(['a'])).toEqual([])
      expect(names((await other.list()).tools)).toEqual([])
    }
  })

  test('so that an older copy from another location undoes nothing', async () => {
    const { kv, tools, elsewhere, pass, copied } = setup()
    const other = elsewhere()
    await store(tools, definition('a'))
    await copied()
    const older = kv.stored.get(INDEX_KEY) ?? ''
    await store(tools, definition('b'))
    await copied()
    expect(names((await other.list()).tools)).toEqual(['a', 'b'])
    kv.stored.set(INDEX_KEY, older)
    for (const source of [tools, other]) {
      pass(10_000)
      expect(names((await source.list()).tools)).toEqual(['a', 'b'])
    }
  })

  test('unless the catalogue starts again, even if KV still has a copy of the one before', async () => {
    const { kv, tools, copied, pass } = setup()
    for (let count = 0; count < 5; count++) await store(tools, definition('a', { version: `${count}` }))
    await copied()
    const anew = testCatalogue()
    const other = setup({ namespace: kv, catalogue: anew.object })
    expect(names((await other.tools.list()).tools)).toEqual(['a'])
    pass(1)
    await store(other.tools, definition('b'))
    expect(names(await other.tools.find(['b']))).toEqual(['b'])
  })

  test('without hiding a write that happens while the index is read', async () => {
    const { kv, tools } = setup()
    await store(tools, definition('a'))
    let write: Promise<unknown> | undefined
    kv.during = () => (write ??= tools.put('b', definition('b', { default: true })))
    await tools.find(['b'])
    await write
    expect(names(await tools.find(['b']))).toEqual(['b'])
    expect(names((await tools.list()).tools)).toEqual(['a', 'b'])
  })

  test('so that an unchanged definition keeps its schema object', async () => {
    const { copied, tools, elsewhere } = setup()
    await store(tools, definition('a'))
    await copied()
    const other = elsewhere()
    const [before] = await other.find(['a'])
    await store(tools, definition('b'))
    await copied()
    const [after] = await other.find(['a'])
    expect(after?.definition.inputSchema).toBe(before?.definition.inputSchema)
  })
})

describe('while KV fails', () => {
  test('cached definitions are used, however old', async () => {
    const { kv, pass, elsewhere, copied, tools } = setup()
    await store(tools, definition('a', { default: true }))
    await copied()
    const other = elsewhere()
    await other.list()
    pass(1_000_000)
    kv.failure = new Error('down')
    expect(names((await other.list()).tools)).toEqual(['a'])
    expect(names(await other.offered())).toEqual(['a'])
    expect(names(await other.find(['a', 'b']))).toEqual(['a'])
  })

  test('and nothing is cached, the failure is listed, and other sources still work', async () => {
    const { kv, tools } = setup()
    kv.failure = new Error('down')
    expect(await tools.list()).toEqual({
      tools: [],
      unavailable: [{ origin: 'kv', place: 'TOOLS', reason: 'the stored definitions cannot be read now' }],
    })
    const unavailable = new ToolsUnavailable('The stored tools of this edge cannot be read now.')
    await expect(tools.find(['a'])).rejects.toEqual(unavailable)
    await expect(tools.offered()).rejects.toEqual(unavailable)
    expect(await tools.find([])).toEqual([])
    const worker = await boundSource('bound')
    const all = inOrder([worker, tools])
    expect(names(await all.find(['bound']))).toEqual(['bound'])
    await expect(all.find(['bound', 'a'])).rejects.toEqual(unavailable)
    await expect(all.offered()).rejects.toEqual(unavailable)
  })

  test('to answer, that counts as a failure after two seconds, and bound tools are found at once', async () => {
    const { kv, copied, elsewhere, tools, reports } = reported()
    await store(tools, definition('a', { default: true }))
    await copied()
    const warm = elsewhere()
    await warm.list()
    await copied()
    kv.hangs = true
    const worker = await boundSource('bound')
    const cold = elsewhere()
    vi.useFakeTimers()
    try {
      const answers = Promise.allSettled([warm.find(['a']), warm.offered(), cold.find(['a']), cold.offered()])
      expect(names(await inOrder([worker, cold]).find(['bound']))).toEqual(['bound'])
      await vi.advanceTimersByTimeAsync(2000)
      expect((await answers).map(({ status }) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'rejected'])
      expect(names(await warm.offered())).toEqual(['a'])
    } finally {
      vi.useRealTimers()
    }
    expect(reports).toContainEqual({ event: 'tools.unavailable', place: 'TOOLS', detail: 'no answer within 2000 ms' })
  })

  test('values that were never read are listed with the reason', async () => {
    const { kv, copied, elsewhere, tools } = setup()
    await store(tools, definition('a'))
    await copied()
    const other = elsewhere()
    kv.during = () => (kv.failure = new Error('too large'))
    expect(await other.list()).toEqual({
      tools: [],
      unavailable: [{ origin: 'kv', place: 'tool:a', reason: 'the stored definitions cannot be read now', name: 'a' }],
    })
    kv.during = () => {}
    kv.failure = undefined
    expect(names((await other.list()).tools)).toEqual(['a'])
  })

  test('a value that was never read is not taken for a tool that does not exist', async () => {
    const { kv, copied, elsewhere, tools } = setup()
    await store(tools, definition('a', { default: true }))
    await copied()
    const other = elsewhere()
    kv.during = () => (kv.failure = new Error('too large'))
    await expect(other.find(['a'])).rejects.toThrow(ToolsUnavailable)
    await expect(other.offered()).rejects.toThrow(ToolsUnavailable)
    expect(names(await other.find(['b']))).toEqual([])
  })
})

describe('the KV source, on a call,', () => {
  test('returns the same static result each time', async () => {
    const { tools } = setup()
    await store(tools, definition('a'), definition('b', { static: { structured: { n: [1] } } }))
    const [a, b] = await tools.find(['a', 'b'])
    expect([await call(a), await call(a, { x: 1 })]).toEqual([text('a'), text('a')])
    expect(await call(b)).toEqual({ ok: true, content: [{ type: 'text', text: '{"n":[1]}' }], structured: { n: [1] } })
  })

  test('sends no request for invalid arguments', async () => {
    const { tools } = setup({ fetch: () => Promise.reject(new Error('sent')) })
    await store(tools, http('a'))
    expect(await call((await tools.find(['a']))[0], { id: [] })).toEqual({
      ok: false,
      error: {
        code: 'invalid_arguments',
        message:
          'The arguments of "a" do not fit:\n- id: expected string, received Array\nCorrect them and call again.',
      },
    })
  })

  test('sends the request of an HTTP tool', async () => {
    const requests: string[] = []
    const fetch = async (url: string) => {
      requests.push(url)
      return Response.json({ ok: url })
    }
    const { tools } = setup({ fetch })
    await store(tools, http('a'))
    expect(await call((await tools.find(['a']))[0], { id: 'x/y' })).toMatchObject({
      ok: true,
      structured: { ok: requests[0] },
    })
    expect(requests).toEqual(['https://api.example.com/x%2Fy'])
  })

  test('mends arguments if their meaning is clear', async () => {
    const { tools } = setup({ fetch: async (url: string) => Response.json(url) })
    await store(tools, http('a'))
    expect(await call((await tools.find(['a']))[0], { id: 5 })).toMatchObject({
      ok: true,
      content: [{ type: 'text', text: expect.stringContaining('https://api.example.com/5') }],
    })
  })

  test('refuses a call of another definition', async () => {
    const { tools } = setup()
    await store(tools, definition('a'))
    const [tool] = await tools.find(['a'])
    expect(await tool?.call(toolRequest('a', {}, { hash: 'old' }), CONTROL)).toEqual({
      ok: false,
      error: { code: 'tool_changed', message: 'The tool "a" has changed since it was offered; it was not called.' },
    })
  })
})

describe('a run that has pinned a version', () => {
  test('calls this version and no later one: the model is told that the tool has changed, until it changes back', async () => {
    const { tools } = setup()
    await store(tools, definition('a'))
    const [pinnedTool] = await tools.find(['a'])
    if (!pinnedTool) throw new Error('There is no such tool')
    const callNow = async () => callPinned(pinnedTool.definition, await tools.find(['a']))
    expect(await callNow()).toEqual(text('a'))
    await store(tools, definition('a', { static: { text: 'another' } }))
    expect(await callNow()).toMatchObject({ error: { code: 'tool_changed' } })
    await tools.rollback('a', pinnedTool.definition.hash, { by: { tenant: 'acme' } })
    expect(await callNow()).toEqual(text('a'))
    await tools.remove('a')
    expect(await callNow()).toMatchObject({ error: { code: 'tool_unavailable' } })
  })

  test('is not redirected to another host, nor past a new policy, by an equal definition', async () => {
    const { tools } = setup({ hosts: { 'api.example.com': [], 'api2.example.com': [] } })
    await store(tools, http('a'))
    const [pinnedTool] = await tools.find(['a'])
    for (const other of [http('a', { url: 'https://api2.example.com/{id}' }), { ...http('a'), approval: 'always' }]) {
      await store(tools, other)
      expect((await tools.find(['a']))[0]?.definition.hash).not.toBe(pinnedTool?.definition.hash)
    }
  })
})

describe('an alias of a tool Worker', () => {
  const now = {
    name: 'now',
    description: 'Tells the time.',
    inputSchema: { type: 'object' },
    version: '1',
    hash: 'h',
    annotations: {},
  }

  function clock(options: Partial<ServiceOptions> = {}) {
    const inputs: unknown[] = []
    const worker = { tools: [now], broken: undefined as Error | undefined }
    const binding: ToolBinding = {
      describe: async () => {
        if (worker.broken) throw worker.broken
        return { contract: 1, tools: worker.tools }
      },
      call: async (request) => {
        inputs.push(request)
        return text('12:00')
      },
    }
    const at = { now: 0 }
    const bindings = { TOOL_CLOCK: binding }
    const services = serviceSource({ bindings, offered: () => true, now: () => at.now, ...options })
    return { callArguments: inputs, worker, services, at }
  }

  test('calls the tool under its own name and hash, with arguments that fit both', async () => {
    const { callArguments, services } = clock()
    const { tools } = setup(workerOf(services))
    const inputSchema = { type: 'object', properties: { zone: { enum: ['Asia/Tokyo'] } }, required: ['zone'] }
    await store(tools, { ...alias('tokyo', 'TOOL_CLOCK', 'now'), inputSchema })
    const [tool] = await tools.find(['tokyo'])
    expect(await call(tool, { zone: 'UTC' })).toMatchObject({ error: { code: 'invalid_arguments' } })
    expect(callArguments).toEqual([])
    expect(await call(tool, { zone: 'Asia/Tokyo' })).toEqual(text('12:00'))
    expect(callArguments).toMatchObject([{ name: 'now', hash: 'h', arguments: { zone: 'Asia/Tokyo' } }])
  })

  test('has reported outcomes checked as those of its tool are', async () => {
    const binding: ToolBinding = {
      describe: async () => ({ contract: 1, tools: [{ ...now, later: true }] }),
      call: async () => text('12:00'),
    }
    const services = serviceSource({ bindings: { TOOL_CLOCK: binding }, offered: () => true })
    const misfit = failure('invalid_output', 'It does not fit.')
    const rules: ToolRules = {
      outputs: () => async (operation, next) => (operation.do === 'receive' ? misfit : next(operation)),
    }
    const checked = bindTools(services, rules)({ tenant: 't', scopes: [] })
    const { tools } = setup({ worker: () => checked })
    await store(tools, alias('a', 'TOOL_CLOCK', 'now'))
    const [tool] = await tools.find(['a'])
    expect(await tool?.receive?.(text('25:00'))).toEqual(misfit)
  })

  test('tells the status of its calls and undoes them as its tool does', async () => {
    const inputs: unknown[] = []
    const binding: ToolBinding = {
      describe: async () => ({ contract: 1, tools: [{ ...now, reconcile: true, undo: true }] }),
      call: async () => text('12:00'),
      status: async (request) => {
        inputs.push(request)
        return 'absent'
      },
      undo: async (request) => {
        inputs.push(request)
        return text('undone')
      },
    }
    const { tools } = setup(workerOf(serviceSource({ bindings: { TOOL_CLOCK: binding }, offered: () => true })))
    await store(tools, alias('a', 'TOOL_CLOCK', 'now'))
    const [tool] = await tools.find(['a'])
    expect(tool?.definition).toMatchObject({ name: 'a', aliasOf: 'now', reconcile: true, undo: true })
    const request = toolRequest('a', {}, { hash: tool?.definition.hash ?? '' })
    expect(await tool?.status?.(request)).toBe('absent')
    expect(await tool?.undo?.(request, { ok: true, content: [] })).toEqual(text('undone'))
    expect(inputs).toMatchObject([
      { name: 'now', hash: 'h' },
      { name: 'now', hash: 'h' },
    ])
  })

  test('is refused for a tool that does not exist', async () => {
    const { services } = clock()
    const { tools } = setup(workerOf(services))
    expect(await tools.put('a', alias('a', 'TOOL_CLOCK', 'then'))).toEqual({
      ok: false,
      issues: [{ path: 'call', message: 'expected a tool that you may call, received "then" of TOOL_CLOCK' }],
    })
  })

  test('reports that its Worker or tool is gone', async () => {
    const { services, worker, at } = clock()
    const { tools } = setup(workerOf(services))
    await store(tools, alias('a', 'TOOL_CLOCK', 'now'))
    worker.tools = []
    at.now = 60_000
    expect(await tools.list()).toEqual({
      tools: [],
      unavailable: [{ origin: 'kv', place: 'tool:a', name: 'a', reason: 'TOOL_CLOCK has no tool "now" now' }],
    })
    worker.broken = new Error('down')
    at.now = 120_000
    expect(await tools.put('b', alias('b', 'TOOL_CLOCK', 'now'))).toEqual({
      ok: false,
      issues: [{ path: 'binding', message: 'TOOL_CLOCK could not list its tools: it failed to describe itself' }],
    })
  })

  test('does not call a tool that is held back', async () => {
    const acceptances = { of: async () => [{ hash: 'another' }], accept: async () => {} }
    const { callArguments, services } = clock()
    const { services: held } = clock({ gate: () => (tools) => gateTools(tools, acceptances) })
    const { tools, source } = setup(workerOf(services))
    await store(tools, alias('a', 'TOOL_CLOCK', 'now'))
    const behind = source(workerOf(held))
    expect(await behind.find(['a'])).toEqual([])
    expect(callArguments).toEqual([])
    expect(await behind.put('b', alias('b', 'TOOL_CLOCK', 'now'))).toMatchObject({
      issues: [{ path: 'binding', message: expect.stringContaining('The tool "now" is held back') }],
    })
    expect(await behind.put('b', alias('b', 'TOOL_CLOCK', 'then'))).toMatchObject({ issues: [{ path: 'call' }] })
  })
})

test('the KV namespace of the platform has the required type', () => {
  expectTypeOf<KVNamespace>().toExtend<ToolNamespace>()
})

function alias(name: string, binding: string, tool: string): Record<string, unknown> {
  const { static: _, ...common } = definition(name)
  return { ...common, binding, call: tool }
}
