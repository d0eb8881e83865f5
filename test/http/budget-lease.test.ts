import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { RunBudget } from '../../src/contract/budget.ts'
import type { Setup } from '../../src/contract/setup.ts'
import { Problem } from '../../src/http/problem.ts'
import { countSpend, shareOfBudget } from '../../src/http/runs/budget.ts'
import { Chance } from '../faults/chance.ts'
import { memoryDirectories } from '../fixtures/directories.ts'
import { apiKey, bearer, keyName, withKeys } from '../fixtures/keys.ts'
import { say } from '../fixtures/play.ts'
import { scripted } from '../fixtures/scripted.ts'
import { testSetup } from '../fixtures/setup.ts'
import { keptEdge } from './kept-edge.ts'

const NOON = Date.parse('2026-02-27T12:00:00Z')

beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
afterEach(() => void vi.useRealTimers())

const BUDGET = 20_000
const ISOLATES = 30
/** The most tokens that a run of the property uses. */
const MOST_USE = 10

interface Isolate {
  readonly setup: Setup
  /** The run under way, and the tokens that it will have used. */
  running?: { readonly id: string; readonly tokens: number } | undefined
}

const vars = withKeys(apiKey('one', { budget: { tokens: BUDGET, per: 'month' } }))
const caller = { tenant: 'acme', key: keyName('one'), scopes: ['chat'] }

/** Lets isolates accept and lose runs at random until the budget is used up; returns what all runs have used. */
async function exhaust(seed: number): Promise<{ used: number; lost: number; runs: number; draws: number }> {
  const chance = new Chance(seed)
  const directories = memoryDirectories()
  const spendTotals = vi.spyOn(directories.getByName('acme'), 'spendTotals')
  const newIsolate = (): Isolate => ({ setup: { ...testSetup(scripted([], 'test/scripted'), { vars }), directories } })
  const isolates = Array.from({ length: ISOLATES }, newIsolate)
  let [used, lost, runs, refusals, retries] = [0, 0, 0, 0, 0]
  while (refusals < 200) {
    const index = chance.between(0, ISOLATES - 1)
    const isolate = isolates[index] as Isolate
    const context = { setup: isolate.setup, caller }
    if (chance.isHit(0.01)) {
      // Its run is lost with it, and what that has used is never reported.
      lost += isolate.running?.tokens ?? 0
      isolates[index] = newIsolate()
    } else if (isolate.running) {
      const { id, tokens } = isolate.running
      isolate.running = undefined
      await countSpend(context, id, { inputTokens: tokens, outputTokens: 0 })
    } else {
      try {
        const id = `run_${runs}`
        await shareOfBudget(context, id)
        runs += 1
        const tokens = chance.between(1, MOST_USE)
        isolate.running = { id, tokens }
        used += tokens
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        expect(error.details.code).toBe('budget_exhausted')
        if (error.details.mayRetry) retries += 1
        else refusals += 1
      }
    }
    vi.setSystemTime(Date.now() + (chance.isHit(0.002) ? 60_000 : chance.between(0, 100)))
  }
  return { used, lost, runs, draws: spendTotals.mock.calls.length - refusals - retries }
}

describe('the leases of a budget', () => {
  test('keep all isolates together within the budget and one run each, whichever are lost', async () => {
    for (let seed = 1; seed <= 5; seed++) {
      vi.setSystemTime(NOON)
      const { used, lost, runs, draws } = await exhaust(seed)
      expect(used - lost, `seed ${seed}`).toBeGreaterThanOrEqual(BUDGET)
      expect(used - lost, `seed ${seed}`).toBeLessThanOrEqual(BUDGET + ISOLATES * MOST_USE)
      expect(draws, `seed ${seed}`).toBeLessThan(runs / 2)
    }
  })

  test('are used up by a run that uses more than the earlier ones did', async () => {
    const directories = memoryDirectories()
    const spendTotals = vi.spyOn(directories.getByName('acme'), 'spendTotals')
    const context = { setup: { ...testSetup(scripted([], 'test/scripted'), { vars }), directories }, caller }
    const run = async (id: string, inputTokens: number) => {
      const share = await shareOfBudget(context, id)
      await countSpend(context, id, { inputTokens, outputTokens: 0 })
      return [share?.tokens, spendTotals.mock.calls.length]
    }
    // The first run of a period has a lease of its own, since it is unknown how much it uses.
    expect(await run('a', 10)).toEqual([BUDGET / 8, 1])
    // An eighth of the rest is leased. A run that is accepted has a sixteenth of that, and counts as more once it has used more.
    const lease = (BUDGET - 10) / 8
    expect(await run('b', 10)).toEqual([lease / 16, 2])
    expect(await run('c', BUDGET / 8)).toEqual([lease / 16, 2])
    // By now the runs have used more than that on average.
    expect(await run('d', 10)).toEqual([(20 + BUDGET / 8) / 3, 3])
  })
})

test('runs that are accepted with a lease keep their shares when their isolate draws the next one', async () => {
  const directories = memoryDirectories()
  const context = { setup: { ...testSetup(scripted([], 'test/scripted'), { vars }), directories }, caller }
  await shareOfBudget(context, 'first')
  await countSpend(context, 'first', { inputTokens: 10, outputTokens: 0 })
  const shares: (RunBudget | undefined)[] = []
  for (let index = 0; index < 17; index++) shares.push(await shareOfBudget(context, `run_${index}`))
  // Sixteen runs have all of the first lease, and one has a part of the second.
  const first = (BUDGET - 10) / 8
  const second = (BUDGET - 10 - first) / 8
  expect(shares.map((share) => share?.tokens)).toEqual([...Array.from({ length: 16 }, () => first / 16), second / 16])
  const request = { holder: 'other', budget: { tokens: BUDGET, per: 'month' } } as const
  const { lease } = await directories.getByName('acme').spendTotals(keyName('one'), '2026-02', request)
  expect(lease?.share.tokens).toBe((BUDGET - 10 - first - second) / 8)
})

test('runs that one isolate accepts at the same time have shares of their own, but for the first, which has a lease', async () => {
  const directories = memoryDirectories()
  const context = { setup: { ...testSetup(scripted([], 'test/scripted'), { vars }), directories }, caller }
  await shareOfBudget(context, 'first')
  await countSpend(context, 'first', { inputTokens: 160, outputTokens: 0 })
  const shares = await Promise.all(['a', 'b', 'c', 'd'].map((run) => shareOfBudget(context, run)))
  const lease = (BUDGET - 160) / 8
  expect(shares.map((share) => share?.tokens)).toEqual([160, 160, 160, 160])
  const request = { holder: 'other', budget: { tokens: BUDGET, per: 'month' } } as const
  const reply = await directories.getByName('acme').spendTotals(keyName('one'), '2026-02', request)
  expect(reply.lease?.share.tokens).toBe((BUDGET - 160 - lease - 3 * 160) / 8)
})

/** An edge whose key has a budget; `run` starts a run and returns its status. */
async function budgetedEdge(tokens: number) {
  const vars = withKeys(apiKey('one', { budget: { tokens, per: 'day' } }))
  const edge = keptEdge({ script: Array.from({ length: 100 }, () => say('Hi.')), vars })
  const directory = edge.directoryObjects.getByName('acme')
  const [draws, counts] = [vi.spyOn(directory, 'spendTotals'), vi.spyOn(directory, 'count')]
  const run = async (headers: Record<string, string> = {}) => {
    const body = { messages: [{ role: 'user', content: 'Hi' }] }
    const response = await edge.post('/v1/chat/completions', body, { ...bearer('one'), ...headers })
    await edge.settle()
    return response
  }
  return { edge, directory, draws, counts, run }
}

describe('a run of a key with a budget', () => {
  test.each<Record<string, string>>([{}, { 'x-conversation-id': 'c' }])(
    'asks the ledger first only if its isolate has no lease: at most 5 times for 33 runs (%j)',
    async (headers) => {
      const { draws, counts, run } = await budgetedEdge(1_000_000)
      for (let count = 0; count < 33; count++) expect((await run(headers)).status).toBe(200)
      expect(draws.mock.calls.length).toBeLessThanOrEqual(5)
      expect(counts.mock.calls.length).toBe(33)
    },
  )

  test('asks the ledger again once its lease has expired', async () => {
    const { draws, run } = await budgetedEdge(1_000_000)
    for (let count = 0; count < 3; count++) await run()
    const before = draws.mock.calls.length
    await run()
    expect(draws.mock.calls.length).toBe(before)
    vi.setSystemTime(NOON + 60_000)
    await run()
    expect(draws.mock.calls.length).toBe(before + 1)
  })

  test('is refused with 503 if the ledger cannot be read, and accepted while its isolate holds a lease', async () => {
    const { edge, draws, run } = await budgetedEdge(1_000_000)
    draws.mockRejectedValueOnce(Object.assign(new Error('overloaded'), { overloaded: true }))
    const refusal = await run()
    expect([refusal.status, refusal.headers.get('retry-after'), refusal.headers.get('x-should-retry')]).toEqual([
      503,
      '5',
      'true',
    ])
    for (let count = 0; count < 2; count++) await run()
    draws.mockRejectedValue(new Error('overloaded'))
    expect((await run()).status).toBe(200)
    await edge.settle()
  })

  test('asks no ledger before it starts if its budget only counts', async () => {
    const vars = withKeys(apiKey('one', { budget: { per: 'day' } }))
    const edge = keptEdge({ script: [say('Hi.')], vars })
    const draws = vi.spyOn(edge.directoryObjects.getByName('acme'), 'spendTotals')
    expect((await edge.post('/runs', { input: 'Hi' }, bearer('one'))).status).toBe(200)
    expect(draws).not.toHaveBeenCalled()
    await edge.settle()
    const usage = await (await edge.fetch('/usage', { headers: bearer('one') })).json()
    expect(usage).toMatchObject({ tokens: 15, runs: 1 })
  })
})
