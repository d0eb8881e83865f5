import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { failure } from '../../src/contract/tool.ts'
import { apiKey, bearer, withKeys } from '../fixtures/keys.ts'
import { ask, say, tool } from '../fixtures/play.ts'
import type { Script } from '../fixtures/scripted.ts'
import { type KeptEdge, keptEdge } from './kept-edge.ts'
import { eventually } from '../fixtures/eventually.ts'

const NOON = Date.parse('2026-03-01T12:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

const TOOLS = [
  tool('add', () => '3'),
  tool('broken', () => failure('gone', 'It is gone.')),
  tool('pay', () => 'paid', { approval: 'always', undo: true, annotations: { destructive: true } }),
]
const KEYS = {
  ...withKeys(
    apiKey('web', { id: 'web' }),
    apiKey('operator', { scopes: ['metrics'] }),
    apiKey('boss', { id: 'boss', scopes: ['approve'] }),
    apiKey('both', { id: 'both', scopes: ['approve', 'chat'] }),
    apiKey('other', { tenant: 'other', scopes: ['approve', 'chat'] }),
  ),
}

/** An edge that lists its runs. */
function listingEdge(script: readonly Script[], others: Partial<Parameters<typeof keptEdge>[0]> = {}): KeptEdge {
  const vars = { ...KEYS, AUTH: 'keys', MAX_STEPS: '4' }
  return keptEdge({ script, tools: TOOLS, vars, listsRuns: true, ...others })
}

async function run(edge: KeptEdge, conversation: string, input: string): Promise<string> {
  const create = await edge.post('/conversations', { id: conversation }, bearer('web'))
  expect([200, 201]).toContain(create.status)
  const response = await edge.post(`/conversations/${conversation}/runs`, { input }, bearer('web'))
  const { id } = await response.json<{ id: string }>()
  await edge.settle()
  return id
}

async function list(edge: KeptEdge, query = '', key = 'web'): Promise<any> {
  return (await edge.fetch(`/runs${query}`, { headers: bearer(key) })).json()
}

async function waiting(edge: KeptEdge, key = 'boss'): Promise<any> {
  return (await edge.fetch('/approvals', { headers: bearer(key) })).json()
}

describe('GET /runs', () => {
  test('lists the runs of all conversations with what they asked, called and cost, newest first', async () => {
    const edge = listingEdge([ask(['add'], ['broken']), say('Done.'), say('Hello.')])
    const first = await run(edge, 'a', 'Add one and two')
    vi.setSystemTime(NOON + 60_000)
    const second = await run(edge, 'b', 'Hello')
    const shared = { status: 'completed', model: 'test/scripted', key: 'web', cost: 0 }
    expect(await list(edge)).toEqual([
      {
        ...{ id: second, conversation: 'b', ...shared, question: 'Hello', tools: [], errors: [] },
        ...{ created: NOON + 60_000, ended: NOON + 60_000, steps: 1, tokens: 15 },
      },
      {
        ...{ id: first, conversation: 'a', ...shared, question: 'Add one and two' },
        ...{ tools: ['add', 'broken'], errors: ['gone'], created: NOON, ended: NOON, steps: 2, tokens: 30 },
      },
    ])
  })

  test('filters by status, tool, error, model, key, text, cost, duration and time', async () => {
    const script = [ask(['add']), say('Done.'), ask(['broken']), say('Done.'), ask(['pay'])]
    const edge = listingEdge(script)
    await run(edge, 'a', 'Add them')
    vi.setSystemTime(NOON + 2 * 86_400_000)
    await run(edge, 'b', 'Break it')
    await run(edge, 'c', 'Pay it')
    vi.setSystemTime(NOON + 2 * 86_400_000 + 5000)
    const idsOf = async (query: string) => {
      const runs = await list(edge, `?${query}`)
      return Array.isArray(runs) ? runs.map(({ conversation }) => conversation).join('') : runs.detail
    }
    expect(await idsOf('')).toBe('cba')
    expect(await idsOf('status=waiting')).toBe('c')
    expect(await idsOf('status=completed')).toBe('ba')
    expect(await idsOf('tool=broken')).toBe('b')
    expect(await idsOf('tool=nothing')).toBe('')
    expect(await idsOf('error=gone')).toBe('b')
    expect(await idsOf('tool=add&error=gone')).toBe('')
    expect(await idsOf('model=test/scripted')).toBe('cba')
    expect(await idsOf('model=other/model')).toBe('')
    expect(await idsOf('key=web')).toBe('cba')
    expect(await idsOf('key=boss')).toBe('')
    expect(await idsOf('query=ADD')).toBe('a')
    expect(await idsOf('cost=0.01')).toBe('')
    expect(await idsOf('cost=0')).toBe('cba')
    expect(await idsOf('duration=5000')).toBe('c')
    expect(await idsOf('from=2026-03-02')).toBe('cb')
    expect(await idsOf('to=2026-03-01')).toBe('a')
    expect(await idsOf('to=2026-03-01T12:00:00Z')).toBe('')
    expect(await idsOf('from=2026-03-01T12:00:00Z&to=2026-03-02')).toBe('a')
    expect(await idsOf('status=gone')).toMatch(/^"status" must be one of queued/)
    expect(await idsOf('cost=much')).toBe('"cost" must be a number from 0.')
    expect(await idsOf('from=yesterday')).toMatch(/^"from" must be a day/)
  })

  test('sorts by cost, duration, tokens or steps, and counts what the filters select by status', async () => {
    const edge = listingEdge([ask(['add']), say('Done.'), say('Hello.'), ask(['pay'])], {
      vars: { ...KEYS, AUTH: 'keys', MODEL_PRICES: '{"test/scripted":{"input":1000,"output":1000}}' },
    })
    for (const [conversation, input] of ['Add', 'Hello', 'Pay'].map((each) => [each.toLowerCase(), each] as const)) {
      await run(edge, conversation, input)
    }
    vi.setSystemTime(NOON + 5000)
    const idsOf = async (query: string) => (await list(edge, `?${query}`)).map(({ conversation }: any) => conversation)
    expect(await idsOf('sort=tokens')).toEqual(['add', 'pay', 'hello'])
    expect(await idsOf('sort=cost&limit=1')).toEqual(['add'])
    expect(await idsOf('sort=duration')).toEqual(['pay', 'hello', 'add'])
    expect(await idsOf('sort=steps&status=completed')).toEqual(['add', 'hello'])
    const counts = async (query: string) =>
      (await edge.fetch(`/runs/counts${query}`, { headers: bearer('web') })).json()
    const all = { runs: 3, cost: 0.06, statuses: { completed: 2, waiting: 1 } }
    expect(await counts('')).toEqual({ ...all, cost: expect.closeTo(0.06) })
    expect(await counts('?tool=add')).toEqual({ runs: 1, cost: expect.closeTo(0.03), statuses: { completed: 1 } })
    expect(await counts('?status=failed')).toEqual({ runs: 0, cost: 0, statuses: {} })
    expect(await list(edge, '?sort=size')).toMatchObject({ status: 400, param: 'sort' })
    expect(await list(edge, '?sort=cost&latest=true')).toMatchObject({ status: 400, param: 'sort' })
  })

  test('returns pages, and only the newest match of each conversation if asked to', async () => {
    const edge = listingEdge(Array.from({ length: 5 }, () => say('Yes.')))
    const runs: string[] = []
    for (const conversation of ['a', 'b', 'a', 'b', 'b']) runs.push(await run(edge, conversation, `To ${conversation}`))
    const ids = async (query: string) => (await list(edge, query)).map(({ id }: { id: string }) => runs.indexOf(id))
    expect(await ids('?limit=2')).toEqual([4, 3])
    expect(await ids(`?limit=2&before=${runs[3]}`)).toEqual([2, 1])
    expect(await ids(`?before=${runs[0]}`)).toEqual([])
    expect(await ids('?latest=true')).toEqual([4, 2])
    expect(await ids('?latest=true&limit=1')).toEqual([4])
    expect(await ids(`?latest=true&before=${runs[4]}`)).toEqual([2])
    expect(await list(edge, '?before=run_0')).toMatchObject({ status: 404, code: 'unknown_run' })
  })

  test('lists a run once it has lasted for ten seconds, and its end in the same place', async () => {
    const edge = listingEdge([
      async function* () {
        await new Promise<void>((resolve) => (answer = resolve))
        yield* say('At last.')
      },
    ])
    let answer = () => {}
    await edge.post('/conversations', { id: 'slow' }, bearer('web'))
    const response = edge.post('/conversations/slow/runs', { input: 'Think' }, bearer('web'))
    await eventually(() => expect(edge.requests).toHaveLength(1))
    await edge.settle()
    expect(await list(edge)).toEqual([])
    // `waitFor` has moved the clock a little.
    vi.setSystemTime(NOON + 11_000)
    await edge.settle()
    await edge.settle()
    expect(await list(edge)).toMatchObject([{ conversation: 'slow', status: 'running' }])
    answer()
    await response
    await edge.settle()
    expect(await list(edge)).toMatchObject([{ conversation: 'slow', status: 'completed', ended: NOON + 11_000 }])
  })

  test('forgets the runs of a conversation that is deleted, and shows no other tenant any', async () => {
    const edge = listingEdge([ask(['pay']), say('Yes.')])
    await run(edge, 'a', 'Pay it')
    await run(edge, 'b', 'Hello')
    expect(await list(edge, '', 'other')).toEqual([])
    expect(await waiting(edge, 'other')).toEqual([])
    await edge.fetch('/conversations/a', { method: 'DELETE', headers: bearer('web') })
    await edge.settle()
    expect(await list(edge)).toMatchObject([{ conversation: 'b' }])
    expect(await waiting(edge)).toEqual([])
  })

  test('is refused by an edge that lists no runs', async () => {
    const edge = listingEdge([], { listsRuns: false })
    expect(await list(edge)).toMatchObject({ status: 404, code: 'not_found' })
    expect(await waiting(edge)).toMatchObject({ status: 404, code: 'not_found' })
  })
})

describe('the runs of a tenant whose directory is divided among objects', () => {
  test('are listed, counted and removed as those of one object are', async () => {
    const script = [
      ...Array.from({ length: 6 }, () => ask(['add'])).flatMap((step) => [step, say('Yes.')]),
      ask(['pay']),
    ]
    const edges = ['1', '4'].map((DIRECTORY_SHARDS) =>
      listingEdge(script, { vars: { ...KEYS, AUTH: 'keys', MAX_STEPS: '4', DIRECTORY_SHARDS } }),
    )
    const views = await Promise.all(
      edges.map(async (edge) => {
        for (const conversation of ['a', 'b', 'c', 'a', 'b']) {
          vi.setSystemTime(Date.now() + 1000)
          await run(edge, conversation, `To ${conversation}`)
        }
        await edge.post('/runs', { input: 'Without a conversation' }, bearer('web'))
        await edge.settle()
        await run(edge, 'd', 'Pay it')
        const text = async (path: string) => (await edge.fetch(path, { headers: bearer('operator') })).text()
        const lines = async (query: string) =>
          (await list(edge, query)).map(({ conversation, status }: any) => `${conversation} ${status}`)
        const before = { all: await lines(''), latest: await lines('?latest=true'), waiting: await waiting(edge) }
        await edge.fetch('/conversations/b', { method: 'DELETE', headers: bearer('web') })
        await edge.settle()
        return {
          ...{ before: { ...before, waiting: before.waiting.map(({ conversation }: any) => conversation) } },
          ...{ after: await lines(''), metrics: await text('/metrics'), usage: await text('/usage?by=tool') },
        }
      }),
    )
    expect(views[1]).toEqual(views[0])
    expect(views[0]?.before).toEqual({
      all: ['d waiting', ...['b', 'a', 'c', 'b', 'a'].map((id) => `${id} completed`)],
      latest: ['d waiting', 'b completed', 'a completed', 'c completed'],
      waiting: ['d'],
    })
    expect(views[0]?.metrics).toContain('edgecall_calls_total{tool="add",outcome="ok"} 6')
    const shards = ['acme', 'acme/1', 'acme/2', 'acme/3'].map((name) => edges[1]?.directoryObjects.getByName(name))
    const counts = await Promise.all(shards.map(async (shard) => (await shard?.runs({ limit: 10 }))?.length))
    expect(counts[0]).toBe(0)
    expect(counts.filter((count) => count !== 0).length).toBeGreaterThan(1)
  })
})

test('GET /usage has the usage of each day by itself, with what came from caches', async () => {
  const edge = listingEdge([say('Hello.'), say('Hello again.')])
  await run(edge, 'a', 'Hello')
  vi.setSystemTime(NOON + 24 * 3_600_000)
  await run(edge, 'a', 'Hello')
  const usage = async (query: string): Promise<any> =>
    (await edge.fetch(`/usage?by=model&from=2026-03-01&to=2026-03-02${query}`, { headers: bearer('operator') })).json()
  const tokens = { inputTokens: 10, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 5 }
  const row = { name: 'test/scripted', runs: 1, calls: 0, ...tokens, cost: 0 }
  expect((await usage('&per=day')).usage).toEqual([
    { day: '2026-03-01', ...row },
    { day: '2026-03-02', ...row },
  ])
  expect((await usage('')).usage).toMatchObject([{ name: 'test/scripted', runs: 2, inputTokens: 20 }])
  expect(await usage('&per=week')).toMatchObject({ status: 422, param: 'per' })
})

test('GET /caller tells a page what the key may do, and the currency of costs', async () => {
  const edge = listingEdge([], { vars: { ...KEYS, AUTH: 'keys', CURRENCY: 'EUR' } })
  const caller = await edge.fetch('/caller', { headers: bearer('boss') })
  expect(await caller.json()).toEqual({ tenant: 'acme', key: 'boss', scopes: ['approve'], currency: 'EUR' })
  expect((await edge.fetch('/caller', { headers: bearer('nobody') })).status).toBe(401)
})

describe('GET /approvals', () => {
  test('lists the calls of all conversations that wait, with who asked and what is known of undoing them', async () => {
    const edge = listingEdge([ask(['pay', { euros: 5 }]), ask(['pay', { euros: 7 }], ['pay', { euros: 9 }])])
    const first = await run(edge, 'a', 'Pay five')
    vi.setSystemTime(NOON + 1000)
    await run(edge, 'b', 'Pay more')
    const calls = await waiting(edge)
    expect(calls).toHaveLength(3)
    expect(calls[0]).toEqual({
      ...{ conversation: 'a', run: first, id: expect.any(String), tool: 'pay', since: NOON },
      ...{
        because: 'tool',
        expires: NOON + 24 * 3_600_000,
        arguments: { euros: 5 },
        argumentsHash: expect.any(String),
        caller: { tenant: 'acme', key: 'web' },
      },
      definition: expect.objectContaining({ annotations: { destructive: true }, undo: true, approval: 'always' }),
    })
    expect(calls.map((each: any) => each.arguments.euros)).toEqual([5, 7, 9])
    expect((await waiting(edge, 'both')).map((each: any) => each.question)).toEqual([
      'Pay five',
      'Pay more',
      'Pay more',
    ])
    expect(await waiting(edge, 'web')).toMatchObject({ status: 403 })
  })

  test('takes a call off the list when it is decided, while the others of its run still wait', async () => {
    const edge = listingEdge([ask(['pay', { euros: 7 }], ['pay', { euros: 9 }]), say('Paid.')])
    const id = await run(edge, 'a', 'Pay twice')
    const decide = async (call: any) => {
      const path = `/conversations/a/runs/${id}/calls/${call.id}`
      await edge.post(path, { decision: 'approve', argumentsHash: call.argumentsHash }, bearer('boss'))
      await edge.settle()
    }
    const [seven, nine] = await waiting(edge)
    await decide(seven)
    expect(await waiting(edge)).toEqual([nine])
    expect(await list(edge, '?status=waiting')).toHaveLength(1)
    await decide(nine)
    expect(await waiting(edge)).toEqual([])
    await eventually(async () => {
      await edge.settle()
      expect(await list(edge)).toMatchObject([{ id, status: 'completed', tools: ['pay'] }])
    })
  })

  test('leaves out very long arguments, which the route of the call has', async () => {
    const edge = listingEdge([ask(['pay', { text: 'x'.repeat(20_000) }])])
    await run(edge, 'a', 'Pay it')
    const [call] = await waiting(edge)
    expect(call.arguments).toBeUndefined()
    const path = `/conversations/a/runs/${call.run}/calls/${call.id}`
    const fullRun: any = await (await edge.fetch(path, { headers: bearer('boss') })).json()
    expect(fullRun.arguments.text).toHaveLength(20_000)
    expect(fullRun.argumentsHash).toBe(call.argumentsHash)
  })

  test('has a call that could not be listed at once when the directory is reached again', async () => {
    let isAway = true
    const edge = listingEdge([ask(['pay'])])
    const directory = edge.directoryObjects.getByName('acme')
    const listRun = directory.listRun.bind(directory)
    directory.listRun = async (listing) => {
      if (isAway) throw new Error('away')
      await listRun(listing)
    }
    await run(edge, 'a', 'Pay it')
    expect(await waiting(edge)).toEqual([])
    isAway = false
    vi.setSystemTime(NOON + 60_000)
    await edge.settle()
    expect(await waiting(edge)).toHaveLength(1)
  })
})

test('GET /metrics has the runs that have not ended by status, the calls that wait and the tools that are held back', async () => {
  const edge = listingEdge([ask(['pay', { euros: 7 }], ['pay', { euros: 9 }]), say('Hello.')])
  await run(edge, 'a', 'Pay twice')
  await run(edge, 'b', 'Hello')
  const text = await (await edge.fetch('/metrics', { headers: bearer('operator') })).text()
  expect(text.split('\n').filter((line) => /^edgecall_(?:open|held)/.test(line))).toEqual([
    'edgecall_open_runs{status="queued"} 0',
    'edgecall_open_runs{status="running"} 0',
    'edgecall_open_runs{status="waiting"} 1',
    'edgecall_open_runs{status="parked"} 0',
    'edgecall_open_runs{status="cancelling"} 0',
    'edgecall_open_approvals 2',
    'edgecall_held_tools 0',
  ])
  expect(text).toContain('# TYPE edgecall_open_runs gauge\n')
})
