import { Hono } from 'hono/tiny'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import {
  createEdge,
  type EdgeEnv,
  type EdgeOptions,
  type Env,
  inlineSource,
  mcp,
  metrics,
  type Part,
  type Surface,
  toolSearch,
  toolWords,
  traces,
} from 'edgecall'
import * as v from 'valibot'
import { defineTool } from 'edgecall/tool'
import { catalogueParts } from '../src/edge/catalog.ts'
import { makeSetup } from '../src/edge/setup.ts'
import { fullSetup as setup } from './fixtures/everything.ts'
import { testCatalogue } from './catalogue/object.ts'

beforeEach(() => {
  vi.spyOn(console, 'error').mockImplementation(() => {})
})
afterEach(() => {
  vi.restoreAllMocks()
})

const nobody = () => {
  throw new Error('nobody is there')
}
const NONE = { getByName: nobody }

/** A tool Worker whose one tool says of itself what it is told to. */
function worker(name: string) {
  const description = { description: 'Says it.' }
  const definitionNow = () => ({
    ...description,
    name,
    inputSchema: { type: 'object' },
    version: '1',
    hash: 'h',
    annotations: {},
  })
  const binding = { describe: async () => ({ contract: 1 as const, tools: [definitionNow()] }), call: nobody }
  return { description, binding }
}

function env(bindings: object): Env {
  return { CONVERSATIONS: NONE, DIRECTORIES: NONE, ...bindings }
}

const CALLER = { tenant: 'acme', scopes: [] }

describe('changed tools of other servers', () => {
  const remembering = () => {
    const { object, kv } = testCatalogue()
    return { CATALOG: { getByName: () => object }, TOOLS: kv }
  }
  /** What is there of a tool before and after it has changed, in two isolates. */
  async function seenIn(bindings: object, place = 'TOOL_MCP'): Promise<number[]> {
    const { description, binding } = worker('a')
    const before = await setup(env({ ...bindings, [place]: binding }))
      .tools(CALLER)
      .find(['a'])
    description.description = 'Says something else.'
    const after = await setup(env({ ...bindings, [place]: { ...binding } }))
      .tools(CALLER)
      .find(['a'])
    return [before.length, after.length]
  }

  test('are held back by default if there is a catalogue, and those of other Workers are not', async () => {
    expect(await seenIn(remembering())).toEqual([1, 0])
    expect(await seenIn(remembering(), 'TOOL_MCP2')).toEqual([1, 0])
    expect(await seenIn(remembering(), 'TOOL_CLOCK')).toEqual([1, 1])
    expect(await seenIn({})).toEqual([1, 1])
  })

  test('are held back for the bindings in HOLD_CHANGED', async () => {
    expect(await seenIn({ ...remembering(), HOLD_CHANGED: 'off' })).toEqual([1, 1])
    expect(await seenIn({ ...remembering(), HOLD_CHANGED: 'TOOL_A' })).toEqual([1, 1])
    expect(await seenIn({ ...remembering(), HOLD_CHANGED: 'TOOL_A,TOOL_CL*' }, 'TOOL_CLOCK')).toEqual([1, 0])
  })

  test.each([{}, { TOOLS: testCatalogue().kv }, { CATALOG: NONE }])(
    'cannot be held back without a catalogue',
    (bindings) => {
      const message = 'HOLD_CHANGED must be "off" in an edge without stored tools (bindings CATALOG and TOOLS)'
      expect(() => setup(env({ ...bindings, HOLD_CHANGED: 'TOOL_MCP' }))).toThrow(message)
      expect(() => setup(env({ ...bindings, HOLD_CHANGED: 'off' }))).not.toThrow()
    },
  )

  test('are not offered while the catalogue fails, and other tools are', async () => {
    const [other, own] = [worker('a'), worker('b')]
    const bindings = { ...remembering(), CATALOG: NONE, TOOL_MCP: other.binding, TOOL_OWN: own.binding }
    const tools = setup(env(bindings)).tools(CALLER)
    expect((await tools.offered()).map(({ definition }) => definition.name)).toEqual(['b'])
    const { unavailable } = await tools.list()
    expect(unavailable).toMatchObject([{ place: 'TOOL_MCP', reason: expect.stringContaining('the catalogue failed') }])
  })
})

test('a catalogue needs TOOLS for its copy, and DEFINITIONS only to compare versions', async () => {
  expect(() => catalogueParts(env({}))).toThrow('CATALOG needs the binding TOOLS')
  const { compare } = catalogueParts(env({ TOOLS: testCatalogue().kv }))
  await expect(compare('a', 'b')).rejects.toThrow('CATALOG needs the binding DEFINITIONS')
})

describe('an edge that has a setting, but not the part that reads it,', () => {
  test.each([
    ['IDENTITY_PROVIDERS', '[{ "id": "access" }]', 'identityTokens'],
    ['KEYS', { get: nobody, put: nobody }, 'disabledKeys'],
    ['TOOL_POLICY', '{ "rm": { "approval": "always" } }', 'toolPolicies'],
    ['DIRECTORY_SHARDS', '2', 'shardedDirectories'],
    ['WEBHOOK_SECRET', 'secret', 'webhooks'],
    ['MEMORY_SUMMARY', 'on', 'summaries'],
    ['MODEL_WINDOWS', '{ "openai/gpt-4.1": { "contextTokens": 100000 } }', 'contextPlanning'],
    ['CODE_MODE', 'also', 'codeMode'],
    ['FILE_HOSTS', 'files.example.com', 'linkedFiles'],
  ])('is refused, as with %s', (name, value, part) => {
    const make = () => makeSetup(env({ [name]: value }), { providers: {} })
    expect(make).toThrow(`${name} must be unset in an edge without ${part}`)
  })
})

describe('a part', () => {
  const audit: Part = {
    name: 'audit',
    needs: ({ AUDIT_URL: url }) => (url === undefined ? 'the variable AUDIT_URL' : undefined),
    extend: ({ env: { AUDIT_URL: url }, hooks }) => ({ hooks: [...hooks, { name: `audit to ${String(url)}` }] }),
  }
  const namesOf = (setup: ReturnType<typeof makeSetup>) => setup.loop?.hooks?.map(({ name }) => name)

  test('extends what the application and the parts before it gave', () => {
    const hooks = [{ name: 'own' }]
    const use = [toolSearch(), audit]
    const full = makeSetup(env({ AUDIT_URL: 'https://audit.example' }), { providers: {}, hooks, use })
    expect(namesOf(full)).toEqual(['own', 'tool_search', 'audit to https://audit.example'])
  })

  test('that lacks what it needs makes the edge answer 503, and is named by the log and by an answer over loopback', async () => {
    const edge = createEdge({ providers: {}, use: [audit] })
    const response = await edge.fetch(new Request('http://127.0.0.1:8787/health'), env({}))
    const message = 'audit must be left out of `use`, since it needs the variable AUDIT_URL'
    expect([response.status, await response.json()]).toMatchObject([503, { code: 'misconfigured', detail: message }])
    expect(vi.mocked(console.error).mock.calls).toEqual([
      [JSON.stringify({ event: 'edge.misconfigured', detail: `ConfigError: ${message}` })],
    ])
  })

  test('may need another part', () => {
    const consent: Part = {
      name: 'consent',
      needs: (_env, _config, parts) => (parts.includes('mcp') ? undefined : 'mcp'),
    }
    const make = (use: readonly Part[]) => makeSetup(env({}), { providers: {}, use })
    expect(() => make([consent, metrics])).toThrow('consent must be left out of `use`, since it needs mcp')
    expect(() => make([consent, mcp])).not.toThrow()
  })

  test('takes the place of an earlier one of its name', () => {
    const second: Part = { name: 'audit', extend: ({ hooks }) => ({ hooks: [{ name: 'second' }, ...hooks] }) }
    expect(namesOf(makeSetup(env({}), { providers: {}, use: [audit, toolSearch(), second] }))).toEqual([
      'second',
      'tool_search',
    ])
  })

  test('may replace a class of Durable Objects', () => {
    const plain = createEdge({ providers: {} })
    expect(createEdge({ providers: {}, use: [traces] }).Directory).toBe(plain.Directory)
    expect(createEdge({ providers: {}, use: [metrics, traces] }).Directory).toBe(metrics.objects?.Directory)
  })
})

test('an edge has the surface of a part of its own, as docs/parts.md shows', async () => {
  const ping: Surface = { routes: { '/ping': new Hono<EdgeEnv>().get('/', (c) => c.text('pong')) }, isPublic: true }
  const edge = createEdge({ providers: {}, use: [{ name: 'ping', surfaces: [ping] }] })
  const answer = await edge.fetch(new Request('http://127.0.0.1:8787/ping'), env({ AUTH: 'open' }))
  expect(await answer.text()).toBe('pong')
})

test('DEFAULT_TOOLS bounds what is offered of the sources of the application, such as agents, too', async () => {
  const makeTool = (name: string) => defineTool({ name, description: 'Says it.', input: v.object({}), run: () => name })
  const sources = () => [inlineSource([makeTool('peek'), makeTool('pay')], { env: {} })]
  const offered = async (vars: Record<string, string>) => {
    const setup = makeSetup(env(vars), { providers: {}, sources })
    const source = setup.tools({ tenant: 'acme', scopes: ['chat'] })
    const names = async () => (await source.offered()).map(({ definition }) => definition.name)
    const list = (await source.list()).tools.map(({ definition, offered }) => [definition.name, offered])
    return { names: await names(), list, found: (await source.find(['pay'])).length }
  }
  expect(await offered({})).toEqual({
    ...{ names: ['peek', 'pay'], found: 1 },
    list: [
      ['peek', true],
      ['pay', true],
    ],
  })
  expect(await offered({ DEFAULT_TOOLS: 'peek' })).toEqual({
    ...{ names: ['peek'], found: 1 },
    list: [
      ['peek', true],
      ['pay', false],
    ],
  })
})

test('a source of the application is asked for its size and its tools, which a search finds', async () => {
  const greet = defineTool({
    name: 'greet',
    description: 'Translates a text into French.',
    input: v.object({}),
    run: () => 'Hello',
  })
  const sources: EdgeOptions['sources'] = (_setup, own) => [
    { ...inlineSource([greet], { env: own }), size: async () => 5000 },
  ]
  const { finder } = makeSetup(env({}), { providers: {}, use: [toolSearch()], sources })
  expect(await finder?.(CALLER).size()).toBe(5000)
  expect(await finder?.(CALLER).search('translate into French', 3)).toEqual(['greet'])
  const question = '把这段文字翻译成法语'
  expect(await finder?.(CALLER).search(question, 3)).toEqual([])
  const use = [toolSearch({ translate: toolWords })]
  const translating = makeSetup(env({}), { providers: {}, use, sources })
  expect(await translating.finder?.(CALLER).search(question, 3)).toEqual(['greet'])
})
