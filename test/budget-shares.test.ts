import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Chance } from './faults/chance.ts'
import { memoryDirectories } from './fixtures/directories.ts'
import { apiKey, bearer, keyName, withKeys } from './fixtures/keys.ts'
import { ask, say, tool } from './fixtures/play.ts'
import { keptEdge } from './http/kept-edge.ts'

const NOON = Date.parse('2026-02-27T12:00:00Z')
/** What an answer of a model uses, in tokens. */
const STEP = 15

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

/** Isolates of an edge whose key has a budget. A run makes another step with this chance. */
function budgetedIsolates(tokens: number, { isolates = 1, another = 1, seed = 1, isGuarded = false } = {}) {
  const objects = memoryDirectories()
  const directory = objects.getByName('acme')
  const draws = vi.spyOn(directory, 'spendTotals')
  const chance = new Chance(seed)
  const limits = { MAX_STEPS: '1000', MAX_CALLS: '1000', MAX_CALLS_PER_TOOL: '1000' }
  const vars = {
    ...withKeys(apiKey('one', { budget: { tokens, per: 'day' }, scopes: ['chat', 'approve'] })),
    ...limits,
  }
  const edges = Array.from({ length: isolates }, () => {
    const script = Array.from({ length: 1000 }, (_, step) =>
      chance.isHit(another) ? ask(['add', { step }]) : say('Hi.'),
    )
    return keptEdge({
      script,
      tools: [tool('add', () => '3', { approval: isGuarded ? 'always' : 'never' })],
      vars,
      setup: { directories: objects },
    })
  })
  const used = () => STEP * edges.reduce((sum, { requests }) => sum + requests.length, 0)
  const counted = async () => (await directory.spendTotals(keyName('one'), '2026-02-27')).tokens
  const run = async (isolate: number, conversation?: string): Promise<any> => {
    const edge = edges[isolate]
    const path = conversation === undefined ? '/runs' : `/conversations/${conversation}/runs`
    if (conversation !== undefined) await edge?.post('/conversations', { id: conversation }, bearer('one'))
    const response = await edge?.post(path, { input: 'Hi' }, bearer('one'))
    await edge?.settle()
    return {
      http: response?.status,
      retry: response?.headers.get('x-should-retry'),
      ...(await response?.json<object>()),
    }
  }
  return { edges, objects, directory, draws, used, counted, run, chance }
}

describe('a budget', () => {
  test('is exceeded by at most two steps of each run under way, however many runs use it at once', async () => {
    for (let seed = 1; seed <= 3; seed++) {
      vi.setSystemTime(NOON)
      const [isolates, parallel] = [4, 6]
      const { run, used, counted, chance } = budgetedIsolates(6000, { isolates, another: 0.9, seed })
      let number = 0
      let isUsedUp = false
      while (!isUsedUp) {
        const runs = Array.from({ length: isolates * parallel }, (_, index) =>
          run(index % isolates, chance.isHit(0.5) ? `c${number++}` : undefined),
        )
        const records = await Promise.all(runs)
        isUsedUp = records.every(({ http, retry }) => http === 429 && retry === 'false')
        vi.setSystemTime(Date.now() + chance.between(0, 20_000))
      }
      expect(await counted(), `seed ${seed}`).toBe(used())
      expect(used(), `seed ${seed}`).toBeGreaterThanOrEqual(6000)
      expect(used(), `seed ${seed}`).toBeLessThanOrEqual(6000 + isolates * parallel * 2 * STEP)
    }
  })

  test.each([undefined, 'c'])(
    'is used up by one run alone, which draws a share now and then (conversation %s)',
    async (id) => {
      const { run, used, counted, draws } = budgetedIsolates(6000)
      expect(await run(0, id)).toMatchObject({ http: 422, run: { finish: 'limit', which: 'tokens' } })
      expect(used()).toBeGreaterThanOrEqual(6000)
      expect(used()).toBeLessThanOrEqual(6000 + 2 * STEP)
      expect(await counted()).toBe(used())
      // Of 400 steps.
      expect(draws.mock.calls.length).toBeLessThan(50)
    },
  )
})

describe('a share of a budget', () => {
  test('is given back when its run ends', async () => {
    const { run, directory } = budgetedIsolates(80_000, { another: 0 })
    await run(0)
    const request = { holder: 'other', budget: { tokens: 80_000, per: 'day' } } as const
    const { lease } = await directory.spendTotals(keyName('one'), '2026-02-27', request)
    expect(lease?.share).toEqual({ tokens: (80_000 - STEP) / 8 })
  })

  test('is given back while its run waits for a person, and drawn again when it resumes', async () => {
    const { run, edges, directory, draws } = budgetedIsolates(80_000, { isGuarded: true })
    const { id, calls } = await run(0, 'c')
    const request = { holder: 'other', budget: { tokens: 80_000, per: 'day' } } as const
    const { lease } = await directory.spendTotals(keyName('one'), '2026-02-27', request)
    expect(lease?.share).toEqual({ tokens: (80_000 - STEP) / 8 })
    const before = draws.mock.calls.length
    await edges[0]?.post(`/conversations/c/runs/${id}/calls/${calls[0].id}`, { decision: 'approve' }, bearer('one'))
    await edges[0]?.settle()
    expect(draws.mock.calls.slice(before).map(([, , own]) => own?.run)).toEqual([id])
  })

  test('expires after a minute if its run is lost', async () => {
    const { directory } = budgetedIsolates(80_000)
    const draw = async (run: string) =>
      (await directory.spendTotals(keyName('one'), '2026-02-27', { run, budget: { tokens: 80_000, per: 'day' } })).lease
    expect((await draw('lost'))?.share).toEqual({ tokens: 10_000 })
    expect((await draw('second'))?.share).toEqual({ tokens: 70_000 / 8 })
    vi.setSystemTime(NOON + 60_000)
    expect((await draw('third'))?.share).toEqual({ tokens: 10_000 })
  })

  test('that another run has is not lent twice: a new run is refused until it is given back', async () => {
    const { run, directory } = budgetedIsolates(80, { another: 0 })
    const budget = { tokens: 80, per: 'day' } as const
    const all = { run: 'long', budget, least: { tokens: 80 } }
    expect((await directory.spendTotals(keyName('one'), '2026-02-27', all)).lease?.share).toEqual({ tokens: 80 })
    const detail = "Runs under way have all that is left of this key's budget of the day. Try again later."
    expect(await run(0)).toEqual({
      http: 429,
      status: 429,
      retry: 'true',
      code: 'budget_exhausted',
      which: 'tokens',
      detail,
    })
    await directory.count({ run: 'long', key: keyName('one'), at: NOON, tokens: 30, cost: 0 })
    expect(await run(0)).toMatchObject({ http: 200, finish: 'stop' })
  })
})

test('a run continues with the share that it has while the ledger does not answer', async () => {
  const { run, used, draws } = budgetedIsolates(6000)
  draws.mockImplementation(async () => {
    if (draws.mock.calls.length > 1) throw new Error('overloaded')
    return { tokens: 0, cost: 0, runs: 0, lease: { share: { tokens: 100 }, until: NOON + 60_000, isOfRun: true } }
  })
  expect(await run(0)).toMatchObject({ run: { finish: 'limit', which: 'tokens' } })
  // Six steps use 90 tokens. The seventh uses more than the share, and then comes the last answer.
  expect(used()).toBe(8 * STEP)
})
