import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { memoryDirectories } from '../fixtures/directories.ts'
import { testEdge } from '../fixtures/edge.ts'
import { apiKey, bearer, keyName, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import { keptEdge } from './kept-edge.ts'

const NOON = Date.parse('2026-02-27T12:00:00Z')
const HOUR = 3_600_000
const PRICES = JSON.stringify({ 'test/scripted': { input: 1_000_000, output: 2_000_000 } })
/** What an answer of the script uses: 15 tokens, which cost 20. */
const answers = (count: number) => Array.from({ length: count }, () => say('Hi.'))
const hello = { messages: [{ role: 'user', content: 'Hello' }] }

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

/** An edge whose key `one` has this budget; `free` has none. */
function budgeted(
  budget: object,
  { script = answers(9), tools = [], vars = {} }: Partial<Parameters<typeof keptEdge>[0]> = {},
) {
  const keys = withKeys(apiKey('one', { budget }), apiKey('two', { budget }), apiKey('free'))
  const edge = keptEdge({ script, tools, vars: { ...keys, ...vars } })
  const run = async (key: string, json: object = {}, headers = {}) => {
    const response = await edge.post('/runs', { input: 'Hi', ...json }, { ...bearer(key), ...headers })
    await edge.settle()
    return response
  }
  const usage = async (key: string) => (await edge.fetch('/usage', { headers: bearer(key) })).json()
  return { ...edge, run, usage }
}

async function refusal(response: Response): Promise<unknown> {
  return [response.status, response.headers.get('retry-after'), await response.json()]
}

describe('a budget', () => {
  test('keeps what was used when its key gets an id', async () => {
    const budget = { tokens: 30, per: 'day' }
    const directories = memoryDirectories()
    const edgeOf = (more: object) =>
      keptEdge({ script: answers(9), vars: withKeys(apiKey('one', { budget, ...more })), setup: { directories } })
    const run = async (edge: ReturnType<typeof edgeOf>) => {
      const { status } = await edge.post('/runs', { input: 'Hi' }, bearer('one'))
      await edge.settle()
      return status
    }
    const usage = async (edge: ReturnType<typeof edgeOf>) =>
      ((await (await edge.fetch('/usage', { headers: bearer('one') })).json()) as any).tokens
    const before = edgeOf({})
    expect([await run(before), await usage(before)]).toEqual([200, 15])
    const after = edgeOf({ id: 'billing' })
    expect([await usage(after), await run(after), await usage(after), await run(after)]).toEqual([15, 200, 30, 429])
  })

  test('of tokens per day is used up by runs and renewed the next day', async () => {
    const { run, requests } = budgeted({ tokens: 30, per: 'day' })
    expect((await run('one')).status).toBe(200)
    expect((await run('one')).status).toBe(200)
    const response = await run('one')
    expect(response.headers.get('x-should-retry')).toBe('false')
    expect(await refusal(response)).toEqual([
      429,
      String((12 * HOUR) / 1000),
      {
        status: 429,
        code: 'budget_exhausted',
        detail: 'This key has used up its tokens of the day.',
        which: 'tokens',
      },
    ])
    expect(requests).toHaveLength(2)
    // Other keys of the tenant have their own, or none.
    expect([(await run('two')).status, (await run('free')).status]).toEqual([200, 200])
    vi.setSystemTime(NOON + 12 * HOUR)
    expect((await run('one')).status).toBe(200)
  })

  test('of cost per month counts by the prices of models', async () => {
    const { run } = budgeted({ cost: 40, per: 'month' }, { vars: { MODEL_PRICES: PRICES } })
    expect([(await run('one')).status, (await run('one')).status]).toEqual([200, 200])
    vi.setSystemTime(NOON + 35 * HOUR)
    expect(await refusal(await run('one'))).toMatchObject([429, String(HOUR / 1000), { which: 'cost' }])
    vi.setSystemTime(NOON + 36 * HOUR)
    expect((await run('one')).status).toBe(200)
  })

  test('that is used up is refused in the error format of each surface', async () => {
    const { run, post } = budgeted({ tokens: 1, per: 'day' })
    await run('one')
    for (const [path, json] of [
      ['/v1/chat/completions', hello],
      ['/v1/responses', { input: 'Hi' }],
    ] as const) {
      const code = 'insufficient_quota'
      const error = { message: expect.any(String), type: code, param: null, code, edgecall: 'budget_exhausted' }
      expect(await refusal(await post(path, json, bearer('one')))).toEqual([429, '43200', { error }])
    }
    const user = { id: 'm', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }
    const chat = { id: 'c', trigger: 'submit-message', messages: [user] }
    expect(await refusal(await post('/chat', chat, bearer('one')))).toMatchObject([429, '43200', { which: 'tokens' }])
  })

  test('limits a run to what is left: the run stops calling tools there', async () => {
    const steps = [ask(['add']), ask(['add']), say('Done.')]
    const { run } = budgeted({ tokens: 20, per: 'day' }, { script: steps, tools: [tool('add')] })
    expect(await (await run('one')).json()).toMatchObject({ finish: 'limit', which: 'tokens', steps: 3 })
  })

  test('holds together with the limit of the request', async () => {
    const script = [ask(['add']), say('Done.')]
    const { run } = budgeted({ tokens: 1000, per: 'day' }, { script, tools: [tool('add')] })
    const record = await (await run('one', { limits: { tokens: 10 } })).json()
    expect(record).toMatchObject({ finish: 'limit', which: 'tokens', steps: 2 })
  })

  test('does not refuse repeated requests: accepted requests are replayed after it is used up', async () => {
    const { run, requests, post } = budgeted({ tokens: 1, per: 'day' })
    const first = await run('one', {}, { 'idempotency-key': 'a' })
    const repeat = await run('one', {}, { 'idempotency-key': 'a' })
    expect([repeat.status, repeat.headers.get('idempotent-replayed'), await repeat.json()]).toEqual([
      200,
      'true',
      await first.json(),
    ])
    expect((await run('one', {}, { 'idempotency-key': 'b' })).status).toBe(429)
    expect((await post('/v1/chat/completions', hello, { ...bearer('one'), 'x-conversation-id': 'c' })).status).toBe(429)
    expect(requests).toHaveLength(1)
  })

  test.each<Record<string, string>>([{}, { 'x-conversation-id': 'c' }])(
    'counts a run that is continued with results once (%j)',
    async (headers) => {
      const script = [ask(['pick']), ...answers(1)]
      const { post, settle, usage } = budgeted({ tokens: 100, per: 'day' }, { script, tools: [tool('clock')] })
      const tools = [{ type: 'function', function: { name: 'pick' } }]
      const send = async (messages: object[]) => {
        const response = await post('/v1/chat/completions', { messages, tools }, { ...headers, ...bearer('one') })
        await settle()
        return (await response.json<any>()).choices[0].message
      }
      const firstResponse = await send(hello.messages)
      const result = { role: 'tool', tool_call_id: firstResponse.tool_calls[0].id, content: 'left' }
      await send([...hello.messages, firstResponse, result, { role: 'user', content: 'And?' }])
      expect(await usage('one')).toMatchObject({ tokens: 30, runs: 1 })
    },
  )

  test('applies to a regenerated turn with what is left then', async () => {
    const script = [ask(['add']), say('Over.'), ask(['add']), say('Done.'), say('No.')]
    const tools = [tool('add')]
    const { post, settle } = budgeted({ tokens: 20, per: 'day' }, { script, tools })
    await post('/conversations', { id: 'c' }, bearer('one'))
    const run = await post('/conversations/c/runs', { input: 'Hi', limits: { tokens: 50 } }, bearer('one'))
    const { id } = (await run.json()) as { id: string }
    await settle()
    const regenerate = () => post(`/conversations/c/runs/${id}/regenerate`, {}, bearer('one'))
    expect((await regenerate()).status).toBe(429)
    vi.setSystemTime(NOON + 12 * HOUR)
    expect(await (await regenerate()).json()).toMatchObject({ finish: 'stop', answer: 'Done.' })
  })

  test('does not make an expired key valid', async () => {
    const vars = withKeys(apiKey('one', { budget: { tokens: 5, per: 'day' }, expires: NOON }))
    const response = await testEdge({ vars }).ask('/usage', { headers: bearer('one') })
    expect([response.status, await response.json()]).toMatchObject([401, { code: 'key_expired' }])
  })
})

describe('the usage of a key', () => {
  test('is returned by GET /usage', async () => {
    const { run, usage, settle, post } = budgeted({ tokens: 100, per: 'month' }, { vars: { MODEL_PRICES: PRICES } })
    const period = { from: '2026-02', to: '2026-03' }
    const expectedUsage = {
      key: keyName('one'),
      quotas: expect.any(Object),
      period,
      budget: { tokens: 100, per: 'month' },
    }
    expect(await usage('one')).toEqual({ ...expectedUsage, tokens: 0, cost: 0, runs: 0 })
    await run('one')
    await post('/v1/chat/completions', hello, { ...bearer('one'), 'x-conversation-id': 'c' })
    await settle()
    expect(await usage('one')).toEqual({ ...expectedUsage, tokens: 30, cost: 40, runs: 2 })
    expect(await usage('two')).toMatchObject({ tokens: 0, runs: 0 })
  })

  test('may be counted without a limit, or not at all', async () => {
    const { run, usage } = budgeted({ per: 'day' })
    await run('one')
    expect(await usage('one')).toMatchObject({ tokens: 15, runs: 1, budget: { per: 'day' } })
    expect(await usage('free')).toEqual({ key: keyName('free'), quotas: expect.any(Object) })
  })

  test('requires the scope `chat`', async () => {
    const vars = withKeys(apiKey('one', { budget: { per: 'day' }, scopes: ['approve'] }))
    expect((await testEdge({ vars }).ask('/usage', { headers: bearer('one') })).status).toBe(403)
  })

  test('includes failed runs', async () => {
    const error = { type: 'error', error: { code: 'model_failed', message: 'No.', retryable: false } } as const
    const { run, usage } = budgeted({ per: 'day' }, { script: [ask(['add']), [error]], tools: [tool('add')] })
    expect((await run('one')).status).toBe(502)
    expect(await usage('one')).toMatchObject({ tokens: 15, runs: 1 })
  })
})

describe('a run that is not stored', () => {
  const vars = withKeys(apiKey('one', { budget: { tokens: 100, per: 'day' } }))
  const headers = { ...bearer('one'), accept: 'text/event-stream' }

  test('is counted when its client disconnects', async () => {
    const calling = Promise.withResolvers<void>()
    const directories = memoryDirectories()
    const slow = tool('slow', (_args, _context, control) => {
      calling.resolve()
      return control.whenAborted()
    })
    const edge = testEdge({ vars, script: [ask(['slow'])], tools: [slow], setup: { directories } })
    const response = await edge.ask('/runs', { json: { input: 'Hi' }, headers })
    await calling.promise
    await response.body?.cancel()
    await Promise.all(edge.afterwards)
    expect(await (await edge.ask('/usage', { headers })).json()).toMatchObject({ tokens: 15, runs: 1 })
  })

  test('is counted with an estimate for an answer that was cut off by the disconnect', async () => {
    const directories = memoryDirectories()
    const edge = testEdge({
      vars,
      script: [
        async function* speaking(_request, signal) {
          yield { type: 'text', text: 'A story of forty characters, and no end.' }
          await new Promise((resolve) => signal.addEventListener('abort', resolve))
        },
      ],
      setup: { directories },
    })
    const input = 'Tell a story'
    const response = await edge.ask('/runs', { json: { input }, headers })
    await response.body?.cancel()
    await Promise.all(edge.afterwards)
    expect(await (await edge.ask('/usage', { headers })).json()).toMatchObject({ tokens: 5 + 12, runs: 1 })
  })

  test('ends with its request if the client never reads, and is counted', async () => {
    const calling = Promise.withResolvers<void>()
    const directories = memoryDirectories()
    const slow = tool('slow', (_args, _context, control) => {
      calling.resolve()
      return control.whenAborted()
    })
    const leaving = new AbortController()
    const edge = testEdge({ vars, script: [ask(['slow'])], tools: [slow], setup: { directories } })
    const answer = edge.ask('/runs', { json: { input: 'Hi' }, headers: bearer('one'), signal: leaving.signal })
    await calling.promise
    leaving.abort()
    await answer
    await Promise.all(edge.afterwards)
    expect(await (await edge.ask('/usage', { headers })).json()).toMatchObject({ tokens: 15, runs: 1 })
  })

  test('is reported to operators if it could not be counted', async () => {
    const directory = memoryDirectories().getByName('acme')
    vi.spyOn(directory, 'count').mockRejectedValue(new Error('gone'))
    const edge = testEdge({ vars, script: answers(1), setup: { directories: { getByName: () => directory } } })
    expect((await edge.ask('/runs', { json: { input: 'Hi' }, headers: bearer('one') })).status).toBe(200)
    await Promise.all(edge.afterwards)
    expect(edge.reports).toMatchObject([
      { event: 'spend.lost', key: keyName('one'), tokens: 15, detail: 'Error: gone' },
    ])
  })
})

describe('a call outside of a run', () => {
  const agent = tool('agent', () => ({
    ok: true,
    content: [{ type: 'text', text: 'Asked.' }],
    usage: { inputTokens: 5, outputTokens: 5 },
  }))
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'agent', arguments: {} } }

  test('is counted with the usage of models inside the tool, and refused when the budget is used up', async () => {
    const { post, settle, usage } = budgeted({ tokens: 15, per: 'day' }, { tools: [agent] })
    expect((await post('/tools/agent/call', { arguments: {} }, bearer('one'))).status).toBe(200)
    await settle()
    expect((await post('/mcp', call, bearer('one'))).status).toBe(200)
    await settle()
    expect(await usage('one')).toMatchObject({ tokens: 20, runs: 2 })
    expect((await post('/tools/agent/call', { arguments: {} }, bearer('one'))).status).toBe(429)
    const response = await post('/mcp', call, bearer('one'))
    expect(await refusal(response)).toMatchObject([429, '43200', { jsonrpc: '2.0', error: { code: -32600 } }])
    expect((await post('/mcp', call, bearer('free'))).status).toBe(200)
  })
})
