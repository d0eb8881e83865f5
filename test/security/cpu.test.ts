import { afterEach, describe, expect, test, vi } from 'vitest'
import { standardWebhooks } from 'edgecall'
import { testEdge } from '../fixtures/edge.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge } from './controlled-edge.ts'

/**
 * What one request can make an edge compute. The tests count the work and not the time: patterns that are compiled,
 * addresses that are parsed, names that are compared.
 */

const WRITER = 'acme: chat tools:read tools:write'
const RealRegExp = RegExp
const RealUrl = URL

afterEach(() => void vi.restoreAllMocks())

/** Returns the sources of the patterns that are compiled from now on. */
function compiledPatterns(): string[] {
  const sources: string[] = []
  class CountingRegExp extends RealRegExp {
    constructor(pattern: string | RegExp, flags?: string) {
      super(pattern, flags)
      sources.push(String(pattern))
    }
  }
  vi.stubGlobal('RegExp', CountingRegExp)
  return sources
}

/** Returns the addresses that are parsed from now on, by both ways to do so. */
function parsedAddresses(): string[] {
  const addresses: string[] = []
  class CountingUrl extends RealUrl {
    constructor(url: string, base?: string) {
      super(url, base)
      addresses.push(url)
    }
    static override parse(url: string, base?: string) {
      addresses.push(url)
      return RealUrl.parse(url, base)
    }
  }
  vi.stubGlobal('URL', CountingUrl)
  return addresses
}

const propertiesIn = (sources: readonly string[]) => sources.join('').split(String.raw`\p{`).length - 1
const unicodePattern = (at: number) => String.raw`^[\p{L}\p{N}\p{P}\p{S}\p{Z}\p{M}\p{Lu}\p{Ll}${at}]$`
const patterns = (count: number) => ({
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, at) => [`p${at}`, { type: 'string', pattern: unicodePattern(at) }]),
  ),
})

describe('Unicode properties in patterns', () => {
  test('are compiled 64 times for a stored definition, whose answer names the patterns that are not run', async () => {
    const edge = controlledEdge({ workers: {}, keys: [WRITER] })
    const sources = compiledPatterns()
    const json = { description: 'Says it.', inputSchema: patterns(480), static: { text: 'x' } }
    const { status, body } = await edge.as(WRITER)('/tools/say', { method: 'PUT', json })
    vi.unstubAllGlobals()
    expect(status).toBe(201)
    expect(propertiesIn(sources)).toBe(64)
    expect(body.warnings.map(({ path }: { path: string }) => path)).toEqual(
      Array.from({ length: 472 }, (_, at) => `inputSchema.properties.p${at + 8}.pattern`),
    )
  })

  test('are compiled 64 times for the arguments of a call', async () => {
    const edge = controlledEdge({ workers: {}, keys: [WRITER] })
    const json = { description: 'Says it.', inputSchema: patterns(480), static: { text: 'said' } }
    await edge.as(WRITER)('/tools/say', { method: 'PUT', json })
    const sources = compiledPatterns()
    const call = (letter: string) => {
      const args = Object.fromEntries(Array.from({ length: 480 }, (_, at) => [`p${at}`, letter]))
      return edge.as(WRITER)('/tools/say/call', { json: { arguments: args } })
    }
    const [fitting, other] = [await call('x'), await call('xx')]
    vi.unstubAllGlobals()
    expect([fitting.status, other.status]).toEqual([200, 422])
    expect(propertiesIn(sources)).toBeLessThanOrEqual(64)
  })

  test('are compiled 64 times for the form of a response', async () => {
    const answer = JSON.stringify(Object.fromEntries(Array.from({ length: 480 }, (_, at) => [`p${at}`, 'x'])))
    const edge = controlledEdge({ workers: {}, keys: [WRITER], script: [say(answer)] })
    const sources = compiledPatterns()
    const responseFormat = { type: 'json_schema', name: 'form', schema: patterns(480) }
    const { status, body } = await edge.as(WRITER)('/runs', { json: { input: 'Go', responseFormat } })
    vi.unstubAllGlobals()
    expect([status, body.status]).toEqual([200, 'completed'])
    expect(propertiesIn(sources)).toBe(64)
  })
})

test('a schema of answers with more than 5,000 values is refused before it is compiled, by all that take one', async () => {
  const edge = controlledEdge({ workers: {}, keys: [WRITER], script: Array.from({ length: 4 }, () => say('{}')) })
  // The schema, its type, its properties, the only one of them and its list are five values.
  const schema = (count: number) => ({
    type: 'object',
    properties: { a: { enum: Array.from({ length: count - 5 }, (_, at) => at) } },
  })
  const format = (count: number) => ({ type: 'json_schema', name: 'form', schema: schema(count) })
  const messages = [{ role: 'user', content: 'Go' }]
  const bodies = (count: number) =>
    [
      ['/runs', 'responseFormat.schema', { input: 'Go', responseFormat: format(count) }],
      [
        '/v1/chat/completions',
        'response_format.json_schema.schema',
        { messages, response_format: { type: 'json_schema', json_schema: format(count) } },
      ],
      [
        '/v1/messages',
        // This format names no place but in the message.
        undefined,
        { max_tokens: 100, messages, output_config: { format: { type: 'json_schema', schema: schema(count) } } },
      ],
      ['/v1/responses', 'text.format.schema', { input: 'Go', store: false, text: { format: format(count) } }],
    ] as const
  for (const [path, place, json] of bodies(5001)) {
    const sources = compiledPatterns()
    const { status, body } = await edge.as(WRITER)(path, { json })
    vi.unstubAllGlobals()
    const { param, detail, message = detail } = body.error ?? body
    expect([path, status, param, sources.length]).toEqual([path, 400, place, 0])
    expect(message).toContain('may have at most 5000 values')
  }
  for (const [path, , json] of bodies(5000))
    expect([path, (await edge.as(WRITER)(path, { json })).status]).toEqual([path, 200])
})

test('a cron expression with more than 512 characters is refused before it is compiled', async () => {
  const key = 'acme: chat schedules'
  const { as } = controlledEdge({ workers: {}, keys: [key] })
  const put = async (minutes: number) => {
    const cron = `${Array.from({ length: minutes }, (_, at) => at % 60).join(',')} * * * *`
    const json = { cron, run: { input: 'Go' } }
    const { status, body } = await as(key)('/schedules/s', { method: 'PUT', json })
    return [cron.length, status, body.param]
  }
  expect(await put(20_000)).toEqual([56_667, 400, 'cron'])
  expect(await put(180)).toEqual([517, 400, 'cron'])
  expect(await put(60)).toEqual([177, 201, undefined])
})

test('a webhook with many signatures has its body signed once for each secret', async () => {
  const body = 'x'.repeat(10_000)
  const bytes = Uint8Array.from(Buffer.from(body))
  const base64 = (byte: number) => btoa(String.fromCharCode(byte).repeat(32))
  const secrets = [1, 2].map((byte) => `whsec_${base64(byte)}`)
  const headers = new Headers({
    'webhook-id': 'msg_1',
    'webhook-timestamp': String(Math.floor(Date.now() / 1000)),
    'webhook-signature': Array.from({ length: 300 }, (_, at) => `v1,${base64(at % 256)}`).join(' '),
  })
  const spies = [vi.spyOn(crypto.subtle, 'sign'), vi.spyOn(crypto.subtle, 'verify')]
  const { verify } = standardWebhooks('HOOK_SECRET')
  const request = { method: 'POST', url: 'https://edge.example.com/triggers/hook', headers, body, bytes }
  expect(await verify({ ...request, now: Date.now() }, secrets, {})).toBeUndefined()
  expect(spies.reduce((sum, spy) => sum + spy.mock.calls.length, 0)).toBe(2)
})

describe('references', () => {
  const chain = Object.fromEntries(
    Array.from({ length: 400 }, (_, at) => [
      `d${at}`,
      at === 399 ? { type: 'string' } : { $ref: `#/$defs/d${at + 1}` },
    ]),
  )

  test('of a chain are resolved once, however many values they apply to', async () => {
    const edge = controlledEdge({ workers: {}, keys: [WRITER] })
    const list = { type: 'array', items: { $ref: '#/$defs/d350' } }
    const inputSchema = { type: 'object', properties: { list }, $defs: chain }
    const addresses = parsedAddresses()
    const ofSchema = () => addresses.filter((address) => address.startsWith('#')).length
    const json = { description: 'Says it.', inputSchema, static: { text: 'said' } }
    expect((await edge.as(WRITER)('/tools/say', { method: 'PUT', json })).status).toBe(201)
    expect(ofSchema()).toBe(399)
    const args = { list: Array.from({ length: 1000 }, () => 'x') }
    const call = await edge.as(WRITER)('/tools/say/call', { json: { arguments: args } })
    vi.unstubAllGlobals()
    expect(call.status).toBe(200)
    expect(ofSchema()).toBeLessThanOrEqual(800)
  })

  test('have at most 2,048 characters', async () => {
    const edge = controlledEdge({ workers: {}, keys: [WRITER] })
    const $ref = `#/$defs/${'a'.repeat(2048)}`
    const inputSchema = {
      type: 'object',
      $id: `https://example.com/${'a'.repeat(100_000)}`,
      properties: { a: { $ref } },
      $defs: { ['a'.repeat(2048)]: {} },
    }
    const addresses = parsedAddresses()
    const json = { description: 'Says it.', inputSchema, static: { text: 'said' } }
    const { status, body } = await edge.as(WRITER)('/tools/say', { method: 'PUT', json })
    vi.unstubAllGlobals()
    expect([status, body.issues.map(({ path }: { path: string }) => path)]).toEqual([
      422,
      ['inputSchema.properties.a.$ref'],
    ])
    expect(addresses.filter((address) => address.length > 2048)).toEqual([])
  })
})

/** Counts the elements of lists that are visited, copied or searched from now on. */
function visitedElements(): { count: number } {
  const visited = { count: 0 }
  const methods = [
    'filter',
    'find',
    'findIndex',
    'some',
    'every',
    'indexOf',
    'includes',
    'slice',
    'toReversed',
  ] as const
  for (const method of methods) {
    const real = Array.prototype[method] as (this: unknown[], ...args: unknown[]) => unknown
    vi.spyOn(Array.prototype, method as 'slice').mockImplementation(function (this: unknown[], ...args: unknown[]) {
      visited.count += this.length
      return Reflect.apply(real, this, args) as unknown[]
    })
  }
  return visited
}

/** Limits that let thousands of calls run. */
const UNLIMITED = { MAX_CALLS: '5000', MAX_CALLS_PER_TOOL: '5000', MAX_SUBREQUESTS: '10000' }

describe('an answer with thousands of calls', () => {
  const work = async (
    count: number,
    name: (at: number) => string,
    { vars = {}, body = {} }: { vars?: object; body?: object } = {},
  ) => {
    const calls = Array.from({ length: count }, (_, at): [string, object] => [name(at), { at }])
    const tools = [tool('look', () => 'seen', { annotations: { readOnly: true } })]
    const edge = testEdge({ script: [ask(...calls), say('Done.')], tools, vars: { ...vars } })
    const visited = visitedElements()
    const response = await edge.ask('/runs', { json: { input: 'Go', ...body } })
    vi.restoreAllMocks()
    expect((await response.json()) as any).toMatchObject({ calls: { length: count } })
    return visited.count
  }

  test.each<[string, (at: number) => string, Parameters<typeof work>[2]?]>([
    ['of one tool', () => 'look'],
    ['of tools that do not exist', (at) => `tool_${at}`],
    ['that may answer with a limit', () => 'look', { vars: { COMPAT: 'spring-ai' } }],
    ['that all run', () => 'look', { vars: UNLIMITED }],
    ['that start early', () => 'look', { vars: UNLIMITED, body: { eager: true } }],
  ])('%s takes work in proportion to their number', async (_, name, options) => {
    const [half, whole] = [await work(1000, name, options), await work(2000, name, options)]
    expect(whole).toBeLessThan(3 * half)
  })

  test('is as long as their names and arguments together', async () => {
    const vars = { MAX_ANSWER_CHARACTERS: '10000' }
    const calls = Array.from({ length: 200 }, (): [string, object] => ['look_'.padEnd(64, 'x'), {}])
    const edge = testEdge({ script: [ask(...calls)], tools: [tool('look')], vars })
    const { code }: any = await (await edge.ask('/runs', { json: { input: 'Go' } })).json()
    expect(code).toBe('model_answer_too_large')
  })
})

test('a tool that does not exist is compared with some 50 long names', async () => {
  const names = Array.from({ length: 3000 }, (_, at) => `tool_${'y'.repeat(50)}_${at}`)
  const edge = testEdge({ script: [ask(['tool_x'.padEnd(64, 'x')]), say('Sorry.')], tools: [tool('tool')] })
  const clientTools = names.map((name) => ({ name }))
  const lower = vi.spyOn(String.prototype, 'toLowerCase')
  const response = await edge.ask('/runs', { json: { input: 'Go', clientTools } })
  const compared = lower.mock.contexts.filter((text) => String(text).startsWith('tool_yyy')).length
  lower.mockRestore()
  const { calls }: any = await response.json()
  expect(calls[0].error.code).toBe('unknown_tool')
  expect(compared).toBeGreaterThan(10)
  expect(compared).toBeLessThan(60)
})
