import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Objects } from '../src/contract/conversation.ts'
import type { RunDirectory } from '../src/contract/directory.ts'
import type { RunReport } from '../src/contract/metrics.ts'
import { FIRST_BYTES } from '../src/contract/quotas.ts'
import type { ListedApproval, ListedRun, RunQuery } from '../src/contract/run-list.ts'
import { shardOf } from '../src/contract/placement.ts'
import { dividedDirectories, shardedRuns } from '../src/edge/directories.ts'
import { Chance } from './faults/chance.ts'
import { memoryDirectories } from './fixtures/directories.ts'

/** Lists all conversations page by page. */
async function listAll(directory: { list(after: string, limit: number): Promise<readonly string[]> }, limit = 7) {
  const ids: string[] = []
  for (;;) {
    const page = await directory.list(ids.at(-1) ?? '', limit)
    expect(page.length).toBeLessThanOrEqual(limit)
    ids.push(...page)
    if (page.length < limit) return ids
  }
}

describe('the shards of a directory', () => {
  test('list, remove and count as one object does, while their number grows', async () => {
    for (let seed = 1; seed <= 20; seed++) {
      const chance = new Chance(seed)
      const [objects, single] = [memoryDirectories(), memoryDirectories().getByName('acme')]
      let shards = 1
      const sizes = new Map<string, number>()
      // As a conversation stores it when it is created.
      const shardsOf = new Map<string, number>()
      for (let step = 0; step < 150; step++) {
        if (chance.isHit(0.03)) shards += chance.between(1, 2)
        const directory = dividedDirectories(objects, shards).getByName('acme')
        const isNew = sizes.size === 0 || chance.isHit(0.6)
        const id = isNew ? `Conv-${chance.between(0, 1e6)}_x` : [...sizes.keys()][chance.between(0, sizes.size - 1)]!
        if (isNew && !sizes.has(id)) {
          shardsOf.set(id, shardOf(id, shards))
          for (const each of [directory, single]) await each.add(id, shardsOf.get(id))
          sizes.set(id, FIRST_BYTES)
        } else if (chance.isHit(0.2)) {
          // The reply was lost, or an operator has restored the conversation.
          await directory.add(id, chance.isHit(0.5) ? shardsOf.get(id) : undefined)
        } else if (chance.isHit(0.5)) {
          for (const each of [directory, single]) await each.remove(id)
          sizes.delete(id)
        } else {
          const bytes = chance.between(1, 1e6)
          const totals = await directory.resize(id, bytes, undefined, shardsOf.get(id))
          expect(totals).toEqual(await single.resize(id, bytes))
          sizes.set(id, bytes)
        }
      }
      const directory = dividedDirectories(objects, shards).getByName('acme')
      expect(await listAll(directory), `seed ${seed}`).toEqual(await listAll(single))
      const [id = ''] = sizes.keys()
      expect(await directory.room(id)).toEqual(await single.room(id))
      expect(await directory.room('none')).toEqual(await single.room('none'))
    }
  })

  test('spread the conversations evenly, and leave budgets in the first object', async () => {
    const objects = memoryDirectories()
    const directory = dividedDirectories(objects, 4).getByName('acme')
    for (let number = 0; number < 400; number++) await directory.add(`conv_${number}`)
    const names = ['acme', 'acme/1', 'acme/2', 'acme/3']
    const counts = await Promise.all(names.map(async (name) => (await objects.getByName(name).room('')).conversations))
    expect(counts[0]).toBe(0)
    expect(Math.min(...counts.slice(1))).toBeGreaterThan(100)
    const at = Date.now()
    const period = new Date(at).toISOString().slice(0, 10)
    await directory.count({ run: 'run_1', key: 'k', at, tokens: 5, cost: 0 })
    expect(await objects.getByName('acme').spendTotals('k', period)).toEqual({ tokens: 5, cost: 0, runs: 1 })
  })

  test('count a conversation that is not listed once, until it ends', async () => {
    const objects = memoryDirectories()
    const directory = dividedDirectories(objects, 3).getByName('acme')
    const until = Date.now() + 60_000
    const shard = shardOf('branch', 3)
    expect(await directory.resize('branch', 1000, until, shard)).toEqual({ conversations: 0, storedBytes: 1000 })
    const grown = dividedDirectories(objects, 9).getByName('acme')
    expect(await grown.resize('branch', 2000, until, shard)).toEqual({ conversations: 0, storedBytes: 2000 })
    expect(await directory.list('', 10)).toEqual([])
  })
})

const NOON = Date.parse('2026-03-01T12:00:00Z')

/** A run as it is while it waits, and as it is reported once it has ended. */
function runOf(
  id: string,
  shard: number,
  { conversation, at, chance }: { conversation: string; at: number; chance: Chance },
) {
  const cost = chance.between(0, 9)
  const run: ListedRun = {
    ...{ id, conversation, question: `Is it ${chance.between(0, 3)}?`, model: 'test/scripted', tools: [], errors: [] },
    ...{ status: 'waiting', created: at, cost: 0 },
  }
  const approval: ListedApproval = {
    ...{
      id: `call_${id}`,
      run: id,
      tool: 'pay',
      conversation,
      since: at,
      expires: at + 1000,
      argumentsHash: '',
      caller: { tenant: 'acme' },
    },
  }
  const waiting = { run, at, approvals: [approval] }
  const ended = { run: { ...run, status: 'completed', ended: at + 5, cost }, at: at + 5, approvals: [] } as const
  const usage = { inputTokens: 2, outputTokens: 1, cost }
  const name = `tool${chance.between(0, 4)}`
  const report: RunReport = {
    ...{ run: id, at: at + 5, listing: ended, ...(shard > 0 && { shard }) },
    shares: [{ by: 'tool', name, calls: 1, usage }],
    series: [{ name: 'edgecall_steps', labels: `model="${name}"`, part: 'value', le: 0, value: 1 }],
  }
  return { id, conversation, shard, waiting, report }
}

/** Reads all runs page by page. */
async function runsOf(directory: RunDirectory, query: Omit<RunQuery, 'before'>): Promise<string[]> {
  const ids: string[] = []
  for (;;) {
    const last = ids.at(-1)
    const page = await directory.runs({ ...query, ...(last !== undefined && { before: last }) })
    if (!page) throw new Error(`${last} is not listed`)
    expect(page.length).toBeLessThanOrEqual(query.limit)
    ids.push(...page.map(({ id }) => id))
    if (page.length < query.limit) return ids
  }
}

/** All that one directory shows of the runs. */
async function viewOf(directories: Objects<RunDirectory>) {
  const directory = directories.getByName('acme')
  const queries: readonly Omit<RunQuery, 'before' | 'limit'>[] = [
    {},
    { status: 'waiting' },
    { status: 'completed', cost: 5 },
    { text: 'is it 2' },
    { isLatest: true },
    { isLatest: true, status: 'completed' },
    { from: NOON + 40, to: NOON + 120 },
  ]
  const [counts, mostCostly] = await Promise.all([
    directory.runCounts({ status: 'completed', limit: 1 }),
    directory.runs({ sort: 'cost', limit: 20 }),
  ])
  return {
    lists: await Promise.all(queries.map((query) => runsOf(directory, { ...query, limit: 4 }))),
    runs: await directory.runs({ limit: 1000 }),
    counts,
    // Runs of the same cost come in the order of each list.
    costs: mostCostly?.map(({ cost }) => cost),
    approvals: await directory.approvals(),
    usage: await directory.usage('2026-03-01', '2026-03-01', 'tool'),
    days: await directory.usage('2026-03-01', '2026-03-01', 'tool', true),
    // Of these, the order is that of the objects.
    series: new Set(await directory.series()),
    open: new Set(await directory.openRuns()),
  }
}

describe('the runs in the shards of a directory', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'], now: NOON }))
  afterEach(() => void vi.useRealTimers())

  test('are listed, filtered, counted and summed as by one object, while the number of shards grows and replies are lost', async () => {
    for (let seed = 1; seed <= 12; seed++) {
      const chance = new Chance(seed)
      const objects = memoryDirectories()
      const single = shardedRuns(memoryDirectories(), 1)
      let shards = chance.between(1, 3)
      const unended: ReturnType<typeof runOf>[] = []
      const counted: ReturnType<typeof runOf>[] = []
      for (let step = 0; step < 120; step++) {
        if (chance.isHit(0.05)) shards += chance.between(1, 3)
        const directory = shardedRuns(objects, shards).getByName('acme')
        const one = single.getByName('acme')
        if (chance.isHit(0.5)) {
          const conversation = `conv_${chance.between(0, 15)}`
          const at = NOON + 2 * step
          const run = runOf(`run_${step}`, shardOf(conversation, shards), { conversation, at, chance })
          unended.push(run)
          // The list of one object is in the order in which runs are first listed.
          await one.listRun(run.waiting)
          await directory.listRun(run.waiting, run.shard || undefined)
        } else {
          const batch = unended.splice(0, chance.between(1, 3))
          // Some reports are sent again: their reply was lost, or the object that sent them.
          const repeats = counted.filter(() => chance.isHit(0.1))
          const all = [...batch, ...repeats]
          const isNew = all.map((run) => batch.includes(run))
          expect(await directory.countRuns(all.map(({ report }) => report))).toEqual(isNew)
          await one.countRuns(all.map(({ report: { shard: _shard, ...report } }) => report))
          counted.push(...batch)
        }
      }
      expect(counted.length).toBeGreaterThan(30)
      expect(await viewOf(shardedRuns(objects, shards)), `seed ${seed}`).toEqual(await viewOf(single))
      await dividedDirectories(objects, shards).getByName('acme').remove('conv_3')
      const rest = await shardedRuns(objects, shards).getByName('acme').runs({ limit: 1000 })
      const others = [...counted, ...unended].filter(({ conversation }) => conversation !== 'conv_3')
      // One that is not listed has no entries to remove.
      expect(rest?.map(({ id }) => id).toSorted()).toEqual(others.map(({ id }) => id).toSorted())
    }
  })

  test('are not found after a run that no object lists', async () => {
    const directory = shardedRuns(memoryDirectories(), 3).getByName('acme')
    expect(await directory.runs({ before: 'run_1', limit: 10 })).toBeUndefined()
  })

  test('are counted by the object that their requests name, and by no other', async () => {
    const objects = memoryDirectories()
    const run = runOf('run_1', 2, { conversation: 'c', at: NOON, chance: new Chance(1) })
    // A deployment with fewer shards reports it too.
    for (const shards of [4, 1]) await shardedRuns(objects, shards).getByName('acme').countRuns([run.report])
    const names = ['acme', 'acme/1', 'acme/2', 'acme/3']
    const series = await Promise.all(names.map((name) => objects.getByName(name).series()))
    expect(series).toEqual([[], [], run.report.series, []])
  })
})
