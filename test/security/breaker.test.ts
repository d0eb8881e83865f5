import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { failure } from '../../src/contract/tool.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { controlledEdge, workerOf } from './controlled-edge.ts'

const ACME = 'acme: chat tools:read tools:write'
const GLOBEX = 'globex: chat tools:read'
const START = Date.parse('2026-01-01T12:00:00Z')

beforeEach(() => void vi.useFakeTimers({ now: START, toFake: ['Date'] }))
afterEach(() => void vi.useRealTimers())

/** What the runtime throws for a Worker that is lost: the edge alone tells of it as `tool_lost`. */
const LOST = Object.assign(new Error('Network connection lost.'), { retryable: true })

/** An edge with one tool, which fails in this way while it is set, and what has reached it. */
function stage(options: Partial<Parameters<typeof controlledEdge>[0]> = {}) {
  const state: { code: string | undefined; calls: number } = { code: 'tool_lost', calls: 0 }
  const work = tool('work', () => {
    state.calls += 1
    if (state.code === 'tool_lost') throw LOST
    return state.code === undefined ? 'done' : failure(state.code, 'It failed.')
  })
  const edge = controlledEdge({ workers: { TOOL_WORK: [work] }, keys: [ACME, GLOBEX], ...options })
  const call = async (key = ACME, name = 'work') => {
    const { body } = await edge.as(key)(`/tools/${name}/call`, { json: { arguments: {} } })
    return body.ok ? 'done' : (body.error?.code ?? body.code)
  }
  const times = async (count: number) => {
    const codes: string[] = []
    for (let at = 0; at < count; at++) codes.push(await call())
    return codes
  }
  return { ...edge, state, call, times }
}

describe('a tool that fails again and again', () => {
  test('is paused, tried once after the pause, and called again once it works', async () => {
    const { state, call, times } = stage()
    expect(await times(7)).toEqual([...Array.from({ length: 5 }, () => 'tool_lost'), 'tool_paused', 'tool_paused'])
    expect(state.calls).toBe(5)
    vi.setSystemTime(START + 30_000)
    expect([await call(), await call(), state.calls]).toEqual(['tool_lost', 'tool_paused', 6])
    vi.setSystemTime(START + 60_000)
    state.code = undefined
    expect([await call(), await call()]).toEqual(['done', 'done'])
  })

  test('is listed as unavailable with the reason, to the tenant whose calls failed, and called for others', async () => {
    const { as, call, times } = stage()
    await times(5)
    expect((await as(ACME)('/tools/work')).body).toMatchObject({
      name: 'work',
      available: false,
      reason: 'Its last calls all failed: it is not called again before 2026-01-01T12:00:30Z.',
    })
    expect((await as(GLOBEX)('/tools/work')).body.available).toBe(true)
    expect(await call(GLOBEX)).toBe('tool_lost')
  })

  test('is not called through an alias either', async () => {
    const { as, call, times, state } = stage()
    const alias = { description: 'Works.', inputSchema: { type: 'object' }, binding: 'TOOL_WORK', call: 'work' }
    await as(ACME)('/tools/toil', { method: 'PUT', json: alias })
    expect([await call(ACME, 'toil'), await call(ACME, 'toil'), ...(await times(3))]).not.toContain('tool_paused')
    expect([await call(ACME, 'toil'), await call(), state.calls]).toEqual(['tool_paused', 'tool_paused', 5])
  })

  test('makes the model read why it is not called', async () => {
    const calls = Array.from({ length: 6 }, (_, at): [string, object] => ['work', { at }])
    const { as, requests, state } = stage({
      script: [ask(...calls), say('Done.')],
      vars: { MAX_CONCURRENT_CALLS: '1' },
    })
    await as(ACME)('/runs', { json: { input: 'Go' } })
    expect(state.calls).toBe(5)
    const results = requests[1]?.messages.filter(({ role }) => role === 'tool') ?? []
    expect(results.at(-1)).toMatchObject({
      content: [{ text: expect.stringContaining('it is not called again before 2026-01-01T12:00:30Z') }],
    })
  })

  test.each([
    ...['tool_error', 'invalid_arguments', 'tool_failed', 'bad_outcome', 'own_code', 'timeout', 'tool_unreachable'],
    ...[
      'http_404',
      'http_429',
      'http_500',
      'http_503',
      'http_521',
      'http_unreachable',
      'mcp_timeout',
      'mcp_unavailable',
    ],
  ])('is not paused for a failure that it answers promptly: %s', async (code) => {
    const { state, times } = stage()
    state.code = code
    // No Worker can say of itself that the edge has lost it.
    const expected = code === 'tool_unreachable' ? 'tool_failed' : code
    expect(await times(7)).toEqual(Array.from({ length: 7 }, () => expected))
    expect(state.calls).toBe(7)
  })

  test('does not say in the words of the edge that it was lost', async () => {
    const liar = tool('work', () => failure('tool_lost', 'It broke off.'))
    const { times } = stage({ workers: { TOOL_WORK: [liar] } })
    expect(new Set(await times(7))).toEqual(new Set(['tool_failed']))
  })

  test.each([429, 502, 503, 504, 521])('is paused if it is an HTTP tool whose server answers %i', async (status) => {
    const { as, call, times } = stage({
      workers: {},
      vars: { HTTP_TOOL_HOSTS: JSON.stringify({ 'https://api.example.com': [] }) },
      fetch: async () => new Response('busy', { status }),
    })
    const http = { method: 'GET', url: 'https://api.example.com/' }
    const json = { description: 'Works.', inputSchema: { type: 'object' }, http }
    expect((await as(ACME)('/tools/work', { method: 'PUT', json })).status).toBe(201)
    expect([await call(), (await times(5)).at(-1)]).toEqual([`http_${status}`, 'tool_paused'])
  })

  test('is not called while its service asks to wait, in later runs too, but for an hour at most', async () => {
    const answers: ResponseInit[] = [
      { status: 403, headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': `${START / 1000 + 60}` } },
      { status: 503, headers: { 'retry-after': '120' } },
      { status: 429, headers: { 'retry-after': '999999' } },
    ]
    let calls = 0
    const { as, call, requests } = stage({
      workers: {},
      script: [ask(['work', {}]), ask(['work', {}]), say('Later, then.')],
      vars: { HTTP_TOOL_HOSTS: JSON.stringify({ 'https://api.example.com': [] }) },
      fetch: async () => new Response('busy', answers[calls++]),
    })
    const http = { method: 'POST', url: 'https://api.example.com/' }
    const json = { description: 'Works.', inputSchema: { type: 'object' }, http }
    await as(ACME)('/tools/work', { method: 'PUT', json })
    await as(ACME)('/runs', { json: { input: 'Go', tools: ['work'] } })
    const read = requests.flatMap(({ messages }) => messages.filter(({ role }) => role === 'tool').slice(-1))
    expect(read.map(({ content }) => JSON.parse(Object(content)[0].text).data)).toEqual([
      'The service of "work" answered 403 and asks to wait 60 seconds before the next call: busy',
      'The tool "work" was not called: its last calls all failed, and it is not called again before 2026-01-01T12:01:00Z. Do without it, or say that it is not available at present.',
    ])
    const { body } = await as(ACME)('/tools/work/call', { json: { arguments: {} } })
    expect(body.error).toMatchObject({ code: 'tool_paused', retryAfterMs: 60_000 })
    vi.setSystemTime(START + 60_000)
    expect([await call(), await call()]).toEqual(['http_503', 'tool_paused'])
    vi.setSystemTime(START + 180_000)
    expect([await call(), await call()]).toEqual(['http_429', 'tool_paused'])
    vi.setSystemTime(START + 180_000 + 3_599_999)
    expect([await call(), calls]).toEqual(['tool_paused', 3])
    vi.setSystemTime(START + 180_000 + 3_600_000)
    expect([await call(), calls]).toEqual(['done', 4])
  })

  test('stays so when a call succeeds that was sent before', async () => {
    const first = Promise.withResolvers<Response>()
    const answers = [first.promise, new Response('', { status: 429, headers: { 'retry-after': '60' } })]
    const { as, call } = stage({
      workers: {},
      vars: { HTTP_TOOL_HOSTS: JSON.stringify({ 'https://api.example.com': [] }) },
      fetch: async () => answers.shift() ?? new Response('done'),
    })
    const http = { method: 'GET', url: 'https://api.example.com/' }
    await as(ACME)('/tools/work', { method: 'PUT', json: { description: 'W.', inputSchema: { type: 'object' }, http } })
    const early = call()
    await vi.waitFor(() => expect(answers).toHaveLength(1))
    expect(await call()).toBe('http_429')
    first.resolve(new Response('done'))
    expect([await early, await call()]).toEqual(['done', 'tool_paused'])
  })

  test.each(['mcp_timeout', 'mcp_unavailable'])('is paused if it is of an MCP server: %s', async (code) => {
    const work = tool('work', () => failure(code, 'It failed.'))
    const worker = workerOf([work])
    const describe = async () => ({ ...Object(await worker.describe()), source: 'mcp' })
    const { times } = stage({ workers: {}, vars: { TOOL_WORK: { ...worker, describe } } })
    expect((await times(6)).at(-1)).toBe('tool_paused')
  })

  test.each<[string, Error, string, boolean]>([
    ['throws', new Error('No such row.'), 'tool_failed', false],
    ['is lost', Object.assign(new Error('Network connection lost.'), { retryable: true }), 'tool_lost', true],
    ['is overloaded', Object.assign(new Error('Too many requests.'), { overloaded: true }), 'tool_lost', true],
    ['is cut off', new Error('Worker exceeded CPU time limit.'), 'tool_lost', true],
  ])('is judged by what its Worker does: one that %s', async (_, error, code, isPaused) => {
    for (const compat of ['', 'langchain4j']) {
      let calls = 0
      const broken = tool('work', () => {
        calls += 1
        throw error
      })
      const { call, times } = stage({ workers: { TOOL_WORK: [broken] }, vars: compat ? { COMPAT: compat } : {} })
      expect([await call(), (await times(5)).at(-1), calls]).toEqual([
        code,
        isPaused ? 'tool_paused' : code,
        isPaused ? 5 : 6,
      ])
    }
  })

  test('is not paused while one of its calls succeeds, nor where the edge switches that off', async () => {
    const { state, call, times } = stage()
    await times(4)
    state.code = undefined
    await call()
    state.code = 'tool_lost'
    expect(await times(5)).not.toContain('tool_paused')
    expect(await stage({ vars: { TOOL_BREAKER_FAILURES: 'off' } }).times(9)).not.toContain('tool_paused')
  })
})

test('the same call is made at most ten times in a run, by whatever name, unless the edge sets another limit', async () => {
  const same = Array.from({ length: 12 }, (_, at): [string] => [at % 2 === 0 ? 'work' : 'toil'])
  const alias = { description: 'Works.', inputSchema: { type: 'object' }, binding: 'TOOL_WORK', call: 'work' }
  const count = async (vars = {}) => {
    const edge = stage({ script: [ask(...same), say('Done.')], vars })
    edge.state.code = undefined
    await edge.as(ACME)('/tools/toil', { method: 'PUT', json: alias })
    await edge.as(ACME)('/runs', { json: { input: 'Go', tools: ['work', 'toil'] } })
    return edge.state.calls
  }
  expect([await count(), await count({ MAX_SAME_CALLS: '3' })]).toEqual([10, 3])
})
